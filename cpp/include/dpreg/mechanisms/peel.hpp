#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// Private top-k by peeling: k rounds, each drawing one of the candidates left with
/// probability proportional to exp(epsilon score / (k range)).  The same law as adding
/// Gumbel(k range / epsilon) noise once and taking the k largest in order (Durfee and Rogers,
/// 2019).
///
/// Domain   1 <= k <= number of scores that are not -infinity; range and epsilon / k as for
///          choose_by_gap.  A score of -infinity marks a candidate that may never be chosen;
///          other scores that are not finite count as the ends of the range of doubles, NaN as
///          the lowest.
/// Returns  k distinct indices, in the order they were selected.
/// Privacy  epsilon-DP when for neighbouring data sets the changes of all scores lie in an
///          interval of length `range`: 2 Delta for scores of l-infinity sensitivity Delta,
///          Delta if they all move in one direction.  Proof: peel.md.
/// Throws   InvalidArgument on a domain violation; EntropyError.
std::vector<std::size_t> peel(std::vector<double> scores, std::size_t k, double range,
                              double epsilon, BitSource& bits);

}  // namespace dpreg
