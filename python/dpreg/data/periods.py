"""Person-period rows: one for each interval of time in which a record is at risk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpreg.base.arrays import Doubles, Integers

# Logarithm of the percentage of the interval in which a row was at risk.  With percentages few
# values are near 0, so its scale can be estimated.
EXPOSURE = "offset(log(exposure))"
WHOLE = 100.0
# Lower percentages are set to this.
_LEAST_EXPOSURE = 1.0


@dataclass(frozen=True, kw_only=True)
class Periods:
    """The columns of person-period rows.  Public."""

    edges: tuple[float, ...]  # Length K + 1: interval k of K is (edges[k], edges[k + 1]].
    # Columns that are constant over the rows of a record, including offsets.
    covariates: tuple[str, ...] = ()
    # Columns that code the strata, each with its own baseline.
    strata: tuple[str, ...] = ()
    # Covariates that are also multiplied by the centred logarithm of time.
    varying: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of intervals."""
        return len(self.edges) - 1

    @cached_property
    def log_time(self) -> Doubles:
        """Logarithm of the time from the first edge to the middle of each interval, centred."""
        edges = np.array(self.edges)
        middles = np.log((edges[:-1] + edges[1:]) / 2 - edges[0])
        return np.asarray(middles - middles.mean())

    @property
    def interactions(self) -> tuple[str, ...]:
        """Names of the covariates times time."""
        return tuple(f"{name}:log(time)" for name in self.varying)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns except the intercept (first interval, first stratum)."""
        later = tuple(f"interval[T.{end:g}]" for end in self.edges[2:])
        crossed = tuple(f"{name}:{interval}" for name in self.strata for interval in later)
        return (*self.covariates, *self.interactions, *later, *self.strata, *crossed)

    def ranges(self, known: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
        """Return limits of columns, given known limits of covariates and strata."""
        found = dict(known)
        for name, product in zip(self.varying, self.interactions, strict=True):
            if name in known:
                ends = np.multiply.outer(known[name], self.log_time)
                found[product] = (float(ends.min()), float(ends.max()))
        later = [f"interval[T.{end:g}]" for end in self.edges[2:]]
        found.update(dict.fromkeys(later, limits_of_dummy(self.count)))
        crossed = limits_of_dummy(self.count * (1 + len(self.strata)))
        found.update({f"{name}:{interval}": crossed for name in self.strata for interval in later})
        return found

    def columns(self, covariates: Doubles, strata: Doubles, interval: Integers) -> Doubles:
        """Return the columns `names` of rows, given the interval of each row."""
        varying = [self.covariates.index(name) for name in self.varying]
        later = (interval[:, None] == np.arange(1, self.count)).astype(np.float64)
        crossed = strata[:, :, None] * later[:, None, :]
        return np.column_stack(
            [
                covariates,
                covariates[:, varying] * self.log_time[interval, None],
                later,
                strata,
                crossed.reshape(len(interval), strata.shape[1] * later.shape[1]),
            ]
        )


def limits_of_dummy(cells: int) -> tuple[float, float]:
    """Return limits for the dummy of one of so many equal cells, in deviations from its mean.

    Columns are standardised by the middle and width of their limits.  With limits 0 and 1 a row
    would have the norm of one that is three deviations from the mean in each dummy, and would be
    clipped.
    """
    mean = 1 / cells
    deviation = max(math.sqrt(mean * (1 - mean)), (1 - mean) / 3)
    return mean - 3 * deviation, mean + 3 * deviation


@dataclass(frozen=True, slots=True)
class RowsOfPeriods:
    """Expands records into person-period rows.  Public, and can be pickled."""

    periods: Periods
    # With delayed entry the first column of a record is the time from which it is at risk.  The
    # event is next (or first).  The response is the time.
    entry: bool
    # covariates, strata: their indices in a record.
    covariates: tuple[int, ...]
    strata: tuple[int, ...]
    weighted: bool = False  # The last column of a record is its weight, which its rows inherit.

    @property
    def order(self) -> int | None:
        """The column by which the records of a unit are ordered; None: no order."""
        return 0 if self.entry else None

    @np.errstate(all="ignore")  # a warning would be about a cell
    def __call__(self, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles, Integers]:
        """Return regressors and response of the rows, and the number of rows of each record.

        A record has a row in each interval in which it is at risk.  The response is 1 only in the
        interval of its event, which is the last.  A record has no rows if it is not at risk between
        the first and the last edge, or if its event is neither 0 nor 1.  Times beyond the last edge
        are censored there.  Columns are `Periods.names`, the log exposure, and the weight if any.
        """
        begin, first, last, event = self._stays(X, y)
        counts = np.where(event < 0, 0, last - first + 1)
        record = np.repeat(np.arange(len(y)), counts)
        before = np.cumsum(counts) - counts
        interval = first[record] + np.arange(len(record)) - before[record]
        rows = self._made(X, y, begin, record, interval)
        happened = (event[record] == 1) & (interval == last[record])
        return rows, happened.astype(np.float64), counts

    def _made(
        self, X: Doubles, y: Doubles, begin: Doubles, record: Integers, interval: Integers
    ) -> Doubles:
        """Return the row of each record in the interval."""
        edges = np.array(self.periods.edges)
        low, high = edges[interval], edges[interval + 1]
        stay = np.minimum(y[record], high) - np.maximum(begin[record], low)
        exposure = np.log(np.fmax(WHOLE * (stay / (high - low)), _LEAST_EXPOSURE))
        own = X[record]
        covariates, strata = own[:, list(self.covariates)], own[:, list(self.strata)]
        columns = self.periods.columns(covariates, strata, interval)
        weights = [own[:, -1]] if self.weighted else []
        return np.column_stack([columns, exposure, *weights])

    @np.errstate(all="ignore")  # a warning would be about a cell
    def events(self, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles, Integers]:
        """Return the row of each record whose response is 1, if there is one.

        Here the response is the number of the interval, stratum by stratum.
        """
        begin, _, last, event = self._stays(X, y)
        record = np.flatnonzero(event == 1)
        rows = self._made(X, y, begin, record, last[record])
        stratum = np.zeros(len(record), dtype=np.int64)
        for number, place in enumerate(self.strata, 1):
            stratum += number * (X[record, place] == 1)
        cells = stratum * self.periods.count + last[record]
        return rows, cells.astype(np.float64), (event == 1).astype(np.int64)

    def _stays(self, X: Doubles, y: Doubles) -> tuple[Doubles, Integers, Integers, Integers]:
        """Return entry times, first and last intervals, and events of records.

        The event is -1 for records without rows.
        """
        edges, status = np.array(self.periods.edges), X[:, int(self.entry)]
        inside = ((status == 0) | (status == 1)) & (y > edges[0])
        begin = np.full(len(y), edges[0])
        if self.entry:
            inside &= (X[:, 0] < y) & (X[:, 0] < edges[-1])
            begin = np.maximum(X[:, 0], edges[0])
        else:
            inside |= (y == edges[0]) & (status == 1)
        most = len(edges) - 2
        first = np.clip(np.searchsorted(edges, begin, side="right") - 1, 0, most)
        last = np.clip(np.searchsorted(edges[1:], y, side="left"), 0, most)
        event = np.where(inside, (status == 1) & (y <= edges[-1]), -1)
        return begin, first, last, event.astype(np.int64)
