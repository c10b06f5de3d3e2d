// Scores of units: residuals times rows, added up by unit and shortened.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "dpreg/error.hpp"
#include "row_residuals.hpp"

namespace dpreg {
namespace {

/// Residuals in norms of scores are rounded to this, so that sums of them do not depend on order.
constexpr double kResidualSteps = 1048576.0;  // 2^20
constexpr double kMostResidual = 2147483648.0;

/// The limit of a score in integers: p q stands for limit / kScoreSteps times as much.
struct ScoreLimit {
    double per_residual;  ///< p of a residual of 1

    ScoreLimit(double limit, double row_unit) : per_residual(kScoreSteps * row_unit / limit) {}

    /// The residual as an integer p with |p| |q| <= kScoreSteps + |q| / 2.
    DPREG_INLINE double operator()(double residual, double square) const {
        const double most = kScoreSteps / std::max(std::sqrt(square), 1.0);
        // The constant stands first in max: what is not a number becomes the least.
        return std::nearbyint(std::min(std::max(-most, residual * per_residual), most));
    }
};

DPREG_INLINE void add_scores(const Block& block, const double* theta, const ScoreLimit& limit,
                             double* sums) {
    RowTerms terms;
    for (std::size_t first = 0; first < block.rows; first += kResidualRows) {
        const std::size_t count = std::min(kResidualRows, block.rows - first);
        residuals_of(block, theta, first, count, terms);
        for (std::size_t i = 0; i < count; ++i) {
            const double p = limit(terms.residual[i], terms.square[i]);
            const std::int16_t* q = block.q + (first + i) * block.stride;
            for (std::size_t j = 0; j < block.stride; j += kPanel) {
                const ShortLanes row = load_lanes(q + j);
                add_lanes(sums + j, p * __builtin_convertvector(row, Lanes));
            }
        }
    }
}

void scores_portable(const Block& block, const double* theta, const ScoreLimit& limit,
                     double* sums) {
    add_scores(block, theta, limit, sums);
}

DPREG_TARGET("avx2")
void scores_avx2(const Block& block, const double* theta, const ScoreLimit& limit, double* sums) {
    add_scores(block, theta, limit, sums);
}

DPREG_TARGET("avx512f")
void scores_avx512(const Block& block, const double* theta, const ScoreLimit& limit, double* sums) {
    add_scores(block, theta, limit, sums);
}

const auto score_kernel = best_of(scores_portable, scores_avx2, scores_avx512);

double norm_of(const std::vector<double>& values) {
    double square = 0.0;
    for (const double value : values) square += value * value;
    return std::sqrt(square);
}

/// Makes a score of several rows no longer than that of one may be; that of one is at most 1 below
/// it, so that the half is for the rounding of the norm.
void shorten(std::vector<double>& score, double most) {
    const double norm = norm_of(score);
    if (norm <= most - 0.5) return;
    for (auto& entry : score) entry = std::trunc(entry * (kScoreSteps / norm));
}

/// Half octaves above the least, from comparisons alone.
std::size_t score_bin(double norm) {
    if (!(norm > 0.0)) return 0;
    if (std::isinf(norm)) return kScoreBins - 1;
    int exponent = 0;
    const double mantissa = std::frexp(norm, &exponent);
    const int half = 2 * (exponent - 1) + (mantissa >= std::sqrt(0.5) ? 1 : 0);
    const int last = static_cast<int>(kScoreBins) - 1;
    return static_cast<std::size_t>(std::min(std::max(half - kLeastScoreBin, 0), last));
}

}  // namespace

double score_sensitivity(std::size_t width) { return kScoreSteps + 0.5 * row_norm(width) + 1.0; }

double score_products_sensitivity(std::size_t width) {
    // |v| <= kRowSteps score_sensitivity / kScoreSteps, and rounding.
    const double norm = kRowSteps + 1.0 + 0.5 * std::sqrt(static_cast<double>(width));
    return norm * norm;
}

std::vector<std::int64_t> QuantisedRows::score(const std::vector<double>& theta, double limit,
                                               std::size_t threads) const {
    require(theta.size() == width_ && limit > 0.0, "theta must have width() entries, limit be > 0");
    const auto coefficients = padded_theta(theta, stride_);
    const ScoreLimit steps(limit, limit_ / kRowSteps);
    std::vector<std::int64_t> result(width_, 0);
    std::mutex guard;
    parallel_ranges(units(), threads, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int64_t> totals(stride_, 0);
        std::vector<double> sums(stride_), one(stride_);
        for (std::size_t first = begin; first < end; first += kExactRows) {
            const std::size_t last = std::min(end, first + kExactRows);
            std::fill(sums.begin(), sums.end(), 0.0);
            if (offsets_.empty()) {
                score_kernel(block(first, last - first), coefficients.data(), steps, sums.data());
            }
            for (std::size_t u = first; u < last && !offsets_.empty(); ++u) {
                const auto [from, to] = rows_of(u);
                std::fill(one.begin(), one.end(), 0.0);
                score_kernel(block(from, to - from), coefficients.data(), steps, one.data());
                shorten(one, score_sensitivity(width_));
                for (std::size_t j = 0; j < stride_; ++j) sums[j] += one[j];
            }
            add_rounded(sums, totals);
        }
        const std::lock_guard<std::mutex> lock(guard);
        for (std::size_t j = 0; j < width_; ++j) result[j] += totals[j];
    });
    return result;
}

