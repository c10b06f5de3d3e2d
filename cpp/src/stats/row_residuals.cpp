// Residuals and curvatures of rows under each loss: compiled once, and not in each sum that asks.
#include "row_residuals.hpp"

#include <algorithm>
#include <array>

namespace dpreg {
namespace {

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

    /// At x; `power` is e^(-x^2 / 2).
    DPREG_INLINE NormalLaw(const Lanes& x, const Lanes& power) {
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
        density = 0.3989422804014327 * power;
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

/// What the derivatives of a loss need the exponential of, at a linear predictor within its limits.
template <class Lanes>
DPREG_INLINE Lanes exponent_of(const Loss& loss, const Lanes& predictor, const Lanes& y) {
    switch (loss.kind) {
        case LossKind::gamma:
        case LossKind::logistic:
            return -predictor;
        case LossKind::probit:
            return predictor * predictor * -0.5;
        case LossKind::quantile:
            return -clipped((predictor - y) / loss.bandwidth, -40.0, 40.0);
        default:
            return predictor;
    }
}

/// Of the loss at linear predictors eta and responses y.
template <class Lanes>
DPREG_INLINE Derivatives<Lanes> derivatives_of(const Loss& loss, const Lanes& eta, const Lanes& y) {
    const Lanes predictor = clipped(eta, loss.least_predictor, loss.most_predictor);
    // Shared by all losses: its code is most of that of a kernel.
    const Lanes power = exp_lanes(exponent_of(loss, predictor, y));
    if (loss.kind == LossKind::poisson || loss.kind == LossKind::counting) {
        return {y - power, power};
    }
    if (loss.kind == LossKind::gamma) {
        const Lanes ratio = y * power;
        return {ratio - 1.0, ratio};
    }
    if (loss.kind == LossKind::negative_binomial) {
        const Lanes weight = 1.0 / (power * loss.dispersion + 1.0);
        return {(y - power) * weight, (power * weight) * ((y * loss.dispersion + 1.0) * weight)};
    }
    if (loss.kind == LossKind::logistic) {
        const Lanes mean = 1.0 / (1.0 + power);
        return {y - mean, mean * (1.0 - mean)};
    }
    if (loss.kind == LossKind::probit) {
        const NormalLaw<Lanes> law(predictor, power);
        return {y - law.below, law.density};
    }
    if (loss.kind == LossKind::cloglog) {
        const Lanes rate = clipped(power, 0.0, kMostPredictor);
        const Lanes none = exp_lanes(-rate);
        return {y - (1.0 - none), rate * none};
    }
    const Lanes below = 1.0 / (1.0 + power);
    return {loss.level - below, below * (1.0 - below) / loss.bandwidth};
}

struct FindTerms {
    template <class Lanes>
    DPREG_INLINE static void run(const Loss& loss, double unit, std::size_t count, RowTerms& rows) {
        const bool squared = loss.kind == LossKind::squared;
        for (std::size_t i = 0; i < count; i += kPanel) {
            const auto y = Lanes::load(&rows.y[i]);
            const auto predictor = Lanes::load(&rows.dots[i]) * unit;
            Derivatives<Lanes> at{y - predictor, Lanes::of(1.0)};
            if (!squared) {
                const auto weights = Lanes::load(&rows.weight[i]);
                const Lanes eta = predictor / weights + Lanes::load(&rows.given[i]);
                at = derivatives_of(loss, eta, y);
                at.residual = at.residual * weights;
            }
            at.residual.store(&rows.residual[i]);
            at.curvature.store(&rows.curvature[i]);
        }
    }
};

}  // namespace

void find_terms(const Block& block, const ShortTheta& theta, std::size_t first, std::size_t count,
                RowTerms& rows) {
    short_dots(block.q + first * block.stride, block.stride, count, theta, rows.dots.data(),
               rows.square.data());
    std::copy(block.y + first, block.y + first + count, rows.y.begin());
    if (block.loss->kind != LossKind::squared) {
        std::fill(rows.weight.begin() + count, rows.weight.end(), 1.0);
        std::copy(block.weights + first, block.weights + first + count, rows.weight.begin());
        std::copy(block.given + first, block.given + first + count, rows.given.begin());
    }
    constexpr LanesKernel<FindTerms> kernel;
    kernel(*block.loss, theta.step * block.row_unit, count, rows);
}

}  // namespace dpreg
