"""Which rows are of a stratum, decided by the records of each unit alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class StratumRows:
    """Finds the rows of one stratum, batch after batch.  Private.

    A row is of the stratum if its column has the level.  A unit with several rows is of it only if
    none of them, complete or not, has another of the declared levels: a unit is of one stratum
    at most, whatever the formula and in whatever order its rows come.

    position: of the level of the stratum among the declared ones.
    """

    def __init__(self, position: int) -> None:
        self._position = position
        self._elsewhere: list[NDArray[np.int64]] = []

    def inside(
        self, codes: NDArray[np.signedinteger], labels: NDArray[np.int64] | None
    ) -> NDArray[np.bool_]:
        """Return which rows of a batch have the level.

        codes: shape (n,): position of the level of each row among the declared ones, -1 where it
            has none.
        labels: the unit of each row, -1 where it is missing.  None: a row is a unit.
        """
        inside: NDArray[np.bool_] = codes == self._position
        if labels is not None:
            self._elsewhere.append(np.unique(labels[(codes >= 0) & ~inside]))
        return inside

    def of_one_stratum(self, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these rows are of units without a row in another stratum.

        To be asked when `inside` has seen all rows.
        """
        elsewhere = np.concatenate([np.empty(0, dtype=np.int64), *self._elsewhere])
        return ~np.isin(labels, elsewhere)
