// What the sums over quantised rows share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "dpreg/linalg/crossprod.hpp"
#include "dpreg/linalg/simd.hpp"
#include "dpreg/parallel.hpp"
#include "dpreg/stats/quantised_rows.hpp"
#include "dpreg/stats/row_losses.hpp"

namespace dpreg {

// Doubles hold the integer sums of this many rows without rounding.
inline constexpr std::size_t kExactRows = std::size_t{1} << 20;
inline constexpr std::size_t kGramRows = 256;

inline void add_rounded(const std::vector<double>& sums, std::vector<std::int64_t>& totals) {
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
    const Loss* loss;
    const double* weights;  ///< w of each row; null with the squared loss
    const double* given;    ///< what is added to z'theta; null with the squared loss
};

/// Coefficients with zeros up to a whole number of lanes.
std::vector<double> padded_theta(const std::vector<double>& theta, std::size_t stride);

struct Fitted {
    double fitted;  ///< q'theta
    double square;  ///< |q|^2
};

// In a fixed number of lanes whatever the processor has, so that the residual, and with it
// every bit of the result, is the same on every machine.
DPREG_INLINE Fitted fitted_of(const Block& block, const double* theta, std::size_t i) {
    const std::int16_t* q = block.q + i * block.stride;
    Lanes dot{};
    Lanes square{};
    for (std::size_t j = 0; j < block.stride; j += kPanel) {
        const Lanes row = __builtin_convertvector(load_lanes(q + j), Lanes);
        dot += row * load_lanes(theta + j);
        square += row * row;
    }
    double fitted = 0.0;
    double norm = 0.0;
    for (std::size_t k = 0; k < kPanel; ++k) {
        fitted += dot[k];
        norm += square[k];
    }
    return {fitted, norm};
}

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

}  // namespace dpreg
