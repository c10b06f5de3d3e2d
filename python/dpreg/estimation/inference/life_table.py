"""Survival from noisy numbers of exits and entries by interval.  Everything here is public.

Within an interval the hazard of the event is constant, and censoring is uniform.  Of m persons at
the beginning d have the event and c are censored; the increment L of the cumulative hazard solves

    d / m = 1 - e^-L - (c / m) (1 - k(L)),    k(L) = L / (e^L - 1).

To first order L is d / (m - c / 2), as in Cutler and Ederer (1958).  Persons censored at the end of
the interval are not in c; if all are, the curve is the Kaplan-Meier estimate.  A person who enters
inside the interval counts half in m.  L is a function of d, c and m, which are linear in the cells
of the table, so the delta method gives its errors from noise and from multinomial sampling (with c
= 0 this is Greenwood's formula).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dpreg.base.arrays import Doubles, Integers

# A number at risk is estimable if it is at least this many standard deviations of its noise.
_ESTIMABLE_SD = 5.0
# Increments below this are treated as 0; and the number of Newton steps, from a start within a
# few percent.
_SMALL, _STEPS = 1e-6, 8
# Draws of the maximum of correlated normal deviates, the same in every call.
_DRAWS, _SEED = 20_000, 20260101


@dataclass(frozen=True, slots=True, eq=False)
class LifeTable:
    """Life table of one group.  Arrays of length K; NaN where not estimable."""

    at_risk: Doubles  # At the beginning of each interval.
    events: Doubles
    censored: Doubles
    persons: Doubles  # As `at_risk`, plus half of those who enter inside the interval.
    cumulative: Doubles  # Estimates of minus the logarithm of survival; not necessarily increasing.
    covariance: Doubles  # Shape (K, K): of `cumulative`, sampling and noise.
    noise: Doubles  # The part of its diagonal due to noise.

    @property
    def known(self) -> int:
        """The number of leading intervals with an estimate."""
        return int((~np.isnan(self.cumulative)).sum())

    @property
    def survival(self) -> Doubles:
        """Survival at the end of each interval: non-increasing, between 0 and 1."""
        return np.exp(-monotone(self.cumulative))

    @property
    def standard_errors(self) -> Doubles:
        """Of `survival`."""
        return self.survival * np.sqrt(np.diag(self.covariance))

    def limits(self, alpha: float, *, simultaneous: bool = False) -> tuple[Doubles, Doubles]:
        """Return lower and upper limits of survival, of level 1 - `alpha`.

        The interval has all L with (estimate - L)^2 <= c^2 (L / m + noise), with m the effective
        number at risk: the score interval of a Poisson count, widened by noise. c is the normal
        quantile, or that of the largest standardised error.  Where survival is not estimable, the
        limits are 0 and the previous upper limit.
        """
        known = self.covariance[: self.known, : self.known]
        c = largest_error(known, alpha) if simultaneous else float(stats.norm.isf(alpha / 2))
        sampling = np.diag(self.covariance) - self.noise
        seen = self.cumulative > 0
        with np.errstate(all="ignore"):
            each = np.where(seen & (sampling > 0), sampling / self.cumulative, np.nan)
            mean_so_far = np.cumsum(1 / self.persons) / np.arange(1, len(self.persons) + 1)
            each = np.where(np.isnan(each), mean_so_far, each)
            middle = self.cumulative + c * c * each / 2
            half = c * np.sqrt(
                np.maximum(self.cumulative, 0) * each + (c * each / 2) ** 2 + self.noise
            )
        lower, upper = np.exp(-monotone(middle + half)), np.exp(-monotone(middle - half))
        # Survival never exceeds its previous upper limit.
        upper[self.known :] = upper[self.known - 1] if self.known else 1.0
        return np.nan_to_num(lower), upper


def largest_error(covariance: Doubles, alpha: float) -> float:
    """Return the value that the largest standardised error exceeds with probability `alpha`.

    covariance, shape (K, K): of normal errors.
    """
    if not len(covariance):
        return math.nan
    scale = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    drawn = np.random.default_rng(_SEED).standard_normal((_DRAWS, len(scale)))
    errors = drawn @ (vectors * np.sqrt(np.maximum(values, 0))).T
    return float(np.quantile(np.abs(errors).max(axis=1), 1 - alpha))


def monotone(values: Doubles) -> Doubles:
    """Return the nearest non-decreasing values that are at least 0; trailing NaN are kept."""
    known = int((~np.isnan(values)).sum())
    sums = np.concatenate([[0.0], np.cumsum(values[:known])])
    first, last = np.ogrid[:known, 1 : known + 1]
    means = np.where(last > first, sums[last] - sums[first], np.nan) / np.maximum(last - first, 1)
    # Max-min formula of isotonic regression: over starts and ends of averages.
    ends = np.where(last > first, means, np.inf)
    least = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    rising = np.where(last > first, least, -np.inf).max(axis=0, initial=-np.inf)
    return np.concatenate([np.maximum(rising, 0.0), values[known:]])


def _linear(
    exits: Integers, entries: Integers | None, variances: tuple[float, float]
) -> tuple[Doubles, Doubles, list[Doubles]]:
    """Return the cells of each group by interval, their variances, and linear maps of cells.

    The maps give d, c, persons at risk at the beginning, and m; shape (K, K * kinds) each.
    """
    counts = exits if entries is None else np.concatenate([exits, entries], axis=2)
    groups, intervals, kinds = counts.shape
    cells = counts.reshape(groups, -1).astype(np.float64)
    variance = np.tile(np.repeat(variances, [3, kinds - 3]), intervals)
    events, censored, at_risk = np.zeros((3, intervals, intervals, kinds))
    for k in range(intervals):
        events[k, k, 0] = censored[k, k, 1] = 1.0
        at_risk[k, k:, :3] = 1.0
        if kinds > 3:
            at_risk[k, k + 1 :, 3] = at_risk[k, k:, 4] = -1.0
    persons, inside = at_risk.copy(), np.arange(intervals)
    persons[inside, inside, 4:] += 0.5
    maps = (events, censored, at_risk, persons)
    return cells, variance, [each.reshape(intervals, -1) for each in maps]


def life_table(
    exits: Integers, entries: Integers | None, variances: tuple[float, float]
) -> LifeTable:
    """Return the life table of one group.

    exits, shape (K, 3): events, censored inside, censored at the end; with noise.
    entries, shape (K, 2) or None: entered at the beginning, or inside.
    variances: of the noise in each cell.
    """
    entered = None if entries is None else entries[None]
    (cells,), variance, maps = _linear(exits[None], entered, variances)
    events, inside, at_risk, persons = (m @ cells for m in maps)
    noise_sd = np.sqrt((maps[3] ** 2) @ variance)
    known = _estimable(persons, noise_sd)
    m = persons[:known]
    c = np.clip(inside[:known] / m, 0, 1)
    # At least half a person remains where noise, or an interval that nobody survives, would leave
    # none.  No increment becomes negative by that, which lowered the estimates of earlier
    # intervals.
    d = np.minimum(events[:known] / m, np.maximum(1 - c - 0.5 / m, 0))
    rise = _increment(d, c)
    by_event, by_censored = _slopes(rise, c)
    p = np.maximum(d, 0)
    mean = by_event * p + by_censored * c
    sampling = np.cumsum((by_event**2 * p + by_censored**2 * c - mean**2) / m)
    moved = (
        maps[0][:known] * (by_event / m)[:, None]
        + maps[1][:known] * (by_censored / m)[:, None]
        - maps[3][:known] * ((by_event * d + by_censored * c) / m)[:, None]
    )
    jacobian = np.cumsum(moved, axis=0)
    of_noise = (jacobian * variance) @ jacobian.T
    size, place = len(exits), np.arange(known)
    covariance, noise, cumulative = np.full((size, size), np.nan), *np.full((2, size), np.nan)
    covariance[:known, :known] = sampling[np.minimum.outer(place, place)] + of_noise
    noise[:known], cumulative[:known] = np.diag(of_noise), np.cumsum(rise)
    persons[known:] = np.nan
    return LifeTable(
        at_risk, events, exits[:, 1:].sum(axis=1).astype(np.float64), persons, cumulative,
        covariance, noise,
    )  # fmt: skip


def _estimable(persons: Doubles, noise_sd: Doubles) -> int:
    """Return the number of leading intervals with enough persons."""
    clear = persons > _ESTIMABLE_SD * np.maximum(noise_sd, 0.1)
    return int(np.logical_and.accumulate(clear).sum())


def _bernoulli(rise: Doubles) -> tuple[Doubles, Doubles]:
    """Return k(L) = L / (e^L - 1), and its derivative."""
    safe = np.where(np.abs(rise) < _SMALL, _SMALL, rise)
    more = np.expm1(safe)
    return safe / more, (more - safe * np.exp(safe)) / more**2


def _increment(d: Doubles, c: Doubles) -> Doubles:
    """Solve d = 1 - e^-L - c (1 - k(L)) for L, by Newton's method from d / (1 - c / 2)."""
    rise = -np.log1p(-np.clip(d / (1 - c / 2), -10.0, 1 - 1e-9))
    for _ in range(_STEPS):
        k, slope = _bernoulli(rise)
        gap = -np.expm1(-rise) - c * (1 - k) - d
        rise = rise - gap / np.maximum(np.exp(-rise) + c * slope, 1e-9)
    return np.asarray(rise)


