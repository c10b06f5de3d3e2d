"""Plots of plans, against eps or the size of a slope, and of the shares of a budget."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpreg.base.later import Axes
from dpreg.estimation.planning.planned import Planned, power_curve, width_curve
from dpreg.faces.plots.axes import ACCENT, SAMPLING, TOTAL, new_axes, without_box

# With more, releases have no room for their names.
_MOST_BARS = 40


def plot_plan(plan: Planned, ax: Axes | None = None) -> Axes:
    """Draw the width of intervals, relative to those without privacy, against eps."""
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
    ax.set(xscale="log", yscale="log")
    top = np.nanmax(np.where(np.isfinite(found), found, np.nan), initial=2.0)
    ticks: list[Any] = [t for t in (1, 1.5, 2, 3, 5, 10, 20, 50, 100) if t <= 1.3 * top]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    shown = [t for t in (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
             if epsilons[0] <= t <= epsilons[-1]]  # fmt: skip
    ax.set_xticks(shown, [f"{t:g}" for t in shown])
    ax.minorticks_off()
    ax.set(ylim=(0.95, 1.3 * top), xlabel="eps", ylabel=f"interval width / {plan.model.exact}")
    ax.set_title(plan.title, loc="left")
    without_box(ax)
    return ax


def plot_power(plan: Planned, ax: Axes | None = None) -> Axes:
    """Plot power against the size of an effect, with that of the fit without privacy."""
    ax = new_axes(ax, 4.0)
    effects, powers, exact = power_curve(plan)
    ax.plot(effects, exact, color="0.6", linewidth=1.5, label=plan.model.exact)
    ax.plot(effects, powers, color=SAMPLING, linewidth=2, label=f"eps={plan.eps:.3g}")
    if plan.effect is not None and plan.power is not None:
        ax.plot([plan.effect], [plan.power], "o", color=ACCENT)
        ax.annotate(f"{plan.effect:.3g}: {plan.power:.2g}", (plan.effect, plan.power),
                    xytext=(8, -12), textcoords="offset points")  # fmt: skip
    ax.set(xlim=(effects[0], effects[-1]), ylim=(0, 1.03), ylabel="power of the 5% test")
    ax.set_xlabel(plan.model.of_effects)
    ax.legend(frameon=False, loc="lower right")
    ax.set_title(plan.title, loc="left")
    without_box(ax)
    return ax


def plot_shares(
    labels: Sequence[str], shares: Sequence[float], of: str, title: str, ax: Axes | None = None
) -> Axes:
    """Draw the share of each release in a total of 1, one below the other, and what is left."""
    ax = new_axes(ax, 1.6 + 0.3 * min(len(labels), _MOST_BARS))
    left = max(0.0, 1.0 - math.fsum(shares))
    starts = np.cumsum([0.0, *shares])
    ax.barh(range(len(shares)), shares, left=starts[:-1], color=TOTAL, height=0.7)
    ax.barh(len(shares), left, left=starts[-1], color=SAMPLING, height=0.7)
    if len(labels) <= _MOST_BARS:
        titles = [label if len(label) <= 28 else label[:25] + "..." for label in labels]
        each = [f"{t}  {100 * s:.3g}%" for t, s in zip(titles, shares, strict=True)]
        ax.set_yticks(range(len(labels) + 1), [*each, f"left  {100 * left:.3g}%"])
    else:
        ax.set_yticks([0, len(labels)], ["first charge", f"left  {100 * left:.3g}%"])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel=f"share of {of}")
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
    ax.set_title(textwrap.fill(title, 44), loc="left", fontsize="medium")
    without_box(ax)
    return ax
