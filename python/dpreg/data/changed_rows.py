"""Row-by-row changes of a design: clipping to bounds, and subtraction of offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Generic

import numpy as np

from dpreg.base.arrays import Doubles, Sums
from dpreg.base.errors import FormulaError
from dpreg.data.bounds import column_bounds
from dpreg.data.design import Design, Terms
from dpreg.data.observations import ByBlock, InMemory, Made, Observations, Statistic
from dpreg.privacy.sealed import opened

# Maps regressors and response of some rows, each row by itself.  Can be pickled.
RowChange = Callable[[Doubles, Doubles], tuple[Doubles, Doubles]]


def changed(design: Design, change: RowChange, terms: Terms) -> Design:
    """Return a design with a change applied to each row, block by block."""
    records = opened(design.records)
    rows = records.rows
    made: Observations = (
        InMemory(*change(*rows.arrays()), rows.memory)
        if isinstance(rows, InMemory)
        else _ChangedRows(rows, change, rows.local, rows.memory)
    )
    return Design.of_rows(made, terms, records.units)


@dataclass(frozen=True, slots=True, eq=False)
class _OfChanged(Generic[Made]):
    """A statistic of the changed rows, as a `Statistic` of the original rows."""

    change: RowChange
    statistic: Statistic[Made]

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        return self.statistic(*self.change(X, y))

    def seal(self, sums: Sums) -> Made:
        return self.statistic.seal(sums)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _ChangedRows(ByBlock):
    rows: Observations
    change: RowChange
    # local, memory: those of the rows.
    local: bool
    memory: float

    @property
    def count(self) -> int:
        return self.rows.count

    def blocks(self) -> Iterator[tuple[Doubles, Doubles]]:
        for X, y in self.rows.blocks():
            yield self.change(X, y)

    def total(self, statistic: Statistic[Made]) -> Made:
        return self.rows.total(_OfChanged(self.change, statistic))


def _inside(low: Doubles, high: Doubles, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """Return clipped rows; limits have shape (d + 1,), the response last."""
    return np.clip(X, low[:-1], high[:-1]), np.clip(y, low[-1], high[-1])


def clipped(design: Design) -> Design:
    """Clip values to their public bounds; without bounds the design is unchanged.

    Rows are changed one by one, so adding or removing a unit changes no other row.
    """
    if not design.terms.bounds:
        return design
    bounds = column_bounds(design.terms)
    low, high = np.where(np.isnan(bounds), [-np.inf, np.inf], bounds).T
    return changed(design, partial(_inside, low, high), design.terms)


def _less_offsets(
    offsets: tuple[int, ...], kept: list[int], X: Doubles, y: Doubles
) -> tuple[Doubles, Doubles]:
    """Return the kept columns, and the response minus offsets; 0 where that overflows."""
    # Column by column, so that the result of a row does not depend on its position.  Overflow must
    # not warn, since a warning would depend on a record.
    with np.errstate(all="ignore"):
        for j in offsets:
            y = y - X[:, j]
    return np.ascontiguousarray(X[:, kept]), np.where(np.isfinite(y), y, 0.0)


def refuse_offsets(terms: Terms, function: str) -> None:
    """Refuse offsets where no model is fitted."""
    if terms.given:
        problem = f"{function} does not support {terms.names[terms.given[0]]}"
        raise FormulaError(problem, "leave it out")


def without_offsets(design: Design) -> Design:
    """Subtract offsets from the response.

    Rows are changed one by one, so adding or removing a unit changes no other row.
    """
    terms = design.terms
    if not terms.given:
        return design
    kept = [j for j in range(len(terms.names)) if j not in terms.given]
    return changed(design, partial(_less_offsets, terms.given, kept), terms.keeping(kept))
