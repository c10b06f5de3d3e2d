// Second derivatives of a loss over rows: rows weighted by the root of its curvature.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "dpreg/error.hpp"
#include "row_residuals.hpp"

namespace dpreg {
void check_loss(const Loss& loss) {
    const auto ordered = [](double low, double high) {
        return std::isfinite(low) && std::isfinite(high) && low <= high;
    };
    if (loss.kind == LossKind::squared) return;
    require(ordered(loss.least_response, loss.most_response), "limits of responses must not fall");
    require(ordered(loss.least_predictor, loss.most_predictor),
            "limits of linear predictors must not fall");
    require(std::max(-loss.least_predictor, loss.most_predictor) <= kMostPredictor,
            "linear predictors must be within kMostPredictor of 0");
    require(loss.kind != LossKind::probit ||
                std::max(-loss.least_predictor, loss.most_predictor) <= kMostNormal,
            "linear predictors of a probit must be within kMostNormal of 0");
    require(loss.level > 0.0 && loss.level < 1.0, "level must be between 0 and 1");
    require((loss.kind != LossKind::gamma && loss.kind != LossKind::negative_binomial) ||
                loss.least_response >= 0.0,
            "responses of this loss must not be below 0");
    require(loss.dispersion > 0.0 && std::isfinite(loss.dispersion), "dispersion must be positive");
    require(loss.bandwidth > 0.0 && std::isfinite(loss.bandwidth), "bandwidth must be positive");
}

double curvature_sensitivity(std::size_t width) { return gram_sensitivity(width); }

std::vector<std::int64_t> QuantisedRows::curvature(const std::vector<double>& theta,
                                                   double limit) const {
    require(theta.size() == width_ && limit > 0.0, "theta must have width() entries, limit be > 0");
    const auto coefficients = short_theta(theta, stride_);
    const double per_row = limit_ / limit;
    // So that it is no longer than kRowSteps.
    const auto factor = [&](const auto& terms) DPREG_INLINE_LAMBDA {
        using Lanes = std::decay_t<decltype(terms.square)>;
        const Lanes most = kRowSteps / above(root(terms.square), Lanes::of(1.0));
        // What is not a number becomes 0.
        return below(root(above(terms.curvature, Lanes::of(0.0))) * per_row, most);
    };
    return sum_of_products(rows(), width_,
                           [&](std::size_t first, std::size_t count, std::int16_t* room) {
                               write_multiples(block(first, count), coefficients, factor, room);
                               return room;
                           });
}

}  // namespace dpreg
