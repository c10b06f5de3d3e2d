#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// Chooses index i with probability proportional to exp(log_weights[i]).
///
/// Weights are rounded up to multiples of 2^-96 of the largest one and one of them is
/// drawn by an exact integer uniform, so the only approximation is the rounding of the
/// weights: relative error below 2^-45 each, plus 2^-96 of the largest.
///
/// Domain   1 to 2^30 weights, none +infinity; -infinity means never, and so does NaN.  If all
///          mean never the choice is uniform.
/// Returns  an index.
/// Privacy  if for any two neighbouring data sets the changes of the log-weights have
///          range (largest less smallest) at most epsilon <= 600, the choice is
///          (epsilon + 2^-43, n 2^-95)-DP, n the number of weights (exponential.md).
/// Throws   InvalidArgument on an empty vector; EntropyError.
std::size_t choose_index(const std::vector<double>& log_weights, BitSource& bits);

}  // namespace dpreg
