// What the sums over quantised rows share: residuals and curvatures of rows, in lanes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "dpreg/linalg/simd.hpp"
#include "dpreg/parallel.hpp"
#include "dpreg/stats/quantised_rows.hpp"
#include "short_rows.hpp"

namespace dpreg {

inline constexpr std::size_t kGramRows = 512;

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

/// Sum of v v' over rows v of integers, no longer than row_norm(width), width x width: exact and
/// free of order.  `rows_at(first, count, room)` says where rows are, in `room` if nowhere else,
/// row-major with padding.
template <class RowsAt>
std::vector<std::int64_t> sum_of_products(std::size_t rows, std::size_t width,
                                          const RowsAt& rows_at) {
    const std::size_t stride = padded(width);
    auto result =
        sum_over_rows(rows, width * width, [&](std::size_t begin, std::size_t end, auto& own) {
            Shorts room(kGramRows * stride);
            ShortGram products(stride);
            for (std::size_t first = begin; first < end; first += kGramRows) {
                const std::size_t count = std::min(kGramRows, end - first);
                products.add(rows_at(first, count, room.data()), count);
            }
            products.add_to(own, width);
        });
    for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t j = 0; j < i; ++j) result[i * width + j] = result[j * width + i];
    }
    return result;
}

/// e^x for |x| <= kMostPredictor, to about 1e-15: additions, multiplications and shifts alone, each
/// lane by itself, so that its bits are those of one row on every machine.
template <class Lanes>
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
    return sum * shifted.power_of_two();
}

/// The normal density and distribution function, to about 1e-12, for |x| <= kMostNormal.
///
/// (1 - Phi(x)) / phi(x) is smooth in u = (x - 4) / (x + 4) (Schonfelder, 1978): x + 4 times it is
/// interpolated in u, at Chebyshev's nodes.
template <class Lanes>
struct NormalLaw {
    Lanes density;
    Lanes below;

    DPREG_INLINE explicit NormalLaw(const Lanes& x) {
        constexpr std::array<double, 19> coefficients = {
            1.893219063308485,      -1.5237709108175417,     0.9704095548691263,
            -0.4675409631450896,    0.15139176222178685,     -0.01890044826974052,
            -0.008722293670289677,  0.004087834821997062,    0.0003342315838494868,
            -0.0005791780893550193, -4.7253276600139e-06,    8.786039681527462e-05,
            1.6429518214672018e-06, -1.4473807434449942e-05, -1.3273848756063287e-06,
            2.2198455553734684e-06, 4.273920479279598e-07,   -2.1556632801596272e-07,
            -6.131334597931097e-08};
        const Lanes size = above(x, -x);
        const Lanes u = (size - 4.0) / (size + 4.0);
        density = 0.3989422804014327 * exp_lanes(x * x * -0.5);
        Lanes sum = Lanes::of(coefficients[18]);
        for (std::size_t k = 18; k-- > 0;) sum = sum * u + coefficients[k];
        const Lanes tail = density * sum / (size + 4.0);
        below = if_zero(above(x, Lanes::of(0.0)), tail, 1.0 - tail);
    }
};

template <class Lanes>
struct Derivatives {
    Lanes residual;
    Lanes curvature;
};

/// Of the loss at linear predictors eta and responses y.
template <class Lanes>
DPREG_INLINE Derivatives<Lanes> derivatives_of(const Loss& loss, const Lanes& eta, const Lanes& y) {
    const Lanes predictor = clipped(eta, loss.least_predictor, loss.most_predictor);
    if (loss.kind == LossKind::poisson || loss.kind == LossKind::counting) {
        const Lanes mean = exp_lanes(predictor);
        return {y - mean, mean};
    }
    if (loss.kind == LossKind::gamma) {
        const Lanes ratio = y * exp_lanes(-predictor);
        return {ratio - 1.0, ratio};
    }
    if (loss.kind == LossKind::negative_binomial) {
        const Lanes mean = exp_lanes(predictor);
        const Lanes weight = 1.0 / (mean * loss.dispersion + 1.0);
        return {(y - mean) * weight, (mean * weight) * ((y * loss.dispersion + 1.0) * weight)};
    }
    if (loss.kind == LossKind::logistic) {
        const Lanes mean = 1.0 / (1.0 + exp_lanes(-predictor));
        return {y - mean, mean * (1.0 - mean)};
    }
    if (loss.kind == LossKind::probit) {
        const NormalLaw<Lanes> law(predictor);
        return {y - law.below, law.density};
    }
    if (loss.kind == LossKind::cloglog) {
        const Lanes rate = clipped(exp_lanes(predictor), 0.0, kMostPredictor);
        const Lanes none = exp_lanes(-rate);
        return {y - (1.0 - none), rate * none};
    }
    const Lanes far = clipped((predictor - y) / loss.bandwidth, -40.0, 40.0);
    const Lanes below = 1.0 / (1.0 + exp_lanes(-far));
    return {loss.level - below, below * (1.0 - below) / loss.bandwidth};
}

