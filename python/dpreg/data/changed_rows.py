"""Rows each of which is a function of a row that was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from dpreg.data.design import Design, Terms
from dpreg.data.observations import (
    Collector,
    Doubles,
    InMemory,
    Made,
    Observations,
    Statistic,
    Sums,
)
from dpreg.privacy.sealed import opened

# Regressors and response of some rows, each row by itself.  Can be pickled.
RowChange = Callable[[Doubles, Doubles], tuple[Doubles, Doubles]]


def changed(design: Design, change: RowChange, terms: Terms) -> Design:
    """Return a design after a change of each row, which is made block by block."""
    records = opened(design.records)
    rows: Observations = (
        InMemory(*change(*records.rows.arrays()), records.rows.memory)
        if isinstance(records.rows, InMemory)
        else _ChangedRows(records.rows, change)
    )
    return Design.of_rows(rows, terms, records.units)


@dataclass(frozen=True, slots=True, eq=False)
class _OfChanged(Generic[Made]):
    """A statistic of changed rows, as a `Statistic` of the rows."""

    change: RowChange
    statistic: Statistic[Made]

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        return self.statistic(*self.change(X, y))

    def seal(self, sums: Sums) -> Made:
        return self.statistic.seal(sums)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _ChangedRows:
    """See `Observations`."""

    rows: Observations
    change: RowChange

    @property
    def count(self) -> int:
        return self.rows.count

    @property
    def local(self) -> bool:
        return self.rows.local

    @property
    def memory(self) -> float:
        return self.rows.memory

    def arrays(self) -> tuple[Doubles, Doubles]:
        return self.change(*self.rows.arrays())

    def blocks(self) -> Iterator[tuple[Doubles, Doubles]]:
        for X, y in self.rows.blocks():
            yield self.change(X, y)

    def total(self, statistic: Statistic[Made]) -> Made:
        return self.rows.total(_OfChanged(self.change, statistic))

    def where(self, chosen: NDArray[np.bool_]) -> Observations:
        return _ChangedRows(self.rows.where(chosen), self.change)

    def columns(self, kept: list[int]) -> Observations:
        collector = Collector(self.memory)
        for X, y in self.blocks():
            collector.append(np.ascontiguousarray(X[:, kept]), y)
        return collector.observations(len(kept))
