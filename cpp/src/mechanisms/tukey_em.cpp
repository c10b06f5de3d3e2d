#include "dpreg/mechanisms/tukey_em.hpp"

#include <cmath>

#include "dpreg/error.hpp"
#include "dpreg/mechanisms/exponential.hpp"
#include "dpreg/mechanisms/propose_test_release.hpp"
#include "dpreg/noise/uniform.hpp"
#include "dpreg/stats/safety.hpp"

namespace dpreg {
namespace {

/// What is left of epsilon_sample and delta once the rounding of the draw is paid for.
struct ExactShare {
    double epsilon;
    double delta;
};

ExactShare after_rounding(const DepthRegions& regions, const TukeyRelease& release) {
    const auto models = regions.points();
    const auto dimension = regions.dimension();
    require(rounding_is_paid(models, dimension, release.epsilon_sample),
            "epsilon of the draw must be at most 500, and more than rounding may cost");
    const double rounding = DepthRegions::rounding_error(models, dimension, release.epsilon_sample);
    return {release.epsilon_sample - 8.0 * rounding,
            release.delta * (1.0 - 8.0 * rounding - std::ldexp(1.0, -20))};
}

}  // namespace

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
    const auto share = after_rounding(regions, release);
    const auto distance = distance_to_unsafety(regions, share.epsilon, release.depth, share.delta);
    if (!passes_release_test(distance, release.epsilon_test, release.delta, bits)) return {};
    // A pass at distance -1, of probability at most delta, may ask for an empty region.
    if (release.depth > regions.max_depth()) return {};
    return draw_deep_point(regions, share.epsilon, release.depth, bits);
}

}  // namespace dpreg
