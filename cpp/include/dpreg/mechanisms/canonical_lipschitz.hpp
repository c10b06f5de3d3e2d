#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/noise/bits.hpp"
#include "dpreg/noise/samplers.hpp"

namespace dpreg {

/// Parameters of one draw.  All public.
struct CanonicalLipschitz {
    std::size_t k;
    double range;        ///< of the changes of the scores; see choice.hpp
    double epsilon;      ///< of the whole draw
    double gamma = 0.5;  ///< in [0, 1): weight of the worst score that is in the set
    NoiseLaw noise = NoiseLaw::kExponential;
};

/// Private top-k in one draw: the k-subset y with the largest value of
///
///   -(epsilon / range) loss(y) + noise of y,
///   loss(y) = (1 - gamma) max(x_[k], best score outside y) - gamma (worst score in y),
///
/// x_[k] being the k-th largest score (Shekelyan and Loukides, 2022; Swope et al., 2024,
/// appendix A).  All subsets with the same worst member and the same best non-member have one
/// loss; they form k (d - k) + 1 classes, of which only those that may win are examined.
///
/// Domain   1 <= k <= scores.size() < 2^32 - 1; range as for check_range; epsilon
///          in [2^-40, 2^20]; gamma in [0, 1).  Scores that are not finite count as the ends of
///          the range of doubles, NaN as the lowest.
/// Returns  k distinct indices, ascending: their order says nothing about the scores.
/// Privacy  epsilon-DP when for neighbouring data sets the changes of all scores lie in an
///          interval of length `range`: 2 Delta for scores of l-infinity sensitivity Delta,
///          Delta if they all move in one direction.  Proof: canonical_lipschitz.md.
/// Cost     a radix sort of the scores, O(k^2), and O(k) for each block of classes that is
///          examined; in the worst case all of them.
/// Throws   InvalidArgument on a domain violation; EntropyError.
std::vector<std::size_t> canonical_lipschitz(const std::vector<double>& scores,
                                             const CanonicalLipschitz& options, BitSource& bits);

}  // namespace dpreg
