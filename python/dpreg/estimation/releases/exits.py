"""Noisy numbers of persons by number of rows, and of exits and entries by interval of time."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers, Sums
from dpreg.base.text import counted
from dpreg.data.design import Design
from dpreg.data.sampling import sample_rows, unit_sizes
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.doors import epsilon_of_row, noisy_counts
from dpreg.privacy.certificate import Part
from dpreg.privacy.sealed import Counts, ExactSums

# Cells of an interval: an event in it, censored inside it, censored at its end or later; and
# entered at its beginning or before, entered inside it.
EXITS, ENTRIES = 3, 2
# Share of epsilon for entries: they affect numbers at risk only, exits also numbers of events.
ENTRY_SHARE = 1 / 3
# Numbers below this many standard deviations of noise may be 0.
_CLEAR = 3.0
# Standard deviations of noise for which units with more rows are significant.
_SEEN = 2.5


@dataclass(frozen=True, slots=True, eq=False)
class ExitCounts:
    """Numbers of exits and entries by group, interval and kind: a `Statistic`.

    Interval k of K is (edges[k], edges[k + 1]], the first with its beginning.  A row adds 1 to one
    cell of exits, and to one of entries if there are any.  It adds nothing if it is not at risk
    between the first and the last edge, or if its event is neither 0 nor 1.  Times beyond the last
    edge are censored there.
    """

    edges: Doubles  # Shape (K + 1,).
    groups: int
    # The columns of X after start and event times these give the number of the group.
    codes: Doubles
    entry: bool  # The first column of X is the time from which a row is at risk.

    def seal(self, sums: Sums) -> tuple[Counts, Counts]:
        """Return exits and entries, each of shape (groups, K, kinds); see `Statistic.seal`."""
        counts = sums.reshape(self.groups, self._intervals, -1)
        return Counts(counts[:, :, :EXITS]), Counts(counts[:, :, EXITS:])

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (groups, K, 3), or (groups, K, 5) with entries, laid flat."""
        first, last = self.edges[0], self.edges[-1]
        event = X[:, int(self.entry)]
        # Column by column: the result of a matrix product for a row depends on the number of rows.
        group = np.zeros(len(y))
        with np.errstate(all="ignore"):
            for j, code in enumerate(self.codes, int(self.entry) + 1):
                group += code * X[:, j]
        inside = ((event == 0) | (event == 1)) & np.isin(group, np.arange(self.groups))
        if self.entry:
            inside &= (X[:, 0] < y) & (X[:, 0] < last) & (y > first)
        else:
            inside &= (y > first) | ((y == first) & (event == 1))
        y, event, group = y[inside], event[inside], group[inside].astype(np.int64)
        exits = self._cells(y, np.where(event == 1, 0, 1), group, EXITS)
        if not self.entry:
            return exits.ravel()
        start = np.maximum(X[inside, 0], first)
        place = np.searchsorted(self.edges[:-1], start, side="right") - 1
        at = (group * self._intervals + place) * ENTRIES + (start > self.edges[place])
        size = self.groups * self._intervals * ENTRIES
        entries = np.bincount(at, minlength=size).reshape(self.groups, -1, ENTRIES)
        return np.concatenate([exits, entries], axis=2).ravel()

    @property
    def _intervals(self) -> int:
        return len(self.edges) - 1

    def _cells(self, y: Doubles, kind: Sums, group: Sums, kinds: int) -> Sums:
        ends = self.edges[1:]
        place = np.searchsorted(ends, y, side="left")
        beyond = place == len(ends)
        place = np.where(beyond, len(ends) - 1, place)
        at_end = beyond | ((kind == 1) & (y == ends[place]))
        at = (group * self._intervals + place) * kinds + np.where(at_end, 2, kind)
        size = self.groups * self._intervals * kinds
        return np.bincount(at, minlength=size).reshape(self.groups, -1, kinds)


