"""What noisy histograms say about where the values of a column lie.  Everything here is public."""

from __future__ import annotations

import math

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers
from dpreg.data.bounds import LEAST_WIDTH

# Lead of an order of magnitude over noise, in its deviations: of 257 cells without a value
# one run or another leads by as much in 1 of 20,000 columns.
_LEAD = 4.5
# Weight of the response in the squared norm of a row's counts, as a share of all regressors.
_RESPONSE = 1 / 3
# Share of the values that may be outside the narrowed limits.
_OUTSIDE = 0.02
# Counts of this many deviations are values for sure.
_CLEAR = 3.5


def column_weights(searched: Integers, columns: int) -> Doubles:
    """Return how much each searched column counts.

    A fit can do without a regressor but not without the response, the last of `columns`: among
    many it counts more, and its histogram is less noisy.
    """
    weights = np.ones(len(searched))
    if searched[-1] == columns - 1:
        weights[-1] = max(1.0, math.sqrt(_RESPONSE * (len(searched) - 1)))
    return weights


def magnitude(counts: Doubles, deviation: float) -> float | None:
    """Return a power of two that bounds the values of a column; None when none can be seen."""
    best, total, last = 0.0, 0.0, -1
    for k, gain in enumerate(counts - 1.5 * deviation):
        total = max(total, 0.0) + gain
        if total > best:
            best, last = total, k
    return float(2.0 ** (_core.LEAST_EXPONENT + last)) if best > _LEAD * deviation else None


def narrowed(cells: Doubles, low: float, high: float, deviation: float) -> tuple[float, float]:
    """Return the least part of [low, high] with nearly all values, if that can be seen.

    The last cell counts zeros: a column that is mostly 0 keeps 0 and what else there is.
    """
    counts, zeros = cells[:-1], cells[-1]
    clear = np.flatnonzero(counts > _CLEAR * deviation)
    if len(clear) == 0:
        return low, high
    first, last = _least_run(counts, int(clear[0]), int(clear[-1]))
    width = (high - low) / len(counts)
    narrow_low, narrow_high = low + first * width, low + (last + 1) * width
    if zeros > _CLEAR * deviation:
        narrow_low, narrow_high = min(narrow_low, 0.0), max(narrow_high, 0.0)
    return (narrow_low, narrow_high) if narrow_high - narrow_low > LEAST_WIDTH else (low, high)


def _least_run(counts: Doubles, first: int, last: int) -> tuple[int, int]:
    """Return the shortest run of bins, around first to last, with nearly all of the counts."""
    size = len(counts)
    before = np.concatenate([[0.0], np.cumsum(counts)])
    best = 0, size - 1
    for a in range(first + 1):
        for b in range(last, size):
            inside = before[b + 1] - before[a]
            if before[-1] - inside <= _OUTSIDE * inside and b - a < best[1] - best[0]:
                best = a, b
    return best
