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
/// Only the groups' bounds are gone through, and `log_weight` is called for proposals only.  If
/// every bound is the log-weight of some candidate of its group, the expected number of
/// proposals is at most 1 + the largest count.
///
/// Domain   at least one group; counts add up to at most 2^40; log_bound and log_weight are
///          numbers or -infinity, log_weight(g, i) <= log_bound of g; the largest bound is
///          the log-weight of some candidate.
/// Returns  a candidate, with probability proportional to exp(log_weight).
/// Privacy  if the changes of the log-weights between neighbouring data sets have range at most
///          epsilon, the choice is within 2^-960 in total variation of one of bounded range
///          epsilon + kGroupedRounding, hence (epsilon + kGroupedRounding)-DP
///          and (epsilon + kGroupedRounding)^2 / 8-zCDP (grouped_exponential.md).
/// Throws   InvalidArgument when no bound is above -infinity; EntropyError.
Candidate choose_grouped(const std::vector<CandidateGroup>& groups,
                         const std::function<double(std::size_t, std::uint64_t)>& log_weight,
                         BitSource& bits);

/// As choose_grouped, for a plain vector of log-weights in groups of kGroupSize.
/// Domain   as choose_grouped; the largest log-weight is a number.
std::size_t choose_among(const std::vector<double>& log_weights, BitSource& bits);

}  // namespace dpreg
