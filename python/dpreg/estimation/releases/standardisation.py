"""Private limits, centre and scale of every column, without prior knowledge."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.base.errors import ArgumentError
from dpreg.base.keywords import hints
from dpreg.base.options import check_options
from dpreg.data.bounds import LEAST_WIDTH
from dpreg.data.observations import Totals
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.rare_columns import RareColumn, RareColumns
from dpreg.estimation.releases.statistics import IntervalCounts, MagnitudeCounts, MomentSums
from dpreg.privacy.sealed import ExactSums

# Required lead of an order of magnitude, in standard deviations of noise: among 257 cells without
# values some run leads by as much in 1 of 20,000 columns.
_LEAD = 4.5
# Weight of the response in the squared norm of a row's counts, as a share of all regressors.
_RESPONSE = 1 / 3
# Share of the values that may be outside the narrowed limits.  With none, 3 of 24 small fits of
# `DPSGD` and `FrankWolfe` were declined instead of none.
_OUTSIDE = 0.02
# Standard deviations of noise from which a count is significant.
_CLEAR = 3.5
# Standard deviations of noise for which the variance of the response is significant, and required
# of the rows in its histogram: with fewer, noise hides a third of them outside the limits.
_SPREAD, _ROWS = 3.0, 12.5
# A release with a smaller share is useless, and so are more zooms.
LEAST_SHARE, _MOST_ZOOMS, _MOST_BINS = 1e-4, 200, 256


def column_weights(searched: Integers, columns: int) -> Doubles:
    """Return the weight of each searched column.

    A fit needs the response, the last of `columns`, more than any regressor, so with many
    regressors it gets a larger weight and a less noisy histogram.
    """
    weights = np.ones(len(searched))
    if searched[-1] == columns - 1:
        weights[-1] = max(1.0, math.sqrt(_RESPONSE * (len(searched) - 1)))
    return weights


def magnitude(counts: Doubles, deviation: float) -> float | None:
    """Return a power of two that bounds the values of a column; None if none is significant."""
    best, total, last = 0.0, 0.0, -1
    for k, gain in enumerate(counts - 1.5 * deviation):
        total = max(total, 0.0) + gain
        if total > best:
            best, last = total, k
    return float(2.0 ** (_core.LEAST_EXPONENT + last)) if best > _LEAD * deviation else None


def narrowed(cells: Doubles, low: float, high: float, deviation: float) -> tuple[float, float]:
    """Return the smallest part of [low, high] with nearly all values, if significant.

    The last cell counts zeros: a column that is mostly 0 keeps 0 and the range of other values.
    """
    counts, zeros = cells[:-1], cells[-1]
    clear = np.flatnonzero(counts > _CLEAR * deviation)
    if len(clear) == 0:
        return low, high
    first, last = _least_run(counts, int(clear[0]), int(clear[-1]))
    width = (high - low) / len(counts)
    narrow_low, narrow_high = low + first * width, low + (last + 1) * width
    if zeros > _CLEAR * deviation:
        narrow_low, narrow_high = min(narrow_low, 0.0), max(narrow_high, 0.0)
    return (narrow_low, narrow_high) if narrow_high - narrow_low > LEAST_WIDTH else (low, high)


def _least_run(counts: Doubles, first: int, last: int) -> tuple[int, int]:
    """Return the shortest run of bins, around first to last, with nearly all of the counts."""
    size = len(counts)
    before = np.concatenate([[0.0], np.cumsum(counts)])
    best = 0, size - 1
    for a in range(first + 1):
        for b in range(last, size):
            inside = before[b + 1] - before[a]
            if before[-1] - inside <= _OUTSIDE * inside and b - a < best[1] - best[0]:
                best = a, b
    return best


@dataclass(frozen=True, slots=True)
class Scales:
    """Released limits, centre and scale of each column."""

    # low, high: shape (D,): limits of the values; D columns, the response last.
    low: Doubles
    high: Doubles
    # centre, scale: shape (D,): mean and standard deviation within the limits.
    centre: Doubles
    scale: Doubles
    given: Flags  # Shape (D,): True: the limits are public bounds.
    spread: Doubles  # Shape (D,): variance within the limits, in deviations of its noise.
    # Shape (D,): False: not even the order of magnitude is known, so `low` and `high` are unrelated
    # to the values.
    seen: Flags
    # False: the response has no bounds and its location is not estimable, so a fit must decline.
    response_found: bool
    units: float  # Noisy number of rows, at least 1.
    rare: RareColumns = field(default_factory=RareColumns)  # Columns that are nearly always 0.
    # For least squares: the nonzero responses, if many are 0.
    amounts: RareColumn | None = None
    counted: bool = False  # True: responses are 0 and 1, or of the size of counts.

    @property
    def identified(self) -> Flags:
        """False: the variance of the column is not significant."""
        return np.asarray(self.spread > 1.0)

    @property
    def trusted(self) -> Flags:
        """True: the limits are public bounds, or estimated with a significant variance."""
        return self.given | (self.seen & self.identified)

    @property
    def constant(self) -> Flags:
        """True: the values were located, without significant variance."""
        return ~self.given & self.seen & ~self.identified


@hints
@dataclass(frozen=True, slots=True, kw_only=True)
class Standardisation:
    """Options of private standardisation, all public.

    In each column, a noisy histogram of magnitudes gives the order of magnitude of the nonzero
    values; a few noisy histograms of equal bins, each within the range of the previous one, narrow
    the range that has nearly all of them; noisy sums and sums of squares give mean and standard
    deviation there.  The histograms of the response are the least noisy.

    Parameters
    ----------
    magnitude_share, zoom_share, moment_share : float
        Shares of the squared mu of a release; `zoom_share` for each histogram of equal bins.
    zooms : int, default 3
        Number of histograms of equal bins.
    bins : int, default 16
        Bins of each.

    Privacy
    -------
    guarantee : m-GDP, m^2 = (magnitude_share + zooms zoom_share + moment_share) mu^2 neighbours :
    add or remove one unit, with at most the rows of the releases public : all options, the number
    of columns, the given bounds proof : standardisation.md
    """

    magnitude_share: float = 0.07
    zoom_share: float = 0.03
    moment_share: float = 0.06
    zooms: int = 3
    bins: int = 16

    def __post_init__(self) -> None:
        check_options(self)
        shares = (self.magnitude_share, self.zoom_share, self.moment_share)
        few = 0 <= self.zooms <= _MOST_ZOOMS and 4 <= self.bins <= _MOST_BINS
        if min(shares) < LEAST_SHARE or self.share >= 1 or not few:
            raise ArgumentError(
                "standardisation",
                f"needs shares of at least {LEAST_SHARE:g} that add up to less than 1, zooms "
                f"from 0 to {_MOST_ZOOMS} and bins from 4 to {_MOST_BINS}, got {self!r}",
            )

    @property
    def share(self) -> float:
        """Share of the squared mu that is used."""
        return self.magnitude_share + self.zooms * self.zoom_share + self.moment_share

    @property
    def passes(self) -> int:
        """Maximum number of passes over the rows."""
        return 2 + self.zooms

    def release(self, rows: Totals, noise: GaussianReleases, bounds: Doubles) -> Scales:
        """Estimate the scales of the regressors and, last, of the response.

        noise: spends `share` of it, less when all columns have bounds.
        bounds: shape (d + 1, 2): public limits of each column, NaN where none were given.
        """
        low, high = bounds[:, 0].copy(), bounds[:, 1].copy()
        given = np.asarray(np.isfinite(bounds).all(axis=1))
        searched = np.flatnonzero(~given)
        low[searched], high[searched] = -1.0, 1.0
        seen, deviations = np.ones(len(bounds), dtype=bool), np.zeros(len(bounds))
        if len(searched):
            found = self._search(rows, low, high, searched, noise)
            seen[searched], deviations[searched] = found
        scales = self._moments(rows, low, high, given, seen, noise)
        enough = scales.units >= _ROWS * deviations[-1]
        return replace(scales, response_found=scales.response_found and bool(enough))

    def _search(
        self,
        rows: Totals,
        low: Doubles,
        high: Doubles,
        searched: Integers,
        noise: GaussianReleases,
    ) -> tuple[Flags, Doubles]:
        """Set `low` and `high` of the columns in `searched`; only these use budget.

        Returns whether the order of magnitude of each was found, and the noise standard deviations
            of the last histogram.
        """
        weights, mu = column_weights(searched, len(low)), noise.share(self.magnitude_share)
        found, deviations = magnitudes(rows, searched, weights, noise, mu)
        high[searched] = [1.0 if size is None else size for size in found]
        low[searched] = -high[searched]
        mu = noise.share(self.zoom_share)
        for zoom in range(self.zooms):
            bins = IntervalCounts(low.copy(), high.copy(), self.bins, searched, weights, zeros=True)
            label = f"histogram {zoom + 1} of each column"
            counts, deviations = _noisy_counts(label, rows.total(bins), weights, noise, mu)
            for j, row, dev in zip(searched, counts, deviations, strict=True):
                low[j], high[j] = narrowed(row, low[j], high[j], dev)
        return np.array([size is not None for size in found]), deviations

    def _moments(
        self,
        rows: Totals,
        low: Doubles,
        high: Doubles,
        given: Flags,
        seen: Flags,
        noise: GaussianReleases,
    ) -> Scales:
        """Release means and variances."""
        middle, half = (low + high) / 2, (high - low) / 2
        columns = len(low)
        weights = column_weights(np.arange(columns), columns)
        sums = rows.total(MomentSums(middle, half, weights))
        mu = noise.share(self.moment_share)
        noisy, scale = noise.release("number of rows, means and variances", sums, mu)
        noisy = noisy * 2.0**-_core.MOMENT_BITS
        units = max(float(noisy[0]), 1.0)
        mean = np.clip(noisy[1 : columns + 1] / units, -1, 1)
        variance = noisy[columns + 1 :] / units - mean**2
        # One standard deviation of the noise of `variance`, by the delta method in three sums.
        sigma = scale * 2.0**-_core.MOMENT_BITS
        deviation = sigma / units * np.sqrt((1 + 4 * mean**2) / weights**2 + mean**4)
        spread = variance / deviation
        found = given[-1] or (seen[-1] and spread[-1] > _SPREAD)
        return Scales(
            low=low,
            high=high,
            centre=middle + mean * half,
            scale=np.sqrt(np.clip(variance, np.minimum(deviation, 1.0), 1.0)) * half,
            given=given,
            spread=spread,
            seen=seen,
            response_found=bool(found),
            units=units,
        )


def magnitudes(
    rows: Totals, searched: Integers, weights: Doubles, noise: GaussianReleases, mu: float
) -> tuple[list[float | None], Doubles]:
    """Release orders of magnitude of columns.

    Returns sizes: powers of two that bound the values of each; None: not found.
    and deviations: of the noise in the counts of each.
    """
    cells = rows.total(MagnitudeCounts(searched, weights))
    label = "order of magnitude of each column"
    counts, deviations = _noisy_counts(label, cells, weights, noise, mu)
    found = [magnitude(row, dev) for row, dev in zip(counts, deviations, strict=True)]
    return found, deviations


def _noisy_counts(
    label: str, cells: ExactSums, weights: Doubles, noise: GaussianReleases, mu: float
) -> tuple[Doubles, Doubles]:
    """Release histograms, one per row, with these weights; also return noise by row."""
    counts, scale = noise.release(label, cells, mu)
    return counts, scale / weights
