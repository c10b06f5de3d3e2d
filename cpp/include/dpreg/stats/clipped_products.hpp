#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/matrix.hpp"

namespace dpreg {

/// Public bounds of the columns of x and of y: [centre - half, centre + half] is mapped to
/// [-1, 1].
struct ProductBounds {
    std::vector<double> x_centres;  ///< one a column
    std::vector<double> x_halves;   ///< positive
    double y_centre = 0.0;
    double y_half = 1.0;  ///< positive
};

/// Largest change of a clipped product when one row is added or removed, exactly; attained.
inline constexpr double kClippedProductSensitivity = 1.0;

/// Length of the interval that holds the changes of all clipped products; attained.
inline constexpr double kClippedProductRange = 2.0;

/// For each column of x, the sum over rows of u_ij v_i in steps of 2^-30, exactly, where u and v
/// are x and y mapped by `bounds`, clipped to [-1, 1] and rounded to multiples of 2^-15.
///
/// Domain   total: NaN counts as 0, an infinity as the bound on its side; below 2^32 rows.
/// Cost     O(n d).
std::vector<std::int64_t> clipped_products(const MatrixView& x, const VectorView& y,
                                           const ProductBounds& bounds);

/// The absolute values of such sums, of below 2^32 rows together, rounded down to multiples of
/// 2^-20, which are exact doubles.
///
/// Privacy  none by itself; kClippedProductSensitivity under addition or removal of one row
///          (clipped_products.md).
std::vector<double> clipped_scores(const std::vector<std::int64_t>& sums);

}  // namespace dpreg
