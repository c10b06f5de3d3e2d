"""The private side of a regression problem: numbers, one row a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.data.formula import FormulaSpec
from dpreg.data.source import RowSource
from dpreg.data.units import UnitNumbers, Units

__all__ = ["Design", "Terms", "read_design"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What is public about a regression problem.

    Attributes
    ----------
    response : str
    names : tuple of str, length d
        Of the columns of X, the intercept not among them.
    intercept : bool
    ranges : mapping of str to pair
        Limits of those columns that are known from declared levels.
    dropped : tuple of str
        Columns that the formula makes and a private selection left out.
    """

    response: str
    names: tuple[str, ...]
    intercept: bool
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of the coefficients, the intercept first if there is one."""
        return (("Intercept",) if self.intercept else ()) + self.names


@dataclass(frozen=True, slots=True)
class Design:
    """Records as numbers.  Private, all but `terms`.

    Attributes
    ----------
    X : ndarray, shape (n, d)
        Regressors without the intercept.
    y : ndarray, shape (n,)
    terms : Terms
    units : Units or None
        None: a unit is a row.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    terms: Terms
    units: Units | None = None

    @property
    def unit_count(self) -> int:
        """The number of protected units.  Private."""
        return len(self.y) if self.units is None else len(self.units.offsets) - 1

    def keep(self, columns: Sequence[int]) -> Design:
        """Return the design with these columns only, in the order they have here."""
        kept = sorted(columns)
        names = tuple(self.terms.names[j] for j in kept)
        terms = replace(
            self.terms,
            names=names,
            ranges={name: pair for name, pair in self.terms.ranges.items() if name in names},
            dropped=tuple(name for name in self.terms.names if name not in names),
        )
        return replace(self, X=np.ascontiguousarray(self.X[:, kept]), terms=terms)


def read_design(spec: FormulaSpec, source: RowSource, unit: str | None, terms: Terms) -> Design:
    """Read the records: evaluate the formula on every complete row.

    Parameters
    ----------
    spec : FormulaSpec
    source : RowSource
    unit : str or None
        Column that names the protected unit; rows without one are incomplete.
    terms : Terms
        Of `spec`.
    """
    columns = spec.needed(response=True)
    if unit is not None:
        columns = (*columns, unit)
    blocks, responses, labels = [], [], []
    number = UnitNumbers()
    for batch in source.batches(columns):
        rows = spec.rows(batch, response=True)
        X, y = rows.X, rows.y
        assert y is not None
        if unit is not None:
            mine = number.labels(batch.cells[unit].keys())[rows.kept]
            named = mine >= 0
            X, y = X[named], y[named]
            labels.append(mine[named])
        blocks.append(X)
        responses.append(y)
    X = _stacked(blocks, np.empty((0, len(spec.names))))
    y = _stacked(responses, np.empty(0))
    if unit is None:
        return Design(X, y, terms)
    return Design(X, y, terms, Units.from_labels(_stacked(labels, np.empty(0, dtype=np.int64))))


def _stacked(blocks: list[NDArray[Any]], none: NDArray[Any]) -> NDArray[Any]:
    """Put blocks together, each of which is let go when it is copied; `none` if there are none."""
    if len(blocks) < 2:
        return blocks[0] if blocks else none
    whole = np.empty((sum(map(len, blocks)), *none.shape[1:]), dtype=none.dtype)
    end = len(whole)
    while blocks:
        block = blocks.pop()
        whole[end - len(block) : end] = block
        end -= len(block)
    return whole
