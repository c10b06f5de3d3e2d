"""Products of columns and response, both mapped to [-1, 1] by public bounds and clipped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Sums
from dpreg.estimation.releases.scaling import in_unit_interval
from dpreg.privacy.sealed import Scores

# Mapped cells are multiples of 2^-15, and scores of 2^-20.
_CELL_BITS, _SCORE_BITS = 15, 20
# Cells that are mapped together: they stay near the processor, and sums of products of so many are
# exact in doubles, in any order.
_TOGETHER = 1 << 15
# Largest change of a score when one row is added or removed, and length of the interval that holds
# the changes of all scores; both are attained (clipped_products.md).
SENSITIVITY, RANGE = 1.0, 2.0


@dataclass(frozen=True, slots=True, eq=False)
class ClippedProducts:
    """Sums of products of each column and the response: a `Statistic`."""

    # centres, halves: shape (d + 1,): of the limits of each column, the response being the last.
    centres: Doubles
    halves: Doubles
    starts: tuple[int, ...]  # First column of each term, whose score is the largest of its columns.
    rows: int  # How many rows a unit may have.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (d,), in steps of 2^-30."""
        sums = np.zeros(X.shape[1], dtype=np.int64)
        together = max(1, _TOGETHER // X.shape[1])
        for first in range(0, len(y), together):
            part = slice(first, first + together)
            response = mapped(y[part], self.centres[-1], self.halves[-1])
            columns = mapped(X[part], self.centres[:-1], self.halves[:-1])
            sums += (response @ columns).astype(np.int64)
        return sums

    def seal(self, sums: Sums) -> Scores:
        """Return a score for each term."""
        scores = np.maximum.reduceat(scores_of(sums), self.starts)
        return Scores(scores, self.rows * RANGE)


def mapped(values: Doubles, centre: Doubles, half: Doubles) -> Doubles:
    """Return cells in [-1, 1], as whole numbers of steps; 0 for what is not a number."""
    return np.asarray(np.rint(np.ldexp(in_unit_interval(values, centre, half), _CELL_BITS)))


def scores_of(sums: Sums) -> Doubles:
    """Return absolute values, rounded down to multiples that are exact doubles."""
    return np.asarray(np.ldexp(np.abs(sums) >> (2 * _CELL_BITS - _SCORE_BITS), -_SCORE_BITS))
