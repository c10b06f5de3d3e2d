"""Survival from noisy numbers of exits and entries by interval.  Everything here is public.

Persons censored inside an interval, or entering inside it, count half in it (Cutler and Ederer
1958); those censored at its end count fully, as in R's survfit: where the ends of intervals are all
the times there are, the curve is the Kaplan-Meier estimate.  The cumulative hazard is
L_j = sum_{k <= j} -log(1 - d_k / m_k), with events d and exposures m linear in the cells, so that
noise moves it by its derivative; sampling error is Greenwood's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["LifeTable", "area", "crossing", "life_table", "log_rank", "monotone"]

Doubles = NDArray[np.float64]
Counts = NDArray[np.int64]

# Exposures of this many deviations of their noise are estimable.
_CLEAR = 5.0
# Draws of the largest of correlated normal deviates, the same in every call.
_DRAWS, _SEED = 20_000, 20260101


@dataclass(frozen=True, slots=True, eq=False)
class LifeTable:
    """What the table of one group says.  Arrays of length K; NaN where it is not estimable.

    Attributes
    ----------
    at_risk : ndarray
        At the beginning of each interval.
    events, censored, exposure : ndarray
    hazard : ndarray
        Of an event in the interval.
    cumulative : ndarray
        Estimates of minus the logarithm of survival; they need not rise.
    covariance : ndarray, shape (K, K)
        Of `cumulative`, sampling error and noise.
    noise : ndarray
        The part of its diagonal that noise has.
    """

    at_risk: Doubles
    events: Doubles
    censored: Doubles
    exposure: Doubles
    hazard: Doubles
    cumulative: Doubles
    covariance: Doubles
    noise: Doubles

    @property
    def known(self) -> int:
        """The number of intervals, from the first on, of which there is an estimate."""
        return int((~np.isnan(self.cumulative)).sum())

    @property
    def survival(self) -> Doubles:
        """At the end of each interval: falling, between 0 and 1."""
        return np.exp(-monotone(self.cumulative))

    @property
    def standard_errors(self) -> Doubles:
        """Of `survival`."""
        return self.survival * np.sqrt(np.diag(self.covariance))

    def limits(self, alpha: float, *, simultaneous: bool = False) -> tuple[Doubles, Doubles]:
        """Return lower and upper limits of survival, of level 1 - `alpha`.

        All L with (estimate - L)^2 <= c^2 (L / m + noise), m being the effective number at risk:
        the score interval of a Poisson number, widened by noise; c is the normal quantile, or that
        of the largest of the standardised errors.  Where survival is not estimable, it is between 0
        and the upper limit before.
        """
        c = self._largest(alpha) if simultaneous else float(stats.norm.isf(alpha / 2))
        sampling = np.diag(self.covariance) - self.noise
        seen = self.cumulative > 0
        with np.errstate(all="ignore"):
            each = np.where(seen & (sampling > 0), sampling / self.cumulative, np.nan)
            each = np.where(np.isnan(each), _mean_so_far(1 / self.exposure), each)
            middle = self.cumulative + c * c * each / 2
            half = c * np.sqrt(
                np.maximum(self.cumulative, 0) * each + (c * each / 2) ** 2 + self.noise
            )
        lower, upper = np.exp(-monotone(middle + half)), np.exp(-monotone(middle - half))
        # Later on survival is at most what it was.
        upper[self.known :] = upper[self.known - 1] if self.known else 1.0
        return np.nan_to_num(lower), upper

    def _largest(self, alpha: float) -> float:
        known = self.known
        if known == 0:
            return math.nan
        covariance = self.covariance[:known, :known]
        scale = np.sqrt(np.diag(covariance))
        values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
        drawn = np.random.default_rng(_SEED).standard_normal((_DRAWS, known))
        errors = drawn @ (vectors * np.sqrt(np.maximum(values, 0))).T
        return float(np.quantile(np.abs(errors).max(axis=1), 1 - alpha))


def _mean_so_far(values: Doubles) -> Doubles:
    return np.asarray(np.cumsum(values) / np.arange(1, len(values) + 1))


def monotone(values: Doubles) -> Doubles:
    """Return the nearest values that are at least 0 and do not fall; NaN at the end stays."""
    known = int((~np.isnan(values)).sum())
    sums = np.concatenate([[0.0], np.cumsum(values[:known])])
    first, last = np.ogrid[:known, 1 : known + 1]
    means = np.where(last > first, sums[last] - sums[first], np.nan) / np.maximum(last - first, 1)
    # The largest, over where an average begins, of the smallest over where it ends.
    ends = np.where(last > first, means, np.inf)
    least = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    rising = np.where(last > first, least, -np.inf).max(axis=0, initial=-np.inf)
    return np.concatenate([np.maximum(rising, 0.0), values[known:]])


def _linear(intervals: int, kinds: int) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Return events, censored, at risk and exposure as linear in the cells of one group.

    Each of shape (K, K * kinds), cells laid out by interval: exits, then entries if there are 5.
    """
    events, censored, at_risk, exposure = np.zeros((4, intervals, intervals, kinds))
    for k in range(intervals):
        events[k, k, 0] = 1.0
        censored[k, k, 1] = censored[k, k, 2] = 1.0
        at_risk[k, k:, :3] = 1.0
        if kinds > 3:
            at_risk[k, k + 1 :, 3] = at_risk[k, k:, 4] = -1.0
        exposure[k] = at_risk[k]
        exposure[k, k, 1] -= 0.5
        if kinds > 3:
            exposure[k, k, 4] += 0.5
    flat = (intervals, intervals * kinds)
    return tuple(a.reshape(flat) for a in (events, censored, at_risk, exposure))  # type: ignore[return-value]


