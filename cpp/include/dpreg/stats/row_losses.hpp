#pragma once

#include <cstdint>

namespace dpreg {

enum class LossKind : std::uint8_t {
    squared,            ///< residual y - eta
    logistic,           ///< y - 1 / (1 + e^-eta)
    probit,             ///< y - Phi(eta), Phi the normal distribution function
    cloglog,            ///< y - 1 + e^(-e^eta)
    poisson,            ///< y - e^eta
    counting,           ///< y - e^eta; rows of a unit follow each other in time, see `score`
    gamma,              ///< y e^-eta - 1
    negative_binomial,  ///< (y - e^eta) / (1 + dispersion e^eta)
    quantile,           ///< level - 1 / (1 + e^((y - eta) / bandwidth)), a smooth level - [y < eta]
};

/// What a model loses by a row, as far as sums need it: its derivatives in the linear predictor
/// eta.  All public.
///
/// The residual is minus the first derivative, the curvature the second.  Responses and linear
/// predictors are clipped before anything is computed from them, but those of the squared loss.
struct Loss {
    LossKind kind = LossKind::squared;
    double least_response = 0.0;
    double most_response = 0.0;
    double least_predictor = -1.0;  ///< at least -kMostPredictor
    double most_predictor = 1.0;    ///< at most kMostPredictor
    double level = 0.5;             ///< of the quantile, in (0, 1)
    double bandwidth = 1.0;         ///< of the quantile, above 0
    double dispersion = 1.0;        ///< of the negative binomial, above 0
};

/// Exponentials of what is no larger are doubles.
inline constexpr double kMostPredictor = 700.0;
/// As are normal densities.
inline constexpr double kMostNormal = 37.0;

/// Throws Error if a number of `loss` is not as it says.
void check_loss(const Loss& loss);

}  // namespace dpreg
