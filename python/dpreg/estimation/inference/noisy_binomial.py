"""The exact test of a binomial number with discrete Laplace noise.  Everything here is public."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats


def noisy_binomial_tail(least: int, epsilon: float) -> float:
    """Return the probability that discrete Laplace noise, of law ~ exp(-eps |x|), is >= `least`."""
    ratio = math.exp(-epsilon)
    if least > 0:
        return ratio**least / (1 + ratio)
    return 1 - ratio ** (1 - least) / (1 + ratio)


def noisy_binomial_p_value(seen: int, size: int, probability: float, epsilon: float) -> float:
    """Return the probability that Binomial(size, probability) plus the noise is >= `seen`.

    The test of Awan and Slavkovic (2018), with noise on the integers: without the uniform part of
    their Tulap noise it is exact and up to one step less powerful.

    seen: with noise: may be below 0 or above `size`.
    probability: of success under the null hypothesis; if the true one is smaller, the result is
        larger than it has to be.
    epsilon: of the discrete Laplace noise.
    """
    counts = np.arange(size + 1)
    law = stats.binom.pmf(counts, size, probability)
    tails = np.array([noisy_binomial_tail(int(seen - count), epsilon) for count in counts])
    return float(min(max(law @ tails, 0.0), 1.0))
