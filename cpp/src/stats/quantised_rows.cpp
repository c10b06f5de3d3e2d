#include "dpreg/stats/quantised_rows.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

#include "dpreg/error.hpp"
#include "dpreg/linalg/crossprod.hpp"
#include "dpreg/linalg/simd.hpp"
#include "dpreg/parallel.hpp"

namespace dpreg {
namespace {

// Doubles hold the integer sums of this many rows without rounding.
constexpr std::size_t kExactRows = std::size_t{1} << 20;
constexpr std::size_t kGramRows = 256;

void add_rounded(const std::vector<double>& sums, std::vector<std::int64_t>& totals) {
    for (std::size_t k = 0; k < totals.size(); ++k) {
        totals[k] += static_cast<std::int64_t>(sums[k]);
    }
}

/// A block of quantised rows and what one round needs of it.
struct Block {
    const std::int16_t* q;
    const double* y;
    std::size_t rows;
    std::size_t stride;
    double row_unit;  ///< of q'theta, so that it becomes w z'theta
};

// In a fixed number of lanes whatever the processor has, so that the residual, and with it
// every bit of the result, is the same on every machine.
DPREG_INLINE double shrunk_residual(const Block& block, const double* theta, std::size_t i) {
    const std::int16_t* q = block.q + i * block.stride;
    Lanes dot{};
    for (std::size_t j = 0; j < block.stride; j += kPanel) {
        const ShortLanes row = load_lanes(q + j);
        dot += __builtin_convertvector(row, Lanes) * load_lanes(theta + j);
    }
    double fitted = 0.0;
    for (std::size_t k = 0; k < kPanel; ++k) fitted += dot[k];
    return block.y[i] - fitted * block.row_unit;
}

/// kRowSteps times the clipped residual, an integer.  The constant stands first in max: what is
/// not a number becomes -1.
DPREG_INLINE double clipped_steps(double residual, double clip) {
    return std::nearbyint(kRowSteps * std::min(std::max(-1.0, residual / clip), 1.0));
}

DPREG_INLINE void add_round(const Block& block, const double* theta, double clip, double* gradient,
                            double* squares) {
    for (std::size_t i = 0; i < block.rows; ++i) {
        const double p = clipped_steps(shrunk_residual(block, theta, i), clip);
        const std::int16_t* q = block.q + i * block.stride;
        for (std::size_t j = 0; j < block.stride; j += kPanel) {
            const ShortLanes row = load_lanes(q + j);
            add_lanes(gradient + j, p * __builtin_convertvector(row, Lanes));
        }
        *squares += p * p;
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

/// Sum of v v' over rows v of integers that `fill(first, rows, block)` writes, row-major with
/// padding: width x width, symmetric, exact and free of order.
template <class Fill>
std::vector<std::int64_t> sum_of_products(std::size_t rows, std::size_t width, std::size_t threads,
                                          const Fill& fill) {
    const std::size_t stride = padded(width);
    std::vector<std::int64_t> result(width * width, 0);
    std::mutex guard;
    parallel_ranges(rows, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> block(kGramRows * stride);
        std::vector<double> sums(stride * stride, 0.0);
        std::vector<std::int64_t> totals(stride * stride, 0);
        std::size_t pending = 0;
        for (std::size_t first = begin; first < end; first += kGramRows) {
            const std::size_t count = std::min(kGramRows, end - first);
            fill(first, count, block.data());
            add_gram(block.data(), count, stride, sums.data());
            pending += count;
            if (pending < kExactRows && first + count < end) continue;
            add_rounded(sums, totals);
            std::fill(sums.begin(), sums.end(), 0.0);
            pending = 0;
        }
        const std::lock_guard<std::mutex> lock(guard);
        for (std::size_t i = 0; i < width; ++i) {
            for (std::size_t j = i; j < width; ++j) result[i * width + j] += totals[i * stride + j];
        }
    });
    for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t j = 0; j < i; ++j) result[i * width + j] = result[j * width + i];
    }
    return result;
}

}  // namespace

double row_norm(std::size_t width) {
    return kRowSteps + 0.5 * std::sqrt(static_cast<double>(width)) + 1e-6;
}

double gram_sensitivity(std::size_t width) { return row_norm(width) * row_norm(width); }

double scatter_sensitivity(std::size_t width) {
    // |v| <= |q| + the rounding of p q / kRowSteps, as |p| <= kRowSteps.
    const double norm = row_norm(width) + 0.5 * std::sqrt(static_cast<double>(width));
    return norm * norm;
}

double gradient_sensitivity(std::size_t width) { return kRowSteps * row_norm(width); }

QuantisedRows::QuantisedRows(const MatrixView& x, const VectorView& y, const Standardisation& how,
                             std::size_t threads)
    : width_(how.columns.size() + (how.intercept ? 1 : 0) + (how.response_limit > 0.0 ? 1 : 0)),
      stride_(padded(width_)),
      limit_(std::hypot(how.row_limit, std::max(how.response_limit, 0.0))),
      q_(x.rows * stride_, 0),
      y_(x.rows, 0.0) {
    const auto used = how.columns.size();
    require(x.rows == y.size, "X and y must have the same number of rows");
    require(how.low.size() == used && how.high.size() == used && how.centre.size() == used &&
                how.inverse_scale.size() == used,
            "limits, centre and scale must have one entry a used column");
    require(how.row_limit > 0.0 && std::isfinite(limit_), "row_limit must be positive");
    for (const auto column : how.columns) require(column < x.cols, "no such column");
    parallel_ranges(x.rows, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> z(stride_);
        for (std::size_t i = begin; i < end; ++i) quantise_row(x, y, how, i, z);
    });
}

