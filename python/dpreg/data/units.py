"""The protected units: which rows belong to which of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.later import pa
from dpreg.data.cells import by_entry


@dataclass(frozen=True, slots=True, repr=False)
class Units:
    """The rows of each protected unit.  Private."""

    offsets: NDArray[np.uint64]  # Shape (units + 1,).
    # Shape (n,): unit u has the rows ``rows[offsets[u]:offsets[u + 1]]``; of `ExpandedRows` the
    # records.
    rows: NDArray[np.uint64]
    most: int | None = None  # No unit has more rows, as they were made so.  None: it is not known.

    @classmethod
    def from_labels(cls, labels: Integers) -> Units:
        """Group rows by label; labels are any integers."""
        _, numbers = np.unique(labels, return_inverse=True)
        counts = np.bincount(numbers) if len(labels) else np.zeros(0, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = np.argsort(numbers, kind="stable")
        return cls(offsets.astype(np.uint64), rows.astype(np.uint64))


def unit_means(values: Doubles, units: Units) -> Doubles:
    """Return the mean of the rows of each unit; a unit has at least one."""
    first = units.offsets[:-1].astype(np.intp)
    if not len(first):
        return values[:0]
    counts = np.diff(units.offsets.astype(np.int64)).astype(np.float64)
    # A sum of huge cells may overflow: a warning would be about a cell.
    with np.errstate(all="ignore"):
        sums = np.add.reduceat(values[units.rows.astype(np.intp)], first, axis=0)
        return np.asarray(sums / counts.reshape(-1, *[1] * (values.ndim - 1)))


def unit_labels(keys: pa.LargeBinaryArray, numbers: dict[bytes, int]) -> Integers:
    """Return the number of the unit of each row, -1 where a key is missing.

    Equal keys have one number, different keys different ones, in this batch and all others.

    numbers: of the keys so far; new ones are added.
    """
    return by_entry(
        keys.dictionary_encode(), lambda key: numbers.setdefault(key, len(numbers)), np.int64
    )
