#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// Ranges of scores that are taken.  Beyond, an epsilon divided by a range, or a gap times that,
/// would leave the doubles, and with them the guarantee.
inline constexpr double kLeastRange = 0x1p-500;
inline constexpr double kLargestRange = 0x1p+500;

/// Throws InvalidArgument unless kLeastRange <= range <= kLargestRange.
void check_range(double range);

/// Chooses one candidate with probability proportional to exp(-epsilon gap / range), `gap`
/// being how far its score is below the best one.  The exponential mechanism for scores
/// whose changes have a range; for scores that move by at most Delta in either direction the
/// range is 2 Delta, for scores that all move in one direction it is Delta.
///
/// Domain   1 to 2^30 gaps, at least 0, the least one 0, each right to a relative error of
///          2^-50; infinity for a candidate that may never be chosen, but not for all; range
///          as for check_range; epsilon in [2^-38, 2^20].
/// Returns  an index.
/// Privacy  epsilon-DP, without a delta, when for any two neighbouring data sets the changes
///          of the scores lie in an interval of length `range`, the same candidates being
///          excluded.  Proof: bounded_choice.md.
/// Throws   InvalidArgument on a domain violation; EntropyError.
std::size_t choose_by_gap(std::vector<double> gaps, double range, double epsilon, BitSource& bits);

}  // namespace dpreg