def _cells(
    exits: Counts, entries: Counts | None, variances: tuple[float, float]
) -> tuple[Doubles, Doubles]:
    """Return the cells of each group laid flat, and the variance of the noise of each."""
    kinds = [exits] if entries is None else [exits, entries]
    counts = np.concatenate(kinds, axis=2).astype(np.float64)
    each = np.repeat(variances, [3, counts.shape[2] - 3])
    return counts.reshape(len(counts), -1), np.tile(each, counts.shape[1])


def life_table(exits: Counts, entries: Counts | None, variances: tuple[float, float]) -> LifeTable:
    """Return the life table of one group.

    Parameters
    ----------
    exits : ndarray of int, shape (K, 3)
        Events, censored inside, censored at the end; with noise.
    entries : ndarray of int, shape (K, 2), or None
        Entered at the beginning, or inside.
    variances : tuple of float
        Of the noise of each.
    """
    (cells,), variance = _cells(exits[None], None if entries is None else entries[None], variances)
    maps = _linear(len(exits), 3 if entries is None else 5)
    events, censored, at_risk, exposure = (m @ cells for m in maps)
    noise_sd = np.sqrt((maps[3] ** 2) @ variance)
    clear = np.logical_and.accumulate(exposure > _CLEAR * np.maximum(noise_sd, 0.1))
    m = np.where(clear, exposure, np.nan)
    with np.errstate(all="ignore"):
        # Where all have the event, half of one is taken to have had none.
        d = np.minimum(events, m - 0.5)
        hazard = d / m
        cumulative = np.cumsum(-np.log1p(-hazard))
        greenwood = np.cumsum(np.maximum(d, 0) / (m * (m - d)))
        moved = maps[0] / (m - d)[:, None] - maps[3] * (d / (m * (m - d)))[:, None]
    known = int(clear.sum())
    jacobian = np.cumsum(moved[:known], axis=0)
    covariance = np.full((len(exits), len(exits)), np.nan)
    noise = np.full(len(exits), np.nan)
    of_noise = (jacobian * variance) @ jacobian.T
    noise[:known] = np.diag(of_noise)
    place = np.arange(known)
    covariance[:known, :known] = greenwood[np.minimum.outer(place, place)] + of_noise
    return LifeTable(at_risk, events, censored, exposure, hazard, cumulative, covariance, noise)


def area(table: LifeTable, edges: Doubles, time: float) -> tuple[float, float]:
    """Return the area under the curve up to `time`, and its standard error.

    Survival falls evenly within an interval.
    """
    full, widths = np.diff(edges), np.diff(np.minimum(edges, time))
    # Over the first part w of an interval of width f the area is w (S0 + (S1 - S0) w / 2 f).
    part = widths * widths / (2 * full)
    weights = np.append(widths - part, 0.0) + np.append(0.0, part)
    last = int((widths > 0).sum())
    if last > table.known:
        return math.nan, math.nan
    survival = table.survival[:last]
    moved = weights[1 : last + 1] * survival
    variance = moved @ table.covariance[:last, :last] @ moved
    return float(weights[0] + moved.sum()), math.sqrt(max(variance, 0.0))


def crossing(edges: Doubles, survival: Doubles, level: float) -> float:
    """Return where a falling curve, linear between the edges, reaches a level; NaN: nowhere."""
    values = np.concatenate([[1.0], survival])
    below = np.flatnonzero(values <= level)
    if len(below) == 0:
        return math.nan
    k = int(below[0])
    share = (values[k - 1] - level) / (values[k - 1] - values[k])
    return float(edges[k - 1] + share * (edges[k] - edges[k - 1]))


def log_rank(
    exits: Counts, entries: Counts | None, variances: tuple[float, float]
) -> tuple[float, int]:
    """Return the statistic of the log-rank test for all groups, and its degrees of freedom.

    Its variance has that of noise beside the hypergeometric one.  Intervals count as long as the
    number at risk of all groups together is estimable.

    Parameters
    ----------
    exits : ndarray of int, shape (groups, K, 3)
    entries : ndarray of int, shape (groups, K, 2), or None
    variances : tuple of float
    """
    cells, variance = _cells(exits, entries, variances)
    groups, intervals = exits.shape[:2]
    maps = _linear(intervals, 3 if entries is None else 5)
    d, m = cells @ maps[0].T, cells @ maps[3].T
    noise_sd = np.sqrt(groups * (maps[3] ** 2) @ variance)
    clear = np.logical_and.accumulate(m.sum(axis=0) > _CLEAR * np.maximum(noise_sd, 0.1))
    d, m = d[:, clear], m[:, clear]
    of_events, of_exposure = maps[0][clear], maps[3][clear]
    all_d, all_m = d.sum(axis=0), m.sum(axis=0)
    share = m / all_m
    gap = (d - share * all_d).sum(axis=1)
    hypergeometric = np.maximum(all_d * (all_m - all_d) / np.maximum(all_m - 1, 1), 0)
    # Noise may have taken a share below 0.
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
    if not clear.any():
        return math.nan, groups - 1
    return float(gap @ np.linalg.solve(covariance, gap)), groups - 1
