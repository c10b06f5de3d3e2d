"""Proportional hazards at the start of scores.  Everything here is public.

At the solution, the expected sum over events of a function of covariates and time equals its sum
over persons at risk, weighted by hazards, so second moments over events are the curvature.
Covariates centred at their mean over the events of an interval are orthogonal to the hazard of that
interval.  In these coordinates hazards of intervals may be less precise than hazard ratios, and
contribute little to the norm of scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.data.design import Terms
from dpreg.data.periods import WHOLE, RowsOfPeriods
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.linearised import Linearised
from dpreg.estimation.newton.second_moments import Moments
from dpreg.estimation.newton.tilted import tilted_start
from dpreg.estimation.newton.working_model import loss_of
from dpreg.estimation.releases.accountant import Noisy
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales

# Prior standard deviations of the differences between events and records: in means over the events
# of an interval, and in second moments over all events.  In 17 simulated designs of 60 runs each,
# with second moments of events alone, errors of 2,000 persons with 200 events were 1.75 times as
# large; with an indicator of 3% of 5,000 or 20,000 persons .84 to .93 of intervals covered instead
# of .87 to .99, and up to 9% were blank instead of 2%.  With .8, errors with 200 events were 1.24
# times as large.  With second moments of records alone .69 of intervals of strong effects covered
# instead of .88, and .78 instead of .87 with the indicator in one design; with .2 errors were up to
# a tenth smaller, and .94 of those of 200 events covered instead of .96.
_MEANS_DIFFER, _MOMENTS_DIFFER = 0.3, 0.4
# Share of the study over which these differences drift, and their correlation between strata.
# Without a drift .916 of the intervals of 96 fits covered instead of .927.
_DRIFT, _ALIKE = 0.5, 0.5
# Least curvature along a covariate, as a share of that of all events.  Without it errors next to a
# hazard ratio of 1/20 for a tenth of 2,000 or 20,000 persons were up to 19 times as large.
_LEAST = 0.2


@dataclass(frozen=True, slots=True)
class Table:
    """Noisy numbers of exits and entries by stratum and interval."""

    cells: Doubles  # Shape (strata, K, 3 or 5): see `ExitCounts`.
    deviation: float  # Of the noise in each.

    @property
    def events(self) -> Doubles:
        """Noisy numbers of events, stratum by stratum."""
        return np.asarray(self.cells[:, :, 0].ravel())

    @property
    def seen(self) -> Doubles:
        """The same, at least one standard deviation of noise.

        With at least one event instead, errors of 36 of 88 fits were 1.08 times as large.
        """
        return np.maximum(self.events, max(self.deviation, 1.0))

    @property
    def total(self) -> float:
        """Number of events, at least 1."""
        return max(float(self.events.sum()), 1.0)


@dataclass(frozen=True, slots=True)
class Cells:
    """Coordinates of rows: covariates, time-varying effects, and intervals of strata."""

    # Shape (w, k + cells): maps standardised rows to covariates with unit variance over records,
    # and indicators of cells.
    change: Doubles
    unseen: Doubles  # Shape (w, h): see `Whitening`.
    size: int  # k.
    main: int  # Number of effects that do not change with time.
    at: Doubles  # Shape (k,): centres of covariates and time-varying effects.
    # Shape (k,): their factors where rows are summed: 1, and less for rare levels.
    sizes: Doubles

    @property
    def own(self) -> Doubles:
        """Map to covariates and time-varying effects."""
        return np.ascontiguousarray(self.change[:, : self.size])

    @property
    def usual(self) -> float:
        """Root mean square norm of these where rows are summed."""
        return float(np.linalg.norm(self.sizes))

    def centred(self, at: Doubles) -> Cells:
        """Subtract this from covariates and time-varying effects."""
        change = self.change.copy()
        change[0, : self.size] -= at
        return replace(self, change=change, at=self.at + at)

    @classmethod
    def of(
        cls,
        rows: RowsOfPeriods,
        units: StandardUnits,
        scales: Scales,
        found: Whitening,
        records: StandardUnits,
    ) -> Cells:
        """Return the coordinates of rows.

        units, scales: of the rows.
        found: coordinates of the covariates of records, with their intercept.
        records: units of the records.
        """
        periods = rows.periods
        count, strata, covariates = periods.count, len(rows.strata), len(rows.covariates)
        row_of = {int(column): 1 + j for j, column in enumerate(units.columns)}
        own = [0, *(row_of[rows.covariates.index(int(column))] for column in records.columns)]
        first = covariates + len(periods.varying)
        of_cells = _indicators(count, strata)
        cells = np.zeros((units.width, count * (1 + strata)))
        cells[[0, *(row_of[first + j] for j in range(len(of_cells) - 1))]] = np.linalg.inv(of_cells)
        main = np.zeros((units.width, found.width - 1))
        main[own] = found.change[:, 1:]
        unseen = np.zeros((units.width, found.unseen.shape[1]))
        unseen[own] = found.unseen
        # Means and deviations of standardised covariates, from the coordinates where they are 0, 1.
        back = np.linalg.pinv(found.change)
        changing = np.zeros((units.width, len(periods.varying)))
        times = np.tile(periods.log_time, 1 + strata)
        spread = max(float(np.sqrt(np.mean(periods.log_time**2))), np.finfo(float).tiny)
        for j, name in enumerate(periods.varying):
            place = periods.covariates.index(name)
            if covariates + j not in row_of or place not in row_of:
                continue
            at = own.index(row_of[place])
            shift = float(scales.centre[place] / scales.scale[place]) + float(back[0, at])
            deviation = max(float(np.linalg.norm(back[1:, at])), _LEAST)
            changing[row_of[covariates + j], j] = 1.0
            changing[:, j] -= shift * (cells @ times)
            changing[:, j] /= deviation * spread
        kept = np.abs(changing).max(axis=0, initial=0.0) > 0
        change = np.column_stack([main, changing[:, kept], cells])
        size = change.shape[1] - cells.shape[1]
        sizes = np.append(found.sizes[1:], np.ones(int(kept.sum())))
        return cls(change, unseen, size, main.shape[1], np.zeros(size), sizes)


def _indicators(count: int, strata: int) -> Doubles:
    """Return the values of constant, intervals, strata and their products in each cell."""
    interval = np.tile(np.arange(count), 1 + strata)
    stratum = np.repeat(np.arange(1 + strata), count)
    later = (interval[:, None] == np.arange(1, count)).astype(np.float64)
    others = (stratum[:, None] == np.arange(1, 1 + strata)).astype(np.float64)
    crossed = (others[:, :, None] * later[:, None, :]).reshape(len(interval), -1)
    return np.column_stack([np.ones(len(interval)), later, others, crossed])


def working_hazards(
    cells: Cells,
    table: Table,
    sums: Noisy,
    moments: tuple[Doubles, Doubles],
    start: tuple[Doubles, Doubles],
    terms: Terms,
    scales: Scales,
) -> Linearised:
    """Return the start of scores, in coordinates in which the curvature of an event is 1.

    sums: shape (cells, k): sums over the events of each cell, of the covariate coordinates.
    moments: second moments over all events of the same coordinates minus `cells.at`, and standard
        deviations of their noise (divided by sqrt 2 off the diagonal): each of shape (k, k).
    start: slopes along coordinates, and logarithms of hazards of cells.
    scales: their units are events.
    """
    k, total, (slopes, log_hazards) = cells.size, scales.units, start
    noise, (gram, deviation) = sums.scale, moments
    seen = table.seen
    means = sums.values - seen[:, None] * cells.at
    known = _alike(*table.cells.shape[:2])
    gain = known @ np.linalg.inv(known + np.diag((noise / seen) ** 2))
    centre = gain @ (means / seen[:, None])
    between = np.diag(known - gain @ known)
    taken = gain / seen
    taken = taken + taken.T - (taken.T * seen) @ taken
    square = (gram - means.T @ taken @ means) / total
    # Noise in means enters their squares, and noise in `cells.at`, their mean, enters all second
    # moments about it: uncorrected, curvatures of 2,000 persons with 200 events were overestimated
    # by a factor of 1.3, and .87 of intervals covered instead of .96.
    apart = np.eye(len(seen)) - seen[:, None] / total
    of_mean = len(seen) * (noise / total) ** 2
    square += (noise**2 / total * float(np.trace(apart.T @ taken @ apart)) - of_mean) * np.eye(k)
    error = (deviation / total) ** 2 + 2 / total + 2 * of_mean**2
    weight = 1 / (1 + error / _MOMENTS_DIFFER**2)
    square = weight * square + (1 - weight) * np.eye(k)
    values, vectors = np.linalg.eigh(square)
    root = (vectors / np.sqrt(np.maximum(values, _LEAST))) @ vectors.T
    size = np.sqrt(total / seen)
    turn = np.zeros((len(cells.change.T),) * 2)
    turn[:k, :k] = root
    turn[k:, :k] = -centre @ root
    turn[k:, k:] = np.diag(size)
    variance = np.zeros_like(turn)
    variance[:k, :k] = weight * error * np.outer(*[(root**2).sum(axis=0)] * 2)
    variance[k:, k:] = np.diag((table.deviation / seen) ** 2 + 2 / seen)
    # Twice that of products.
    variance[:k, k:] = 2 * np.outer((root**2).sum(axis=0), seen / total * between + 1 / total)
    variance[k:, :k] = variance[:k, k:].T
    begin = np.append(slopes, log_hazards + cells.at @ slopes)
    begin[k:] -= math.log(WHOLE) + sum(float(scales.centre[j]) for j in terms.given[:-1])
    found = Whitening(
        change=cells.change @ turn,
        unseen=cells.unseen,
        theta=np.asarray(np.linalg.solve(turn, begin)),
        residual=1.0,
        moments=Moments(np.eye(len(turn)), variance, np.arange(len(turn)) >= k),
        sizes=np.append(cells.sizes, 1.0 / size),
    )
    return Linearised(found, terms.family, loss=loss_of(terms.family, scales), event=1.0)


def _alike(strata: int, count: int) -> Doubles:
    """Return the prior covariance of means over the events of cells, which drift in time."""
    place, stratum = np.tile(np.arange(count), strata), np.repeat(np.arange(strata), count)
    near = np.exp(-np.abs(place[:, None] - place) / (_DRIFT * count))
    same = np.where(stratum[:, None] == stratum, 1.0, _ALIKE)
    return np.asarray(1.0 + _MEANS_DIFFER**2 * near * same)


def starting_slopes(table: Table, sums: Noisy, cells: Cells) -> tuple[Doubles, Doubles]:
    """Return slopes along coordinates, and log hazards of cells at coordinates 0."""
    seen = table.seen
    means = sums.values[:, : cells.main] / seen[:, None]
    slopes, log_hazards = tilted_start(table.cells, means, sums.scale / seen)
    return np.append(slopes, np.zeros(cells.size - cells.main)), log_hazards.ravel()
