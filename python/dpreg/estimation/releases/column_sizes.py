"""Locations of the values of a column, from noisy counts.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.data.bounds import LEAST_WIDTH

# Penalty per cell, in standard deviations of its noise, in the search for the run with values.
PENALTY, _BIN_PENALTY = 1.3, 0.7
# Required lead of a run, in standard deviations: for orders of magnitude within 2^10 of 1, for
# others, and for bins.  Noise alone makes a run in one of 50 columns near 1 and one of 1000
# elsewhere.
LEAD, FAR_LEAD, _BIN_LEAD, NEAR = 4.0, 5.5, 4.0, 10
# Cells at the ends of a run are dropped below these numbers of standard deviations: far ones and
# those near a significant 0, other near ones, and far ones next to one that would be dropped.  With
# 3.2 for the last, the scale of one in 1,000 columns was 8 to 64 times too large instead of one in
# 10,000, and the slope of one of 30 in 2,000 rows was wrong by 31 errors.
_FAR_END, _NEAR_END, _APART = 3.2, 1.5, 4.0
# Far cells that are significant together are kept while the remaining ones have this many standard
# deviations together.  With the whole run, 12 of 40 fits of 8,000 rows of 12 columns, 0 in .7 of
# them, had a column with 2 to 12 times its scale, and errors up to 1.9 times as large.
_GOES_ON = 2.5
# A sign, and 0, occur if their counts have this many standard deviations.
_SIGN, _ZERO = 3.5, 4.0
# and in a closer look with so many.
_RARE_ZERO = 8.0
# A sign is not left out while half as many deviations could hide this share of the other.  Without
# it .933 for .958 of the coefficients of 84 fits were covered.
_UNSURE = 0.2
# Values that are clear in so few bins only, and of this share of the rows there, are in no others
# of the run: noise makes it longer, and errors of 121 fits 1.06 times as long.
FEW_BINS, _HELD = 3, 0.5
# There are values from one bin to the end where their sum is so many deviations of its noise; runs
# go on to these.  Without it errors of the 8 fits that it alone concerns were 1.27 times as long.
_REST = 4.0
# A scale is at least this share of the range: longer rows would be most of the noise.  Without it
# errors of 19 fits were 1.2 times as long.
_RANGE = 1 / 12


@dataclass(frozen=True, slots=True)
class Size:
    """Location and scale of the values of a column."""

    # low, high: nearly all are between these.
    low: float
    high: float
    # centre, scale: about their mean and standard deviation.
    centre: float
    scale: float
    cells: int  # Number of cells with values; 0: only the cell of zeros.
    most: float = 0.0  # Largest share of a histogram in one bin.
    others: bool = False  # Another bin is significant by itself.

    def within(self, low: float, high: float) -> Size:
        """Return the size restricted to valid limits."""
        first, last = max(self.low, low), min(self.high, high)
        first, last = (first, last) if last - first > LEAST_WIDTH else (low, high)
        centre, scale = min(max(self.centre, first), last), min(self.scale, last - first)
        return replace(self, low=first, high=last, centre=centre, scale=scale)

    def around(self, bins: int) -> tuple[float, float]:
        """Return limits for `bins` bins, of which the first and last are outside the range."""
        more = 1.5 * (self.high - self.low) / (bins - 3)
        return self.low - more, self.high + more

    def about(self, centre: float) -> Size:
        """Return the size about this centre, including 0: if most are 100, others are less."""
        return replace(self, low=min(self.low, 0.0), high=max(self.high, 0.0), centre=centre)

    def beyond(self, below: bool, above: bool) -> Size:
        """Return the range doubled on each side that has other values."""
        low, high = self.low, self.high
        if below:
            low = 2 * low if low < 0 else low / 2
        if above:
            high = 2 * high if high > 0 else high / 2
        return Size(low, high, (low + high) / 2, (high - low) / math.sqrt(12), FEW_BINS)

    def with_zeros(self, zeros: float, deviation: float, units: float) -> Size:
        """Return the size including a noisy number of zeros, which no bin contains.

        Without this an indicator that is 1 in nine rows of ten seemed constant and had no
        coefficient.
        """
        if self.low <= 0 <= self.high or zeros < _RARE_ZERO * deviation:
            return self
        share = min(zeros / units, 1 - _HELD)
        scale = math.sqrt((1 - share) * (self.scale**2 + share * self.centre**2))
        return Size(
            low=min(self.low, 0.0),
            high=max(self.high, 0.0),
            centre=(1 - share) * self.centre,
            scale=scale,
            cells=self.cells + FEW_BINS,
        )


def nearly_zero(low: float, high: float, hidden: float) -> Size:
    """Return the size of a column that is 0 except in a share of rows hidden by noise.

    The scale is the whole range.  With the standard deviation implied by such a share, slopes of
    three indicators of 1,000 rows had 2.2 times the errors of least squares instead of 1.8.
    """
    inner = min(hidden, 0.5) * (high - low)
    return Size(low, high, min(max(0.0, low + inner), high - inner), high - low, 0)


def read_magnitudes(cells: Doubles, deviation: float) -> Size | None:
    """Return the size from signs and orders of magnitude; None if no values are significant.

    cells: noisy counts, as from `_core.magnitude_counts`.
    deviation: of the noise in each.
    """
    zero = len(cells) // 2
    below, above = cells[:zero][::-1], cells[zero + 1 :]
    zeros = bool(cells[zero] > _ZERO * deviation)
    found = _range(below, above, deviation, zeros=zeros)
    if found is None:
        return None
    first, last = found
    least = _SIGN * deviation * math.sqrt(last - first + 1)
    negative, positive = (float(side[first : last + 1].sum()) for side in (below, above))
    bins = np.arange(first, last + 1)
    ends = 2.0 ** (_core.LEAST_EXPONENT + bins)
    starts = np.where(bins > first, ends / 2, 0.0)
    # With half of their mean and limits of both signs, indicators that are 1 in a tenth of 2,000
    # rows had 3.5 times the noise of the limit in a logistic model instead of 1.8.
    indicator = zeros and first == last
    if indicator:
        starts = ends
    low: list[ArrayLike] = [np.empty(0)]
    high: list[ArrayLike] = [np.empty(0)]
    weight: list[ArrayLike] = [np.empty(0)]
    if _is_there(negative, positive, least, indicator):
        low, high = [*low, -ends[::-1]], [*high, -starts[::-1]]
        weight.append(np.maximum(below[bins[::-1]], 0.0))
    if zeros:
        low, high, weight = [*low, [0.0]], [*high, [0.0]], [*weight, [float(cells[zero])]]
    if _is_there(positive, negative, least, indicator):
        low, high = [*low, starts], [*high, ends]
        weight.append(np.maximum(above[bins], 0.0))
    return _size(np.concatenate(low), np.concatenate(high), np.concatenate(weight))


def _is_there(sign: float, other: float, least: float, indicator: bool) -> bool:
    """Whether values of a sign are significant, or cannot be excluded with so few rows."""
    if indicator:  # which has one sign
        return sign > min(least, other)
    return sign > least or sign + least / 2 > _UNSURE * other


def _range(
    below: Doubles, above: Doubles, deviation: float, *, zeros: bool
) -> tuple[int, int] | None:
    """Return the first and last order of magnitude with values; zeros: 0 occurs.

    If many values are 0 the farthest cells have most of the variance, and are used if they are
    significant together.  Without it, scales of indicators as deviations from means within 1,150
    persons were a tenth of the correct ones, and errors of all slopes were 17 times those of least
    squares instead of 1.8.
    """
    both = math.sqrt(2) * deviation
    sides = [(below + above, both), (above, deviation), (below, deviation)]
    runs = [(best_run(counts, dev, PENALTY), counts, dev) for counts, dev in sides]
    (lead, first, last), counts, dev = max(runs, key=lambda run: run[0][0] / run[2])
    middle = (first + last) / 2 + _core.LEAST_EXPONENT
    if lead < (LEAD if abs(middle) <= NEAR else FAR_LEAD) * dev:
        return None
    near, end = _FAR_END if zeros else _NEAR_END, last
    while last > first and counts[last] < _far_end(counts[last - 1], dev):
        last -= 1
    while last > first and counts[first] < near * dev:
        first += 1
    tail, least = (below + above)[last + 1 : end + 1], _FAR_END
    while zeros and len(tail) and float(tail.sum()) > least * both * math.sqrt(len(tail)):
        last, tail, least = last + 1, tail[1:], _GOES_ON
    return first, last


def _far_end(before: float, deviation: float) -> float:
    return deviation * (_FAR_END if before > _FAR_END * deviation else _APART)


def best_run(counts: Doubles, deviation: float, penalty: float) -> tuple[float, int, int]:
    """Return the lead of the best run, and its first and last cell."""
    best, total, start = (0.0, 0, 0), 0.0, 0
    for k, gain in enumerate((counts - penalty * deviation).tolist()):
        if total <= 0:
            total, start = 0.0, k
        total += gain
        if total > best[0]:
            best = total, start, k
    return best


def _size(low: Doubles, high: Doubles, weight: Doubles) -> Size | None:
    """Return the size of values from weights and ends of cells, in order."""
    total = float(weight.sum())
    if not total > 0 or low[0] == high[-1]:  # of nearly all zeros others cannot be told
        return None
    if low[0] == 0 < high[0]:
        low[0] = high[0] / 2
    if high[-1] == 0 > low[-1]:
        high[-1] = low[-1] / 2
    share, middle = weight / total, (low + high) / 2
    mean = float(share @ middle)
    deviation = math.sqrt(float(share @ ((middle - mean) ** 2 + (high - low) ** 2 / 12)))
    reached = np.concatenate([[0.0], np.cumsum(share)])
    tenth, half, rest = (_quantile(reached, low, high, level) for level in (0.1, 0.5, 0.9))
    # For long tails the mean is too extreme; with few cells quantiles are too central.
    two = bool((low == high).all())
    centre = mean if two or (rest - tenth) / 2.56 < 0.3 * deviation else (tenth + half + rest) / 3
    first, last = float(low.min()), float(high.max())
    scale = max(deviation, (last - first) * _RANGE, LEAST_WIDTH)
    return Size(first, last, centre, scale, len(low))


def _with_rest(counts: Doubles, deviation: float, first: int, last: int) -> tuple[int, int]:
    """Extend a run of bins to the farthest other bins with values.

    A run ends where values are few.  For values 36 and 60 it would have one of the two, and for
    visibilities, which are mostly 10, only that: rows with other values would be thousands of
    scales away.
    """
    for k in range(len(counts)):
        if k < first and clear(counts[: k + 1], deviation):
            first = k
        if len(counts) - 1 - k > last and clear(counts[len(counts) - 1 - k :], deviation):
            last = len(counts) - 1 - k
    return first, last


def clear(counts: Doubles, deviation: float) -> bool:
    """Whether values in these bins are significant."""
    return float(counts.sum()) > _REST * deviation * math.sqrt(len(counts))


def _quantile(reached: Doubles, low: Doubles, high: Doubles, level: float) -> float:
    cell = min(int(np.searchsorted(reached, level, side="right")) - 1, len(low) - 1)
    inside = (level - reached[cell]) / max(reached[cell + 1] - reached[cell], 1e-12)
    return float(low[cell] + inside * (high[cell] - low[cell]))


def read_bins(
    counts: Doubles, deviation: float, low: float, high: float, units: float
) -> Size | None:
    """Return the size from noisy counts in equal bins of [low, high]; None if not significant."""
    lead, first, last = best_run(counts, deviation, _BIN_PENALTY)
    width = (high - low) / len(counts)
    if lead < _BIN_LEAD * deviation or not width > LEAST_WIDTH:
        return None
    inside = first + np.flatnonzero(counts[first : last + 1] > _FAR_END * deviation)
    few = len(inside) > 0 and inside[-1] - inside[0] < FEW_BINS
    if few and counts[inside[0] : inside[-1] + 1].sum() > _HELD * units:
        first, last = int(inside[0]), int(inside[-1])
    first, last = _with_rest(counts, deviation, first, last)
    weight = np.maximum(counts[first : last + 1], 0.0)
    others = len(counts) > 1 and clear(np.sort(counts)[[-2]], deviation)
    starts = low + np.arange(first, last + 1) * width
    share, middle = weight / weight.sum(), starts + width / 2
    mean = float(share @ middle)
    deviation = math.sqrt(float(share @ (middle - mean) ** 2) + width**2 / 12)
    ends = float(starts[0]), float(starts[-1] + width)
    scale = max(deviation, (ends[1] - ends[0]) * _RANGE)
    return Size(*ends, mean, scale, last - first + 1, float(share.max()), others)
