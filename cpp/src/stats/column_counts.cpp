#include "dpreg/stats/column_counts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dpreg/error.hpp"
#include "dpreg/stats/sum_over_rows.hpp"

namespace dpreg {
namespace {

/// The k of the magnitude bin of a finite x other than 0.
std::size_t magnitude_bin(double x) {
    int exponent = 0;
    const double mantissa = std::frexp(std::fabs(x), &exponent);
    if (mantissa == 0.5) --exponent;  // powers of two belong to the bin they end
    return static_cast<std::size_t>(std::clamp(exponent, kLeastExponent, kLargestExponent) -
                                    kLeastExponent);
}

double sum_of_squares(const std::vector<double>& weights) {
    return std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0);
}

}  // namespace

double counts_sensitivity(const std::vector<double>& weights) {
    return std::sqrt(sum_of_squares(weights));
}

std::vector<std::int64_t> magnitude_counts(const MatrixView& x, std::size_t threads) {
    return sum_over_rows(x.rows, x.cols * kMagnitudeBins, threads,
                         [&](std::size_t i, std::int64_t* counts) {
                             for (std::size_t j = 0; j < x.cols; ++j) {
                                 const double value = x(i, j);
                                 if (value == 0.0 || !std::isfinite(value)) continue;
                                 ++counts[j * kMagnitudeBins + magnitude_bin(value)];
                             }
                         });
}

std::vector<std::int64_t> interval_counts(const MatrixView& x, const std::vector<double>& low,
                                          const std::vector<double>& high, std::size_t bins,
                                          std::size_t threads) {
    require(low.size() == x.cols && high.size() == x.cols && bins >= 1,
            "low and high must have one entry a column, and there must be bins");
    std::vector<double> per_unit(x.cols);
    for (std::size_t j = 0; j < x.cols; ++j) {
        require(low[j] < high[j], "low must be below high");
        per_unit[j] = static_cast<double>(bins) / (high[j] - low[j]);
    }
    const auto last = static_cast<double>(bins - 1);
    return sum_over_rows(
        x.rows, x.cols * (bins + 1), threads, [&](std::size_t i, std::int64_t* counts) {
            for (std::size_t j = 0; j < x.cols; ++j) {
                const double value = x(i, j);
                if (!std::isfinite(value)) continue;
                const double place = std::floor((value - low[j]) * per_unit[j]);
                // The constant first: a product that is not a number becomes 0.
                const double limited = std::min(std::max(0.0, place), last);
                const auto bin = value == 0.0 ? bins : static_cast<std::size_t>(limited);
                ++counts[j * (bins + 1) + bin];
            }
        });
}

double moments_sensitivity(const std::vector<double>& weights) {
    // One row adds 1 and, for each column, two numbers of size at most 1.
    return std::ldexp(std::sqrt(1.0 + 2.0 * sum_of_squares(weights)), kMomentBits);
}

std::vector<std::int64_t> moment_sums(const MatrixView& x, const std::vector<double>& middle,
                                      const std::vector<double>& half, std::size_t threads) {
    require(middle.size() == x.cols && half.size() == x.cols,
            "middle and half must have one entry a column");
    const double steps = std::ldexp(1.0, kMomentBits);
    return sum_over_rows(x.rows, 1 + 2 * x.cols, threads, [&](std::size_t i, std::int64_t* sums) {
        sums[0] += std::int64_t{1} << kMomentBits;
        for (std::size_t j = 0; j < x.cols; ++j) {
            if (!std::isfinite(x(i, j))) continue;
            // The constant first: a quotient that is not a number becomes -1.
            const double u = std::min(std::max(-1.0, (x(i, j) - middle[j]) / half[j]), 1.0);
            sums[1 + j] += static_cast<std::int64_t>(std::nearbyint(u * steps));
            sums[1 + x.cols + j] += static_cast<std::int64_t>(std::nearbyint(u * u * steps));
        }
    });
}

}  // namespace dpreg
