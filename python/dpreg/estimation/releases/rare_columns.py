"""Columns that are nearly always 0: their other values, and the number of rows with one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers
from dpreg.data.observations import Totals
from dpreg.estimation.releases.accountant import GaussianReleases, Noisy
from dpreg.estimation.releases.column_sizes import FAR_LEAD, LEAD, NEAR, PENALTY, best_run
from dpreg.estimation.releases.statistics import PairCounts, SizeCounts

# Share of the squared mu.
RARE_SHARE = 0.03
# Share of zeros above which a column is nearly always 0.
MOSTLY = 0.5
# A cell has values if it has as many standard deviations of noise as the lead of a run: noise alone
# makes one in one of 700 columns.  Adjacent cells need only this many.  If no cell is significant a
# run of cells may be: values with a long tail are in many.
_BESIDE = 2.5
# Rows that two columns share are counted if noise is at most this share of the rows of the rarest.
# With any noise the median errors of 13 fits were 1.5 times as large.
_SHARED = 0.2


@dataclass(frozen=True, slots=True)
class RareColumn:
    """A column that is nearly always 0.  Public."""

    value: float  # Root mean square of the other values.
    mean: float  # Of the other values.
    share: float  # Of rows that have one.
    deviation: float  # Of the noise in that.
    # low, high: nearly all values are between these.
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RareColumns:
    """Columns that are nearly always 0, and which have rows in common.  Public."""

    columns: Mapping[int, RareColumn] = field(default_factory=dict)
    # Shares of rows in which two of `together` are not 0 (on the diagonal, one), and their noise
    # standard deviation; `together` is empty if they were not counted.
    together: tuple[int, ...] = ()
    shared: Doubles = field(default_factory=lambda: np.zeros((0, 0)))
    deviation: float = 0.0
    untold: tuple[int, ...] = ()  # Indices of possible ones, without significant other values.

    def moved(self, places: Mapping[int, int]) -> RareColumns:
        """Return the columns that have a new index, at that index."""
        kept = [k for k, j in enumerate(self.together) if j in places]
        kept.sort(key=lambda k: places[self.together[k]])
        return RareColumns(
            {to: self.columns[j] for j, to in places.items() if j in self.columns},
            tuple(places[self.together[k]] for k in kept),
            self.shared[np.ix_(kept, kept)],
            self.deviation,
            tuple(to for j, to in places.items() if j in self.untold),
        )


def known_rare(
    rows: Totals,
    noise: GaussianReleases,
    found: Mapping[int, RareColumn],
    lost: list[int],
    units: float,
    most: float,
) -> tuple[RareColumns, float]:
    """Return the rare columns, and the released values.

    rows: private.
    found: columns that are already known, by index.
    lost: columns to be counted again.
    units: noisy number of rows.
    most: largest share of the squared mu in total.
    Returns: of several of `found` only where the rows that they share could be counted.
    and share: of the squared mu that was spent.

    Privacy
    -------
    guarantee : as the releases that are added to `noise`
    proof : column_scaling.md
    """
    again = _counted_again(rows, noise, np.array(lost), units) if lost else {}
    spent = RARE_SHARE * bool(lost)
    known = RareColumns({**found, **again})
    if len(known.columns) < 2:
        return known, spent
    shared = _shared_rows(rows, noise, known, units) if spent + RARE_SHARE < most else None
    if shared is None:
        return RareColumns(again), spent
    return shared, spent + RARE_SHARE


def _shared_rows(
    rows: Totals, noise: GaussianReleases, known: RareColumns, units: float
) -> RareColumns | None:
    """Count rows in which two columns are not 0; None if that would be mostly noise."""
    places, mu = sorted(known.columns), noise.share(RARE_SHARE)
    share = np.array([known.columns[j].share for j in places])
    pairs = len(places) * (len(places) - 1) // 2
    if math.sqrt(pairs) * noise.rows / mu > _SHARED * units * float(share.min()):
        return None
    exact = rows.total(PairCounts(np.array(places)))
    counts, deviation = noise.release("rows in which two rare columns are not 0", exact, mu)
    shared = np.diag(share)
    upper = np.triu_indices(len(places), 1)
    most = np.minimum(*np.meshgrid(share, share))
    shared[upper] = np.clip(counts[:, 0] / units, 0.0, most[upper])
    shared = np.maximum(shared, shared.T)
    return RareColumns(known.columns, tuple(places), shared, float(deviation) / units)


def _counted_again(
    rows: Totals, noise: GaussianReleases, places: Integers, units: float
) -> dict[int, RareColumn]:
    """Count values of columns with less noise; return those that are nearly always 0.

    An indicator of 120 rows of 60,000 is not significant in the counts for other columns.  Treated
    as an ordinary column it was so large in the coordinates of scores that these were clipped to a
    sixth, and one of three of its coefficients was wrong by three to six errors.
    """
    _, cells = rows.total(SizeCounts((places,)))
    label = "sign and order of magnitude of columns that are nearly always 0"
    counts, deviation = noise.release(label, cells, noise.share(RARE_SHARE))
    return rare_of(zip(places, counts, strict=True), float(deviation), units, MOSTLY)


class Cells(NamedTuple):
    """Noisy numbers of values of a column by sign and order of magnitude."""

    counts: Doubles  # As of `_core.magnitude_counts`.
    deviation: float  # Of the noise in each.

    def zeros(self, units: float) -> float:
        """Return the share of zeros."""
        return float(self.counts[len(self.counts) // 2]) / units


def response_amounts(
    rows: Totals, noise: GaussianReleases, first: Cells, place: int, units: float
) -> RareColumn | None:
    """Count values of the response again; return the nonzero ones, if significant.

    first: first counts of the response.
    place: index of the response.
    units: noisy number of rows.

    Privacy
    -------
    guarantee : as the release that is added to `noise`
    proof : column_scaling.md
    """
    _, cells = rows.total(SizeCounts((np.array([place]),)))
    label = "sign and order of magnitude of the response, again"
    again, deviation = noise.release(label, cells, noise.share(RARE_SHARE))
    both = Noisy(first.counts, first.deviation).averaged(Noisy(again[0], deviation))
    return read_rare(both.values, both.scale, units, long=True)


def rare_of(
    counts: Iterable[tuple[int, Doubles]], deviation: float, units: float, zeros: float
) -> dict[int, RareColumn]:
    """Return the columns, by index, with more than this share of zeros, and other values."""
    found = {
        int(j): read_rare(row, deviation, units)
        for j, row in counts
        if row[len(row) // 2] > zeros * units
    }
    return {j: column for j, column in found.items() if column is not None}


def read_rare(
    cells: Doubles, deviation: float, units: float, *, long: bool = False
) -> RareColumn | None:
    """Return the other values of a column that is nearly always 0; None if not significant.

    cells: noisy counts, as of `_core.magnitude_counts`.
    deviation: of the noise in each.
    units: noisy number of rows.
    long: values are in a run of cells rather than in one cell and adjacent ones.
    """
    zero = len(cells) // 2
    numbers = squares = sums = 0.0
    ends = [0.0, 0.0]
    for sign, side in ((-1, cells[:zero][::-1]), (1, cells[zero + 1 :])):
        octaves = _core.LEAST_EXPONENT + np.arange(len(side))
        least = np.where(np.abs(octaves) <= NEAR, LEAD, FAR_LEAD) * deviation
        most = int(np.argmax(side - least))
        first = last = most
        while first > 0 and side[first - 1] > _BESIDE * deviation:
            first -= 1
        while last + 1 < len(side) and side[last + 1] > _BESIDE * deviation:
            last += 1
        lead, begin, end = best_run(side, deviation, PENALTY)
        seen = lead >= least[(begin + end) // 2]
        if side[most] < least[most] and not seen:
            continue
        if seen and (long or side[most] < least[most]):
            first, last = begin, end
        # Values in one cell are mostly those of an indicator, at the end of the cell.
        middle = 0.75 if last > first else 1.0
        values = middle * 2.0 ** octaves[first : last + 1]
        held = side[first : last + 1]
        ends.append(sign * float(2.0 ** octaves[last]))
        numbers += float(held.sum())
        sums += sign * float(held @ values)
        squares += float(held @ values**2)
    if numbers == 0:
        return None
    value, mean = math.sqrt(squares / numbers), sums / numbers
    share = min(numbers / units, 1 - MOSTLY)
    return RareColumn(value, mean, share, deviation / units, low=min(ends), high=max(ends))
