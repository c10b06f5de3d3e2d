"""Which slopes a fit can be expected to detect: arithmetic of the two-sided 5% test.

An effect is a standardised slope: the slope times the standard deviation of its regressor, over the
standard deviation of the residuals.  Regressors are uncorrelated, so that least squares without
privacy estimates an effect with standard error 1 / sqrt(n - d - 1); a private fit with `width`
times that, or with none at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import special

LEVEL = 0.05
# The quantile of the normal distribution at 1 - LEVEL / 2, which the fits use as well.
_CRITICAL = 1.959963984540054
# Halvings of a range of logarithms below 100, to the last bits of a double.
_STEPS = 60


def exact_error(n: float, d: int) -> float:
    """Return the standard error of an effect by least squares; infinite with too few units."""
    return 1 / math.sqrt(n - d - 1) if n > d + 2 else math.inf


def power_of(effect: float, standard_error: float, released: float = 1.0) -> float:
    """Return the probability that a slope is significantly different from 0.

    effect, standard_error: in the same units.
    released: probability that the slope has a standard error.
    """
    shift = effect / standard_error
    found = special.ndtr(shift - _CRITICAL) + special.ndtr(-shift - _CRITICAL)
    return float(released * found)


def least_effect(power: float, standard_error: float, released: float = 1.0) -> float | None:
    """Return the smallest effect that is detected with `power`; None: there is none."""
    if not math.isfinite(standard_error) or released <= power:
        return None
    # The power is less than 1/2 + LEVEL at the first, and released to double precision at the last.
    high = detected(lambda shift: power_of(shift, 1.0, released) >= power, 1e-6, 50.0)
    return None if high is None else float(high * standard_error)


def detected(holds: Callable[[float], bool], low: float, high: float) -> float | None:
    """Return the smallest number in [low, high], by bisection, from which on `holds`.

    None where it does not hold at `high`.
    """
    if not holds(high):
        return None
    if holds(low):
        return low
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
