"""Gaussian differential privacy: closed forms, and what discrete noise adds.

A release of a statistic with l2 sensitivity s and Gaussian noise of scale sigma is mu-GDP with
mu = s / sigma; releases with mu_1, mu_2, ... are together sqrt(mu_1^2 + mu_2^2 + ...)-GDP, also
when each depends on the ones before (Dong, Roth and Su, 2022, Corollaries 1 and 2).
"""

from __future__ import annotations

import math

from scipy import special

# The closed forms below are right to far better than this; results move by it against us.
_ROUNDING = 1e-9
# Relative error of a logarithm of the normal distribution function, with room to spare.
_LOG_ROUNDING = 2.0**-50
# Of Phi^-1(logistic(z)) at 0.
_SLOPE = math.sqrt(2 * math.pi) / 4


def gdp_delta(mu: float, epsilon: float) -> float:
    """Return the least delta for which mu-GDP implies (epsilon, delta)-DP.

    Dong, Roth and Su (2022), Corollary 1:
    delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2).
    """
    if mu == 0:
        return 0.0
    upper = float(special.log_ndtr(-epsilon / mu + mu / 2))
    tail = float(special.log_ndtr(-epsilon / mu - mu / 2))
    lower = epsilon + tail
    # The difference of two numbers that may be close: exp(upper) (1 - exp(lower - upper)), and
    # what rounding of the logarithms may take from it.
    rounding = math.exp(upper) * _LOG_ROUNDING * (1 + abs(upper) + epsilon + abs(tail))
    return -math.exp(upper) * math.expm1(min(lower - upper, 0.0)) + rounding


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP, rounded down.

    epsilon: greater than 0.
    delta: in (0, 1).
    """
    from scipy import optimize

    high = 1.0
    while gdp_delta(high, epsilon) < delta:
        high *= 2
    while gdp_delta(high / 2, epsilon) >= delta:
        high /= 2
    # The steps after it are relative, so the tolerance is, too.  They grow: where delta is hardly
    # more than rounding errors, they have far to go.
    mu = optimize.brentq(
        lambda m: gdp_delta(m, epsilon) - delta, high / 2, high, xtol=1e-12 * high, rtol=1e-12
    )
    step = _ROUNDING
    mu *= 1 - step
    while gdp_delta(mu, epsilon) > delta:
        step *= 2
        mu *= 1 - step
    return float(mu)


def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the least epsilon for which mu-GDP implies (epsilon, delta)-DP, rounded up."""
    from scipy import optimize

    if mu == 0 or gdp_delta(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while gdp_delta(mu, high) > delta:
        high *= 2
    epsilon = optimize.brentq(lambda e: gdp_delta(mu, e) - delta, 0.0, high, xtol=1e-14)
    step = _ROUNDING
    epsilon = max(epsilon, 1e-14) * (1 + step)
    while gdp_delta(mu, epsilon) > delta:
        step *= 2
        epsilon *= 1 + step
    return float(epsilon)


def discreteness(scale: float, draws: int) -> float:
    """Return the epsilon that discrete noise costs beyond rounded Gaussian noise.

    The laws of `draws` discrete Gaussian integers of scale at least `scale` and of rounded
    Gaussian variables, which have the privacy of Gaussian ones, are within a factor e to
    this power of one another, but for events of probability below 10^-300
    (cpp/src/noise/discrete_gaussian.md).
    """
    return 67.0 * draws / scale**2


def pure_mu(epsilon: float) -> float:
    """Return the least mu for which every epsilon-DP mechanism is mu-GDP, rounded up.

    2 Phi^-1(e^epsilon / (1 + e^epsilon)), that of randomised response (composition.md, Lemma 1).
    """
    # Phi^-1 of the logistic function is concave above 0, with this slope at 0.
    line = 2 * _SLOPE * epsilon
    log_tail = -(epsilon + math.log1p(math.exp(-epsilon)))
    mu = -2 * float(special.ndtri_exp(log_tail))
    # Near 0 the line is closer than rounding is.
    return min(line, mu + 1e-12) * (1 + _ROUNDING)


def bounded_range_mu(epsilon: float) -> float:
    """Return the least mu for which every epsilon-bounded-range mechanism is mu-GDP, rounded up.

    That of a pure mechanism of half the epsilon (composition.md, Lemma 2).
    """
    return pure_mu(epsilon / 2)
