"""The tail of norms beyond what noisy counts show.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Flags, Integers

Edges = Integers

# Bins are half octaves from this many octaves below the typical norm; above it they grow wider, as
# units are few there: an outlying cluster of 100 units has 2 standard deviations of noise over half
# octaves, and 5 over wide bins.  Without wide bins thresholds of lognormal rows are three times as
# large.
_BELOW, _WIDER = 6, (1, 1, 2, 2)
# The tail begins above this share of the units in significant bins; a bin is significant with this
# many standard deviations of its noise.
_BULK, SEEN = 0.7, 3.0
# The same for a separate cluster, outside all shapes, such as the rows of a rare level before its
# coefficient is estimated, or ones among zeros.  Without it one of 17 fits that it changed was
# wrong by 6.5 errors instead of 2.2.
ALONE = 4.0
# Half octaves of the tail, and fine steps in each.
_HALVES, _STEPS = 44, 8
# Steps are processed in lanes of this size, so that sums over shapes have the same bits.
_LANES = 32
# Largest norm, as a multiple of the beginning of the tail; without an end, thresholds of real
# tables with a few outliers diverge.
_FARTHEST = 256.0
# Less likely shapes are left out, which saves half of the time: the excess of norms over a
# threshold changes by less than 1e-9 of the largest.
_UNLIKELY = 1e-12
# Relative difference of counts from those of the nearest shape.  With .05 and .03 thresholds of 24
# kinds of rows, 5,000 to 100,000 of each, were 1.44 and 1.55 times the optimum instead of 1.32.
_SHAPE_ERROR = 0.1
# The threshold minimises the mean square of noise and this share of the total clipped from norms.
_BIAS_SHARE = 0.7
# Standard deviations of noise for the upper and lower limit of the number of units beyond a
# threshold.  With 2 for the lower limit, 6 of 32 fits of ten simulated designs that reported
# clipping had clipped fewer than 10 rows, instead of 0 of 9.
_MOST_DEVIATIONS, _LEAST_DEVIATIONS = 2.0, 3.0


def bins_around(norm: float, octaves: int) -> Edges:
    """Return the starts of bins of norms, in half octaves of `_core.LEAST_SCORE_BIN`.

    norm: the typical norm.
    octaves: bins are half octaves up to this many octaves above it.
    """
    typical = round(2 * math.log2(norm)) - _core.LEAST_SCORE_BIN
    fine = np.arange(typical - 2 * _BELOW, typical + 2 * octaves)
    wide = typical + 2 * octaves + 2 * np.cumsum([0, *_WIDER])
    starts = np.clip(np.concatenate([[0], fine, wide]), 0, _core.SCORE_BINS - 1)
    return np.unique(starts)


@dataclass(frozen=True, slots=True)
class ScoreCut:
    """The effect of a clipping threshold on scores of units, from noisy counts."""

    # units, surely: upper and lower limit of the number of clipped units, by two and three standard
    # deviations of the noise.
    units: float
    surely: float
    # Total excess of their norms over the threshold: expected value plus a standard deviation over
    # shapes.
    excess: float


@dataclass(frozen=True, slots=True)
class ClearBins:
    """Bins of norms that are significant by themselves."""

    units: float
    squares: float
    top: float  # Where the last of them ends.


class NormTail:
    """The tail beyond a norm, as a posterior mean over shapes given noisy counts.

    counts: shape (bins,): noisy numbers of units by norm.
    starts: shape (bins,): as from `bins_around`; the last bin has no end.
    deviation: of the noise in each count.
    least: least norm at which the tail begins.
    most: largest norm.  Without it clipping effects of 30 to 51 errors were reported in 4 of 14
        fits to 20,000 binary responses with a regressor that was 1 in a tenth.

    Attributes
    ----------
    root_mean_square, squares : float
        Root mean square of the norms, and the sum of their squares.
    """

    def __init__(
        self,
        counts: Doubles,
        starts: Edges,
        deviation: float,
        most: float = math.inf,
        least: float = 0.0,
    ) -> None:
        self._counts, self._starts, self._deviation = counts, starts, deviation
        clear = _seen(counts, deviation)
        if clear[0] >= _BULK * clear.sum():
            # Most rows have score 0, as their columns are 0 and there is no intercept.  Without it
            # .05 of intervals covered for a slope on a column that is 1 in 200 of 2,000 rows.
            clear = np.append(0.0, _seen(counts[1:], deviation))
        first = int(np.argmax(np.cumsum(clear) >= _BULK * clear.sum()))
        near = np.array([norm_of(float(k)) for k in starts]) <= least
        first = max(first, int(near.sum()) - 1)
        self._start = norm_of(float(starts[first]))
        _, prior = _shapes()
        tail = counts[first:]
        ends = np.minimum((starts[first:] - starts[first]) * _STEPS, _HALVES * _STEPS)
        beyond = np.column_stack([_by_step()[ends].T, np.zeros(len(prior))])
        shares = -np.diff(beyond)
        units = np.full(len(prior), max(float(tail.sum()), deviation))
        seen, squares = shares * tail, shares**2
        for _ in range(3):
            expected = units[:, None] * shares
            variance = deviation**2 + (_SHAPE_ERROR * expected) ** 2 + expected
            fitted = (seen / variance).sum(axis=1)
            units = np.maximum(fitted / (squares / variance).sum(axis=1), deviation)
        expected = units[:, None] * shares
        variance = deviation**2 + (_SHAPE_ERROR * expected) ** 2 + expected
        fit = ((tail - expected) ** 2 / variance + np.log(variance / deviation**2)).sum(axis=1)
        weights = np.exp(prior - fit / 2 - np.max(prior - fit / 2))
        weights /= weights.sum()
        self.squares, number = self._sum(first, weights, units, ends)
        self.root_mean_square = math.sqrt(self.squares / number)
        likely = weights > _UNLIKELY
        self._limits = self._start * _steps()
        expected, squared = self._beyond(likely, weights[likely], units[likely], most)
        self._doubt = np.sqrt(np.maximum(squared - expected**2, 0.0))
        self._excess = np.maximum(expected, self._seen_beyond())

    def _beyond(
        self, likely: Flags, weights: Doubles, units: Doubles, most: float
    ) -> tuple[Doubles, Doubles]:
        """Return means over shapes of the total excess over each threshold, and of its square.

        A shape ends where it has no unit, and at `most`.

        likely: shape (all shapes,): the selected shapes, to which weights and units belong.
        """
        # Beyond these steps, in whole lanes, no shape has a unit.
        reach = min(int((_widest() * units.max() > 1).sum()), _HALVES * _STEPS)
        end, widths = int((self._limits <= most).sum()), np.diff(_steps())[:, None] / 2
        expected, squared = np.zeros((2, len(self._limits)))
        farther = np.zeros(len(units))
        for first in range((reach - 1) // _LANES * _LANES, -1, -_LANES):
            lanes = slice(first, first + _LANES)
            numbers = np.compress(likely, _by_step()[first : first + _LANES + 1], axis=1)
            numbers *= units
            numbers *= numbers > 1
            numbers[max(end - first, 0) :] = 0.0
            over = numbers[1:] + numbers[:-1]
            over *= widths[lanes]
            for each in over[::-1]:
                each += farther
                farther = each
            over = np.ascontiguousarray(over.T)
            expected[lanes] = self._start * np.einsum("i,ij->j", weights, over)
            over *= over
            squared[lanes] = self._start**2 * (weights @ over)
        return expected, squared

    def _sum(
        self, first: int, weights: Doubles, units: Doubles, ends: Edges
    ) -> tuple[float, float]:
        """Return the sum of squares over significant bins, and the number of units."""
        seen = np.flatnonzero(self._counts[first:] > SEEN * self._deviation)
        last = int(ends[min(int(seen[-1]) + 2 if len(seen) else 2, len(ends) - 1)])
        below = np.maximum(self._counts[:first], 0.0)
        middles = np.array([norm_of(k + 0.5) for k in self._starts[1 : first + 1] - 1.0])
        total = float(below @ middles**2)
        total += self._start**2 * float(weights @ (units * _squares_to(last)))
        number = float(below.sum() + weights @ units)
        # If all norms are in one bin the count is used instead of a shape.  Without this 12 of 272
        # coefficients were wrong by more than four errors instead of 1.  Where only the last bin,
        # which has no end, has units, and not clearly, one begins there.
        squares = max(total, self.clear.squares) or self._start**2
        return squares, max(number, self.clear.units, 1.0)

    @property
    def clear(self) -> ClearBins:
        """The contents of bins that are significant by themselves."""
        clear = np.flatnonzero(self._counts > ALONE * self._deviation)
        counted, middles = self._counts[clear], self._middles[clear]
        end = min(int(clear[-1]) + 1, len(self._starts) - 1) if len(clear) else 0
        top = norm_of(float(self._starts[end]))
        return ClearBins(float(counted.sum()), float(counted @ middles**2), top)

    @property
    def _middles(self) -> Doubles:
        """Norms at the midpoints of bins; the start of the last one."""
        between = (self._starts[:-1] + self._starts[1:]) / 2
        return np.array([norm_of(float(k)) for k in (*between, self._starts[-1])])

    @property
    def _apart(self) -> Doubles:
        """Norms at the midpoints of bins, and at the end of wide bins with a cluster.

        With midpoints of those too, .40 of means of 10,000 years, 2% of which were 0, were covered.
        """
        crowd = np.diff(self._counts) > ALONE * self._deviation
        crowd[:-1] &= np.diff(self._starts)[1:] > 1
        ends = np.array([norm_of(float(k)) for k in (*self._starts[1:], self._starts[-1])])
        return np.where(np.append(False, crowd), ends, self._middles)

    def _seen_beyond(self) -> Doubles:
        """Return the total excess over each threshold of norms in significant bins."""
        seen = self._counts > ALONE * self._deviation
        over = np.maximum(self._apart[seen] - self._limits[:, None], 0.0)
        return np.asarray(over @ self._counts[seen])

    def excess(self, limit: float) -> float:
        """Return the expected total excess of norms over `limit`."""
        return float(np.interp(limit, self._limits, self._excess))

    def limit(self, mu: float, doubted: float = 0.0) -> float:
        """Return the optimal threshold for sums with noise `limit` / `mu`.

        doubted: standard deviations over shapes that are added to the excess.
        """
        return float(best_limit(self._limits, self._excess + doubted * self._doubt, mu))

    def cut(self, limit: float) -> ScoreCut:
        """Return the effect of clipping at `limit` on the norms."""
        ends = np.append([norm_of(float(k)) for k in self._starts[1:]], np.inf)
        counted = self._counts[ends > limit]
        surely = self._counts[1:][ends[:-1] > limit]
        most, least = (
            times * self._deviation * math.sqrt(len(of))
            for times, of in ((_MOST_DEVIATIONS, counted), (_LEAST_DEVIATIONS, surely))
        )
        most, least = max(float(counted.sum()), 0.0) + most, float(surely.sum()) - least
        doubt = float(np.interp(limit, self._limits, self._doubt))
        return ScoreCut(most, max(least, 0.0), self.excess(limit) + doubt)


def _seen(counts: Doubles, deviation: float) -> Doubles:
    """Return significant counts or, if there are none, all positive ones."""
    clear = np.where(counts > SEEN * deviation, counts, 0.0)
    return clear if clear.any() else np.maximum(counts, 0.0)


def best_limit(limits: Doubles, excess: Doubles, mu: float) -> Doubles:
    """Return the optimal threshold for sums with noise `limit` / `mu`.

    limits: shape (m,).
    excess: shape (..., m): total excess of norms over each threshold.
    Returns an array of shape (...).
    """
    return np.asarray(limits[np.argmin((limits / mu) ** 2 + (_BIAS_SHARE * excess) ** 2, axis=-1)])


def norm_of(k: float) -> float:
    """Return the norm at the start of bin k, in half octaves."""
    return float(2.0 ** ((_core.LEAST_SCORE_BIN + k) / 2))


@cache
def _steps() -> Doubles:
    return np.asarray(2.0 ** (np.arange(_HALVES * _STEPS + 1) / (2 * _STEPS)))


@cache
def _shapes() -> tuple[Doubles, Doubles]:
    """Return shares of units beyond each step, one shape per row, and log prior probabilities.

    Half of the prior has tails exp(-x^c); the other half adds a share that decreases as a power, to
    0 at `_FARTHEST`.

    A tail between two shapes looks like either of them with an added share.  With steps of .1
    instead of .05 in `beyond_double`, thresholds of 100,000 normal rows of ten regressors were 1.9
    times the optimum instead of 1.5.
    """
    steps, shapes, prior = _steps(), [], []
    powers, shares = (0.8, 1.3, 2.0, 3.0, 4.5), (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    for c in (0.25, 0.5, 0.75, 1.0, 1.5, 2.2):
        for beyond_double in (0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6):
            if c < 0.5 and beyond_double > 0.3:  # which would not fall off
                continue
            rate = -math.log(beyond_double) / (2**c - 1)
            short = np.exp(-rate * (steps**c - 1))
            shapes.append(short)
            prior.append(0.0)
            for power in powers:
                least = _FARTHEST**-power
                far = np.maximum(steps**-power - least, 0.0) / (1 - least)
                shapes.extend((1 - share) * short + share * far for share in shares)
            prior.extend([-math.log(len(powers) * len(shares))] * len(powers) * len(shares))
    return np.array(shapes), np.array(prior)


@cache
def _by_step() -> Doubles:
    """Return the shapes as columns: sums over steps then take a fifth of the time."""
    return np.ascontiguousarray(_shapes()[0].T)


@cache
def _widest() -> Doubles:
    """Return the largest share of units beyond each step that a shape has."""
    return np.asarray(_shapes()[0].max(axis=0))


@cache
def _squares_to(last: int) -> Doubles:
    """Return the mean of squares up to a step, of each shape."""
    (shapes, _), steps = _shapes(), _steps()
    squares = (2 * steps[:last] * shapes[:, :last] * np.diff(steps)[:last]).sum(axis=1)
    return np.asarray(squares + (1 - shapes[:, last] * steps[last] ** 2))