/// One number for each of some consecutive rows, and for whole lanes of them.
using RowNumbers = std::array<double, kShortRows>;

/// Room for what is known of some consecutive rows of a block, at most kShortRows.
struct RowTerms {
    RowNumbers dots{}, square{}, y{}, weight{}, given{};
};

/// What sums need of whole lanes of rows.
template <class Lanes>
struct LaneTerms {
    Lanes residual;   ///< shrunk like the row
    Lanes square;     ///< |q|^2
    Lanes curvature;  ///< of a row that is not shrunk; 1 with the squared loss
};

/// Calls fill(i, terms) for whole lanes of `count` rows from `first`, i the first of them.
template <class Lanes, class Fill>
DPREG_INLINE void over_lanes(const Block& block, const ShortTheta& theta, std::size_t first,
                             std::size_t count, RowTerms& rows, const Fill& fill) {
    short_dots(block.q + first * block.stride, block.stride, count, theta, rows.dots.data(),
               rows.square.data());
    std::copy(block.y + first, block.y + first + count, rows.y.begin());
    const bool squared = block.loss->kind == LossKind::squared;
    if (!squared) {
        std::fill(rows.weight.begin() + count, rows.weight.end(), 1.0);
        std::copy(block.weights + first, block.weights + first + count, rows.weight.begin());
        std::copy(block.given + first, block.given + first + count, rows.given.begin());
    }
    const double unit = theta.step * block.row_unit;
    for (std::size_t i = 0; i < count; i += kPanel) {
        const auto y = Lanes::load(&rows.y[i]);
        const auto predictor = Lanes::load(&rows.dots[i]) * unit;
        Derivatives<Lanes> at{y - predictor, Lanes::of(1.0)};
        if (!squared) {
            const auto weights = Lanes::load(&rows.weight[i]);
            const Lanes eta = predictor / weights + Lanes::load(&rows.given[i]);
            at = derivatives_of(*block.loss, eta, y);
            at.residual = at.residual * weights;
        }
        fill(i, LaneTerms<Lanes>{at.residual, Lanes::load(&rows.square[i]), at.curvature});
    }
}

/// Goes through the rows of a block, kShortRows at a time: calls fill(i, terms) for whole lanes of
/// them, i the first, and then use(lanes, first, count).
template <class Fill, class Use>
struct OverRows {
    template <class Lanes>
    DPREG_INLINE static void run(const Block& block, const ShortTheta& theta, const Fill& fill,
                                 const Use& use) {
        RowTerms rows;
        for (std::size_t first = 0; first < block.rows; first += kShortRows) {
            const std::size_t count = std::min(kShortRows, block.rows - first);
            over_lanes<Lanes>(block, theta, first, count, rows, fill);
            use(Lanes{}, first, count);
        }
    }
};
template <class Fill, class Use>
void over_rows(const Block& block, const ShortTheta& theta, const Fill& fill, const Use& use) {
    constexpr LanesKernel<OverRows<Fill, Use>> kernel;
    kernel(block, theta, fill, use);
}

/// Writes the rows of a block, each times its factor and rounded; products are at most 2^15.
template <class Factor>
void write_multiples(const Block& block, const ShortTheta& theta, const Factor& factor,
                     std::int16_t* to) {
    RowNumbers factors;
    over_rows(
        block, theta,
        [&](std::size_t i, const auto& terms)
            DPREG_INLINE_LAMBDA { factor(terms).store(&factors[i]); },
        [&](auto lanes, std::size_t first, std::size_t count) DPREG_INLINE_LAMBDA {
            using Lanes = decltype(lanes);
            const std::size_t stride = block.stride;
            for (std::size_t i = 0; i < count; ++i) {
                const std::int16_t* q = block.q + (first + i) * stride;
                std::int16_t* row = to + (first + i) * stride;
                const Lanes by = Lanes::of(factors[i]);
                for (std::size_t j = 0; j < stride; j += kPanel) {
                    nearest(by * Lanes::load(q + j)).store(row + j);
                }
            }
        });
}

}  // namespace dpreg
