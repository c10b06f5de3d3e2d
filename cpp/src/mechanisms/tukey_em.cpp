#include "dpreg/mechanisms/tukey_em.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dpreg/error.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/noise/samplers.hpp"

namespace dpreg {
namespace {

/// log(inner / outer) for two intervals, the inner one inside the outer.
double log_length_ratio(const GridInterval& outer, const GridInterval& inner) {
    const auto whole = static_cast<double>(outer.size());
    // The difference is exact in integers; its ratio keeps the digits that the
    // logarithm of a quotient near 1 would lose.
    const auto removed = static_cast<double>(outer.size() - inner.size());
    if (2.0 * removed <= whole) return std::log1p(-removed / whole);
    return std::log(static_cast<double>(inner.size()) / whole);
}

double log_sum(double a, double b) {
    const double high = std::max(a, b);
    if (std::isinf(high)) return high;
    return high + std::log1p(std::exp(std::min(a, b) - high));
}

}  // namespace

int128 to_grid(double value, int exponent) {
    if (std::isnan(value)) return 0;
    const double scaled = std::nearbyint(std::ldexp(value, -exponent));
    const double limit = std::ldexp(1.0, 125);
    if (scaled >= limit) return kGridLimit;
    if (scaled <= -limit) return -kGridLimit;
    return static_cast<int128>(scaled);
}

double from_grid(int128 point, int exponent) {
    return std::ldexp(static_cast<double>(point), exponent);
}

DepthRegions::DepthRegions(const std::vector<double>& points, std::size_t m, std::size_t p,
                           int grid_exponent)
    : m_(m),
      p_(p),
      grid_exponent_(grid_exponent),
      sorted_(m * p),
      log_volume_(max_depth() + 1, 0.0) {
    require(m >= 1 && p >= 1 && points.size() == m * p, "points must be a non-empty m x p matrix");
    for (std::size_t j = 0; j < p; ++j) {
        const auto column = sorted_.begin() + static_cast<std::ptrdiff_t>(j * m);
        for (std::size_t i = 0; i < m; ++i)
            column[static_cast<std::ptrdiff_t>(i)] = to_grid(points[i * p + j], grid_exponent);
        std::sort(column, column + static_cast<std::ptrdiff_t>(m));
    }

    // Neumaier's sum: all terms have one sign, so the relative error is that of
    // the terms themselves, whatever their number.
    double sum = 0.0;
    double carry = 0.0;
    for (std::size_t depth = 1; depth < max_depth(); ++depth) {
        for (std::size_t j = 0; j < p; ++j) {
            const double term = log_length_ratio(side(depth, j), side(depth + 1, j));
            const double next = sum + term;
            carry += std::fabs(sum) >= std::fabs(term) ? (sum - next) + term : (term - next) + sum;
            sum = next;
        }
        log_volume_[depth + 1] = sum + carry;
    }
}

GridInterval DepthRegions::side(std::size_t depth, std::size_t j) const {
    const int128* column = sorted_.data() + j * m_;
    return {column[depth - 1], column[m_ - depth]};
}

double DepthRegions::rounding_error(std::size_t m, std::size_t p, double epsilon) {
    const double unit = std::numeric_limits<double>::epsilon() / 2.0;
    const std::size_t middle = (m + 1) / 2;
    const auto deepest = static_cast<double>(middle);
    const double largest_logarithm = 89.0 * static_cast<double>(p) + epsilon * deepest + 2.0;
    return 8.0 * unit * (deepest + 16.0) * largest_logarithm;
}

std::vector<double> log_region_weights(const DepthRegions& regions, double epsilon) {
    // Summation by parts turns sum over l >= i of (V_l - V_{l+1}) e^{epsilon l / 2} into
    // V_i e^{epsilon i / 2} + sum over l > i of V_l (1 - e^{-epsilon / 2}) e^{epsilon l / 2}.
    const std::size_t deepest = regions.max_depth();
    const double log_step = std::log(-std::expm1(-epsilon / 2.0));
    std::vector<double> result(deepest + 1, 0.0);
    double deeper = -std::numeric_limits<double>::infinity();
    for (std::size_t i = deepest; i >= 1; --i) {
        const double here = regions.log_volume(i) + epsilon * static_cast<double>(i) / 2.0;
        result[i] = log_sum(here, deeper);
        deeper = log_sum(here + log_step, deeper);
    }
    return result;
}

std::int64_t distance_to_unsafety(const DepthRegions& regions, double epsilon, std::size_t t,
                                  double delta) {
    require(epsilon > 0.0 && std::isfinite(epsilon), "epsilon must be finite and positive");
    require(delta > 0.0 && delta < 1.0, "delta must be in (0, 1)");
    require(t >= 1, "t must be at least 1");

    const auto log_weight = log_region_weights(regions, epsilon);
    const double rounding =
        DepthRegions::rounding_error(regions.points(), regions.dimension(), epsilon);
    const double limit = std::log(delta) - std::log1p(-delta);
    std::int64_t distance = -1;
    const std::size_t deeper = std::max(t, regions.max_depth()) - t;
    for (std::size_t k = 0; k + 2 <= t && k < deeper; ++k) {
        const std::size_t outer = t - 1 - k;
        const std::size_t inner = t + 1 + k;
        // The slack grows with k by more than the rounding error can be, so that rho_k
        // here below its limit means rho_{k-1} at any neighbour below its own.
        const double slack = 2.0 * rounding * static_cast<double>(k + 1);
        const double ratio = std::min(0.0, regions.log_volume(inner) - regions.log_volume(outer));
        const double log_shell = regions.log_volume(outer) + std::log(-std::expm1(ratio - slack));
        const double log_rho =
            epsilon * static_cast<double>(t + k) / 2.0 + log_shell - log_weight[inner];
        if (log_rho > limit - slack) break;
        distance = static_cast<std::int64_t>(k);
    }
    return distance;
}

std::int64_t release_threshold(double epsilon, double delta) {
    check_noise_parameter(epsilon);
    require(delta > 0.0 && delta < 1.0, "delta must be in (0, 1)");
    // Pr[X > T + 1] = Pr[X >= T + 2] = e^{-epsilon (T + 2)} / (1 + e^{-epsilon}).  The guess
    // is moved up until the tail, enlarged by its rounding error, is small enough.
    const double guess = -(std::log(delta) + std::log1p(std::exp(-epsilon))) / epsilon;
    auto tail_starts = static_cast<std::int64_t>(std::fmax(1.0, std::ceil(guess) - 1.0));
    while (discrete_laplace_tail(tail_starts, epsilon) * (1.0 + 1e-9) > delta) ++tail_starts;
    return tail_starts - 2;
}

bool passes_release_test(std::int64_t distance, double epsilon, double delta, BitSource& bits) {
    const auto fraction = fraction_at_most(epsilon);
    const double used =
        static_cast<double>(fraction.numerator) / static_cast<double>(fraction.denominator);
    return distance + discrete_laplace(fraction, bits) > release_threshold(used, delta);
}

bool rounding_is_paid(std::size_t models, std::size_t dimension, double epsilon_sample) {
    if (!(epsilon_sample > 0.0 && epsilon_sample <= kLargestSampleEpsilon)) return false;
    const double rounding = DepthRegions::rounding_error(models, dimension, epsilon_sample);
    return 8.0 * rounding <= epsilon_sample / 2.0 && rounding < 1e-3;
}

std::vector<double> draw_deep_point(const DepthRegions& regions, double epsilon, std::size_t t,
                                    BitSource& bits) {
    require(t >= 1 && t <= regions.max_depth(), "depth must be between 1 and (models + 1) / 2");
    // Box S_t has weight V_t, box S_i, i > t, has V_i (1 - e^{-epsilon/2}) e^{epsilon (i-t) / 2}.
    const double log_step = std::log(-std::expm1(-epsilon / 2.0));
    std::vector<double> log_weights;
    log_weights.reserve(regions.max_depth() - t + 1);
    for (std::size_t i = t; i <= regions.max_depth(); ++i) {
        const double tilt = i == t ? 0.0 : log_step + epsilon * static_cast<double>(i - t) / 2.0;
        log_weights.push_back(regions.log_volume(i) + tilt);
    }
    const std::size_t depth = t + choose_index(log_weights, bits);

    std::vector<double> point(regions.dimension());
    for (std::size_t j = 0; j < point.size(); ++j) {
        const auto side = regions.side(depth, j);
        const auto offset = static_cast<int128>(uniform_below(side.size(), bits));
        point[j] = from_grid(side.low + offset, regions.grid_exponent());
    }
    return point;
}

std::optional<std::vector<double>> tukey_em(const DepthRegions& regions,
                                            const TukeyRelease& release, BitSource& bits) {
    require(release.depth >= 1, "depth must be at least 1");
    require(release.delta >= std::ldexp(1.0, -50) && release.delta < 1.0,
            "delta must be in [2^-50, 1)");
    const auto models = regions.points();
    const auto dimension = regions.dimension();
    require(rounding_is_paid(models, dimension, release.epsilon_sample),
            "epsilon of the draw must be at most 500, and more than rounding may cost");
    // The rest after the cost of rounding in the draw.
    const double rounding =
        8.0 * DepthRegions::rounding_error(models, dimension, release.epsilon_sample);
    const double epsilon = release.epsilon_sample - rounding;
    const double delta = release.delta * (1.0 - rounding - std::ldexp(1.0, -20));
    const auto distance = distance_to_unsafety(regions, epsilon, release.depth, delta);
    if (!passes_release_test(distance, release.epsilon_test, release.delta, bits)) return {};
    // A pass at distance -1, of probability at most delta, may ask for an empty region.
    if (release.depth > regions.max_depth()) return {};
    return draw_deep_point(regions, epsilon, release.depth, bits);
}

}  // namespace dpreg
