#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "dpreg/noise/bits.hpp"
#include "dpreg/stats/depth.hpp"

namespace dpreg {

/// How a model is released.  All public.
struct TukeyRelease {
    std::size_t depth;      ///< t, the least depth that may be released
    double epsilon_test;    ///< of the test
    double epsilon_sample;  ///< of the draw
    double delta;           ///< of test and draw together
};

/// A grid point of depth at least t, drawn with probability proportional to
/// exp(epsilon q(y) / 2).  Uniform on the box S_i after i was drawn from a mixture
/// over boxes (tukey_em.md, eq. 2); coordinates are exact integer uniforms.
///
/// Privacy  (epsilon, delta)-indistinguishable from a neighbour only when
///          distance_to_unsafety(regions, epsilon', t, delta') >= 0; see tukey_em.
std::vector<double> draw_deep_point(const DepthRegions& regions, double epsilon, std::size_t t,
                                    BitSource& bits);

/// Largest epsilon of the draw: of what is less likely than e^-745, doubles know nothing.
inline constexpr double kLargestSampleEpsilon = 500.0;

/// Whether a draw of `epsilon_sample` among so many models of so many coefficients can pay for
/// the rounding of its weights (tukey_em.md, section 6).  `tukey_em` refuses others.
bool rounding_is_paid(std::size_t models, std::size_t dimension, double epsilon_sample);

/// Propose-test-release of one point of high depth among `regions.points()` models.
///
/// Domain   depth >= 1; epsilon_test in [2^-40, 2^20]; epsilon_sample one for which
///          `rounding_is_paid`; delta in [2^-50, 1).
/// Returns  a vector of size regions.dimension(), on the public grid; nothing when the
///          test did not pass.
/// Privacy  (epsilon_test + epsilon_sample, delta)-DP when one unit replaces at most one
///          of the models; the two failure events do not add.  Proof: tukey_em.md.
/// Throws   InvalidArgument on a domain violation; EntropyError.
std::optional<std::vector<double>> tukey_em(const DepthRegions& regions,
                                            const TukeyRelease& release, BitSource& bits);

}  // namespace dpreg
