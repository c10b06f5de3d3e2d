"""Counts in narrow bins, of which those in wider ones are sums: one pass for several histograms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.releases.statistics import counts_of_columns
from dpreg.privacy.sealed import ExactSums, opened

# Cells that are counted at once, of all columns: they stay near the processor.
_MOST_CELLS = 1 << 17


def nested_bins(bins: int, zooms: int, columns: int) -> int:
    """Return into how many bins to divide columns, for as many of the next zooms as can be."""
    size = bins
    for _ in range(zooms - 1):
        exact = bins & (bins - 1) == 0  # edges are
        if not exact or size * bins * columns > _MOST_CELLS:
            break
        size *= bins
    return size


@dataclass(frozen=True, slots=True, eq=False)
class NestedCounts:
    """Counts of values in equal bins, from which those in other bins follow.  Private."""

    # Shape (columns, size + 1): the last of each column counts zeros, which are in no bin.
    cells: ExactSums
    size: int
    # low, high: shape (columns,): limits of the bins; what is beyond them is in the first or the
    # last.
    low: Doubles
    high: Doubles
    weights: Doubles  # Shape (columns,): how much each column counts.

    def counts(self, low: Doubles, high: Doubles, bins: int) -> ExactSums | None:
        """Return counts within other limits, what is beyond them at the ends.

        Each value is in one bin, as before.

        Returns
        -------
        ExactSums, shape (columns, bins + 1), or None
            None: the edges of these bins are not among those that were counted, which depends on
            limits only.
        """
        size = self.size
        span = self.high - self.low
        # A quotient comes first, so that the limits that were counted are exact for any bins.
        first, width = (low - self.low) / span * size, (high - low) / span * size / bins
        among = (first >= 0) & (width >= 1) & (first + bins * width <= size)
        if not (among & (first % 1 == 0) & (width % 1 == 0)).all():
            return None
        edges = first[:, None] + width[:, None] * np.arange(bins)
        edges[:, 0] = 0
        cells = opened(self.cells)
        parts = zip(cells, edges.astype(np.intp), strict=True)
        found = [np.append(np.add.reduceat(row[:-1], at), row[-1]) for row, at in parts]
        return counts_of_columns(np.array(found), self.weights)
