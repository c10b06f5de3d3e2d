"""Rows of records and classes: those of ordered classes, and of classes beside a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg.base.levels import Level

__all__ = ["Baseline", "Classes", "Ordered", "RowsOfClasses", "covariates_in_units"]

Doubles = NDArray[np.float64]
Places = NDArray[np.int64]

# Entries of rows are finite.
_FARTHEST = 1e300


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a response, and the columns of a record.  Public."""

    levels: tuple[Level, ...]  # Length K: of the response, in their order.
    covariates: tuple[str, ...]  # Columns of a record; offsets are among them.

    @property
    def count(self) -> int:
        """Rows that a record may have: K - 1."""
        return len(self.levels) - 1


@dataclass(frozen=True, slots=True)
class Ordered(Classes):
    """One row for each of K - 1 thresholds: whether the class is above it.

    Covariates have one coefficient each, and each threshold has its own: its column is -1 in its
    rows, so that the predictor is that of "above", the covariates' less the threshold.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns: covariates, and thresholds as R's polr writes them."""
        pairs = zip(self.levels, self.levels[1:], strict=False)
        return (*self.covariates, *(f"{low}|{high}" for low, high in pairs))

    def scales(self) -> Doubles:
        """Return about how large each column is where covariates have mean 0 and deviation 1."""
        dummy = math.sqrt(1 / self.count)
        return np.concatenate([np.ones(len(self.covariates)), np.full(self.count, dummy)])

    def back(self, centre: Doubles, scale: Doubles) -> Doubles:
        """Return what makes coefficients of covariates of those of (covariate - centre) / scale."""
        size = len(self.covariates)
        made = np.eye(size + self.count)
        made[:size, :size] = np.diag(1 / scale)
        made[size:, :size] = centre / scale
        return made

    def each(self, values: Doubles) -> Doubles:
        """Return values of covariates by column, NaN for thresholds."""
        blank = np.full((self.count, *values.shape[1:]), np.nan)
        return np.concatenate([values, blank])

    def columns(self, covariates: Doubles, row: Places) -> Doubles:
        """Return the columns `names` of rows, each of the threshold of that number."""
        own = row[:, None] == np.arange(self.count)
        return np.column_stack([covariates, -own.astype(np.float64)])

    def rows(self, code: Places) -> tuple[Places, Places, Doubles]:
        """Return record, threshold and response of the rows of records in these classes."""
        record = np.repeat(np.arange(len(code)), self.count)
        row = np.tile(np.arange(self.count), len(code))
        return record, row, (code[record] > row).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Baseline(Classes):
    """One row for each class that a record is compared with.

    A record of a class other than `base` has one row, whose response is 1, in the block of columns
    of its class; one of that class has a row in each of the K - 1 blocks, whose responses are 0.
    Coefficients of the user compare with the first class, whichever `base` is.
    """

    base: int = 0  # Number of the class that rows are compared with.

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns: those of each class after the first, its intercept before the others."""
        own = ("Intercept", *self.covariates)
        return tuple(f"{level}:{name}" for level in self.levels[1:] for name in own)

    def scales(self) -> Doubles:
        """Return about how large each column is where covariates have mean 0 and deviation 1."""
        return np.full(self.count * (1 + len(self.covariates)), math.sqrt(1 / self.count))

    def back(self, centre: Doubles, scale: Doubles) -> Doubles:
        """Return what makes coefficients of covariates of those of (covariate - centre) / scale."""
        block = np.diag(np.concatenate([[1.0], 1 / scale]))
        block[0, 1:] = -centre / scale
        # A class less the first, where rows have each less the base.
        own = np.delete(np.eye(len(self.levels)), self.base, axis=1)
        return np.asarray(np.kron(own[1:] - own[0], block))

    def each(self, values: Doubles) -> Doubles:
        """Return values of covariates by column, NaN for intercepts."""
        blank = np.full((1, *values.shape[1:]), np.nan)
        return np.concatenate([blank, values] * self.count)

    def columns(self, covariates: Doubles, row: Places) -> Doubles:
        """Return the columns `names` of rows, each in the block of that number."""
        own = np.column_stack([np.ones(len(row)), covariates])
        made = np.zeros((len(row), self.count, own.shape[1]))
        made[np.arange(len(row)), row] = own
        return made.reshape(len(row), self.count * own.shape[1])

    def rows(self, code: Places) -> tuple[Places, Places, Doubles]:
        """Return record, block and response of the rows of records in these classes."""
        counts = np.where(code == self.base, self.count, 1)
        record = np.repeat(np.arange(len(code)), counts)
        first = np.cumsum(counts) - counts
        happened = code[record] != self.base
        own = code[record] - (code[record] > self.base)
        row = np.where(happened, own, np.arange(len(record)) - first[record])
        return record, row, happened.astype(np.float64)


@dataclass(frozen=True, slots=True)
class RowsOfClasses:
    """What makes rows of records.  Public, and can be pickled."""

    classes: Ordered | Baseline
    weighted: bool  # The last column of a record is its weight, and is that of its rows.
    # centre, scale: of covariates: rows have what they are less the centre, over the scale.
    centre: tuple[float, ...]
    scale: tuple[float, ...]

    def __call__(self, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles, Places]:
        """Return regressors and response of the rows, and how many are of each record.

        The response of a record is the number of its class, from 0; a record with another one has
        no row.  Columns are those of `names` of the classes, and the weight if there are weights.
        """
        inside = np.flatnonzero(np.isin(y, np.arange(len(self.classes.levels))))
        record, row, response = self.classes.rows(y[inside].astype(np.int64))
        own = X[inside][record]
        weight = [own[:, -1]] if self.weighted else []
        covariates = covariates_in_units(own, self.centre, self.scale)
        made = np.column_stack([self.classes.columns(covariates, row), *weight])
        return made, response, np.bincount(inside[record], minlength=len(y))


def covariates_in_units(X: Doubles, centre: tuple[float, ...], scale: tuple[float, ...]) -> Doubles:
    """Return the first columns less their centre, over their scale; entries are finite."""
    with np.errstate(over="ignore"):  # a warning would be about a cell
        moved = (X[:, : len(centre)] - centre) / scale
    return np.asarray(np.clip(moved, -_FARTHEST, _FARTHEST))
