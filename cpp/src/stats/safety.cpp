#include "dpreg/stats/safety.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dpreg/error.hpp"

namespace dpreg {
namespace {

double log_sum(double a, double b) {
    const double high = std::max(a, b);
    if (std::isinf(high)) return high;
    return high + std::log1p(std::exp(std::min(a, b) - high));
}

}  // namespace

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

}  // namespace dpreg
