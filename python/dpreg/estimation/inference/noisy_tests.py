"""Concordance of ordered groups, and the exact test of a noisy binomial count.  All is public."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from dpreg.base.arrays import Doubles, Integers

# Pairs are too rare if fewer than this many standard deviations of their noise.
_CLEAR = 3.0


def concordance(exits: Integers, variance: float) -> tuple[float, float]:
    """Return Harrell's concordance and its standard error; NaN: pairs are too rare at this noise.

    A pair is an event and a person known to be event-free at the end of its interval.  It is
    concordant if the event is in the group of higher risk, and counts half if both are in the same
    group.  Numbers of pairs are products of two cells with independent noise, so their sums are
    unbiased.

    exits, shape (groups, K, 3): see `ExitCounts`; groups from lowest to highest risk.
    variance: of the noise in each cell.
    """
    groups = np.arange(len(exits))
    later = (groups[:, None] > groups) + (groups[:, None] == groups) / 2
    good, good_slopes = _pairs(exits, later)
    pairs, slopes = _pairs(exits, np.ones_like(later))
    if pairs <= _CLEAR * math.sqrt(variance * float((slopes**2).sum())):
        return math.nan, math.nan
    found = good / pairs
    slopes = (good_slopes - found * slopes) / pairs
    return found, math.sqrt(float((slopes**2 * (np.maximum(exits, 0) + variance)).sum()))


def _pairs(exits: Integers, weights: Doubles) -> tuple[float, Doubles]:
    """Return the weighted number of pairs, and its derivatives by cells."""
    cells = exits.astype(np.float64)
    events = cells[:, :, 0]
    left = cells.sum(axis=2)
    behind = left[:, ::-1].cumsum(axis=1)[:, ::-1] - left + cells[:, :, 2]
    of_events, of_behind = weights @ behind, weights.T @ events
    slopes = np.repeat((of_behind.cumsum(axis=1) - of_behind)[:, :, None], 3, axis=2)
    slopes[:, :, 2] += of_behind
    slopes[:, :, 0] += of_events
    return float((events * of_events).sum()), slopes


def noisy_binomial_tail(least: int, epsilon: float) -> float:
    """Return the probability that discrete Laplace noise, ~ exp(-eps |x|), is >= `least`."""
    ratio = math.exp(-epsilon)
    if least > 0:
        return ratio**least / (1 + ratio)
    return 1 - ratio ** (1 - least) / (1 + ratio)


def noisy_binomial_p_value(seen: float, size: int, probability: float, epsilon: float) -> float:
    """Return the probability that Binomial(size, probability) plus the noise is >= `seen`.

    The noise is an integer plus a uniform number, which makes every level exact: a shifted Tulap
    distribution, for which the test is uniformly most powerful (Awan and Slavkovic, 2018).

    seen: noisy count; may be below 0 or above `size`.
    probability: of success under the null hypothesis; if the true one is smaller, the test is
        conservative.
    epsilon: of the discrete Laplace noise.
    """
    counts, whole = np.arange(size + 1), math.floor(seen)
    law = stats.binom.pmf(counts, size, probability)
    tails = np.array(
        [[noisy_binomial_tail(whole + k - int(c), epsilon) for c in counts] for k in (0, 1)]
    )
    above = whole + 1 - seen  # probability that the other part is larger
    return float(min(max(law @ (above * tails[0] + (1 - above) * tails[1]), 0.0), 1.0))
