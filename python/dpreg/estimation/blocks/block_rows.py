"""Rows of blocks of units, sums over the rows of each block, and linear algebra of many blocks.

All is done element by element, so that nothing of a block depends on what stands beside it: there
is no matrix product, whose last bits may depend on the shapes of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers
from dpreg.data.design import Arrays

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
    labels: Integers  # Shape (4, rows): block, place, unit and turn, as for `Rows`.
    block_of_unit: Integers  # Shape (units,).

    def parts(self) -> Iterator[Rows]:
        """Yield all rows in order, some at a time."""
        size = max(1, _ROOM // (1 + self.X.shape[1]) ** 2)
        for begin in range(0, len(self.rows), size):
            part = slice(begin, begin + size)
            at = self.rows[part]
            yield Rows(self.X[at], self.y[at], *self.labels[:, part])


def block_rows(arrays: Arrays, assignment: _core.Assignment) -> BlockRows:
    """Return the rows of the units of some models, each of which is a block."""
    members = np.asarray(assignment.members, dtype=np.int64)
    ends = np.asarray(assignment.offsets, dtype=np.int64)
    sizes = np.diff(ends)
    block_of_unit = np.repeat(np.arange(len(sizes)), sizes)
    lengths, rows = np.ones(len(members), dtype=np.int64), members
    if arrays.unit_offsets is not None and arrays.unit_rows is not None:
        starts = arrays.unit_offsets.astype(np.int64)
        lengths = np.diff(starts)[members]
        of_units = np.repeat(starts[members], lengths) + _within(lengths)
        rows = arrays.unit_rows.astype(np.int64)[of_units]
    unit = np.repeat(np.arange(len(members)), lengths)
    block = block_of_unit[unit]
    place = _within(np.bincount(block, minlength=len(sizes)))
    labels = np.stack([block, place, unit, _within(sizes)[unit]])
    return BlockRows(len(sizes), arrays.X, arrays.y, rows, labels, block_of_unit)


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


def inner(a: Doubles, b: Doubles) -> Doubles:
    """Return a'b, of each pair of rows."""
    total = np.zeros(len(a))
    for j in range(a.shape[1]):
        total = total + a[:, j] * b[:, j]
    return total


def times(matrix: Doubles, vector: Doubles) -> Doubles:
    """Return M v, of each pair."""
    total = np.zeros_like(vector)
    for j in range(vector.shape[1]):
        total = total + matrix[:, :, j] * vector[:, j : j + 1]
    return total


def quadratic(matrix: Doubles, z: Doubles) -> Doubles:
    """Return z' M z, of each pair."""
    return inner(times(matrix, z), z)


def inverted(matrix: Doubles) -> Doubles:
    """Return inverses of positive definite matrices, by Gauss and Jordan."""
    size = matrix.shape[1]
    left, right = matrix.copy(), np.broadcast_to(np.eye(size), matrix.shape).copy()
    for k in range(size):
        pivot = left[:, k, k].copy()[:, None]
        left[:, k], right[:, k] = left[:, k] / pivot, right[:, k] / pivot
        for j in range(size):
            if j != k:
                factor = left[:, j, k].copy()[:, None]
                left[:, j] -= factor * left[:, k]
                right[:, j] -= factor * right[:, k]
    return right
