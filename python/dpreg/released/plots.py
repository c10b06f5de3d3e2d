"""Pictures of what was released; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpreg.budget import Budget
    from dpreg.planning.plan import Plan
    from dpreg.released.results import DPResults

__all__ = ["plot_budget", "plot_coefficients", "plot_plan"]

# Blue and orange of the Okabe-Ito palette, told apart by all eyes.
SAMPLING, TOTAL, ACCENT = "#0072B2", "#E69F00", "#D55E00"


def _axes(ax: Axes | None, height: float) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib; run `pip install 'dpreg[plots]'`") from None
    return plt.subplots(figsize=(7, height), layout="constrained")[1]


def plot_coefficients(fit: DPResults, ax: Axes | None = None, alpha: float = 0.05) -> Axes:
    """Draw coefficients with intervals: what sampling alone would have, and all of it.

    The intercept is left out.  Coefficients are divided by their standard error, so that
    columns in any unit share an axis; a line at 0 is no effect.
    """
    table = fit.tidy(alpha).drop(index="Intercept", errors="ignore")
    ax = _axes(ax, 1.4 + 0.32 * len(table))
    place = np.arange(len(table))[::-1]
    error = table["std err"].to_numpy()
    known = np.isfinite(error) & (error > 0)
    critical = (table["upper"] - table["coef"]).to_numpy() / np.where(known, error, np.nan)
    z = table["z"].to_numpy()
    inner = critical * table["sampling"].to_numpy() / np.where(known, error, np.nan)
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    ax.hlines(
        place, z - critical, z + critical, color=TOTAL, linewidth=3, label="with privacy noise"
    )
    ax.hlines(place, z - inner, z + inner, color=SAMPLING, linewidth=3, label="sampling alone")
    ax.plot(z, place, "o", color="black", markersize=4)
    for y in place[~known]:
        ax.text(0, y, "  not identified at this eps", va="center", fontsize="small", color="0.4")
    ax.set_yticks(place, table.index)
    ax.set_ylim(-0.6, len(table) - 0.4)
    ax.set_xscale("symlog", linthresh=5)
    ticks = [0, *(sign * size for size in (5, 10, 30, 100, 300, 1000, 10_000) for sign in (-1, 1))]
    low, high = ax.get_xlim()
    ax.set_xticks(shown := [t for t in ticks if low <= t <= high], [f"{t:g}" for t in shown])
    ax.minorticks_off()
    ax.set_xlabel(f"coefficient / standard error, with {100 * (1 - alpha):.3g}% intervals")
    seeded = "seeded: NOT PRIVATE" if fit.privacy.seeded else f"eps={fit.privacy.epsilon:.4g}"
    ax.set_title(f"{fit.response}: {fit.method}, {seeded}", loc="left")
    ax.legend(
        frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.1
    )
    _bare(ax)
    return ax


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the width of intervals, relative to least squares, against eps."""
    from dpreg.planning.plan import widths

    ax = _axes(ax, 4.0)
    epsilons = np.geomspace(min(0.05, plan.eps / 2), max(10.0, plan.eps * 2), 61)
    found = np.array(widths(plan, epsilons))
    ax.plot(epsilons, np.where(np.isfinite(found), found, np.nan), color=SAMPLING, linewidth=2)
    hidden = ~np.isfinite(found)
    if hidden.any():
        ax.axvspan(epsilons[0], epsilons[hidden][-1], color="0.93", zorder=0)
        ax.text(epsilons[0] * 1.05, 1.05, "rarely released", color="0.4", fontsize="small")
    ax.axhline(1, color="0.6", linewidth=0.8)
    if np.isfinite(plan.width):
        ax.plot([plan.eps], [plan.width], "o", color=ACCENT)
        ax.annotate(f"eps={plan.eps:.3g}: {plan.width:.2g}", (plan.eps, plan.width),
                    xytext=(8, 8), textcoords="offset points")  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    top = np.nanmax(np.where(np.isfinite(found), found, np.nan), initial=2.0)
    ticks: list[Any] = [t for t in (1, 1.5, 2, 3, 5, 10, 20, 50, 100) if t <= 1.3 * top]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.set_ylim(0.95, 1.3 * top)
    ax.set_xlabel("eps")
    ax.set_ylabel("interval width / least squares")
    ax.set_title(f"{plan.n:,} units, {plan.d} regressors, {plan.method}", loc="left")
    _bare(ax)
    return ax


def plot_budget(budget: Budget, ax: Axes | None = None) -> Axes:
    """Draw what each release took of epsilon, and what is left."""
    charges = budget.charges
    ax = _axes(ax, 1.6 + 0.3 * len(charges))
    start = 0.0
    for row, charge in enumerate(charges):
        ax.barh(row, charge.epsilon, left=start, color=TOTAL, height=0.7)
        start += charge.epsilon
    left = budget.remaining[0]
    ax.barh(len(charges), left, left=start, color=SAMPLING, height=0.7)
    labels = [f"{c.label}  ({c.epsilon:.3g}, {c.delta:.2g})" for c in charges]
    ax.set_yticks(
        range(len(charges) + 1), [*labels, f"left  ({left:.3g}, {budget.remaining[1]:.2g})"]
    )
    ax.invert_yaxis()
    ax.set_xlim(0, budget.eps)
    ax.set_xlabel("eps")
    ax.set_title(f"Budget of eps={budget.eps:.4g}, delta={budget.delta:.3g}", loc="left")
    _bare(ax)
    return ax


def _bare(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
