"""The protected units: which rows belong to which of them, and which are of a stratum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, Flags, Integers
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


class UnitNumbers:
    """Numbers the units of a table by their keys, batch after batch.  Private."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def labels(self, keys: pa.LargeBinaryArray) -> Integers:
        """Return the number of the unit of each row, -1 where a key is missing.

        Equal keys have one number, different keys different ones, in this batch and all others.
        """

        def number(key: bytes) -> int:
            return self._numbers.setdefault(key, len(self._numbers))

        return by_entry(keys.dictionary_encode(), number, np.int64)


class StratumRows:
    """Finds the rows of one stratum, batch after batch.  Private.

    A row is of the stratum if its column has the level.  A unit with several rows is of it only if
    none of them, complete or not, has another of the declared levels: a unit is of one stratum
    at most, whatever the formula and in whatever order its rows come.

    position: of the level of the stratum among the declared ones.
    """

    def __init__(self, position: int) -> None:
        self._position = position
        self._elsewhere: list[Integers] = []

    def inside(self, codes: NDArray[np.signedinteger], labels: Integers | None) -> Flags:
        """Return which rows of a batch have the level.

        codes: shape (n,): position of the level of each row among the declared ones, -1 where it
            has none.
        labels: the unit of each row, -1 where it is missing.  None: a row is a unit.
        """
        inside: Flags = codes == self._position
        if labels is not None:
            self._elsewhere.append(np.unique(labels[(codes >= 0) & ~inside]))
        return inside

    def of_one_stratum(self, labels: Integers) -> Flags:
        """Return which of these rows are of units without a row in another stratum.

        To be asked when `inside` has seen all rows.
        """
        elsewhere = np.concatenate([np.empty(0, dtype=np.int64), *self._elsewhere])
        return ~np.isin(labels, elsewhere)
