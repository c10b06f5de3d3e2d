"""Rows put together by group, some groups at a time, wherever the rows are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, Integers
from dpreg.data.observations import InMemory, Observations
from dpreg.data.spool import Spool

# Of the memory that rows may take, what the groups of one block take, about.
_SHARE = 1 / 8
# More blocks would be of a few rows each.
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


@runtime_checkable
class _OfRecords(Protocol):
    """Rows that are made of records; see `dpreg.data.expanded`."""

    def groups(
        self, offsets: NDArray[np.integer[Any]], rows: NDArray[np.integer[Any]]
    ) -> Iterator[GroupBlock]: ...


def by_group(
    observations: Observations,
    offsets: NDArray[np.integer[Any]],
    rows: NDArray[np.integer[Any]],
    *,
    even: bool = False,
) -> Iterator[GroupBlock]:
    """Read the rows of groups, those of a group in one block.

    Rows that are in memory are one block.  Others go to another temporary file first, divided by
    block.  Of rows that are made of records, groups are of records, and all rows of each are its
    group's.

    offsets, rows: group g has ``rows[offsets[g]:offsets[g + 1]]``; no row is in two groups.
    even: blocks begin at groups of even number.
    """
    if isinstance(observations, _OfRecords):
        yield from observations.groups(offsets, rows)
        return
    if isinstance(observations, InMemory):
        X, y = observations.arrays()
        whole = offsets.astype(np.uint64, copy=False), rows.astype(np.uint64, copy=False)
        yield GroupBlock(0, len(offsets) - 1, X, y, *whole)
        return
    ends = offsets.astype(np.int64)
    cuts = _cuts(ends, _rows_of_a_block(observations, len(rows)), 2 if even else 1)
    pieces = _divided(observations, rows.astype(np.int64), ends[cuts])
    for k, (first, last) in enumerate(itertools.pairwise(cuts)):
        begin, count = ends[first], int(ends[last] - ends[first])
        y = np.empty(count)
        X = np.empty((count, pieces.columns))
        for number in pieces.numbers[k]:
            some_x, some_y, places = pieces.spool[number]
            X[places - begin], y[places - begin] = some_x, some_y
        own = (ends[first : last + 1] - begin).astype(np.uint64)
        yield GroupBlock(int(first), int(last), X, y, own, np.arange(count, dtype=np.uint64))


def _rows_of_a_block(observations: Observations, count: int) -> int:
    X, _ = next(observations.blocks())
    wanted = int(_SHARE * observations.memory / (8 * (X.shape[1] + 2)))
    return max(wanted, -(-count // _MOST_BLOCKS), 1)


def _cuts(offsets: Integers, most: int, step: int) -> Integers:
    """Return the first groups of blocks of about `most` rows, and the number of groups."""
    groups, cuts = len(offsets) - 1, [0]
    if groups == 0:  # one block, without rows: who sums blocks need not ask whether there are any
        return np.array([0, 0])
    while cuts[-1] < groups:
        first = cuts[-1]
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = max(last - (last - first) % step, first + step)
        cuts.append(min(last, groups))
    return np.array(cuts)


@dataclass(frozen=True, slots=True, repr=False)
class _Pieces:
    """Parts of blocks as they were read, of one new block each, and their numbers by that."""

    spool: Spool[tuple[Doubles, Doubles, Integers]]
    numbers: list[list[int]]
    columns: int


def _divided(observations: Observations, rows: Integers, begins: Integers) -> _Pieces:
    """Divide rows by the block that has their place in `rows`; `begins` of blocks, and the end."""
    places = np.full(observations.count, -1)
    places[rows] = np.arange(len(rows))
    spool: Spool[tuple[Doubles, Doubles, Integers]] = Spool(0.0)
    numbers: list[list[int]] = [[] for _ in begins[:-1]]
    start, columns = 0, 0
    for X, y in observations.blocks():
        here = places[start : start + len(y)]
        start, columns = start + len(y), X.shape[1]
        block = np.searchsorted(begins, here, side="right") - 1
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.arange(len(begins)))
        for k, (a, b) in enumerate(itertools.pairwise(ends)):
            if a < b:
                chosen = order[a:b]
                numbers[k].append(len(spool))
                spool.append((X[chosen], y[chosen], here[chosen]), X[chosen].nbytes)
    return _Pieces(spool, numbers, columns)
