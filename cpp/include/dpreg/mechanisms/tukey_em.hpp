#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dpreg/int128.hpp"
#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// Values are held on the grid of multiples of 2^exponent, as integers within
/// +-kGridLimit, so that the number of grid points of a box always fits.
inline constexpr int128 kGridLimit = int128{1} << 125;

/// The grid point nearest to `value`; NaN becomes 0, values beyond the grid +-kGridLimit.
int128 to_grid(double value, int exponent);

/// The double nearest to grid point `point`.
double from_grid(int128 point, int exponent);

/// A closed interval of grid points, low <= high.
struct GridInterval {
    int128 low;
    int128 high;

    uint128 size() const { return static_cast<uint128>(high - low) + 1; }
};

/// Axis-aligned Tukey depth of m points on a grid, and the boxes it defines.
///
/// Depth of y is the least, over coordinates j and both sides, of the number of
/// points on that side of y_j, points at y_j counting on both; it is capped at
/// max_depth() = floor((m + 1) / 2).  Amin et al. (2023), Definition 2.5, with the
/// counting measure instead of volume (tukey_em.md, section 2).
///
/// S_i, the points of depth at least i, is the box of intervals [x_(i)j, x_(m-i+1)j];
/// V_i > 0 is its number of grid points, for 1 <= i <= max_depth().
///
/// Privacy  none by itself.  Replacing one of the m points moves the depth of every
///          grid point by at most 1: kDepthSensitivity.
/// Cost     O(p m log m) time, O(p m) memory.
class DepthRegions {
public:
    /// `points` is row-major, m x p, in the caller's units.  Domain: m >= 1, p >= 1.
    DepthRegions(const std::vector<double>& points, std::size_t m, std::size_t p,
                 int grid_exponent);

    std::size_t points() const { return m_; }
    std::size_t dimension() const { return p_; }
    std::size_t max_depth() const { return (m_ + 1) / 2; }
    int grid_exponent() const { return grid_exponent_; }

    /// The side of S_depth along coordinate j.
    GridInterval side(std::size_t depth, std::size_t j) const;

    /// log(V_depth / V_1), at most 0.
    double log_volume(std::size_t depth) const { return log_volume_[depth]; }

    /// Upper bound on the absolute rounding error of log_volume and of the
    /// log-weights made from it (tukey_em.md, section 6).
    static double rounding_error(std::size_t m, std::size_t p, double epsilon);

private:
    std::size_t m_;
    std::size_t p_;
    int grid_exponent_;
    std::vector<int128> sorted_;  // p x m, each coordinate ascending
    std::vector<double> log_volume_;
};

/// Largest change of the depth of any point when one of the m points is replaced.
inline constexpr int kDepthSensitivity = 1;

/// log w(S_i) for i = 1, ..., max_depth(), up to one common constant, where
/// w(S) is the sum of exp(epsilon q(y) / 2) over the grid points y of S and q is
/// depth.  Index 0 is unused.  Sums of positive terms only (tukey_em.md, eq. 2).
std::vector<double> log_region_weights(const DepthRegions& regions, double epsilon);

/// Lower bound M on how many models have to be replaced before the draw of a point of
/// depth at least t stops being (epsilon, delta)-indistinguishable from its neighbours;
/// -1 when even the present draw may not be.
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

/// The least integer T >= -1 with Pr[-1 + X > T] <= delta, X = discrete_laplace(epsilon), but
/// for rounding, which is to the safe side: data at distance -1 passes the test below with
/// probability at most delta.
///
/// Domain   epsilon as for fraction_at_most; 0 < delta < 1.
std::int64_t release_threshold(double epsilon, double delta);

/// The test of propose-test-release: is `distance` + X above release_threshold?
///
/// Domain   epsilon as for fraction_at_most; 0 < delta < 1.
/// Privacy  epsilon-DP when one unit moves `distance` by at most 1.  Passes with
///          probability at most delta when `distance` is -1.
///          Proof: propose_test_release.md.
bool passes_release_test(std::int64_t distance, double epsilon, double delta, BitSource& bits);

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

/// Largest epsilon of the draw: probabilities below e^-745 underflow.
inline constexpr double kLargestSampleEpsilon = 500.0;

/// Whether a draw of `epsilon_sample` among so many models of so many coefficients can pay for
/// the rounding of its weights (tukey_em.md, section 6).  `tukey_em` refuses others.
bool rounding_is_paid(std::size_t models, std::size_t dimension, double epsilon_sample);

/// Propose-test-release of one point of high depth among `regions.points()` models.
///
/// Domain   depth >= 1; epsilon_test in [2^-40, 2^20]; epsilon_sample one for which
///          `rounding_is_paid`; delta in [2^-50, 1).
/// Returns  a vector of size regions.dimension(), on the public grid; empty when the
///          test did not pass.
/// Privacy  (epsilon_test + epsilon_sample, delta)-DP when one unit replaces at most one
///          of the models; the two failure events do not add.  Proof: tukey_em.md.
/// Throws   InvalidArgument on a domain violation; EntropyError.
std::optional<std::vector<double>> tukey_em(const DepthRegions& regions,
                                            const TukeyRelease& release, BitSource& bits);

}  // namespace dpreg
