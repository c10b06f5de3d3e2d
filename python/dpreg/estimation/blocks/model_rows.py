"""Rows of models that are fitted to disjoint parts of the units, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers
from dpreg.data.design import Arrays, Design
from dpreg.data.expanded import by_group
from dpreg.data.observations import InMemory
from dpreg.estimation.planning.tukey import most_units
from dpreg.estimation.releases.doors import noisy_counts
from dpreg.privacy.certificate import Part
from dpreg.privacy.sealed import Sealed, opened

Partition = Literal["slots", "independent"]
# Largest size of arrays that are made from rows of blocks at a time.
_ROOM = 1 << 18


def assigned(
    design: Design, models: int, batch: int, partition: Partition, bits: _core.BitSource
) -> Sealed[_core.Assignment]:
    """Assign units to models, about `batch` to each."""
    count = opened(design.records).unit_count
    return Sealed(
        _core.assign_to_slots(count, models, batch, bits)
        if partition == "slots"
        else _core.assign_independently(count, models, bits)
    )


def noisy_units(design: Design, epsilon: float, bits: _core.BitSource) -> tuple[float, Part]:
    """Release the number of units plus discrete Laplace noise of scale 1 / `epsilon`."""
    (count,), part = noisy_counts("number of units", design.unit_count, epsilon, bits)
    return float(min(max(0, count), most_units(epsilon))), part


def rows_of_models(
    design: Design, assignment: _core.Assignment
) -> Iterator[tuple[Arrays, _core.Assignment]]:
    """Read rows with the assignment of their units to models: all at once if they are in memory.

    A model has the same rows in the same order either way.  The first model of each part has an
    even number, because the fit of a model may depend on whether its number is even.
    """
    records = opened(design.records)
    units = records.units
    if isinstance(records.rows, InMemory):
        yield records.arrays(), assignment
        return
    members = np.asarray(assignment.members, dtype=np.int64)
    models = np.asarray(assignment.offsets, dtype=np.int64)
    offsets, of_units = (None, None) if units is None else (units.offsets, units.rows)
    lengths, rows = _rows_of(members, offsets, of_units)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    for block in by_group(records.rows, ends[models], rows, even=True):
        own = models[block.first : block.last + 1]
        numbered = _core.fixed_assignment(range(own[-1] - own[0]), (own - own[0]).tolist())
        if units is None:
            yield Arrays(block.X, block.y), numbered
        else:
            within = (ends[own[0] : own[-1] + 1] - ends[own[0]]).astype(np.uint64)
            yield Arrays(block.X, block.y, within, block.rows), numbered


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """Some rows of blocks.  Private."""

    x: Doubles  # Shape (rows, d).
    y: Doubles  # Shape (rows,).
    # block, place: shape (rows,): the block of a row, and the index of the row within it.
    block: Integers
    place: Integers
    unit: Integers  # Shape (rows,): index of the row's unit among those of all blocks.
    turn: Integers  # Shape (rows,): index of the unit within its block.


@dataclass(frozen=True, slots=True, repr=False)
class BlockRows:
    """Rows of all blocks, sorted by block.  Private."""

    count: int  # Number of blocks.
    X: Doubles  # Shape (n, d).
    y: Doubles  # Shape (n,).
    rows: Integers  # Shape (rows,): index of a row in X and y.
    labels: Integers  # Shape (4, rows): block, place, unit and turn, as for `Rows`.
    block_of_unit: Integers  # Shape (units,).

    def parts(self) -> Iterator[Rows]:
        """Yield all rows in order, in batches."""
        size = max(1, _ROOM // (1 + self.X.shape[1]) ** 2)
        for begin in range(0, len(self.rows), size):
            part = slice(begin, begin + size)
            at = self.rows[part]
            yield Rows(self.X[at], self.y[at], *self.labels[:, part])


def block_rows(arrays: Arrays, assignment: _core.Assignment) -> BlockRows:
    """Return the rows of the units of some models; each model is a block."""
    members = np.asarray(assignment.members, dtype=np.int64)
    ends = np.asarray(assignment.offsets, dtype=np.int64)
    sizes = np.diff(ends)
    block_of_unit = np.repeat(np.arange(len(sizes)), sizes)
    lengths, rows = _rows_of(members, arrays.unit_offsets, arrays.unit_rows)
    unit = np.repeat(np.arange(len(members)), lengths)
    block = block_of_unit[unit]
    place = _within(np.bincount(block, minlength=len(sizes)))
    labels = np.stack([block, place, unit, _within(sizes)[unit]])
    return BlockRows(len(sizes), arrays.X, arrays.y, rows, labels, block_of_unit)


def _rows_of(
    members: Integers, offsets: NDArray[np.uint64] | None, rows: NDArray[np.uint64] | None
) -> tuple[Integers, Integers]:
    """Return the number of rows of each unit, and the rows; without offsets a unit is a row."""
    if offsets is None or rows is None:
        return np.ones(len(members), dtype=np.int64), members
    starts = offsets.astype(np.int64)
    lengths = np.diff(starts)[members]
    places = np.repeat(starts[members], lengths) + _within(lengths)
    return lengths, rows.astype(np.int64)[places]


def _within(lengths: Integers) -> Integers:
    """Count from 0 within each run of these lengths."""
    ends = np.cumsum(lengths)
    return np.asarray(np.arange(lengths.sum()) - np.repeat(ends - lengths, lengths))
