"""Noisy sums and counts of residuals of a released fit: optional results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpreg.base.arrays import Doubles, Sums
from dpreg.base.families import Family
from dpreg.data.design import Design
from dpreg.estimation.inference.residuals import Diagnostics, FitStats, fit_stats_from
from dpreg.estimation.releases.accountant import ROUNDED_DOWN, GaussianReleases
from dpreg.estimation.releases.column_sizes import PENALTY, best_run
from dpreg.estimation.releases.standardisation import Scales
from dpreg.privacy.sealed import ExactSums

# Shares of the squared mu of a fit.
_FIT_STATS, _DIAGNOSTICS, DISPERSION = 0.05, 0.1, 0.05
# Part of both for the orders of magnitude of residuals.
_MAGNITUDES = 0.2
# Half octaves for counts of residuals, on each side of the scale of the response.
_HALVES = 24
# Lead for which a run of half octaves is significant, in standard deviations of noise.  Without a
# significant run there are no results: with any run, 300 rows had an R squared of 1.00 and a sigma
# of 0, and with all half octaves one of 30 fits of 600 rows had a sigma of 136 by chance.
_SEEN = 4.0
# Steps of a number in [-1, 1].
STEPS = 2.0**20
# Responses are clipped at this multiple of the limit of nearly all, and of that of residuals:
# without that 8 of 40 fits of 10,000 rows with R squared .9 had none, as few were below 0.
_FAR = 1.5
# Weights of the seven sums: those of squared residuals and responses are largest.
_SUM_WEIGHTS = np.array([0.3, 1.0, 0.3, 0.3, 1.0, 0.3, 0.3])
# Upper quartile of absolute normal residuals, in standard deviations.
_THREE_QUARTERS = 1.15
# Residuals are clipped at this multiple of it if units times mu are the second number.  The limit
# grows as the fifth root of these: for tails like t(5), noise and clipping then decrease equally.
_MOST, _UNITS = 6.0, 500.0
# Bins by fitted mean, and by residual, with a range of this multiple of the upper quartile.
_FITTED, _SHARES, _RESIDUAL, _REACH = 20, 10, 24, 3.5
# Range of Pearson residuals.
_PEARSON = 6.0
# Linear predictors of a link are clipped here, so that sums of means and squares do not overflow.
MOST_PREDICTOR = 300.0

# Largest l2 changes of the statistics below by one row.
MAGNITUDES_SENSITIVITY = RESIDUAL_CELLS_SENSITIVITY = 1.0
RESIDUAL_SUMS_SENSITIVITY = STEPS * float(np.linalg.norm(_SUM_WEIGHTS))


@dataclass(frozen=True, slots=True)
class Extras:
    """Optional results of a fit.  Public."""

    fit_stats: bool = False  # R squared and the residual scale.
    diagnostics: bool = False  # Numbers of rows by fitted mean and residual.
    dispersion: bool = False  # Of negative binomial counts; see `released_dispersion`.

    @property
    def share(self) -> float:
        """Share of the squared mu of the fit."""
        parts = _FIT_STATS * self.fit_stats + _DIAGNOSTICS * self.diagnostics
        return parts + DISPERSION * self.dispersion

    @property
    def passes(self) -> int:
        """Maximum number of passes over the rows."""
        return (self.share > 0) + self.fit_stats + self.diagnostics + self.dispersion


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Released coefficients, and the definition of residuals.  Public, and can be pickled."""

    intercept: float
    slopes: Doubles  # Shape (columns of X,).
    family: Family

    def means(self, X: Doubles) -> Doubles:
        """Return fitted means, column by column, so that each depends on its row alone."""
        predictor = np.full(len(X), self.intercept)
        for j in np.flatnonzero(self.slopes):
            predictor = predictor + self.slopes[j] * X[:, j]
        if self.family.link != "identity":
            predictor = _within(predictor, -MOST_PREDICTOR, MOST_PREDICTOR)
        return self.family.mean(predictor)

    @property
    def kind(self) -> Literal["residual", "pearson", "response"]:
        """Definition of residuals; see `Diagnostics`."""
        if self.family.link == "identity":
            return "residual"
        return "pearson" if self.family.link == "log" else "response"

    def residuals(self, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
        """Return fitted means, and residuals of `kind`."""
        means = self.means(X)
        if self.kind == "response":
            return means, y
        residual = y - means
        if self.kind == "residual":
            return means, residual
        return means, residual / np.sqrt(self.family.variance(means))


def line_of(design: Design, params: Doubles) -> Line:
    """Return the line with these coefficients, in the user's units."""
    terms = design.terms
    slopes = np.zeros(design.columns)
    slopes[: len(terms.regressors)] = params[int(terms.intercept) :]
    return Line(float(params[0]) if terms.intercept else 0.0, slopes, terms.family)


def _within(values: Doubles, low: float, high: float) -> Doubles:
    """Clip values; NaN becomes the lower limit."""
    return np.asarray(np.fmin(np.fmax(values, low), high))


@dataclass(frozen=True, slots=True, eq=False)
class ResidualMagnitudes:
    """Numbers of rows by half octaves of their residual, in units of `unit`.

    One row moves one number by 1: `MAGNITUDES_SENSITIVITY`.
    """

    line: Line
    unit: float

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (2 _HALVES + 1,)."""
        with np.errstate(all="ignore"):
            _, residual = self.line.residuals(X, y)
            octave = np.floor(2 * np.log2(np.abs(residual) / self.unit))
            bins = _within(octave, -_HALVES, _HALVES).astype(np.int64) + _HALVES
        return np.bincount(bins, minlength=2 * _HALVES + 1).astype(np.int64)

    def seal(self, sums: Sums) -> ExactSums:
        return ExactSums(sums, MAGNITUDES_SENSITIVITY)


@dataclass(frozen=True, slots=True, eq=False)
class ResidualSums:
    """Sums of the seven numbers of `fit_stats_from`, each within [-1, 1], in steps.

    One row moves them, times `_SUM_WEIGHTS`, by at most `RESIDUAL_SUMS_SENSITIVITY` together.
    """

    line: Line
    most: float
    centre: float
    reach: float

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (7,)."""
        with np.errstate(all="ignore"):
            _, residual = self.line.residuals(X, y)
            a = _within(residual / self.most, -1, 1) ** 2
            u = _within((y - self.centre) / self.reach, -1, 1)
            terms = np.stack([np.ones(len(y)), a, a * a, u, u * u, u**4, a * u * u])
        sums: Sums = np.rint(STEPS * terms).astype(np.int64).sum(axis=1)
        return sums

    def seal(self, sums: Sums) -> ExactSums:
        return ExactSums(sums, RESIDUAL_SUMS_SENSITIVITY, weights=_SUM_WEIGHTS)


@dataclass(frozen=True, slots=True, eq=False)
class ResidualCells:
    """Numbers of rows by fitted mean and residual, in equal bins of two intervals.

    One row moves one number by 1: `RESIDUAL_CELLS_SENSITIVITY`.
    """

    line: Line
    fitted: tuple[float, float]
    residual: tuple[float, float]
    shape: tuple[int, int]

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of this shape; rows beyond an interval are in its outermost bins."""
        with np.errstate(all="ignore"):
            places = zip(
                self.line.residuals(X, y), (self.fitted, self.residual), self.shape, strict=True
            )
            i, j = (
                _within(np.floor((values - low) / (high - low) * size), 0, size - 1)
                for values, (low, high), size in places
            )
        cells = i.astype(np.int64) * self.shape[1] + j.astype(np.int64)
        counts = np.bincount(cells, minlength=self.shape[0] * self.shape[1])
        return counts.astype(np.int64).reshape(self.shape)

    def seal(self, sums: Sums) -> ExactSums:
        return ExactSums(sums, RESIDUAL_CELLS_SENSITIVITY)


def released_extras(
    design: Design, scales: Scales, params: Doubles, noise: GaussianReleases, extras: Extras
) -> tuple[FitStats | None, Diagnostics | None]:
    """Release the extras from the reserved share.

    params: shape (intercept + regressors,): released, in the user's units.
    noise: with ``aside=extras.share``.
    """
    if extras.share == 0:
        return None, None
    line, counts, usual, seen = line_of(design, params), None, 0.0, False
    if line.kind == "residual":
        counts, deviation = noise.release(
            "orders of magnitude of residuals",
            design.total(ResidualMagnitudes(line, float(scales.scale[-1]))),
            noise.put_aside(_MAGNITUDES),
        )
        usual, seen = _usual(counts, float(deviation), scales)
    left = (1 - _MAGNITUDES * (counts is not None)) * ROUNDED_DOWN
    stats, found = None, None
    if extras.fit_stats:
        assert counts is not None
        mu = noise.put_aside(left * _FIT_STATS / extras.share)
        stats = _fit_stats(design, scales, line, usual, noise, mu)
        if not seen:
            stats = FitStats(*(math.nan,) * 4, stats.most_residual)
    if extras.diagnostics:
        mu = noise.put_aside(left * _DIAGNOSTICS / extras.share)
        found = _diagnostics(design, scales, line, usual, noise, mu)
    return stats, found


def _usual(counts: Doubles, deviation: float, scales: Scales) -> tuple[float, bool]:
    """Return the upper quartile of absolute residuals, and whether it is significant.

    It is interpolated linearly in a half octave, over the run with significant counts: otherwise
    noise in far half octaves dominated the residuals of 2,000 rows.  If no run is significant, all
    half octaves are used.
    """
    lead, first, last = best_run(counts, deviation, PENALTY)
    seen = lead >= _SEEN * deviation
    if not seen:
        first, last = 0, len(counts) - 1
    held = np.maximum(counts[first : last + 1], 0.0)
    below, wanted = np.concatenate([[0.0], np.cumsum(held)]), 0.75 * float(held.sum())
    k = int(np.argmax(below[1:] >= wanted))
    place = first + k + (wanted - below[k]) / max(held[k], 1.0)
    return float(scales.scale[-1] * 2.0 ** ((place - _HALVES) / 2)), seen


def _fit_stats(
    design: Design, scales: Scales, line: Line, usual: float, noise: GaussianReleases, mu: float
) -> FitStats:
    wider = max(1.0, scales.units * mu / noise.rows / _UNITS) ** 0.2
    most = _MOST * wider * usual / _THREE_QUARTERS
    centre = float(scales.centre[-1])
    far = _FAR * max(float(scales.high[-1]) - centre, centre - float(scales.low[-1]))
    reach = min(far, _MOST * wider * float(scales.scale[-1]))
    statistic = ResidualSums(line, most, centre, reach)
    exact = design.total(statistic)
    sums, scale = noise.release("squares of residuals and responses", exact, mu)
    return fit_stats_from(sums / STEPS, scale / _SUM_WEIGHTS / STEPS, most, reach)


def _diagnostics(
    design: Design, scales: Scales, line: Line, usual: float, noise: GaussianReleases, mu: float
) -> Diagnostics:
    low, high = float(scales.low[-1]), float(scales.high[-1])
    if line.kind == "response":
        ends, across, shape = (0.0, 1.0), (0.0, 1.0), (_SHARES, 2)
    elif line.kind == "pearson":
        ends, across, shape = (0.0, max(high, -low)), (-_PEARSON, _PEARSON), (_FITTED, _RESIDUAL)
    else:
        most = _REACH * usual
        ends, across, shape = (low, high), (-most, most), (_FITTED, _RESIDUAL)
    exact = design.total(ResidualCells(line, ends, across, shape))
    counts, scale = noise.release("numbers of rows by fitted mean and residual", exact, mu)
    return Diagnostics(
        kind=line.kind,
        counts=counts,
        deviation=scale,
        fitted=np.linspace(*ends, shape[0] + 1),
        residual=np.linspace(*across, shape[1] + 1),
    )
