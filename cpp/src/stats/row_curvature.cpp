// Second derivatives of a loss over rows: rows weighted by the root of its curvature.
#include <algorithm>
#include <cmath>

#include "dpreg/error.hpp"
#include "row_residuals.hpp"

namespace dpreg {
namespace {

/// What is not a number becomes 0: the constant stands first in max.
double root_of(double curvature) { return std::sqrt(std::max(0.0, curvature)); }

DPREG_INLINE void fill_weighted(const Block& block, const double* theta, double per_row,
                                double* weighted) {
    RowTerms terms;
    for (std::size_t first = 0; first < block.rows; first += kResidualRows) {
        const std::size_t count = std::min(kResidualRows, block.rows - first);
        terms.curvature.fill(1.0);
        residuals_of(block, theta, first, count, terms);
        for (std::size_t i = 0; i < count; ++i) {
            const double most = kRowSteps / std::max(std::sqrt(terms.square[i]), 1.0);
            const double factor = std::min(root_of(terms.curvature[i]) * per_row, most);
            const std::int16_t* q = block.q + (first + i) * block.stride;
            double* u = weighted + (first + i) * block.stride;
            for (std::size_t j = 0; j < block.stride; ++j) u[j] = std::nearbyint(factor * q[j]);
        }
    }
}

void weighted_portable(const Block& block, const double* theta, double per_row, double* weighted) {
    fill_weighted(block, theta, per_row, weighted);
}

DPREG_TARGET("avx2")
void weighted_avx2(const Block& block, const double* theta, double per_row, double* weighted) {
    fill_weighted(block, theta, per_row, weighted);
}

DPREG_TARGET("avx512f")
void weighted_avx512(const Block& block, const double* theta, double per_row, double* weighted) {
    fill_weighted(block, theta, per_row, weighted);
}

const auto weighted_kernel = best_of(weighted_portable, weighted_avx2, weighted_avx512);

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
    require(loss.level > 0.0 && loss.level < 1.0, "level must be between 0 and 1");
    require(loss.bandwidth > 0.0 && std::isfinite(loss.bandwidth), "bandwidth must be positive");
}

double curvature_sensitivity(std::size_t width) { return gram_sensitivity(width); }

std::vector<std::int64_t> QuantisedRows::curvature(const std::vector<double>& theta, double limit,
                                                   std::size_t threads) const {
    require(theta.size() == width_ && limit > 0.0, "theta must have width() entries, limit be > 0");
    const auto coefficients = padded_theta(theta, stride_);
    const double per_row = limit_ / limit;
    return sum_of_products(
        rows(), width_, threads, [&](std::size_t first, std::size_t count, double* weighted) {
            weighted_kernel(block(first, count), coefficients.data(), per_row, weighted);
        });
}

}  // namespace dpreg
