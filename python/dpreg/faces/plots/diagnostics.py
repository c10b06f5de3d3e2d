"""Plots of residuals, from noisy counts that a fit has paid for."""

from __future__ import annotations

import numpy as np

from dpreg.base.errors import ArgumentError, add
from dpreg.base.later import Axes
from dpreg.estimation.inference.residuals import Diagnostics, calibration, quantiles
from dpreg.faces.plots.axes import ACCENT, SAMPLING, TOTAL, new_axes
from dpreg.results.fit import DPResults

# Counts of fewer deviations of noise are drawn as none.
_CLEAR = 2.0
_AXES = {"residual": "residual", "pearson": "Pearson residual"}


def _needed(fit: DPResults, *kinds: str) -> Diagnostics:
    found = fit.diagnostics
    if found is None:
        problem = "was not asked for, so no counts of residuals were released"
        advice = (*add("diagnostics", True), " to the call, which pays for them")
        raise ArgumentError("diagnostics", problem, advice)
    if found.kind not in kinds:
        instead = "plot_calibration()" if found.kind == "response" else "plot_residuals()"
        problem = f"a {fit.family.name} family has no such plot"
        raise ArgumentError("diagnostics", problem, f"write {instead}")
    return found


def plot_residuals(fit: DPResults, ax: Axes | None = None) -> Axes:
    """Draw numbers of rows by fitted mean and residual, what noise may be left out."""
    found = _needed(fit, "residual", "pearson")
    ax = new_axes(ax, 4.0)
    seen = found.counts > _CLEAR * found.deviation
    shown = np.ma.masked_where(~seen, found.counts)
    mesh = ax.pcolormesh(found.fitted, found.residual, shown.T, cmap="Blues")
    ax.figure.colorbar(mesh, ax=ax, label="rows (noisy)")
    ax.axhline(0, color=ACCENT, linewidth=1)
    ax.set(xlabel="fitted", ylabel=_AXES[found.kind])
    ax.set_title(f"{fit.response}: noise of {found.deviation:.2g} in each count", loc="left")
    return ax


def plot_qq(fit: DPResults, ax: Axes | None = None) -> Axes:
    """Draw quantiles of residuals against those of a normal law."""
    found = _needed(fit, "residual", "pearson")
    ax = new_axes(ax, 4.0)
    normal, observed, off = quantiles(found)
    middle = np.abs(normal) < 1
    if middle.sum() > 1:
        slope, start = np.polyfit(normal[middle], observed[middle], 1)
        ax.plot(normal, start + slope * normal, color=ACCENT, linewidth=1)
        ax.errorbar(normal, observed, yerr=1.96 * abs(slope) * off, fmt="o", color=SAMPLING,
                    ecolor=TOTAL, markersize=4)  # fmt: skip
    ax.set(xlabel="normal quantile", ylabel=_AXES[found.kind])
    ax.set_title(f"{fit.response}: quantiles of residuals", loc="left")
    return ax


def plot_calibration(fit: DPResults, ax: Axes | None = None) -> Axes:
    """Draw observed shares against predicted ones, with 95% intervals."""
    found = _needed(fit, "response")
    ax = new_axes(ax, 4.0)
    middle, share, error, _ = calibration(found)
    ax.plot([0, 1], [0, 1], color=ACCENT, linewidth=1)
    ax.errorbar(middle, share, yerr=1.96 * error, fmt="o", color=SAMPLING, ecolor=TOTAL,
                markersize=4)  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted probability", ylabel="observed share")
    ax.set_title(f"{fit.response}: calibration", loc="left")
    return ax
