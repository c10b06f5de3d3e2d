"""A regression problem whose formula another program evaluates, row by row.

R has formulas, factors and contrasts of its own.  What it makes of them comes in here and
goes the same way as a formula and a table: checks, budget, records, release.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpreg.data.design import check_unit
from dpreg.data.formula import FormulaSpec
from dpreg.data.formula.spec import Rows
from dpreg.data.table import Column, Level, Schema, Table
from dpreg.errors import FormulaError

__all__ = ["ModelMatrix", "Records", "bind"]

_CHUNK = 1 << 13
_INTERCEPT = "Intercept"


@dataclass(frozen=True, slots=True)
class Records:
    """Columns that were made row by row.  Private.

    Attributes
    ----------
    columns : sequence of d arrays, shape (n,)
        Without the intercept.  A row with a value that is not finite is incomplete, and dropped.
    y : ndarray, shape (n,)
    labels : ndarray of int64, shape (n,), or None
        The unit of each row, -1 where it is missing.  None: a row is a unit.
    """

    columns: Sequence[NDArray[np.float64]]
    y: NDArray[np.float64]
    labels: NDArray[np.int64] | None = None

    def rows(self) -> Rows:
        """Put the complete rows together."""
        n, d = len(self.y), len(self.columns)
        X = np.empty((n, d))
        complete = np.isfinite(self.y)
        # In chunks, so that what is written to is still near when the next column comes.
        for start in range(0, n, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            for j, column in enumerate(self.columns):
                X[chunk, j] = column[chunk]
            complete[chunk] &= np.isfinite(X[chunk]).all(axis=1)
        kept = np.flatnonzero(complete).astype(np.int64)
        if len(kept) < n:
            return Rows(X[kept], self.y[kept], kept)
        return Rows(X, np.array(self.y), kept)


@dataclass(frozen=True, slots=True)
class ModelMatrix:
    """A problem that `dp_lm` takes in the place of `data`.  Public, all but what `read` returns.

    Attributes
    ----------
    response : str
    names : tuple of str, length d
        Of the columns, the intercept not among them.
    intercept : bool
    read : callable
        Returns the `Records`; called once, after the budget was charged.
    ranges : mapping of str to pair
        Limits of those columns that are known from declared levels.
    unit : str or None
        What the labels of the records number, for messages.
    """

    response: str
    names: tuple[str, ...]
    intercept: bool
    read: Callable[[], Records]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    unit: str | None = None

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise ValueError("names: each column needs a name of its own")
        if self.intercept and _INTERCEPT in self.names:
            raise ValueError(
                f"formula: a column named {_INTERCEPT!r} cannot be told from the intercept; "
                "rename it"
            )
        if not self.names and not self.intercept:
            raise ValueError("formula: there is nothing on its right-hand side")


class _MatrixSpec:
    """Answers as a `FormulaSpec`."""

    schema = Schema({})

    def __init__(self, matrix: ModelMatrix) -> None:
        self.response, self.names = matrix.response, matrix.names
        self.intercept, self.ranges = matrix.intercept, matrix.ranges

    def rows(self, table: _MatrixTable, *, response: bool) -> Rows:
        return table.records().rows()


class _MatrixTable:
    """Answers as a `Table`; the unit is the only column that can be asked for by name."""

    def __init__(self, matrix: ModelMatrix) -> None:
        unit = matrix.unit
        self.schema = Schema({} if unit is None else {unit: Column(unit, "other")})
        self._read = matrix.read
        self._labels: NDArray[np.int64] | None = None

    def records(self) -> Records:
        records = self._read()
        self._labels = records.labels
        return records

    def identifiers(self, name: str) -> NDArray[np.int64]:
        assert self._labels is not None
        return self._labels


def bind(
    formula: str,
    data: Any,
    levels: Mapping[str, Sequence[Level]] | None,
    unit: str | None = None,
) -> tuple[FormulaSpec, Table]:
    """Return the formula, checked against the schema of the data, and the data.

    Parameters
    ----------
    formula : str
        For a `ModelMatrix` it is a label only.
    data : ModelMatrix, or whatever `Table` takes
    levels : dict, optional
        As for `dp_lm`.
    unit : str, optional
        Column that names the protected unit: it is no part of the formula, nor of its ``.``.
    """
    if isinstance(data, ModelMatrix):
        matrix_table = cast(Table, _MatrixTable(data))
        check_unit(unit, matrix_table)
        return cast(FormulaSpec, _MatrixSpec(data)), matrix_table
    table = Table(data)
    check_unit(unit, table)
    schema = table.schema.with_levels(levels)
    if unit is not None:
        schema = Schema({name: c for name, c in schema.columns.items() if name != unit})
    try:
        spec = FormulaSpec(formula, schema)
    except FormulaError:
        named = rf"(?<!\w){re.escape(unit or '')}(?!\w)"
        if unit and isinstance(formula, str) and re.search(named, formula):
            raise FormulaError(
                f"formula: {unit!r} names the protected unit, and cannot be in the formula too; "
                "leave it out, or leave out unit"
            ) from None
        raise
    if _INTERCEPT in spec.regressors:
        raise FormulaError(
            f"formula: a column named {_INTERCEPT!r} cannot be told from the intercept; rename it"
        )
    return spec, table
