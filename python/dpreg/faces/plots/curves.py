"""Survival curves: of groups, with numbers at risk, and of persons by a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpreg.base.later import Axes, pd
from dpreg.faces.plots.axes import cost_of, new_axes
from dpreg.results.curve import DPCurve
from dpreg.results.survival import DPSurvival

# The Okabe-Ito palette, distinguishable by all eyes.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
# Times at which numbers at risk are written.
_MOST_NUMBERS = 7


def plot_curve(
    curve: DPCurve, ax: Axes | None = None, alpha: float = 0.05, simultaneous: bool = True
) -> Axes:
    """Draw survival by group as lines between the cuts, with bands, and numbers at risk below.

    A group that is not estimable anywhere has no band, since it would fill the plot.
    """
    table = curve.tidy(alpha, simultaneous=simultaneous)
    ax = new_axes(ax, 3.6 + 0.2 * len(curve.groups))
    for number, label in enumerate(curve.groups):
        rows = table[table["group"] == label]
        colour = _COLOURS[number % len(_COLOURS)]
        known = bool(rows["survival"].notna().any())
        label = label if known else f"{label}: not estimable at this eps"
        _line(ax, curve.edges, rows, colour, label, band=known)
        _write_at_risk(ax, curve.edges, rows["at_risk"], number, colour)
    bands = _bands(alpha, simultaneous)
    return _titled(ax, curve, bands, len(curve.groups), len(curve.groups))


def plot_survival(
    fit: DPSurvival,
    data: Any,
    ax: Axes | None = None,
    alpha: float = 0.05,
    simultaneous: bool = True,
) -> Axes:
    """Draw survival of new persons as lines between the cuts, with bands, and numbers at risk."""
    table = fit.predict_survival(data, alpha, simultaneous=simultaneous)
    ax = new_axes(ax, 3.6)
    size, edges = len(fit.periods.edges) - 1, fit.periods.edges
    for number in range(len(table) // size):
        rows = table.iloc[number * size : (number + 1) * size]
        colour = _COLOURS[number % len(_COLOURS)]
        _line(ax, edges, rows, colour, f"row {rows['row'].iloc[0]}")
    _write_at_risk(ax, edges, fit.periods.at_risk, 0, "#000000")
    return _titled(ax, fit, _bands(alpha, simultaneous), len(table) // size, 1)


def _bands(alpha: float, simultaneous: bool) -> str:
    return f"{'simultaneous' if simultaneous else 'pointwise'} {1 - alpha:.0%} bands"


def _line(
    ax: Axes, edges: Any, rows: pd.DataFrame, colour: str, label: str, *, band: bool = True
) -> None:
    """Draw one curve, from 1 at the first edge, and its band."""
    middle, low, high = (np.concatenate([[1.0], rows[c]]) for c in ("survival", "lower", "upper"))
    ax.plot(edges, middle, color=colour, marker="o", markersize=3, label=label)
    if band:
        ax.fill_between(edges, low, high, color=colour, alpha=0.2, linewidth=0)


def _titled(ax: Axes, found: DPCurve | DPSurvival, bands: str, curves: int, lines: int) -> Axes:
    """Say what is drawn: so many curves, and lines of numbers at risk."""
    if curves > 1:
        ax.legend(frameon=False)
    below = f"time; below the axis, private numbers at risk; {bands}"
    ax.set_xlabel(below, labelpad=14 + 11 * lines)
    ax.set(ylabel="survival", ylim=(0, 1.02))
    ax.set_title(f"Survival, {cost_of(found.privacy)}", loc="left")
    return ax


def _write_at_risk(ax: Axes, edges: Any, counts: Any, line: int, colour: str) -> None:
    """Write numbers at risk below the axis."""
    step = -(-(len(edges) - 1) // _MOST_NUMBERS)
    for time, count in zip(edges[:-1:step], counts[::step], strict=True):
        ax.annotate(
            f"{max(count, 0):,.0f}", (time, 0), (0, -30 - 11 * line), color=colour,
            xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=8, ha="center",
        )  # fmt: skip
