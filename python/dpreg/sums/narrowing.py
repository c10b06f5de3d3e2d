"""Second moments of rows as narrow rounds find them.  Everything here is released."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpreg.sums.spectrum import without_spread

__all__ = ["CLEAR", "FEW", "SEEN", "Narrowing", "apart", "stretched"]

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
# All rows with a direction are longer than limits where its second moment, so many deviations of
# noise less, should be this much at least, and is hardly more than before it was stretched.
_LEAST_PROMISED, _DOUBT, _GROWN = 0.3, 2.0, 2.0
# Such directions are left short if second moments along all of them would be so many deviations of
# their noise were their rows no longer than others.
_MEASURED = 4.0
# Before it was stretched it was no longer than this, squared, in standard units, where second
# moments are 1.
_STANDARD = 2.0
# Rounds end when all second moments are this many deviations of their noise, and this even.
CLEAR, _EVEN = 30.0, 0.2
# Directions are stretched by at most this times the root of the number of units: a standard
# deviation along them of less than the inverse, in those of the columns, is not told from 0.
_FARTHEST = 0.5
# Where few rows have all of a direction, limits are this many times the usual length, and their
# part along it is this share of that: with the rest of them they are about as long as others.
FEW, _AS_OTHERS = 2.0, 0.85
# Where a second moment is then less than this share of what it should be, rows are shorter than was
# thought, and made so many times as long.
_LOST, _LONGER = 0.4, 3.0


class Narrowing:
    """What is known of the directions of rows, round after round.

    Parameters
    ----------
    width : int
        Entries of rows.
    n : float
        Noisy number of rows.
    few : bool
        Directions that few rows have all of are left short; else they are as they were stretched.

    Attributes
    ----------
    change, vectors : ndarray, shape (width, width)
        Of rows, and their directions after it.
    values : ndarray, shape (width,)
        Second moments along those, of n rows.
    moments : ndarray, shape (width,)
        Second moments of a row along directions that few rows have; 1 along others.
    """

    def __init__(self, width: int, n: float, *, few: bool) -> None:
        self.change, self.vectors = np.eye(width), np.eye(width)
        self.values, self.moments = np.full(width, n), np.ones(width)
        self._n, self._leaves_short, self._deviation = n, few, 0.0
        self._few, self._told = np.zeros(width, dtype=bool), np.zeros(width)
        self._promised = np.eye(width), np.eye(width), np.eye(width)
        self._expected, self._limit = np.ones(width), 0.0

    @property
    def few(self) -> NDArray[np.bool_]:
        """Entries of rows, after `change`, that few of them have all of."""
        return self._few

    def stretch(self) -> None:
        """Stretch directions to unit second moments, as far as these are known."""
        hidden = _LEAST_SHARE * self._deviation * math.sqrt(2 * len(self.values))
        held = np.maximum(self.values, self._least(hidden))
        how = stretched(self.vectors, np.where(self._few, 1.0, held / self._n))
        told = np.where(self.values > _TOLD * self._deviation, self.values, 0.0)
        least = np.maximum(self.values - _DOUBT * self._deviation, 0.0)
        was = [(self.vectors * moments / self._n) @ self.vectors.T for moments in (told, least)]
        self._promised = how, was[0], was[1]
        self.change = self.change @ how

    def see(self, gram: Doubles, deviation: float, limit: float, *, last: bool) -> bool:
        """Take in noisy second moments of rows no longer than `limit`.

        Returns
        -------
        bool
            True: few rows have all of some directions, which were found now.
        """
        width, among = len(gram), np.ix_(~self._few, ~self._few)
        self.values, self.vectors = np.full(width, self._n), np.eye(width)
        values, self.vectors[among] = np.linalg.eigh(gram[among])
        self.values[~self._few] = without_spread(values, deviation)
        before, self._limit, self._deviation = self._limit, limit, deviation
        self._measure(np.diag(gram) / self._n)
        if before == 0.0:
            return False
        stretch, promise, least = self._along_promised()
        few = self._are_few(least, stretch, (limit / before) ** 2)
        if self._leaves_short and not last and few.any():
            self._shorten(few)
            return True
        short = (promise > _PROMISED) & (self.values > _TOLD * deviation) & ~self._few
        self.values = np.where(short & (self.values < _SHORT * self._n), self._n, self.values)
        return False

    def _along_promised(self) -> tuple[Doubles, Doubles, Doubles]:
        """Return how many times what they were second moments should be, and what, at least what.

        The second are of those that were told, the last on the low side.
        """
        how, told, least = self._promised
        ways = how @ self.vectors
        promise, low = (np.einsum("jk,jl,lk->k", ways, was, ways) for was in (told, least))
        return (ways**2).sum(axis=0), promise, low

    def _measure(self, found: Doubles) -> None:
        """Take in second moments along what few rows have."""
        lost = self._few & (found < _LOST * self._expected)
        kept = self._few & ~lost
        self.change[:, lost] *= _LONGER
        self._told = np.where(kept, self._told + 1, 0)
        mean = self.moments + (found - self.moments) / np.maximum(self._told, 1)
        self.moments = np.where(kept, mean, 1.0)

    def _are_few(self, promise: Doubles, stretch: Doubles, wider: float) -> NDArray[np.bool_]:
        """Return which directions few rows have all of; none if there are some that cannot be told.

        Parameters
        ----------
        promise, stretch : ndarray, shape (width,)
            What second moments of a row should be now, and how many times what they were.
        wider : float
            The square of limits, in that of those before.
        """
        found, lengths = self.values / self._n, ((self.change @ self.vectors) ** 2).sum(axis=0)
        few = (self.values > SEEN * self._deviation) & (promise > _LEAST_PROMISED) & ~self._few
        few &= (found < _SHORT * promise) & (found < _GROWN * wider * promise / stretch)
        few &= lengths < _STANDARD * stretch
        measured = self._expect(np.maximum(found, 0.0)) * self._n > _MEASURED * self._deviation
        return few & bool(measured[few].all())

    def _shorten(self, few: NDArray[np.bool_]) -> None:
        """Make the rows of these directions about as long as others are.

        In standard units second moments are about 1.  Along other directions these rows are long
        where those have a part along theirs, of which as much is taken off as noise may have put
        there.
        """
        self.change = self.change @ self.vectors
        found = self.values[few] / self._n
        many, short = ~(self._few | few), self.change[:, few]
        noise = _DOUBT * self._deviation / math.sqrt(2) / self.values[few, None]
        along = np.linalg.lstsq(short, self.change[:, many])[0]
        self.change[:, many] -= short @ np.clip(along, -noise, noise)
        lengths = np.linalg.norm(self.change[:, few], axis=0)
        self.change[:, few] *= self._length / self._limit * np.sqrt(found) / lengths
        self._expected[few] = self._expect(found)
        self.vectors, self._few = np.eye(len(few)), self._few | few
        self.values = np.where(few, self._n, self.values)

    @property
    def _length(self) -> float:
        """How long to make few rows along their direction."""
        return _AS_OTHERS * min(self._limit, FEW * math.sqrt(len(self.values)))

    def _expect(self, found: Doubles) -> Doubles:
        """Return second moments along directions of few rows, once these are as long as others.

        All of them being longer than limits, there are so many that the second moment that was
        found is the square of that.
        """
        longest = (self._length / _AS_OTHERS) ** 2
        left = min(1.0, longest / (self._length**2 + len(self.values)))
        return np.asarray(found * (self._length / self._limit) ** 2 * left)

    @property
    def least(self) -> float:
        """The least second moment, in deviations of its noise."""
        least = self.values.min(initial=np.inf)
        return float(least / self._deviation) if self._deviation > 0 else math.inf

    @property
    def clear(self) -> bool:
        """Nothing is hidden, and another round would find the same."""
        even = np.abs(self.values / self._n - 1).max(initial=0.0) < _EVEN
        told = (self._told > 0) & (self.moments * self._n > CLEAR * self._deviation)
        return bool(even and told[self._few].all() and self.least > CLEAR)

    def directions(self) -> tuple[Doubles, NDArray[np.bool_]]:
        """Return directions along which second moments are `moments`, and which were seen."""
        held = np.maximum(self.values, self._least(SEEN * self._deviation))
        seen = (self.values > SEEN * self._deviation) & (self.values >= _SHORT * held)
        noise = self._deviation / np.sqrt(np.maximum(self._told, 1))
        seen &= ~self._few | (self._told > 0) & (self.moments * self._n > SEEN * noise)
        self.moments = np.where(seen, self.moments, 1.0)
        lengths = np.sqrt(np.where(self._few, self._n, held) / self._n)
        return apart(self.change @ self.vectors / lengths, seen), seen

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
