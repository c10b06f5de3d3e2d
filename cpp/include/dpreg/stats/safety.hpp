#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/stats/depth.hpp"

namespace dpreg {

/// log w(S_i) for i = 1, ..., max_depth(), up to one common constant, where
/// w(S) is the sum of exp(epsilon q(y) / 2) over the grid points y of S and q is
/// depth.  Index 0 is unused.  Sums of positive terms only (tukey_em.md, eq. 2).
std::vector<double> log_region_weights(const DepthRegions& regions, double epsilon);

/// Lower bound M on how many models have to be replaced before the draw of a point of
/// depth at least t stops being (epsilon, delta)-indistinguishable from its neighbours;
/// -1 when it is not known to be so now.
///
///   rho_k = e^{epsilon (t+k) / 2} (V_{t-1-k} - V_{t+1+k}) / w(S_{t+1+k}),
///   M = the largest k such that rho_0, ..., rho_k <= delta / (1 - delta),
///
/// rho_k being infinite when t-1-k < 1 or t+1+k > max_depth().
///
/// Domain       t >= 1; epsilon > 0; 0 < delta < 1.
/// Privacy      none by itself.  M moves by at most kSafetySensitivity when one of the
///              m points is replaced, in floating point as well (tukey_em.md, Lemma 3
///              and section 6); M >= 0 implies the indistinguishability (Lemma 2).
/// Cost         O(m).
std::int64_t distance_to_unsafety(const DepthRegions& regions, double epsilon, std::size_t t,
                                  double delta);

/// Largest change of `distance_to_unsafety` when one point is replaced.
inline constexpr int kSafetySensitivity = 1;

}  // namespace dpreg
