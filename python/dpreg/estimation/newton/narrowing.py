"""Second moments of rows as narrow rounds find them.  Everything here is released."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpreg.estimation.releases.spectrum import without_spread

__all__ = ["CLEAR", "SEEN", "Narrowing", "apart", "stretched"]

Doubles = NDArray[np.float64]

# Second moments below this share of the largest that noise alone makes are taken for that much
# in the next round, which sees them stretched.
_LEAST_SHARE = 0.2
# Deviations of its noise that a second moment must have in the end to be told from it.
SEEN = 3.0
# Where a second moment should be so much after it was stretched, and is less than this, it is that
# of few rows, which are shortened however long they are made: stretching ends there.  Before and
# after it must be so many deviations of its noise.
_PROMISED, _SHORT, _TOLD = 0.8, 0.5, 8.0
# Rounds end when all second moments are this many deviations of their noise, and this even.
CLEAR, _EVEN = 30.0, 0.2
# Directions are stretched by at most this times the root of the number of units: a standard
# deviation along them of less than the inverse, in those of the columns, is not told from 0.
_FARTHEST = 0.5


class Narrowing:
    """What is known of the directions of rows, round after round.

    Parameters
    ----------
    width : int
        Entries of rows.
    n : float
        Noisy number of rows.

    Attributes
    ----------
    change, vectors : ndarray, shape (width, width)
        Of rows, and their directions after it.
    values : ndarray, shape (width,)
        Second moments along those, of n rows.
    """

    def __init__(self, width: int, n: float) -> None:
        self.change, self.vectors = np.eye(width), np.eye(width)
        self.values = np.full(width, n)
        self._n, self._deviation, self._seen = n, 0.0, False
        self._promised = np.eye(width), np.eye(width)

    def stretch(self) -> None:
        """Stretch directions to unit second moments, as far as these are known."""
        hidden = _LEAST_SHARE * self._deviation * math.sqrt(2 * len(self.values))
        held = np.maximum(self.values, self._least(hidden))
        how = stretched(self.vectors, held / self._n)
        told = np.where(self.values > _TOLD * self._deviation, self.values, 0.0)
        self._promised = how, (self.vectors * told / self._n) @ self.vectors.T
        self.change = self.change @ how

    def see(self, gram: Doubles, deviation: float) -> None:
        """Take in noisy second moments of rows."""
        values, self.vectors = np.linalg.eigh(gram)
        self.values = without_spread(values, deviation)
        self._deviation, seen, self._seen = deviation, self._seen, True
        if seen:
            how, told = self._promised
            ways = how @ self.vectors
            promise = np.einsum("jk,jl,lk->k", ways, told, ways)
            short = (promise > _PROMISED) & (self.values > _TOLD * deviation)
            self.values = np.where(short & (self.values < _SHORT * self._n), self._n, self.values)

    @property
    def least(self) -> float:
        """The least second moment, in deviations of its noise."""
        least = self.values.min(initial=np.inf)
        return float(least / self._deviation) if self._deviation > 0 else math.inf

    @property
    def clear(self) -> bool:
        """Nothing is hidden, and another round would find the same."""
        even = np.abs(self.values / self._n - 1).max(initial=0.0) < _EVEN
        return bool(even and self.least > CLEAR)

    def directions(self) -> tuple[Doubles, NDArray[np.bool_]]:
        """Return directions along which second moments are 1, and which were seen."""
        held = np.maximum(self.values, self._least(SEEN * self._deviation))
        seen = (self.values > SEEN * self._deviation) & (self.values >= _SHORT * held)
        return apart(self.change @ self.vectors / np.sqrt(held / self._n), seen), seen

    def _least(self, least: float) -> Doubles:
        """Return what second moments are taken for at least."""
        lengths = ((self.change @ self.vectors) ** 2).sum(axis=0)
        return np.asarray(np.maximum(least, lengths / _FARTHEST**2))


def apart(change: Doubles, seen: NDArray[np.bool_]) -> Doubles:
    """Leave out of directions that were seen what lies along those that were not.

    Noise put it there, and rows say nothing against it; stretched as they are, it would be large in
    coefficients, and makes the few rows long that have any of it.
    """
    unseen, _ = np.linalg.qr(change[:, ~seen])
    result = change.copy()
    result[:, seen] -= unseen @ (unseen.T @ change[:, seen])
    return result


def stretched(vectors: Doubles, moments: Doubles) -> Doubles:
    """Return what makes second moments along `vectors` 1 that are `moments`."""
    return np.asarray((vectors / np.sqrt(moments)) @ vectors.T)
