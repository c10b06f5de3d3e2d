#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// What the rounding of the draw below costs at most, in nats.
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
