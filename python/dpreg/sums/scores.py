"""Noisy sums of the scores of units, and limits of their norms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.sums.accountant import GaussianReleases
from dpreg.sums.moments import symmetric
from dpreg.sums.quantised import MappedRows

__all__ = [
    "ScoreCut",
    "ScoreNorms",
    "noisy_curvature",
    "noisy_products",
    "noisy_score",
    "noisy_score_norms",
    "products_limit",
]

Doubles = NDArray[np.float64]

# Half octaves above the bulk of the norms in which their tail is looked for.
_SPAN = 16
# Deviations of its noise that a count of the tail must have.
_CLEAR = 3.0
# and that of one bin by itself: more, the farther it is above the bulk, as limits follow it.  Noise
# alone makes one two octaves above in a count of a million; with 4.5 everywhere it did in one of
# 4,000, most of them so far that nothing could be told afterwards.
_CLEAR_ALONE, _MOST_CLEAR, _CLEARER = 4.5, 7.0, 1 / 8
# A tail is taken to fall off as a power of at least and at most this.
_LEAST_POWER, _MOST_POWER = 1.5, 8.0
# Half octaves before the last that is seen, over which a tail tells how it goes on.
_BINS_BEFORE = 3
# Before second moments are taken, scores are shortened to this many root mean square norms,
_LEAST_NORMS = 2.0
# or to more, as long as noise in the second moments is no more than this share of them.
_PRODUCT_NOISE = 0.3
# A limit is at most this many times as large as the largest norm that was seen.
_MOST_BEYOND = 6.0


def noisy_score(
    rows: MappedRows,
    theta: Doubles,
    limit: float,
    label: str,
    noise: GaussianReleases,
    mu: float,
) -> tuple[Doubles, float]:
    """Release the sum of the scores of units, each shortened to `limit`.

    Returns
    -------
    score : ndarray, shape (width,)
    deviation : float
        Of the noise in each entry.
    """
    sums = rows.score(theta, limit)
    noisy, scale = noise.of_units(label, sums, _core.score_sensitivity(rows.width), mu)
    step = limit / _core.SCORE_STEPS
    return noisy * step, scale * step


def noisy_products(
    rows: MappedRows, theta: Doubles, limit: float, noise: GaussianReleases, mu: float
) -> tuple[Doubles, float]:
    """Release the sum of v v' over units, v the score shortened to `limit`.

    Returns
    -------
    products : ndarray, shape (width, width)
    deviation : float
        Of the noise on the diagonal; 1 / sqrt 2 of it elsewhere.
    """
    sensitivity = _core.score_products_sensitivity(rows.width)
    sums = rows.score_products(theta, limit)
    label = "second moments of scores"
    matrix, scale = symmetric(label, sums, sensitivity, noise.of_units, mu)
    step = (limit / _core.ROW_STEPS) ** 2
    return matrix * step, scale * step


def noisy_curvature(
    rows: MappedRows,
    theta: Doubles,
    limit: float,
    label: str,
    noise: GaussianReleases,
    mu: float,
) -> tuple[Doubles, float]:
    """Release the sum of v v' over rows, v the row times the root of its loss's curvature.

    Parameters
    ----------
    limit : float
        To which v is shortened.

    Returns
    -------
    curvature : ndarray, shape (width, width)
    deviation : float
        Of the noise on the diagonal; 1 / sqrt 2 of it elsewhere.
    """
    sensitivity = _core.curvature_sensitivity(rows.width)
    sums = rows.curvature(theta, limit)
    matrix, scale = symmetric(label, sums, sensitivity, noise.of_rows, mu)
    step = (limit / _core.ROW_STEPS) ** 2
    return matrix * step, scale * step


def products_limit(norms: ScoreNorms, width: int, mu: float) -> float:
    """Return the limit of scores, with these norms, whose products are released with `mu`."""
    quiet = math.sqrt(_PRODUCT_NOISE * mu * norms.sum_of_squares() / max(width, 1))
    return max(quiet, _LEAST_NORMS * norms.root_mean_square())


@dataclass(frozen=True, slots=True)
class ScoreCut:
    """What a limit takes off the scores of units, as noisy counts have it.

    Attributes
    ----------
    limit : float
    units : float
        So many have a longer score, at most, by two deviations of the noise; 0: none can have.
    excess : float
        What their norms exceed the limit by, added up, if the tail goes on as it was seen to
        fall; from a count two deviations above the one that was released.
    """

    limit: float
    units: float
    excess: float


@dataclass(frozen=True, slots=True)
class ScoreNorms:
    """Noisy numbers of units by the norm of their score, in half octaves.

    Attributes
    ----------
    counts : ndarray
    deviation : float
        Of the noise in each.
    """

    counts: Doubles
    deviation: float

    @property
    def bulk(self) -> int:
        """The bin below whose upper end three quarters of the units that are seen are."""
        clear = np.where(self.counts > _CLEAR * self.deviation, self.counts, 0.0)
        if not clear.any():
            clear = np.maximum(self.counts, 0.0)
        return int(np.argmax(np.cumsum(clear) >= 0.75 * float(clear.sum())))

    @property
    def three_quarters(self) -> float:
        """Norm that three quarters of the units do not exceed."""
        return _edge(self.bulk + 1)

    @property
    def longest_seen(self) -> float:
        """Norm that is not exceeded in any bin that is told from noise."""
        return _edge(self._farthest + 1) if self._farthest >= 0 else 0.0

    def root_mean_square(self) -> float:
        """Of the norms up to the largest bin that is told from noise; more than 0."""
        mean = self.sum_of_squares() / max(float(self._held.sum()), 1.0)
        return max(math.sqrt(mean), _edge(0))

    def sum_of_squares(self) -> float:
        """Of the norms up to the largest bin that is told from noise."""
        middle = np.array([_edge(k + 0.5) for k in range(len(self.counts))])
        return float(self._held @ middle**2)

    def left(self, limit: float) -> float:
        """Return what shortening to `limit` leaves of a norm, on average; 1 if none are seen."""
        middle = np.array([_edge(k + 0.5) for k in range(len(self.counts))])
        clear = np.where(self.counts > _CLEAR * self.deviation, self.counts, 0.0)
        if not clear.any():
            return 1.0
        return float(clear @ np.minimum(1.0, limit / middle)) / float(clear.sum())

    def limit(self, mu: float, balance: float) -> float:
        """Return a limit beyond which the tail of norms adds little beside the noise.

        The counts in the tail are continued by a power law.  With T units beyond L, and so
        T (L / S)^a beyond S, what is cut off all scores together is T L^a S^(1 - a) / (a - 1); it
        is `balance` times the deviation S / mu of the noise where the limit is the result.
        """
        tail, _ = self._tail()
        last, power = self._last_seen(), self._power()
        beyond = (max(tail[last], 1.0) * mu / (balance * (power - 1))) ** (1 / power)
        return _edge(self.bulk + last) * float(min(max(beyond, 1.0), _MOST_BEYOND))

    def cut(self, limit: float) -> ScoreCut:
        """Return what shortening to `limit` takes off the norms."""
        # The last bin has no end, so that some are counted whatever the limit.
        ends = np.array([*(_edge(k + 1) for k in range(len(self.counts) - 1)), np.inf])
        counted = self.counts[ends > limit]
        most = max(float(counted.sum()), 0.0) + 2 * self.deviation * math.sqrt(len(counted))
        return ScoreCut(limit, most, self._excess(limit))

    def _excess(self, limit: float) -> float:
        """Return the sum of what norms exceed `limit` by, as counted and continued by a power.

        The power is halfway between that at the last bin that is seen, which has noise, and that
        over the three bins before, from which tails may fall off faster or more slowly.
        """
        tail, deviations = self._tail()
        last, power = self._last_seen(), self._power()
        if last >= _BINS_BEFORE:
            power = (power + self._power_between(last - _BINS_BEFORE, last)) / 2
        middles = np.array([_edge(self.bulk + k + 0.5) for k in range(last)])
        seen = float(np.maximum(self._window[:last], 0.0) @ np.maximum(middles - limit, 0.0))
        start, rest = _edge(self.bulk + last), max(tail[last], 0.0) + 2 * deviations[last]
        if limit <= start:
            return seen + float(rest * (start * power / (power - 1) - limit))
        return seen + float(rest * (start / limit) ** power * limit / (power - 1))

    def _power(self) -> float:
        """Return that by which the tail falls off where it is last seen."""
        last = self._last_seen()
        return self._power_between(max(last - 1, 0), min(last + 1, len(self._window) - 1))

    def _power_between(self, near: int, far: int) -> float:
        tail, deviations = self._tail()
        least = max(deviations[far], float(np.finfo(float).eps))
        fall = math.log2(max(tail[near], 1.0) / max(tail[far], least))
        return min(max(fall / max((far - near) / 2, 0.5), _LEAST_POWER), _MOST_POWER)

    def _tail(self) -> tuple[Doubles, Doubles]:
        """Return noisy numbers of units at or above the bulk and each bin after, and deviations."""
        bins = np.arange(len(self._window), 0, -1)
        return np.cumsum(self._window[::-1])[::-1], self.deviation * np.sqrt(bins)

    @property
    def _held(self) -> Doubles:
        """Counts up to the largest that is told from noise, and none below 0."""
        top = self.bulk + self._last_seen()
        return np.where(np.arange(len(self.counts)) <= top, np.maximum(self.counts, 0.0), 0.0)

    @property
    def _window(self) -> Doubles:
        """Counts of the bulk and of bins above it, as far as any is told from noise."""
        span = max(_SPAN, self._farthest - self.bulk + 2)
        window = self.counts[self.bulk : self.bulk + span]
        return np.append(window, np.zeros(span - len(window)))

    @property
    def _farthest(self) -> int:
        """The last bin that is told from noise by itself; -1: none is."""
        above = np.maximum(np.arange(len(self.counts)) - self.bulk, 0)
        least = np.minimum(_CLEAR_ALONE + _CLEARER * above, _MOST_CLEAR)
        alone = np.flatnonzero(self.counts > least * self.deviation)
        return int(alone[-1]) if len(alone) else -1

    def _last_seen(self) -> int:
        tail, deviations = self._tail()
        hidden = np.flatnonzero(tail[1:] <= _CLEAR * deviations[1:])
        last = int(hidden[0]) if len(hidden) else len(tail) - 1
        return max(last, self._farthest - self.bulk)


def noisy_score_norms(
    rows: MappedRows, theta: Doubles, label: str, noise: GaussianReleases, mu: float
) -> ScoreNorms:
    """Release the numbers of units by the norm of their score."""
    sensitivity = _core.SCORE_NORMS_SENSITIVITY
    counts, scale = noise.of_units(label, rows.score_norms(theta), sensitivity, mu)
    return ScoreNorms(counts, scale)


def _edge(k: float) -> float:
    return float(2.0 ** ((_core.LEAST_SCORE_BIN + k) / 2))
