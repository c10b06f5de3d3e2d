"""What blocks of rows add to each sum that is released: public instructions, which can be pickled.

Each is called with a block, regressors and response, and returns exact integers, added up row by
row: blocks may be read in any order, divided in any way, on one machine or many.  `seal` says by
how much a row moves the total.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers, Sums
from dpreg.privacy.sealed import Counts, ExactSums


@dataclass(frozen=True, slots=True, eq=False)
class MagnitudeCounts:
    """Numbers of values of each order of magnitude."""

    searched: Integers  # Which columns, the response being the last.
    weights: Doubles  # How much each of them counts.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (columns, cells)."""
        counts = _magnitudes(X, y)[self.searched]
        zero = counts.shape[1] // 2
        return np.asarray(counts[:, :zero][:, ::-1] + counts[:, zero + 1 :])

    def seal(self, sums: Sums) -> ExactSums:
        return counts_of_columns(sums, self.weights)


@dataclass(frozen=True, slots=True, eq=False)
class SizeCounts:
    """The number of rows, and numbers of values of each sign and order of magnitude."""

    groups: tuple[Integers, ...]  # Of columns, the response being the last.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return one number, then those of each column, in the order of values."""
        return np.append(len(y), _magnitudes(X, y)[np.concatenate(self.groups)])

    def seal(self, sums: Sums) -> tuple[ExactSums, ...]:
        """Return the number of rows, and of each group values by column: a row of an array each."""
        columns = [len(group) for group in self.groups]
        cells = sums[1:].reshape(sum(columns), -1) if sum(columns) else np.zeros((0, 0), sums.dtype)
        parts = np.split(cells, np.cumsum(columns)[:-1])
        return Counts(sums[:1]), *(counts_of_columns(of, np.ones(len(of))) for of in parts)


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Numbers of rows in which two columns are not 0, of each pair of columns."""

    places: Integers

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (pairs, 1), in the order of `np.triu_indices`."""
        there = (np.isfinite(X[:, self.places]) & (X[:, self.places] != 0)).astype(np.int64)
        return np.asarray((there.T @ there)[np.triu_indices(len(self.places), 1)][:, None])

    def seal(self, sums: Sums) -> ExactSums:
        return counts_of_columns(sums, np.ones(len(sums)))


@dataclass(frozen=True, slots=True, eq=False)
class IntervalCounts:
    """Numbers of values in equal bins; zeros are in none of them."""

    # low, high: shape (d + 1,): limits of the bins of each column, the response being the last.
    low: Doubles
    high: Doubles
    bins: int
    searched: Integers
    weights: Doubles  # How much each searched column counts.
    zeros: bool = False  # One more cell, the last, counts them.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (columns, bins + zeros)."""
        pairs = zip(_with_response(X, y), _split(self.low), _split(self.high), strict=True)
        cells = [_core.interval_counts(block, a, b, self.bins) for block, a, b in pairs]
        return np.vstack(cells)[self.searched, : self.bins + self.zeros]

    def seal(self, sums: Sums) -> ExactSums:
        return counts_of_columns(sums, self.weights)


@dataclass(frozen=True, slots=True)
class EventCounts:
    """Numbers of rows with a response below 1/2, and from there on."""

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of two numbers."""
        column = y.reshape(-1, 1)
        below, above, zero = _core.interval_counts(column, np.zeros(1), np.ones(1), 2)[0]
        return np.array([below + zero, above])

    def seal(self, sums: Sums) -> ExactSums:
        return ExactSums(sums, _core.counts_sensitivity(np.ones(1)))


@dataclass(frozen=True, slots=True, eq=False)
class LevelCounts:
    """Numbers of rows of each level of factors, and of rows of none, each last."""

    groups: tuple[Integers, ...]  # Places in X of the indicators of each factor.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return one number an indicator, and one more a factor.

        A row counts for the first indicator of a factor that it has.
        """
        counts = []
        for places in self.groups:
            has = X[:, places] >= 0.5
            first = np.where(has.any(axis=1), has.argmax(axis=1), len(places))
            counts.append(np.bincount(first, minlength=len(places) + 1))
        return np.concatenate(counts)

    def seal(self, sums: Sums) -> ExactSums:
        """Return them: a row adds 1 to one number of each factor."""
        return ExactSums(sums, _core.counts_sensitivity(np.ones(len(self.groups))))


@dataclass(frozen=True, slots=True, eq=False)
class MomentSums:
    """The number of rows, then sums, then sums of squares of columns mapped to [-1, 1]."""

    # middle, half: shape (d + 1,): of the limits of each column, the response being the last.
    middle: Doubles
    half: Doubles
    weights: Doubles  # Shape (d + 1,): how much each column counts.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (1 + 2 (d + 1),)."""
        pairs = zip(_with_response(X, y), _split(self.middle), _split(self.half), strict=True)
        of_x, of_y = (_core.moment_sums(block, middle, half) for block, middle, half in pairs)
        d = X.shape[1]
        return np.concatenate([of_x[: d + 1], of_y[1:2], of_x[d + 1 :], of_y[2:]])

    def seal(self, sums: Sums) -> ExactSums:
        entries = np.concatenate([[1.0], self.weights, self.weights])
        return ExactSums(sums, _core.moments_sensitivity(self.weights), weights=entries)


@dataclass(frozen=True, slots=True, eq=False)
class TailVotes:
    """Votes of the rows on sets of limits of a prediction; see `_core.tail_votes`."""

    slopes: Doubles  # Shape (d,).
    intercept: float
    # low, high: shape (sets, d + 1).
    low: Doubles
    high: Doubles
    unit: float

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return one number a set but the first."""
        return _core.tail_votes(
            X, y, self.slopes, self.intercept, low=self.low, high=self.high, unit=self.unit
        )

    def seal(self, sums: Sums) -> ExactSums:
        return ExactSums(sums, _core.tail_votes_sensitivity(len(self.low)))


def counts_of_columns(cells: Sums, weights: Doubles) -> ExactSums:
    """Seal counts of values, one row of them a column: a row adds 1 to one cell of each."""
    per_column = cells.size // max(len(weights), 1)
    entries = np.repeat(weights, per_column)
    return ExactSums(cells, _core.counts_sensitivity(weights), weights=entries)


def _magnitudes(X: Doubles, y: Doubles) -> Sums:
    return np.vstack([_core.magnitude_counts(block) for block in _with_response(X, y)])


def _with_response(X: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    return X, y.reshape(-1, 1)


def _split(values: Doubles) -> tuple[Doubles, Doubles]:
    return values[:-1], values[-1:]
