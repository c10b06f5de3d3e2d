"""A regression problem whose formula another program has evaluated, row by row.

R has formulas, factors and contrasts of its own.  What it makes of them comes in here and
takes the same way as a formula and a table: checks, budget, records, release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpreg.formula import FormulaSpec
from dpreg.formula.spec import Rows
from dpreg.frame import Column, Level, Schema, Table

__all__ = ["ModelMatrix", "bind"]

_CHUNK = 1 << 13


@dataclass(frozen=True, slots=True)
class ModelMatrix:
    """Columns that were made row by row; `dp_lm` takes one in the place of `data`.

    Attributes
    ----------
    response : str
    names : tuple of str, length d
        Of `columns`, the intercept not among them.
    intercept : bool
    columns : sequence of d arrays, shape (n,)
        Private.  A row with a value that is not finite is incomplete, and dropped.
    y : ndarray, shape (n,)
        Private.
    ranges : mapping of str to pair
        Limits of those columns that are known from declared levels.  Public.
    unit : str or None
        What `labels` number, for messages.
    labels : ndarray of int64, shape (n,), or None
        Private.  The unit of each row, -1 where it is missing.
    """

    response: str
    names: tuple[str, ...]
    intercept: bool
    columns: Sequence[NDArray[np.float64]]
    y: NDArray[np.float64]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    unit: str | None = None
    labels: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if len(self.names) != len(self.columns) or len(set(self.names)) < len(self.names):
            raise ValueError("names: each column needs a name of its own")
        if not self.names and not self.intercept:
            raise ValueError("formula: there is nothing on its right-hand side")

    @property
    def schema(self) -> Schema:
        """The unit is the only column that can be asked for by name."""
        return Schema({} if self.unit is None else {self.unit: Column(self.unit, "other")})

    def identifiers(self, name: str) -> NDArray[np.int64]:
        """See `dpreg.frame.Table`."""
        assert name == self.unit
        assert self.labels is not None
        return self.labels

    def rows(self, table: Any, *, response: bool) -> Rows:
        """See `dpreg.formula.FormulaSpec`; `table` is this object again."""
        n, d = len(self.y), len(self.names)
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
class _MatrixSpec:
    """The public face of a `ModelMatrix`, in the place of a `FormulaSpec`."""

    matrix: ModelMatrix
    schema: Schema = field(default_factory=lambda: Schema({}))

    @property
    def response(self) -> str:
        return self.matrix.response

    @property
    def names(self) -> tuple[str, ...]:
        return self.matrix.names

    @property
    def intercept(self) -> bool:
        return self.matrix.intercept

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return self.matrix.ranges

    def rows(self, table: Any, *, response: bool) -> Rows:
        return self.matrix.rows(table, response=response)


def bind(
    formula: str, data: Any, levels: Mapping[str, Sequence[Level]] | None
) -> tuple[FormulaSpec, Table]:
    """Return the formula, checked against the schema of the data, and the data.

    Parameters
    ----------
    formula : str
        For a `ModelMatrix` it is a label only.
    data : ModelMatrix, or whatever `Table` takes
    levels : dict, optional
        As for `dp_lm`.
    """
    if isinstance(data, ModelMatrix):
        # Both answer the questions that dp_lm asks.
        return cast(FormulaSpec, _MatrixSpec(data)), cast(Table, data)
    table = Table(data)
    return FormulaSpec(formula, table.schema.with_levels(levels)), table