def _slopes(rise: Doubles, c: Doubles) -> tuple[Doubles, Doubles]:
    """Return the derivatives of L in d and in c."""
    k, slope = _bernoulli(rise)
    by_event = 1 / np.maximum(np.exp(-rise) + c * slope, 1e-9)
    return by_event, (1 - k) * by_event


def area(table: LifeTable, edges: Doubles, time: float) -> tuple[float, float]:
    """Return the area under the curve up to `time`, and its standard error."""
    full, widths = np.diff(edges), np.diff(np.minimum(edges, time))
    last = int((widths > 0).sum())
    if last > table.known:
        return math.nan, math.nan
    cumulative = monotone(table.cumulative)[:last]
    begin = np.append(0.0, cumulative[:-1])
    share = (widths / full)[:last]
    rise = np.maximum((cumulative - begin) * share, _SMALL)
    # Time lived in an interval per person at its beginning: w (1 - e^-r) / r.
    parts = widths[:last] * np.exp(-begin) * -np.expm1(-rise) / rise
    by_rise = widths[:last] * np.exp(-begin) * (np.exp(-rise) * (1 + rise) - 1) / rise**2 * share
    slopes = by_rise.copy()
    slopes[:-1] -= by_rise[1:] + parts[1:]
    variance = slopes @ table.covariance[:last, :last] @ slopes
    return float(parts.sum()), math.sqrt(max(variance, 0.0))


