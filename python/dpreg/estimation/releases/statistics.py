"""Statistics: contributions of blocks of rows to released sums.  Public, and can be pickled.

Each is called with the regressors and response of a block and returns exact integers, summed row by
row: blocks may be read in any order and divided in any way, on one machine or many.  `seal` states
the sensitivity of the total to a row.
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

    searched: Integers  # Indices of columns; the response is last.
    weights: Doubles  # Weight of each of them.

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

    groups: tuple[Integers, ...]  # Of columns; the response is last.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return the number of rows, then the counts of each column, in the order of values."""
        return np.append(len(y), _magnitudes(X, y)[np.concatenate(self.groups)])

    def seal(self, sums: Sums) -> tuple[ExactSums, ...]:
        """Return the number of rows, and an array for each group with one row per column."""
        columns = [len(group) for group in self.groups]
        cells = sums[1:].reshape(sum(columns), -1) if sum(columns) else np.zeros((0, 0), sums.dtype)
        parts = np.split(cells, np.cumsum(columns)[:-1])
        return Counts(sums[:1]), *(counts_of_columns(of, np.ones(len(of))) for of in parts)


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Numbers of rows in which both columns of a pair are not 0."""

    places: Integers

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (pairs, 1), in the order of `np.triu_indices`."""
        there = (np.isfinite(X[:, self.places]) & (X[:, self.places] != 0)).astype(np.int64)
        return np.asarray((there.T @ there)[np.triu_indices(len(self.places), 1)][:, None])

    def seal(self, sums: Sums) -> ExactSums:
        return counts_of_columns(sums, np.ones(len(sums)))


@dataclass(frozen=True, slots=True, eq=False)
class IntervalCounts:
    """Numbers of values in equal bins, without zeros."""

    # low, high: shape (d + 1,): limits of the bins of each column; the response is last.
    low: Doubles
    high: Doubles
    bins: int
    searched: Integers
    weights: Doubles  # Weight of each searched column.
    zeros: bool = False  # Whether an additional last cell counts zeros.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (columns, bins + zeros)."""
        pairs = zip(_with_response(X, y), _split(self.low), _split(self.high), strict=True)
        cells = [_core.interval_counts(block, a, b, self.bins) for block, a, b in pairs]
        return np.vstack(cells)[self.searched, : self.bins + self.zeros]

    def seal(self, sums: Sums) -> ExactSums:
        return counts_of_columns(sums, self.weights)


@dataclass(frozen=True, slots=True)
class EventCounts:
    """Numbers of rows with a response below 1/2, and of others."""

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of two numbers."""
        column = y.reshape(-1, 1)
        below, above, zero = _core.interval_counts(column, np.zeros(1), np.ones(1), 2)[0]
        return np.array([below + zero, above])

    def seal(self, sums: Sums) -> ExactSums:
        return ExactSums(sums, _core.counts_sensitivity(np.ones(1)))


@dataclass(frozen=True, slots=True, eq=False)
class LevelCounts:
    """Numbers of rows of each level of factors, and last of rows without one."""

    groups: tuple[Integers, ...]  # Indices in X of the indicators of each factor.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return a count for each indicator, and one more for each factor.

        A row counts for the first indicator of a factor that is 1.
        """
        counts = []
        for places in self.groups:
            has = X[:, places] >= 0.5
            first = np.where(has.any(axis=1), has.argmax(axis=1), len(places))
            counts.append(np.bincount(first, minlength=len(places) + 1))
        return np.concatenate(counts)

    def seal(self, sums: Sums) -> ExactSums:
        """Return the counts: a row adds 1 to one count of each factor."""
        return ExactSums(sums, _core.counts_sensitivity(np.ones(len(self.groups))))


@dataclass(frozen=True, slots=True, eq=False)
class MomentSums:
    """The number of rows, then sums, then sums of squares of columns mapped to [-1, 1]."""

    # middle, half: shape (d + 1,): of the limits of each column; the response is last.
    middle: Doubles
    half: Doubles
    weights: Doubles  # Shape (d + 1,): weight of each column.

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
        """Return one number for each set except the first."""
        return _core.tail_votes(
            X, y, self.slopes, self.intercept, low=self.low, high=self.high, unit=self.unit
        )

    def seal(self, sums: Sums) -> ExactSums:
        return ExactSums(sums, _core.tail_votes_sensitivity(len(self.low)))


def counts_of_columns(cells: Sums, weights: Doubles) -> ExactSums:
    """Seal counts with one row per column: a data row adds 1 to one cell of each."""
    per_column = cells.size // max(len(weights), 1)
    entries = np.repeat(weights, per_column)
    return ExactSums(cells, _core.counts_sensitivity(weights), weights=entries)


def _magnitudes(X: Doubles, y: Doubles) -> Sums:
    return np.vstack([_core.magnitude_counts(block) for block in _with_response(X, y)])


def _with_response(X: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    return X, y.reshape(-1, 1)


def _split(values: Doubles) -> tuple[Doubles, Doubles]:
    return values[:-1], values[-1:]
