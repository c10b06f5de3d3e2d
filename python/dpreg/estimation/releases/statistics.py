"""What blocks of rows add to each sum that is released: public instructions, which can be pickled.

Each is called with a block, regressors and response, and returns exact integers, added up row by
row: blocks may be read in any order, divided in any way, on one machine or many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg import _core

__all__ = [
    "ClippedProducts",
    "IntervalCounts",
    "MagnitudeCounts",
    "MomentSums",
    "SizeCounts",
    "TailVotes",
]

Doubles = NDArray[np.float64]
Sums = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class MagnitudeCounts:
    """Numbers of values of each order of magnitude.

    Attributes
    ----------
    searched : ndarray of int
        Which columns, the response being the last.
    """

    searched: NDArray[np.int64]

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (columns, cells)."""
        counts = _magnitudes(X, y)[self.searched]
        zero = counts.shape[1] // 2
        return np.asarray(counts[:, :zero][:, ::-1] + counts[:, zero + 1 :])


@dataclass(frozen=True, slots=True, eq=False)
class SizeCounts:
    """The number of rows, and numbers of values of each sign and order of magnitude.

    Attributes
    ----------
    searched : ndarray of int
        Which columns, the response being the last.
    """

    searched: NDArray[np.int64]

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return one number, then those of each column, in the order of values."""
        return np.append(len(y), _magnitudes(X, y)[self.searched])


@dataclass(frozen=True, slots=True, eq=False)
class IntervalCounts:
    """Numbers of values in equal bins.

    Attributes
    ----------
    low, high : ndarray, shape (d + 1,)
        Limits of the bins of each column, the response being the last.
    bins : int
    searched : ndarray of int
    """

    low: Doubles
    high: Doubles
    bins: int
    searched: NDArray[np.int64]

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (columns, bins)."""
        pairs = zip(_with_response(X, y), _split(self.low), _split(self.high), strict=True)
        parts = [_core.interval_counts(block, low, high, self.bins) for block, low, high in pairs]
        return np.vstack(parts)[self.searched]


@dataclass(frozen=True, slots=True, eq=False)
class MomentSums:
    """The number of rows, then sums, then sums of squares of columns mapped to [-1, 1].

    Attributes
    ----------
    middle, half : ndarray, shape (d + 1,)
        Of the limits of each column, the response being the last.
    """

    middle: Doubles
    half: Doubles

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (1 + 2 (d + 1),)."""
        pairs = zip(_with_response(X, y), _split(self.middle), _split(self.half), strict=True)
        of_x, of_y = (_core.moment_sums(block, middle, half) for block, middle, half in pairs)
        d = X.shape[1]
        return np.concatenate([of_x[: d + 1], of_y[1:2], of_x[d + 1 :], of_y[2:]])


@dataclass(frozen=True, slots=True, eq=False)
class TailVotes:
    """Votes of the rows on sets of limits of a prediction; see `_core.tail_votes`.

    Attributes
    ----------
    slopes : ndarray, shape (d,)
    intercept : float
    low, high : ndarray, shape (sets, d + 1)
    unit : float
    """

    slopes: Doubles
    intercept: float
    low: Doubles
    high: Doubles
    unit: float

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return one number a set but the first."""
        return _core.tail_votes(
            X, y, self.slopes, self.intercept, low=self.low, high=self.high, unit=self.unit
        )


@dataclass(frozen=True, slots=True, eq=False)
class ClippedProducts:
    """Sums of products of each column and the response, both mapped to [-1, 1] and clipped.

    Attributes
    ----------
    centres, halves : ndarray, shape (d + 1,)
        Of the limits of each column, the response being the last.
    """

    centres: Doubles
    halves: Doubles

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (d,)."""
        return _core.clipped_products(
            X,
            y,
            x_centres=self.centres[:-1],
            x_halves=self.halves[:-1],
            y_centre=float(self.centres[-1]),
            y_half=float(self.halves[-1]),
        )


def _magnitudes(X: Doubles, y: Doubles) -> Sums:
    return np.vstack([_core.magnitude_counts(block) for block in _with_response(X, y)])


def _with_response(X: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    return X, y.reshape(-1, 1)


def _split(values: Doubles) -> tuple[Doubles, Doubles]:
    return values[:-1], values[-1:]