@dataclass(frozen=True, slots=True, eq=False)
class ExitTable:
    """The same numbers, for Gaussian noise: a `Statistic`."""

    of: ExitCounts

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return the same array as `ExitCounts`."""
        return self.of(X, y)

    def seal(self, sums: Sums) -> ExactSums:
        """Return exits and entries, shape (groups, K, kinds): a row adds 1 to one of each."""
        cells = sums.reshape(self.of.groups, len(self.of.edges) - 1, -1)
        return ExactSums(cells, _core.counts_sensitivity(np.ones(1 + self.of.entry)))


@dataclass(frozen=True, slots=True)
class NoisyExits:
    """Tables that may be published."""

    exits: Sums  # Shape (groups, K, 3).
    entries: Sums | None  # None: all were at risk from the beginning.
    variances: tuple[float, float]  # Of the noise of each cell, of exits and of entries.
    parts: tuple[Part, ...]


def noisy_exits(
    design: Design, statistic: ExitCounts, max_rows: int, epsilon: float, bits: _core.BitSource
) -> NoisyExits:
    """Release the numbers of exits and entries in each interval.

    design: private.
    max_rows: maximum number of rows per unit: with entry the first in time, otherwise at random.

    Privacy
    -------
    guarantee : (epsilon, 0)-DP
    neighbours : add or remove one unit
    proof : exits.md
    """
    order = 0 if statistic.entry else None
    leaving, entering = sample_rows(design, max_rows, bits, order=order).total(statistic)
    most = max_rows if design.by_unit else 1
    of_entries = epsilon * ENTRY_SHARE if statistic.entry else 0.0
    # Rounded down, so that the sum of the two is at most epsilon.
    of_exits = math.nextafter(epsilon - of_entries, 0.0) if statistic.entry else epsilon
    exits, part, variance = _noisy("exits", leaving, most, of_exits, bits)
    if not statistic.entry:
        return NoisyExits(exits, None, (variance, 0.0), (part,))
    entries, more, other = _noisy("entries", entering, most, of_entries, bits)
    return NoisyExits(exits, entries, (variance, other), (part, more))


def _noisy(
    what: str, counts: Counts, most: int, epsilon: float, bits: _core.BitSource
) -> tuple[Sums, Part, float]:
    """Release counts to which a unit adds at most `most`; also return the variance."""
    noisy, part = noisy_counts(f"{what} by group and interval", counts, epsilon, bits, most)
    return noisy, part, 1 / (2 * math.sinh(epsilon_of_row(epsilon, most) / 2) ** 2)


def about_events(exits: Doubles | Sums, deviation: float) -> tuple[str, ...]:
    """Return a note on the coding of the event if released exits suggest another one.

    exits: shape (groups, K, 3 or more).
    deviation: of the noise in each.
    """
    events = exits[:, :, 0]
    censored = exits[:, :, 1].sum() + exits[:, :-1, 2].sum()
    least = _CLEAR * deviation * math.sqrt(2 * events.size)
    if events.sum() <= least or censored > least:
        return ()
    return (
        "noisy counts show no row censored before the last cut; the event must be 0 or 1: if 2 is "
        "the event, write Surv(time, status == 2)",
    )


def most_rows_seen(design: Design, noise: GaussianReleases, mu: float) -> int:
    """Return the number of rows exceeded by no significant number of units.

    design: private: a unit has at most `noise.rows` rows.
    Returns `noise.rows` if no number of units is significant.
    """
    starts = _starts(noise.rows)
    counts, deviation = noise.release("units by number of rows", unit_sizes(design, starts), mu)
    beyond = np.cumsum(counts[::-1])[::-1]
    seen = beyond > _SEEN * deviation * np.sqrt(np.arange(len(starts), 0, -1))
    if not seen.any():
        return noise.rows
    ends = np.append(starts[1:] - 1, noise.rows)
    return int(ends[np.flatnonzero(seen)[-1]])


def about_rows_used(unit: str | None, used: int, allowed: int) -> tuple[str, ...]:
    """Return the note on the used and the allowed number of rows per unit.

    unit: its column; None: each row is a unit.
    """
    if unit is None:
        return ()
    why = "few have more, by noisy counts"
    if used == allowed:
        why = "a larger max_rows= costs little where few have so many"
    verb = "is" if used == 1 else "are"
    return (f"of each {unit!r} at most {counted(used, 'row')} {verb} used; {why}",)


def _starts(most: int) -> Integers:
    """Return 1, 2, 3, 4, 6, 8, 12, ... up to `most`: half octaves."""
    halves = itertools.chain([1], *([2**k, 3 * 2 ** (k - 1)] for k in range(1, most.bit_length())))
    return np.array([start for start in halves if start <= most])
