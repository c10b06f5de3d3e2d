// Residuals and curvatures of rows, in lanes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "dpreg/linalg/simd.hpp"
#include "dpreg/stats/row_losses.hpp"
#include "row_blocks.hpp"

namespace dpreg {

using BitLanes = std::uint64_t __attribute__((vector_size(8 * kPanel)));

/// Rows whose residuals are computed together.
inline constexpr std::size_t kResidualRows = 32;

/// e^x for |x| <= kMostPredictor, to about 1e-15: additions, multiplications and shifts alone, each
/// lane by itself, so that its bits are those of one row on every machine.
DPREG_INLINE Lanes exp_lanes(const Lanes& x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 2^52: what is added to it is rounded
    constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    constexpr std::array<double, 14> inverse_factorials = {1.0,
                                                           1.0,
                                                           1.0 / 2,
                                                           1.0 / 6,
                                                           1.0 / 24,
                                                           1.0 / 120,
                                                           1.0 / 720,
                                                           1.0 / 5040,
                                                           1.0 / 40320,
                                                           1.0 / 362880,
                                                           1.0 / 3628800,
                                                           1.0 / 39916800,
                                                           1.0 / 479001600,
                                                           1.0 / 6227020800};
    const Lanes shifted = x * 1.4426950408889634 + shift;
    const Lanes power = shifted - shift;
    const Lanes rest = (x - power * ln2_high) - power * ln2_low;
    Lanes sum = rest * inverse_factorials[13] + inverse_factorials[12];
    for (std::size_t k = 12; k-- > 0;) sum = sum * rest + inverse_factorials[k];
    // The low bits of `shifted` are the power; they become an exponent.
    const BitLanes bits = (reinterpret_cast<BitLanes>(shifted) << 52) + (std::uint64_t{1023} << 52);
    return sum * reinterpret_cast<Lanes>(bits);
}

/// `x` within [low, high]; what is not a number becomes `low`.
DPREG_INLINE Lanes clipped_lanes(const Lanes& x, double low, double high) {
    const Lanes least = Lanes{} + low;
    const Lanes most = Lanes{} + high;
    const Lanes above = x > least ? x : least;
    return above < most ? above : most;
}

struct Derivatives {
    Lanes residual;
    Lanes curvature;
};

/// Of the loss at linear predictors eta and responses y.
DPREG_INLINE Derivatives derivatives_of(const Loss& loss, const Lanes& eta, const Lanes& y) {
    const Lanes clipped = clipped_lanes(eta, loss.least_predictor, loss.most_predictor);
    if (loss.kind == LossKind::poisson) {
        const Lanes mean = exp_lanes(clipped);
        return {y - mean, mean};
    }
    if (loss.kind == LossKind::logistic) {
        const Lanes mean = 1.0 / (1.0 + exp_lanes(-clipped));
        return {y - mean, mean * (1.0 - mean)};
    }
    const Lanes far = clipped_lanes((clipped - y) / loss.bandwidth, -40.0, 40.0);
    const Lanes below = 1.0 / (1.0 + exp_lanes(-far));
    return {loss.level - below, below * (1.0 - below) / loss.bandwidth};
}

/// What sums need of some consecutive rows of a block.
struct RowTerms {
    std::array<double, kResidualRows> residual;   ///< shrunk like the row
    std::array<double, kResidualRows> square;     ///< |q|^2
    std::array<double, kResidualRows> curvature;  ///< of a row that is not shrunk
};

/// Residuals of `count` rows from `first`, with kResidualRows at most.
DPREG_INLINE void residuals_of(const Block& block, const double* theta, std::size_t first,
                               std::size_t count, RowTerms& terms) {
    if (block.loss->kind == LossKind::squared) {
        for (std::size_t i = 0; i < count; ++i) {
            const Fitted of = fitted_of(block, theta, first + i);
            terms.residual[i] = block.y[first + i] - of.fitted * block.row_unit;
            terms.square[i] = of.square;
        }
        return;
    }
    std::array<double, kResidualRows> eta{};
    std::array<double, kResidualRows> y{};
    for (std::size_t i = 0; i < count; ++i) {
        const Fitted of = fitted_of(block, theta, first + i);
        const std::size_t row = first + i;
        eta[i] = of.fitted * block.row_unit / block.weights[row] + block.given[row];
        y[i] = block.y[row];
        terms.square[i] = of.square;
    }
    for (std::size_t i = 0; i < count; i += kPanel) {
        const auto at = derivatives_of(*block.loss, load_lanes(&eta[i]), load_lanes(&y[i]));
        for (std::size_t lane = 0; lane < kPanel; ++lane) {
            terms.residual[i + lane] = at.residual[lane];
            terms.curvature[i + lane] = at.curvature[lane];
        }
    }
    for (std::size_t i = 0; i < count; ++i) terms.residual[i] *= block.weights[first + i];
}

}  // namespace dpreg
