"""Rows by group, and several rows per record, made while reading and never stored."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.passes import passed
from dpreg.data.design import Design, Terms, Units
from dpreg.data.observations import ByBlock, InMemory, Made, Observations, Statistic, sum_of_blocks
from dpreg.data.spool import Spool
from dpreg.privacy.sealed import opened

# Maps regressors and response of records to those of their rows, record after record, and the
# number of rows of each.
Expansion = Callable[[Doubles, Doubles], tuple[Doubles, Doubles, Integers]]

# Approximate number of records expanded at a time, and of rows in a block.
_ROWS = 1 << 16
# Approximate share of the memory for rows that the groups of one block take.
_SHARE = 1 / 8
# More blocks would have a few rows each.
_MOST_BLOCKS = 256


@dataclass(frozen=True, slots=True, repr=False)
class GroupBlock:
    """All rows of some groups.  Private."""

    # first, last: groups ``first, ..., last - 1``.
    first: int
    last: int
    X: Doubles  # Shape (n, d).
    y: Doubles  # Shape (n,).
    offsets: NDArray[np.uint64]  # Shape (last - first + 1,).
    # Group ``first + g`` has ``rows[offsets[g]:offsets[g + 1]]``, in the order that was given.
    rows: NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExpandedRows(ByBlock):
    """Rows that are functions of one record each; see `Observations`."""

    records: Observations  # In this process.
    expansion: Expansion
    most: int  # Largest number of rows of a record.
    # Column by which the records of a group are ordered; None: in the order they were read.
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
        """Return the rows of groups of records; see `by_group` for the arguments."""
        for block in by_group(self.records, offsets, rows):
            cuts = _cuts(block.offsets.astype(np.int64), self._records_a_block)
            for first, last in itertools.pairwise(cuts):
                places = block.offsets[first : last + 1].astype(np.int64)
                own = block.rows[places[0] : places[-1]].astype(np.intp)
                if self.order is not None:
                    group = np.repeat(np.arange(last - first), np.diff(places))
                    own = own[np.lexsort((block.X[own, self.order], group))]
                X, y, counts = self.expansion(block.X[own], block.y[own])
                ends = np.concatenate([[0], np.cumsum(counts)])[places - places[0]]
                yield GroupBlock(
                    block.first + first, block.first + last, X, y, ends.astype(np.uint64),
                    np.arange(len(y), dtype=np.uint64),
                )  # fmt: skip

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

    design: private; at most `max_rows` records per unit.
    expansion: makes at most `periods` rows of a record.
    terms: the terms of the new rows.
    order: column by which the records of a unit are ordered.
    Returns: a design in which adding or removing a unit adds or removes at most periods * max_rows
        rows, all of that unit.  Without units, each record is a unit.
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


def by_group(
    observations: Observations,
    offsets: NDArray[np.integer[Any]],
    rows: NDArray[np.integer[Any]],
    *,
    even: bool = False,
) -> Iterator[GroupBlock]:
    """Read rows by group; the rows of a group are in one block.

    Rows in memory are one block.  Other rows are first written to another temporary file, divided
    by block.  Expanded rows belong to the group of their record.

    offsets, rows: group g has ``rows[offsets[g]:offsets[g + 1]]``; no row is in two groups.
    even: blocks begin at groups with an even number.
    """
    if isinstance(observations, ExpandedRows):
        yield from observations.groups(offsets, rows)
        return
    if isinstance(observations, InMemory):
        X, y = observations.arrays()
        whole = offsets.astype(np.uint64, copy=False), rows.astype(np.uint64, copy=False)
        yield GroupBlock(0, len(offsets) - 1, X, y, *whole)
        return
    ends = offsets.astype(np.int64)
    width = next(observations.blocks())[0].shape[1]
    wanted = int(_SHARE * observations.memory / (8 * (width + 2)))
    most = max(wanted, -(-len(rows) // _MOST_BLOCKS), 1)
    cuts = _cuts(ends, most, 2 if even else 1)
    pieces, numbers = _divided(observations, rows.astype(np.int64), ends[cuts])
    for k, (first, last) in enumerate(itertools.pairwise(cuts)):
        begin, count = ends[first], int(ends[last] - ends[first])
        y = np.empty(count)
        X = np.empty((count, width))
        for number in numbers[k]:
            some_x, some_y, places = pieces[number]
            X[places - begin], y[places - begin] = some_x, some_y
        own = (ends[first : last + 1] - begin).astype(np.uint64)
        yield GroupBlock(int(first), int(last), X, y, own, np.arange(count, dtype=np.uint64))


def _cuts(offsets: Integers, most: int, step: int = 1) -> Integers:
    """Return the first groups of blocks of about `most` rows, and the number of groups."""
    groups, cuts = len(offsets) - 1, [0]
    if groups == 0:  # one empty block, so that sums over blocks have a term
        return np.array([0, 0])
    while cuts[-1] < groups:
        first = cuts[-1]
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = max(last - (last - first) % step, first + step)
        cuts.append(min(last, groups))
    return np.array(cuts)


def _divided(
    observations: Observations, rows: Integers, begins: Integers
) -> tuple[Spool[tuple[Doubles, Doubles, Integers]], list[list[int]]]:
    """Divide rows into blocks of `rows`; `begins` has the first index of each, and the end.

    Returns the pieces as they were read, each of one new block, and the pieces of each block.
    """
    places = np.full(observations.count, -1)
    places[rows] = np.arange(len(rows))
    spool: Spool[tuple[Doubles, Doubles, Integers]] = Spool(0.0)
    numbers: list[list[int]] = [[] for _ in begins[:-1]]
    start = 0
    for X, y in observations.blocks():
        here = places[start : start + len(y)]
        start += len(y)
        block = np.searchsorted(begins, here, side="right") - 1
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.arange(len(begins)))
        for k, (a, b) in enumerate(itertools.pairwise(ends)):
            if a < b:
                chosen = order[a:b]
                numbers[k].append(len(spool))
                spool.append((X[chosen], y[chosen], here[chosen]), X[chosen].nbytes)
    return spool, numbers
