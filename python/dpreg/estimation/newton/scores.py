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

# Half octaves above the bulk of the norms that may contain the tail.
_SPAN = 16
# Standard deviations for which one bin is significant, increasing with its distance above the bulk,
# as thresholds follow it.  Noise alone makes one significant two octaves above in one of a million
# counts; with 4.5 everywhere in one of 4,000, mostly so far that nothing was estimable afterwards.
_CLEAR_ALONE, _MOST_CLEAR, _CLEARER = 4.5, 7.0, 1 / 8
# For second moments scores are clipped at this many root mean square norms, or higher while noise
# in the second moments is at most this share of them.
PRODUCT_NORMS, PRODUCT_NOISE = 2.0, 0.3


def noisy_score(
    rows: MappedRows, theta: Doubles, limit: float, label: str, noise: GaussianReleases, mu: float
) -> tuple[Doubles, float]:
    """Release the sum of the scores of units, each clipped at `limit`.

    Returns score: shape (width,).
    and deviation: of the noise in each entry.
    """
    noisy, scale = noise.release(label, rows.score(theta, limit), mu)
    step = limit / _core.SCORE_STEPS
    return noisy * step, scale * step


def noisy_products(
    label: str, sums: ExactSums, limit: float, noise: GaussianReleases, mu: float
) -> tuple[Doubles, float]:
    """Release the sum of v v', each v clipped at `limit`: scores of units, or curvature vectors.

    Returns products: shape (width, width).
    and deviation: of the noise on the diagonal; divided by sqrt 2 elsewhere.
    """
    matrix, scale = symmetric(label, sums, noise, mu)
    step = (limit / _core.ROW_STEPS) ** 2
    return matrix * step, scale * step


def products_limit(norms: ScoreNorms, width: int, mu: float) -> float:
    """Return the threshold of scores for products released with `mu`."""
    quiet = math.sqrt(PRODUCT_NOISE * mu * norms.sum_of_squares() / max(width, 1))
    return max(quiet, PRODUCT_NORMS * norms.root_mean_square())


@dataclass(frozen=True, slots=True)
class ScoreNorms:
    """Noisy numbers of units by the norm of their score, in half octaves."""

    counts: Doubles
    deviation: float  # Of the noise in each.

    @property
    def bulk(self) -> int:
        """The bin that contains the upper quartile of units in significant bins."""
        clear = self._clear if self._clear.any() else np.maximum(self.counts, 0.0)
        return int(np.argmax(np.cumsum(clear) >= 0.75 * float(clear.sum())))

    @property
    def three_quarters(self) -> float:
        """Upper quartile of the norms."""
        return norm_of(self.bulk + 1)

    def root_mean_square(self) -> float:
        """Root mean square of the norms up to the largest significant bin; positive."""
        mean = self.sum_of_squares() / max(float(self._held.sum()), 1.0)
        return max(math.sqrt(mean), norm_of(0))

    def sum_of_squares(self) -> float:
        """Sum of squared norms up to the largest significant bin."""
        return float(self._held @ self._middles**2)

    def left(self, limit: float) -> float:
        """Return the mean share of norms left by clipping; 1 if no count is significant."""
        if not self._clear.any():
            return 1.0
        left = np.minimum(1.0, limit / self._middles)
        return float(self._clear @ left) / float(self._clear.sum())

    @property
    def _middles(self) -> Doubles:
        return np.array([norm_of(k + 0.5) for k in range(len(self.counts))])

    @property
    def _clear(self) -> Doubles:
        """Counts that are significant individually."""
        return np.where(self.counts > SEEN * self.deviation, self.counts, 0.0)

    @property
    def _held(self) -> Doubles:
        """Counts up to the largest significant bin, with negative ones set to 0."""
        top = self.bulk + self._last_seen()
        return np.where(np.arange(len(self.counts)) <= top, np.maximum(self.counts, 0.0), 0.0)

    @property
    def _window(self) -> Doubles:
        """Counts of the bulk and of bins above it, up to the last significant one."""
        span = max(_SPAN, self._farthest - self.bulk + 2)
        window = self.counts[self.bulk : self.bulk + span]
        return np.append(window, np.zeros(span - len(window)))

    @property
    def _farthest(self) -> int:
        """The last bin that is significant by itself; -1 if none is."""
        above = np.maximum(np.arange(len(self.counts)) - self.bulk, 0)
        least = np.minimum(_CLEAR_ALONE + _CLEARER * above, _MOST_CLEAR)
        alone = np.flatnonzero(self.counts > least * self.deviation)
        return int(alone[-1]) if len(alone) else -1

    def _last_seen(self) -> int:
        # Units at or above each bin from the bulk, and their noise standard deviations.
        tail, bins = np.cumsum(self._window[::-1])[::-1], np.arange(len(self._window), 0, -1)
        deviations = self.deviation * np.sqrt(bins)
        hidden = np.flatnonzero(tail[1:] <= SEEN * deviations[1:])
        last = int(hidden[0]) if len(hidden) else len(tail) - 1
        return max(last, self._farthest - self.bulk)


def noisy_score_norms(
    rows: MappedRows, theta: Doubles, label: str, noise: GaussianReleases, mu: float
) -> ScoreNorms:
    """Release numbers of units by the norm of their score."""
    return ScoreNorms(*noise.release(label, rows.score_norms(theta), mu))
