#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/int128.hpp"

namespace dpreg {

/// Values are held on the grid of multiples of 2^exponent, as integers within
/// +-kGridLimit, so that the number of grid points of a box always fits.
inline constexpr int128 kGridLimit = int128{1} << 125;

/// The grid point nearest to `value`; NaN goes to 0, what is too large to +-kGridLimit.
int128 to_grid(double value, int exponent);

/// The double nearest to grid point `point`.
double from_grid(int128 point, int exponent);

/// A closed interval of grid points, low <= high.
struct GridInterval {
    int128 low;
    int128 high;

    uint128 size() const { return static_cast<uint128>(high - low) + 1; }
};

/// Axis-aligned Tukey depth of m points on a grid, and the boxes it defines.
///
/// Depth of y is the least, over coordinates j and both sides, of the number of
/// points on that side of y_j, points at y_j counting on both; it is capped at
/// max_depth() = floor((m + 1) / 2).  Amin et al. (2023), Definition 2.5, with the
/// counting measure instead of volume (tukey_em.md, section 2).
///
/// S_i, the points of depth at least i, is the box of intervals [x_(i)j, x_(m-i+1)j];
/// V_i > 0 is its number of grid points, for 1 <= i <= max_depth().
///
/// Privacy  none by itself.  Replacing one of the m points moves the depth of every
///          grid point by at most 1: kDepthSensitivity.
/// Cost     O(p m log m) time, O(p m) memory.
class DepthRegions {
public:
    /// `points` is row-major, m x p, in the caller's units.  Domain: m >= 1, p >= 1.
    DepthRegions(const std::vector<double>& points, std::size_t m, std::size_t p,
                 int grid_exponent);

    std::size_t points() const { return m_; }
    std::size_t dimension() const { return p_; }
    std::size_t max_depth() const { return (m_ + 1) / 2; }
    int grid_exponent() const { return grid_exponent_; }

    /// The side of S_depth along coordinate j.
    GridInterval side(std::size_t depth, std::size_t j) const;

    /// log(V_depth / V_1), at most 0.
    double log_volume(std::size_t depth) const { return log_volume_[depth]; }

    /// Upper bound on the absolute rounding error of log_volume and of the
    /// log-weights made from it (tukey_em.md, section 6).
    static double rounding_error(std::size_t m, std::size_t p, double epsilon);

private:
    std::size_t m_;
    std::size_t p_;
    int grid_exponent_;
    std::vector<int128> sorted_;  // p x m, each coordinate ascending
    std::vector<double> log_volume_;
};

/// Largest change of the depth of any point when one of the m points is replaced.
inline constexpr int kDepthSensitivity = 1;

}  // namespace dpreg
