"""Noisy sums of the scores of units, and limits of their norms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.norm_tail import SEEN, norm_of
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.moments import symmetric
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.privacy.sealed import ExactSums

# Half octaves above the bulk of the norms in which their tail is looked for.
_SPAN = 16
# Deviations of its noise that one bin must have by itself: more, the farther it is above the bulk,
# as limits follow it.  Noise alone makes one two octaves above in a count of a million; with 4.5
# everywhere it did in one of 4,000, most of them so far that nothing could be told afterwards.
_CLEAR_ALONE, _MOST_CLEAR, _CLEARER = 4.5, 7.0, 1 / 8
# Before second moments are taken, scores are shortened to this many root mean square norms,
# or to more, as long as noise in the second moments is no more than this share of them.
PRODUCT_NORMS, PRODUCT_NOISE = 2.0, 0.3


def noisy_score(
    rows: MappedRows, theta: Doubles, limit: float, label: str, noise: GaussianReleases, mu: float
) -> tuple[Doubles, float]:
    """Release the sum of the scores of units, each shortened to `limit`.

    Returns score: shape (width,).
    and deviation: of the noise in each entry.
    """
    noisy, scale = noise.release(label, rows.score(theta, limit), mu)
    step = limit / _core.SCORE_STEPS
    return noisy * step, scale * step


def noisy_products(
    label: str, sums: ExactSums, limit: float, noise: GaussianReleases, mu: float
) -> tuple[Doubles, float]:
    """Release the sum of v v', each v shortened to `limit`: of scores of units, or for a curvature.

    Returns products: shape (width, width).
    and deviation: of the noise on the diagonal; 1 / sqrt 2 of it elsewhere.
    """
    matrix, scale = symmetric(label, sums, noise, mu)
    step = (limit / _core.ROW_STEPS) ** 2
    return matrix * step, scale * step


def products_limit(norms: ScoreNorms, width: int, mu: float) -> float:
    """Return the limit of scores, with these norms, whose products are released with `mu`."""
    quiet = math.sqrt(PRODUCT_NOISE * mu * norms.sum_of_squares() / max(width, 1))
    return max(quiet, PRODUCT_NORMS * norms.root_mean_square())


@dataclass(frozen=True, slots=True)
class ScoreNorms:
    """Noisy numbers of units by the norm of their score, in half octaves."""

    counts: Doubles
    deviation: float  # Of the noise in each.

    @property
    def bulk(self) -> int:
        """The bin below whose upper end three quarters of the units that are seen are."""
        clear = self._clear if self._clear.any() else np.maximum(self.counts, 0.0)
        return int(np.argmax(np.cumsum(clear) >= 0.75 * float(clear.sum())))

    @property
    def three_quarters(self) -> float:
        """Norm that three quarters of the units do not exceed."""
        return norm_of(self.bulk + 1)

    def root_mean_square(self) -> float:
        """Of the norms up to the largest bin that is told from noise; more than 0."""
        mean = self.sum_of_squares() / max(float(self._held.sum()), 1.0)
        return max(math.sqrt(mean), norm_of(0))

    def sum_of_squares(self) -> float:
        """Of the norms up to the largest bin that is told from noise."""
        return float(self._held @ self._middles**2)

    def left(self, limit: float) -> float:
        """Return what shortening to `limit` leaves of a norm, on average; 1 if none are seen."""
        if not self._clear.any():
            return 1.0
        left = np.minimum(1.0, limit / self._middles)
        return float(self._clear @ left) / float(self._clear.sum())

    @property
    def _middles(self) -> Doubles:
        return np.array([norm_of(k + 0.5) for k in range(len(self.counts))])

    @property
    def _clear(self) -> Doubles:
        """Counts that are told from noise one by one."""
        return np.where(self.counts > SEEN * self.deviation, self.counts, 0.0)

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
        # Units at or above the bulk and each bin after, and the deviations of the noise in these.
        tail, bins = np.cumsum(self._window[::-1])[::-1], np.arange(len(self._window), 0, -1)
        deviations = self.deviation * np.sqrt(bins)
        hidden = np.flatnonzero(tail[1:] <= SEEN * deviations[1:])
        last = int(hidden[0]) if len(hidden) else len(tail) - 1
        return max(last, self._farthest - self.bulk)


def noisy_score_norms(
    rows: MappedRows, theta: Doubles, label: str, noise: GaussianReleases, mu: float
) -> ScoreNorms:
    """Release the numbers of units by the norm of their score."""
    return ScoreNorms(*noise.release(label, rows.score_norms(theta), mu))
