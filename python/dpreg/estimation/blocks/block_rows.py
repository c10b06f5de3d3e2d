"""Rows of blocks of units, and sums over the rows of each block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.estimation.blocks.model_rows import ModelRows

# Numbers, at most, that are made of some rows at a time.
_ROOM = 1 << 18


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """Some rows of blocks.  Private."""

    x: Doubles  # Shape (rows, d).
    y: Doubles  # Shape (rows,).
    # block, place: shape (rows,): which block a row is of, and how many rows of it come before.
    block: Integers
    place: Integers
    unit: Integers  # Shape (rows,): how many units of all blocks come before that of the row.
    turn: Integers  # Shape (rows,): how many units of its own block do.


@dataclass(frozen=True, slots=True, repr=False)
class BlockRows:
    """Rows of all blocks, block after block.  Private."""

    count: int  # Of blocks.
    X: Doubles  # Shape (n, d).
    y: Doubles  # Shape (n,).
    rows: Integers  # Shape (rows,): where in X and y a row is.
    # block, place, unit, turn: shape (rows,): as for `Rows`.
    block: Integers
    place: Integers
    unit: Integers
    turn: Integers
    block_of_unit: Integers  # Shape (units,).

    def parts(self) -> Iterator[Rows]:
        """Yield all rows in order, some at a time."""
        size = max(1, _ROOM // (1 + self.X.shape[1]) ** 2)
        for begin in range(0, len(self.rows), size):
            part = slice(begin, begin + size)
            at = self.rows[part]
            yield Rows(
                self.X[at], self.y[at], self.block[part], self.place[part], self.unit[part],
                self.turn[part],
            )  # fmt: skip


def block_rows(models: ModelRows) -> BlockRows:
    """Return the rows of the units of some models, each of which is a block."""
    members = np.asarray(models.assignment.members, dtype=np.int64)
    ends = np.asarray(models.assignment.offsets, dtype=np.int64)
    sizes = ends[1:] - ends[:-1]
    block_of_unit = np.repeat(np.arange(len(sizes)), sizes)
    lengths, rows = np.ones(len(members), dtype=np.int64), members
    if models.unit_offsets is not None and models.unit_rows is not None:
        starts = models.unit_offsets.astype(np.int64)
        lengths = np.diff(starts)[members]
        rows = models.unit_rows.astype(np.int64)[
            np.repeat(starts[members], lengths) + _within(lengths)
        ]
    unit = np.repeat(np.arange(len(members)), lengths)
    block = block_of_unit[unit]
    return BlockRows(
        count=len(sizes),
        X=models.X,
        y=models.y,
        rows=rows,
        block=block,
        place=_within(np.bincount(block, minlength=len(sizes))),
        unit=unit,
        turn=_within(sizes)[unit],
        block_of_unit=block_of_unit,
    )


def _within(lengths: Integers) -> Integers:
    """Count from 0 in each of some runs of these lengths."""
    ends = np.cumsum(lengths)
    return np.asarray(np.arange(lengths.sum()) - np.repeat(ends - lengths, lengths))


def add_by_block(sums: Doubles, block: Integers, values: Doubles) -> None:
    """Add values of rows to the sums of their blocks, one row after the other.

    sums: shape (blocks, ...): C-contiguous; changed.
    block: shape (rows,)
    values: shape (rows, ...)
    """
    size = sums[0].size if len(sums) else 0
    cells = block[:, None] * size + np.arange(size)
    np.add.at(sums.reshape(-1), cells.reshape(-1), values.reshape(-1))