std::vector<std::int64_t> QuantisedRows::score_norms(const std::vector<double>& theta,
                                                     std::size_t threads) const {
    require(theta.size() == width_, "theta must have width() entries");
    const auto coefficients = padded_theta(theta, stride_);
    const double row_unit = limit_ / kRowSteps;
    std::vector<std::int64_t> result(kScoreBins, 0);
    std::mutex guard;
    parallel_ranges(units(), threads, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int64_t> counts(kScoreBins, 0);
        std::vector<double> sum(std::max(stride_, kPanel));  // rows may have no entries
        RowTerms terms;
        for (std::size_t u = begin; u < end; ++u) {
            const auto [from, to] = rows_of(u);
            std::fill(sum.begin(), sum.end(), 0.0);
            const Block rows = block(from, to - from);
            for (std::size_t i = 0; i < rows.rows; ++i) {
                residuals_of(rows, coefficients.data(), i, 1, terms);
                const double residual = terms.residual[0];
                const double square = terms.square[0];
                const double steps = std::nearbyint(
                    std::min(std::max(-kMostResidual, residual * kResidualSteps), kMostResidual));
                if (rows.rows == 1) sum[0] = residual * kResidualSteps * std::sqrt(square);
                for (std::size_t j = 0; j < stride_ && rows.rows > 1; ++j) {
                    sum[j] += steps * rows.q[i * stride_ + j];
                }
            }
            ++counts[score_bin(norm_of(sum) * (row_unit / kResidualSteps))];
        }
        const std::lock_guard<std::mutex> lock(guard);
        for (std::size_t k = 0; k < kScoreBins; ++k) result[k] += counts[k];
    });
    return result;
}

std::vector<std::int64_t> QuantisedRows::score_products(const std::vector<double>& theta,
                                                        double limit, std::size_t threads) const {
    require(theta.size() == width_ && limit > 0.0, "theta must have width() entries, limit be > 0");
    const auto coefficients = padded_theta(theta, stride_);
    const ScoreLimit steps(limit, limit_ / kRowSteps);
    return sum_of_products(
        units(), width_, threads, [&](std::size_t first, std::size_t count, double* products) {
            std::vector<double> one(stride_);
            for (std::size_t u = first; u < first + count; ++u) {
                const auto [from, to] = rows_of(u);
                std::fill(one.begin(), one.end(), 0.0);
                score_kernel(block(from, to - from), coefficients.data(), steps, one.data());
                shorten(one, score_sensitivity(width_));
                for (std::size_t j = 0; j < stride_; ++j) {
                    products[(u - first) * stride_ + j] =
                        std::nearbyint(one[j] * (kRowSteps / kScoreSteps));
                }
            }
        });
}

}  // namespace dpreg
