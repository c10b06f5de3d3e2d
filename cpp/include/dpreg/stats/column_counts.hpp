#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/matrix.hpp"

namespace dpreg {

/// Magnitude bins: bin k holds 2^(kLeastExponent + k - 1) < |x| <= 2^(kLeastExponent + k);
/// smaller or larger values are in the first or last one, 0 in none.  Cells of a column are
/// in the order of its values: bins of those below 0, the last one first, then 0, then the bins.
inline constexpr int kLeastExponent = -128;
inline constexpr int kLargestExponent = 128;
inline constexpr std::size_t kMagnitudeBins = kLargestExponent - kLeastExponent + 1;
inline constexpr std::size_t kMagnitudeCells = 2 * kMagnitudeBins + 1;

/// l2 sensitivity of `magnitude_counts` and of `interval_counts`, the counts of column j
/// counted weights[j] times: a row falls into at most one bin of each column.  Attained.
double counts_sensitivity(const std::vector<double>& weights);

/// How many values of each column fall into each magnitude cell; columns x kMagnitudeCells.
///
/// Domain   total; a value that is not finite falls into no cell.
/// Privacy  none by itself; counts_sensitivity(1, ..., 1) under add/remove of one row.
std::vector<std::int64_t> magnitude_counts(const MatrixView& x);

/// How many values of each column fall into each of `bins` equal parts of
/// [low_j, high_j], values outside counted at the ends; 0 has a cell of its own, the last.
/// columns x (bins + 1).
///
/// Domain   low_j < high_j, finite; bins >= 1; any values.
/// Privacy  none by itself; counts_sensitivity(1, ..., 1) under add/remove of one row.
std::vector<std::int64_t> interval_counts(const MatrixView& x, const std::vector<double>& low,
                                          const std::vector<double>& high, std::size_t bins);

/// Steps of `moment_sums`: values in [-1, 1] are held as multiples of 2^-kMomentBits.
inline constexpr int kMomentBits = 20;

/// l2 sensitivity of `moment_sums`, the sums of column j counted weights[j] times, in the
/// steps of its result.  Attained.
double moments_sensitivity(const std::vector<double>& weights);

/// The number of rows, and for each column the sum and the sum of squares of
/// u = min(max((x - middle) / half, -1), 1), as integers: multiples of 2^-kMomentBits.
/// (1, sums, sums of squares): 1 + 2 columns numbers, exact and free of order.
///
/// Domain   half_j > 0; any values, one that is not finite counts as 0.
/// Privacy  none by itself; moments_sensitivity(1, ..., 1) under add/remove of one row.
std::vector<std::int64_t> moment_sums(const MatrixView& x, const std::vector<double>& middle,
                                      const std::vector<double>& half);

}  // namespace dpreg