def crossing(edges: Doubles, survival: Doubles, level: float) -> float:
    """Return where a curve with constant hazards between edges falls to a level; NaN: nowhere."""
    values = np.concatenate([[1.0], survival])
    below = np.flatnonzero(values <= level)
    if len(below) == 0:
        return math.nan
    k = int(below[0])
    before, after = -math.log(values[k - 1]), -math.log(max(values[k], 1e-300))
    share = (-math.log(level) - before) / (after - before)
    return float(edges[k - 1] + share * (edges[k] - edges[k - 1]))


def event_cuts(exits: Integers, edges: Doubles, count: int) -> Doubles:
    """Return at most `count` ends of intervals that divide events about evenly.

    Negative counts are set to 0, and 1 is added to each count, so that edges are divided about
    evenly if there is only noise.
    """
    events = np.maximum(exits[:, :, 0].sum(axis=0, dtype=np.float64), 0.0)
    sums, count = np.cumsum(events + 1), min(count, len(events))
    ends = np.searchsorted(sums, sums[-1] * (np.arange(1, count + 1) / count))
    return np.asarray(edges[1:][np.unique(ends)])


def log_rank(
    exits: Integers, entries: Integers | None, variances: tuple[float, float]
) -> tuple[float, int]:
    """Return the statistic of the log-rank test for all groups, and its degrees of freedom.

    Persons who are censored or enter inside an interval count half in it.  The variance is
    hypergeometric plus that of noise.  Intervals are used while the number at risk of all groups
    together is estimable.

    exits, shape (groups, K, 3).
    entries, shape (groups, K, 2) or None.
    """
    cells, variance, maps = _linear(exits, entries, variances)
    groups = len(exits)
    exposure = maps[3] - maps[1] / 2
    known = _estimable((cells @ exposure.T).sum(axis=0), np.sqrt(groups * (exposure**2) @ variance))
    of_events, of_exposure = maps[0][:known], exposure[:known]
    d, m = cells @ of_events.T, cells @ of_exposure.T
    all_d, all_m = d.sum(axis=0), m.sum(axis=0)
    share = m / all_m
    gap = (d - share * all_d).sum(axis=1)
    hypergeometric = np.maximum(all_d * (all_m - all_d) / np.maximum(all_m - 1, 1), 0)
    # Noise may make a share negative.
    inside = np.clip(share, 0, 1)
    total = (inside * hypergeometric).sum(axis=1)
    covariance = np.diag(total) - (inside * hypergeometric) @ inside.T
    same = np.eye(groups)
    for other in range(groups):
        by_event = same[:, other, None] - share
        by_exposure = -(all_d / all_m) * (same[:, other, None] - share)
        moved = by_event @ of_events + by_exposure @ of_exposure
        covariance += (moved * variance) @ moved.T
    kept = slice(groups - 1)
    gap, covariance = gap[kept], covariance[kept, kept]
    if known == 0:
        return math.nan, groups - 1
    return float(gap @ np.linalg.solve(covariance, gap)), groups - 1
