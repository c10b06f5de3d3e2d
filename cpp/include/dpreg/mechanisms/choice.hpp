#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// Supported ranges of scores.  Beyond, an epsilon divided by a range, or a gap times that, could
/// overflow or underflow, which would void the guarantee.
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
///          interval of length `range`, as for choose_by_gap.  Proof: peel.md.
/// Throws   InvalidArgument on a domain violation; EntropyError.
std::vector<std::size_t> peel(std::vector<double> scores, std::size_t k, double range,
                              double epsilon, BitSource& bits);

/// Largest privacy cost of the rounding of the draw below, in nats.
inline constexpr double kGroupedRounding = 0x1p-38;

/// Columns or candidates in a group, where groups are consecutive runs.
inline constexpr std::size_t kGroupSize = 64;

/// No bound of a group may be larger.
inline constexpr double kLargestLogBound = 16.0;

/// `count` candidates, none with a log-weight above `log_bound`.
struct CandidateGroup {
    std::uint64_t count;
    double log_bound;
};

struct Candidate {
    std::size_t group;
    std::uint64_t place;  ///< below the group's count
};

/// The exponential mechanism without a weight for each candidate: a candidate is proposed
/// with probability proportional to exp(its group's bound), uniformly within the group, and
/// accepted with probability exp(log_weight - log_bound); otherwise it starts again.
///
/// Only the groups' bounds are gone through, and `log_weight` is called for proposals only.
/// The bounds need to be valid, not attained.  After a rejection `tighten` of the group returns
/// its bound from then on, which may be the same.  If the bounds are at most 1 above the log-weight
/// of some candidate of their group, the expected number of proposals is at most 3 times the
/// largest count, and 1 more.
///
/// Domain   counts add up to at most 2^33; bounds and log-weights are numbers or -infinity;
///          log_weight(g, i) <= log_bound of g <= kLargestLogBound, before and after
///          tightening; some log-weight is at least 0.
/// Returns  a candidate, with probability proportional to exp(log_weight).
/// Privacy  if the changes of the log-weights between neighbouring data sets have range at most
///          epsilon, the choice is within 2^-960 in total variation of one of bounded range
///          epsilon + kGroupedRounding, hence (epsilon + kGroupedRounding)-DP
///          and (epsilon + kGroupedRounding)^2 / 8-zCDP (grouped_exponential.md).
/// Throws   InvalidArgument when no bound is at least 0; EntropyError.
Candidate choose_grouped(const std::vector<CandidateGroup>& groups,
                         const std::function<double(std::size_t, std::uint64_t)>& log_weight,
                         const std::function<double(std::size_t)>& tighten, BitSource& bits);

/// As choose_grouped, for a plain vector of log-weights in groups of kGroupSize.
/// Domain   as choose_grouped; the largest log-weight is a number.
std::size_t choose_among(const std::vector<double>& log_weights, BitSource& bits);

}  // namespace dpreg
