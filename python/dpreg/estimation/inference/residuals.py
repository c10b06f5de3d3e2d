"""Fit statistics from noisy sums and counts of residuals.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles

# Least denominator, in standard deviations of its noise.
_CLEAR = 2.0


@dataclass(frozen=True, slots=True)
class FitStats:
    """Goodness of fit of the released coefficients."""

    _unknown: ClassVar[bool] = True

    # Explained share of the variance of the response; NaN if not estimable.
    rsquared: float
    rsquared_error: float  # Its standard error, sampling and privacy together.
    # Mean squared residual, named as in statsmodels; its root is R's sigma.  NaN if not estimable.
    scale: float
    scale_error: float
    most_residual: float  # Larger residuals are clipped to this.

    @property
    def sigma(self) -> float:
        """Root of `scale`."""
        return math.sqrt(self.scale)

    @property
    def sigma_error(self) -> float:
        """Standard error of `sigma`, by the delta method; NaN if `scale` is 0."""
        return self.scale_error / (2 * self.sigma) if self.scale != 0 else math.nan


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Noisy numbers of rows by fitted mean and by residual."""

    # Quantity on the second axis: response minus mean; that divided by the root of the mean
    # (Poisson); or whether the response is below one half (binomial).
    kind: Literal["residual", "pearson", "response"]
    counts: Doubles  # Shape (a, b): the end bins of each axis include all values beyond.
    fitted: Doubles  # Shape (a + 1,).
    residual: Doubles  # Shape (b + 1,): ends of the bins.
    deviation: float  # Of the noise in each count.


def fit_stats_from(sums: Doubles, deviations: Doubles, most: float, reach: float) -> FitStats:
    """Return R squared and residual variance, with errors by the delta method.

    sums, shape (7,): noisy sums over rows of 1, a, a^2, u, u^2, u^4, a u^2.  Here a is the squared
        residual divided by `most`^2, and u is the centred response divided by `reach`.
    deviations, shape (7,): of the noise in each sum.
    """
    units = max(float(sums[0]), 1.0)
    a, aa, u, uu, uuuu, auu = (float(value) / units for value in sums[1:])
    total = uu - u * u
    of_units, noise, of_mean, of_total = deviations[[0, 1, 3, 4]] / units
    of_total = math.hypot(of_total, 2 * u * of_mean)
    # Of one row, about their means.
    of_a, of_u = max(aa - a * a, 0.0), max(uuuu - uu * uu, 0.0)
    both = auu - a * uu
    seen = a > _CLEAR * noise
    scale = a * most**2 if seen else math.nan
    scale_error = math.hypot(math.sqrt(of_a / units), math.hypot(noise, a * of_units)) * most**2
    if not seen or total <= _CLEAR * of_total:
        return FitStats(math.nan, math.nan, scale, scale_error if seen else math.nan, most)
    left = a / total  # in units of (most / reach)^2
    sampling = of_a / total**2 + left**2 * of_u / total**2 - 2 * left * both / total**2
    privacy = (noise**2 + (left * of_total) ** 2) / total**2
    ratio = (most / reach) ** 2
    return FitStats(
        rsquared=1 - left * ratio,
        rsquared_error=ratio * math.sqrt(max(sampling, 0.0) / units + privacy),
        scale=scale,
        scale_error=scale_error,
        most_residual=most,
    )


def quantiles(found: Diagnostics) -> tuple[Doubles, Doubles, Doubles]:
    """Return normal quantiles, quantiles of the residuals, and errors of these from noise.

    They are at ends of bins whose noisy cumulative shares increase strictly between 0 and 1.
    """
    bins = found.counts.sum(axis=0)
    total = max(float(bins.sum()), 1.0)
    below = np.maximum.accumulate(np.cumsum(bins)[:-1] / total)
    cells = np.arange(1, len(bins)) * len(found.counts)
    error = found.deviation * np.sqrt(cells) / total
    told = (below > np.minimum(error, 0.5)) & (below < 1 - np.minimum(error, 0.5))
    told &= np.diff(below, prepend=-1.0) > 0
    shares = below[told]
    density = np.exp(-(special.ndtri(shares) ** 2) / 2) / math.sqrt(2 * math.pi)
    # In standard deviations: the change of the quantile for an error of the share.
    off = np.hypot(error[told], np.sqrt(shares * (1 - shares) / total)) / density
    return special.ndtri(shares), found.residual[1:-1][told], off


def calibration(found: Diagnostics) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Return midpoints of bins of predicted shares, observed shares, their errors, and counts.

    Values are NaN where a bin has too few rows.
    """
    middle = (found.fitted[1:] + found.fitted[:-1]) / 2
    number = found.counts.sum(axis=1)
    enough = number > 4 * math.sqrt(2) * found.deviation
    safe = np.where(enough, number, 1.0)
    share = np.clip(found.counts[:, -1] / safe, 0, 1)
    noise = found.deviation / safe * np.hypot(share, 1 - share)
    error = np.sqrt(share * (1 - share) / safe + noise**2)
    observed = np.where(enough, share, np.nan)
    return middle, observed, np.where(enough, error, np.nan), number
