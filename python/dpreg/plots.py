"""Pictures of what was released; matplotlib is imported when one is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpreg.text import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dpreg.planning.plan import Plan
    from dpreg.results.fit import DPResults

__all__ = ["new_axes", "plot_coefficients", "plot_plan", "plot_power", "plot_shares"]

# Blue and orange of the Okabe-Ito palette, told apart by all eyes.
SAMPLING, TOTAL, ACCENT = "#0072B2", "#E69F00", "#D55E00"
# Coefficients that are more standard errors from 0 than this are clear of it in any case.
_FARTHEST = 25.0
# With more, releases have no room for their names.
_MOST_BARS = 40


def new_axes(ax: Axes | None, height: float) -> Axes:
    """Return `ax`, or the axes of a new figure of this height, in inches."""
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
    columns in any unit share an axis; a line at 0 is no effect, an arrow leads to what is too
    far out.  Their values are on the right.  Without standard errors coefficients are drawn as
    they are.
    """
    table = fit.tidy(alpha).drop(index="Intercept", errors="ignore")
    ax = new_axes(ax, 1.6 + 0.32 * len(table))
    place = np.arange(len(table), dtype=float)[::-1]
    seeded = "seeded: NOT PRIVATE" if fit.privacy.seeded else f"eps={fit.privacy.epsilon:.4g}"
    if fit.covariance is None:
        _draw_estimates(ax, place, table)
        pad = 6.0
    else:
        _draw_intervals(ax, place, table, alpha)
        pad = 22.0  # the legend is between the title and the axes
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    ax.set_yticks(place, table.index)
    ax.set_ylim(-0.6, len(table) - 0.4)
    ax.set_title(f"{fit.response}: {fit.method}, {seeded}", loc="left", pad=pad)
    _bare(ax)
    return ax


def _draw_estimates(ax: Axes, place: NDArray[np.float64], table: pd.DataFrame) -> None:
    estimate = table["coef"].to_numpy()
    ax.hlines(place, 0, estimate, color=SAMPLING, linewidth=3)
    ax.plot(estimate, place, "o", color="black", markersize=4)
    for y, value in zip(place, estimate, strict=True):
        _write_beside(ax, y, f"{value:.4g}")
    ax.set_xlabel("coefficient, without standard errors")


def _draw_intervals(
    ax: Axes, place: NDArray[np.float64], table: pd.DataFrame, alpha: float
) -> None:
    error = table["std err"].to_numpy()
    error = np.where(np.isfinite(error) & (error > 0), error, np.nan)
    estimate = table["coef"].to_numpy()
    z = estimate / error
    whole = (table["upper"].to_numpy() - estimate) / error
    inner = whole * table["sampling"].to_numpy() / error
    end = np.abs(z) + whole
    near = end <= _FARTHEST
    reach = max(6.0, np.max(end[near], initial=0.0))
    for half, color, label in ((whole, TOTAL, "with privacy noise"),
                               (inner, SAMPLING, "sampling alone")):  # fmt: skip
        ax.hlines(place[near], (z - half)[near], (z + half)[near], color=color, linewidth=5,
                  label=label)  # fmt: skip
    ax.plot(z[near], place[near], "o", color="black", markersize=4)
    for y, at, value, spread, drawn in zip(place, z, estimate, error, near, strict=True):
        if np.isnan(at):
            ax.text(0, y, "  not estimable at this eps", va="center", fontsize="small",
                    color="0.4")  # fmt: skip
            continue
        _write_beside(ax, y, _with_error(value, spread))
        if not drawn:
            side = np.sign(at)
            ax.annotate(f"{at:.0f}", (side * reach, y), (side * 0.8 * reach, y), va="center",
                        ha="center", arrowprops={"arrowstyle": "->", "color": TOTAL})  # fmt: skip
    ax.set_xlim(-1.02 * reach, 1.02 * reach)
    ax.set_xlabel(f"coefficient / standard error, with {100 * (1 - alpha):.3g}% intervals")
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2,
              borderaxespad=0.1, borderpad=0.2)  # fmt: skip


