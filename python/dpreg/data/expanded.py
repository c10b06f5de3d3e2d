"""Several rows of each record, made while they are read and never kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.passes import passed
from dpreg.data.block_sums import sum_of_blocks
from dpreg.data.design import Design, Terms
from dpreg.data.grouped import GroupBlock, by_group
from dpreg.data.observations import ByBlock, Made, Observations, Statistic
from dpreg.data.units import Units
from dpreg.privacy.sealed import opened

# Regressors and response of records; returns those of rows, record after record, and how many are
# of each.
Expansion = Callable[[Doubles, Doubles], tuple[Doubles, Doubles, Integers]]

Places = NDArray[np.intp]

# Records that are expanded at a time, and rows of a block, about.
_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExpandedRows(ByBlock):
    """Rows that are functions of one record each; see `Observations`."""

    records: Observations  # In this process.
    expansion: Expansion
    most: int  # A record has at most so many rows.
    # Column of the records in whose order those of a group are; None: as they lie.
    order: int | None = None
    local = True

    @property
    def count(self) -> int:
        return sum(len(y) for _, y in self.blocks())

    @property
    def memory(self) -> float:
        return self.records.memory

    def blocks(self) -> Iterator[tuple[Doubles, Doubles]]:
        size = self._records_a_block
        for X, y in self.records.blocks():
            for begin in range(0, max(len(y), 1), size):
                part = slice(begin, begin + size)
                rows, response, _ = self.expansion(X[part], y[part])
                yield rows, response

    def groups(
        self, offsets: NDArray[np.integer[Any]], rows: NDArray[np.integer[Any]]
    ) -> Iterator[GroupBlock]:
        """Return the rows of groups of records; see `by_group`, whose arguments say which."""
        for block in by_group(self.records, offsets, rows):
            for first, last in _pieces(block.offsets.astype(np.int64), self._records_a_block):
                places = block.offsets[first : last + 1].astype(np.int64)
                own = block.rows[places[0] : places[-1]].astype(np.intp)
                own = self._ordered(block.X, own, np.diff(places))
                X, y, counts = self.expansion(block.X[own], block.y[own])
                ends = np.concatenate([[0], np.cumsum(counts)])[places - places[0]]
                yield GroupBlock(
                    block.first + first, block.first + last, X, y, ends.astype(np.uint64),
                    np.arange(len(y), dtype=np.uint64),
                )  # fmt: skip

    def _ordered(self, X: Doubles, own: Places, sizes: Integers) -> Places:
        """Return the places of records, group after group, in the order of a column."""
        if self.order is None:
            return own
        return own[np.lexsort((X[own, self.order], np.repeat(np.arange(len(sizes)), sizes)))]

    def total(self, statistic: Statistic[Made]) -> Made:
        sums = sum_of_blocks(self.blocks(), lambda block: statistic(*block))
        passed()
        return statistic.seal(sums)

    @property
    def _records_a_block(self) -> int:
        return max(_ROWS // self.most, 1)


def expanded(
    design: Design,
    expansion: Expansion,
    periods: int,
    max_rows: int,
    terms: Terms,
    *,
    order: int | None = None,
) -> Design:
    """Return the design of the rows of records.

    design: private: of records, at most `max_rows` of each unit.
    expansion: a record has at most `periods` rows.
    terms: of the rows.
    order: column of the records in whose order those of a unit are.
    Returns: adding or removing a unit of `design` adds or removes at most periods * max_rows rows
        of it. Without units, records are the units.
    """
    sealed = opened(design.records)
    records, units = sealed.rows, sealed.units
    if not records.local:  # those of an engine are read once
        records = records.columns([*range(design.columns)])
    if units is None:
        every = np.arange(records.count + 1, dtype=np.uint64)
        units = Units(every, every[:-1])
    rows, most = ExpandedRows(records, expansion, periods, order), periods * max_rows
    return Design.of_rows(rows, terms, replace(units, most=most))


def _pieces(offsets: Integers, most: int) -> Iterator[tuple[int, int]]:
    """Divide groups into runs of about `most` records; one at least."""
    groups, first = len(offsets) - 1, 0
    while True:
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = min(max(last, first + 1), groups)
        yield first, last
        if last >= groups:
            return
        first = last
