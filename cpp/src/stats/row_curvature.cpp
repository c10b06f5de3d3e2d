// Second derivatives of a loss over rows: rows weighted by the root of its curvature.
#include <algorithm>
#include <cmath>

#include "dpreg/error.hpp"
#include "row_residuals.hpp"

namespace dpreg {
namespace {

/// The factor of each row, so that it is no longer than kRowSteps.
template <class Lanes>
DPREG_INLINE void fill_factors(const Block& block, const ShortTheta& theta, double per_row,
                               std::size_t first, std::size_t count, RowTerms& terms) {
    terms.curvature.fill(1.0);
    residuals_of<Lanes>(block, theta, first, count, terms);
    for (std::size_t i = 0; i < count; i += kPanel) {
        const Lanes norm = root(Lanes::load(&terms.square[i]));
        const Lanes most = kRowSteps / above(norm, Lanes::of(1.0));
        // What is not a number becomes 0.
        const Lanes curvature = above(Lanes::load(&terms.curvature[i]), Lanes::of(0.0));
        below(root(curvature) * per_row, most).store(&terms.curvature[i]);
    }
}

struct FillWeighted {
    template <class Lanes>
    DPREG_INLINE static void run(const Block& block, const ShortTheta& theta, double per_row,
                                 std::int16_t* weighted) {
        RowTerms terms;
        for (std::size_t first = 0; first < block.rows; first += kShortRows) {
            const std::size_t count = std::min(kShortRows, block.rows - first);
            fill_factors<Lanes>(block, theta, per_row, first, count, terms);
            for (std::size_t i = 0; i < count; ++i) {
                const std::int16_t* q = block.q + (first + i) * block.stride;
                fill_nearest<Lanes>(terms.curvature[i], q, block.stride,
                                    weighted + (first + i) * block.stride);
            }
        }
    }
};

constexpr LanesKernel<FillWeighted> weighted_kernel;

}  // namespace

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
    return sum_of_products(rows(), width_,
                           [&](std::size_t first, std::size_t count, std::int16_t* room) {
                               weighted_kernel(block(first, count), coefficients, per_row, room);
                               return room;
                           });
}

}  // namespace dpreg
