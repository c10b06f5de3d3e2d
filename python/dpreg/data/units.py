"""The protected units: which rows belong to which of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True, repr=False)
class Units:
    """The rows of each protected unit.  Private."""

    offsets: NDArray[np.uint64]  # Shape (units + 1,).
    # Shape (n,): unit u has the rows ``rows[offsets[u]:offsets[u + 1]]``; of `ExpandedRows` the
    # records.
    rows: NDArray[np.uint64]
    most: int | None = None  # No unit has more rows, as they were made so.  None: it is not known.

    @classmethod
    def from_labels(cls, labels: NDArray[np.int64]) -> Units:
        """Group rows by label; labels are any integers."""
        _, numbers = np.unique(labels, return_inverse=True)
        counts = np.bincount(numbers) if len(labels) else np.zeros(0, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = np.argsort(numbers, kind="stable")
        return cls(offsets.astype(np.uint64), rows.astype(np.uint64))


class UnitNumbers:
    """Numbers the units of a table by their keys, batch after batch.  Private."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def labels(self, keys: pyarrow.LargeBinaryArray) -> NDArray[np.int64]:
        """Return the number of the unit of each row, -1 where a key is missing.

        Equal keys have one number, different keys different ones, in this batch and all others.
        """
        encoded = keys.dictionary_encode()
        entries = encoded.dictionary.to_pylist()
        numbers = [self._numbers.setdefault(entry, len(self._numbers)) for entry in entries]
        # The last place is that of missing keys.
        table = np.array([*numbers, -1], dtype=np.int64)
        places = encoded.indices.fill_null(len(entries)).to_numpy(zero_copy_only=False)
        return np.asarray(table[places])