def _with_error(estimate: float, error: float) -> str:
    """Return both, with as many decimals as the error has with two digits."""
    decimals = max(0, 1 - math.floor(math.log10(error)))
    if decimals > 7 or error >= 1e7:
        return f"{estimate:.4g} ± {error:.2g}"
    return f"{estimate:.{decimals}f} ± {error:.{decimals}f}"


def _write_beside(ax: Axes, y: float, text: str) -> None:
    ax.annotate(text, (1.0, y), (6, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", fontsize="small")  # fmt: skip


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the width of intervals, relative to those without privacy, against eps."""
    from dpreg.planning.curves import width_curve

    ax = new_axes(ax, 4.0)
    epsilons, found = width_curve(plan)
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
    shown = [t for t in (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
             if epsilons[0] <= t <= epsilons[-1]]  # fmt: skip
    ax.set_xticks(shown, [f"{t:g}" for t in shown])
    ax.minorticks_off()
    ax.set_ylim(0.95, 1.3 * top)
    ax.set_xlabel("eps")
    ax.set_ylabel(f"interval width / {plan.exact}")
    ax.set_title(_planned(plan), loc="left")
    _bare(ax)
    return ax


def plot_power(plan: Plan, ax: Axes | None = None) -> Axes:
    """Plot power against the size of a slope, with that of least squares without privacy."""
    from dpreg.planning.curves import power_curve

    ax = new_axes(ax, 4.0)
    effects, powers, exact = power_curve(plan)
    ax.plot(effects, exact, color="0.6", linewidth=1.5, label=plan.exact)
    ax.plot(effects, powers, color=SAMPLING, linewidth=2, label=f"eps={plan.eps:.3g}")
    if plan.effect is not None and plan.power is not None:
        ax.plot([plan.effect], [plan.power], "o", color=ACCENT)
        ax.annotate(f"{plan.effect:.2g}: {plan.power:.2g}", (plan.effect, plan.power),
                    xytext=(8, -12), textcoords="offset points")  # fmt: skip
    ax.set_xlim(0, effects[-1])
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("slope, in residual standard deviations")
    ax.set_ylabel("power of the 5% test")
    ax.legend(frameon=False, loc="lower right")
    ax.set_title(_planned(plan), loc="left")
    _bare(ax)
    return ax


def _planned(plan: Plan) -> str:
    return f"{counted(plan.n, 'unit')}, {counted(plan.d, 'regressor')}, {plan.method}"


def plot_shares(
    labels: Sequence[str], shares: Sequence[float], of: str, title: str, ax: Axes | None = None
) -> Axes:
    """Draw what each release took of a total, one below the other, and what is left.

    Parameters
    ----------
    labels : sequence of str
        Of the releases.
    shares : sequence of float
        Of the total, which is 1.
    of : str
        What the total is of.
    title : str
    ax : Axes, optional
    """
    ax = new_axes(ax, 1.6 + 0.3 * min(len(labels), _MOST_BARS))
    left = max(0.0, 1.0 - math.fsum(shares))
    starts = np.cumsum([0.0, *shares])
    ax.barh(range(len(shares)), shares, left=starts[:-1], color=TOTAL, height=0.7)
    ax.barh(len(shares), left, left=starts[-1], color=SAMPLING, height=0.7)
    if len(labels) <= _MOST_BARS:
        titles = [label if len(label) <= 40 else label[:37] + "..." for label in labels]
        each = [f"{t}  {100 * s:.3g}%" for t, s in zip(titles, shares, strict=True)]
        ax.set_yticks(range(len(labels) + 1), [*each, f"left  {100 * left:.3g}%"])
    else:
        ax.set_yticks([0, len(labels)], ["first charge", f"left  {100 * left:.3g}%"])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
    ax.set_xlabel(f"share of {of}")
    ax.set_title(title, loc="left", fontsize="medium")
    _bare(ax)
    return ax


def _bare(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
