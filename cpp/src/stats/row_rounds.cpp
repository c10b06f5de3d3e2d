// Rounds of boosting: sums of rows times clipped residuals.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "dpreg/error.hpp"
#include "row_residuals.hpp"

namespace dpreg {
namespace {

/// kRowSteps times the clipped residual, an integer.  The constant stands first in max: what is
/// not a number becomes -1.
DPREG_INLINE double clipped_steps(double residual, double clip) {
    return std::nearbyint(kRowSteps * std::min(std::max(-1.0, residual / clip), 1.0));
}

DPREG_INLINE void add_round(const Block& block, const double* theta, double clip, double* gradient,
                            double* squares) {
    RowTerms terms;
    for (std::size_t first = 0; first < block.rows; first += kResidualRows) {
        const std::size_t count = std::min(kResidualRows, block.rows - first);
        residuals_of(block, theta, first, count, terms);
        for (std::size_t i = 0; i < count; ++i) {
            const double p = clipped_steps(terms.residual[i], clip);
            const std::int16_t* q = block.q + (first + i) * block.stride;
            for (std::size_t j = 0; j < block.stride; j += kPanel) {
                const ShortLanes row = load_lanes(q + j);
                add_lanes(gradient + j, p * __builtin_convertvector(row, Lanes));
            }
            *squares += p * p;
        }
    }
}

void round_portable(const Block& block, const double* theta, double clip, double* gradient,
                    double* squares) {
    add_round(block, theta, clip, gradient, squares);
}

DPREG_TARGET("avx2")
void round_avx2(const Block& block, const double* theta, double clip, double* gradient,
                double* squares) {
    add_round(block, theta, clip, gradient, squares);
}

DPREG_TARGET("avx512f")
void round_avx512(const Block& block, const double* theta, double clip, double* gradient,
                  double* squares) {
    add_round(block, theta, clip, gradient, squares);
}

const auto round_kernel = best_of(round_portable, round_avx2, round_avx512);

}  // namespace

std::vector<double> padded_theta(const std::vector<double>& theta, std::size_t stride) {
    std::vector<double> result(stride, 0.0);
    std::copy(theta.begin(), theta.end(), result.begin());
    return result;
}

double gradient_sensitivity(std::size_t width) { return kRowSteps * row_norm(width); }

QuantisedRows::Round QuantisedRows::round(const std::vector<double>& theta, double clip,
                                          std::size_t threads) const {
    require(theta.size() == width_ && clip > 0.0, "theta must have width() entries, clip be > 0");
    const auto coefficients = padded_theta(theta, stride_);
    Round result{std::vector<std::int64_t>(width_, 0), 0};
    std::mutex guard;
    parallel_ranges(rows(), threads, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int64_t> totals(stride_, 0);
        std::int64_t total_squares = 0;
        std::vector<double> gradient(stride_);
        for (std::size_t first = begin; first < end; first += kExactRows) {
            std::fill(gradient.begin(), gradient.end(), 0.0);
            double squares = 0.0;
            const std::size_t last = std::min(end, first + kExactRows);
            const Block rows = block(first, last - first);
            round_kernel(rows, coefficients.data(), clip, gradient.data(), &squares);
            add_rounded(gradient, totals);
            total_squares += static_cast<std::int64_t>(squares);
        }
        const std::lock_guard<std::mutex> lock(guard);
        for (std::size_t j = 0; j < width_; ++j) result.gradient[j] += totals[j];
        result.squares += total_squares;
    });
    return result;
}

QuantisedRows::Round QuantisedRows::round(const std::vector<double>& theta, double clip,
                                          const std::vector<std::size_t>& sample) const {
    require(theta.size() == width_ && clip > 0.0, "theta must have width() entries, clip be > 0");
    const auto coefficients = padded_theta(theta, stride_);
    std::vector<std::int64_t> totals(stride_, 0);
    std::int64_t total_squares = 0;
    std::vector<double> gradient(stride_);
    for (std::size_t first = 0; first < sample.size(); first += kExactRows) {
        std::fill(gradient.begin(), gradient.end(), 0.0);
        double squares = 0.0;
        for (std::size_t k = first; k < std::min(sample.size(), first + kExactRows); ++k) {
            round_kernel(block(sample[k], 1), coefficients.data(), clip, gradient.data(), &squares);
        }
        add_rounded(gradient, totals);
        total_squares += static_cast<std::int64_t>(squares);
    }
    totals.resize(width_);
    return {std::move(totals), total_squares};
}

}  // namespace dpreg
