#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/matrix.hpp"

namespace dpreg {

/// A linear model whose predictions are to be kept within limits.
struct Line {
    std::vector<double> slopes;
    double intercept;
};

/// Limits to which regressors and, last, predictions are clipped.
struct Limits {
    std::vector<double> low;
    std::vector<double> high;
};

/// A vote of one row: it is held as a multiple of 1 / kVoteSteps.
inline constexpr std::int64_t kVoteSteps = std::int64_t{1} << 20;

/// l2 sensitivity of `tail_votes` with this many sets of limits, in the steps of its result:
/// a row has one vote, of size at most 1, on each set but the first.  Attained.
double tail_votes_sensitivity(std::size_t sets);

/// The gain in prediction of each set of limits relative to the first.
///
/// A row votes (e_0^2 - e_k^2) / unit^2, at most 1 either way, e_k being its error with
/// regressors moved into the limits k and then the prediction too.  A row within all limits
/// votes 0.
///
/// Domain   unit > 0; two sets at least, each of slopes + 1 limits, low <= high; any cells.
/// Privacy  none by itself; tail_votes_sensitivity(sets) under add/remove of one row.
std::vector<std::int64_t> tail_votes(const MatrixView& x, const VectorView& y, const Line& line,
                                     const std::vector<Limits>& limits, double unit);

}  // namespace dpreg