void QuantisedRows::quantise_row(const MatrixView& x, const VectorView& y,
                                 const Standardisation& how, std::size_t i,
                                 std::vector<double>& z) {
    std::size_t k = 0;
    if (how.intercept) z[k++] = 1.0;
    double check = 0.0;
    for (std::size_t j = 0; j < how.columns.size(); ++j, ++k) {
        const double value = x(i, how.columns[j]);
        const double limited = std::min(std::max(value, how.low[j]), how.high[j]);
        z[k] = (limited - how.centre[j]) * how.inverse_scale[j];
        check += value * 0.0;
    }
    double norm = 0.0;
    for (std::size_t j = 0; j < k; ++j) norm += z[j] * z[j];
    norm = std::sqrt(norm);
    const double response = (y[i] - how.y_centre) * how.y_inverse_scale;
    if (!std::isfinite(norm) || !std::isfinite(check) || !std::isfinite(response)) return;

    const double weight = norm > how.row_limit ? how.row_limit / norm : 1.0;
    for (std::size_t j = 0; j < k; ++j) z[j] *= weight;
    if (k < width_) {
        const double limit = how.response_limit;
        z[k] = std::min(std::max(weight * response, -limit), limit);
    }
    std::int16_t* q = q_.data() + i * stride_;
    double squares = 0.0;
    constexpr double most = kRowSteps;
    for (std::size_t j = 0; j < width_; ++j) {
        // The constant first: what is not a number becomes the least step.
        const double place = z[j] * (kRowSteps / limit_);
        const double step = std::nearbyint(std::min(std::max(-most, place), most));
        q[j] = static_cast<std::int16_t>(step);
        squares += step * step;
    }
    if (squares > row_norm(width_) * row_norm(width_)) {
        std::fill(q, q + width_, std::int16_t{0});
        return;
    }
    y_[i] = weight * response;
}

std::vector<std::int64_t> QuantisedRows::gram(std::size_t threads) const {
    return sum_of_products(rows(), width_, threads,
                           [&](std::size_t first, std::size_t rows, double* block) {
                               const std::int16_t* q = q_.data() + first * stride_;
                               for (std::size_t k = 0; k < rows * stride_; ++k) block[k] = q[k];
                           });
}

QuantisedRows::Scatter QuantisedRows::scatter(const std::vector<double>& theta, double clip,
                                              std::size_t threads) const {
    require(theta.size() == width_ && clip > 0.0, "theta must have width() entries, clip be > 0");
    std::vector<double> padded_theta(stride_, 0.0);
    std::copy(theta.begin(), theta.end(), padded_theta.begin());
    std::atomic<std::int64_t> unclipped{0};
    auto sums = sum_of_products(
        rows(), width_, threads, [&](std::size_t first, std::size_t rows, double* block) {
            const Block source{q_.data() + first * stride_, y_.data() + first, rows, stride_,
                               limit_ / kRowSteps};
            std::int64_t inside = 0;
            for (std::size_t i = 0; i < rows; ++i) {
                const double residual = shrunk_residual(source, padded_theta.data(), i);
                const double p = clipped_steps(residual, clip) / kRowSteps;
                inside += std::fabs(residual) < clip ? 1 : 0;
                for (std::size_t j = 0; j < stride_; ++j) {
                    block[i * stride_ + j] = std::nearbyint(p * source.q[i * stride_ + j]);
                }
            }
            unclipped += inside;
        });
    return {std::move(sums), unclipped.load()};
}

QuantisedRows::Round QuantisedRows::round(const std::vector<double>& theta, double clip,
                                          std::size_t threads) const {
    require(theta.size() == width_ && clip > 0.0, "theta must have width() entries, clip be > 0");
    std::vector<double> padded_theta(stride_, 0.0);
    std::copy(theta.begin(), theta.end(), padded_theta.begin());
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
            const Block block{q_.data() + first * stride_, y_.data() + first, last - first, stride_,
                              limit_ / kRowSteps};
            round_kernel(block, padded_theta.data(), clip, gradient.data(), &squares);
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
    std::vector<double> padded_theta(stride_, 0.0);
    std::copy(theta.begin(), theta.end(), padded_theta.begin());
    std::vector<std::int64_t> totals(stride_, 0);
    std::int64_t total_squares = 0;
    std::vector<double> gradient(stride_);
    for (std::size_t first = 0; first < sample.size(); first += kExactRows) {
        std::fill(gradient.begin(), gradient.end(), 0.0);
        double squares = 0.0;
        for (std::size_t k = first; k < std::min(sample.size(), first + kExactRows); ++k) {
            const std::size_t i = sample[k];
            const Block row{q_.data() + i * stride_, y_.data() + i, 1, stride_, limit_ / kRowSteps};
            round_kernel(row, padded_theta.data(), clip, gradient.data(), &squares);
        }
        add_rounded(gradient, totals);
        total_squares += static_cast<std::int64_t>(squares);
    }
    totals.resize(width_);
    return {std::move(totals), total_squares};
}

}  // namespace dpreg
