"""Coefficients of a fit, or of several, and effects, with intervals; correlations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError, closest
from dpreg.base.later import Axes, pd
from dpreg.faces.plots.axes import ACCENT, SAMPLING, TOTAL, cost_of, listed, new_axes
from dpreg.results.effect import DPEffect
from dpreg.results.fit import DPResults
from dpreg.results.moments import DPMoments

# Coefficients that are more standard errors from 0 than this are clear of it in any case.
_FARTHEST = 25.0
# Blue, vermilion, green and purple of the Okabe-Ito palette, and shapes for those who print grey.
_STYLES = ((SAMPLING, "s"), (ACCENT, "o"), ("#009E73", "D"), ("#CC79A7", "^"))
# Of the distance between two terms, how much the fits of one term take.
_SPREAD = 0.5
# With more columns correlations have no room for numbers.
_MOST_NUMBERS = 15


def plot_coefficients(
    fit: DPResults, ax: Axes | None = None, alpha: float = 0.05, terms: Sequence[str] | None = None
) -> Axes:
    """Draw coefficients with intervals: what sampling alone would have, and all of it.

    Without `terms` intercepts are left out if there are others.  Coefficients are divided by their
    standard error, so that columns in any unit share an axis; a line at 0 marks no effect, and an
    arrow points to coefficients beyond the axis.  Their values are on the right.  If all are beyond
    the axis, intervals are drawn around the estimates.  Without standard errors coefficients are
    drawn in their own units.
    """
    table = fit.tidy(alpha)
    if terms is None:
        terms = [term for term in table.index if term not in fit._intercepts] or list(table.index)
    table = table.loc[_chosen(terms, list(table.index))]
    ax = new_axes(ax, 1.6 + 0.32 * len(table))
    place = np.arange(len(table), dtype=float)[::-1]
    if fit.covariance is None:
        _draw_estimates(ax, place, table)
        pad = 6.0
    else:
        _draw_intervals(ax, place, table, alpha)
        pad = 22.0  # the legend is between the title and the axes
    ax.set_title(f"{fit.response}: {fit.method}, {cost_of(fit.privacy)}", loc="left", pad=pad)
    return listed(ax, list(table.index), 0)


def _draw_estimates(ax: Axes, place: Doubles, table: pd.DataFrame) -> None:
    estimate = table["coef"].to_numpy()
    ax.hlines(place, 0, estimate, color=SAMPLING, linewidth=3)
    ax.plot(estimate, place, "o", color="black", markersize=4)
    for y, value in zip(place, estimate, strict=True):
        _write_beside(ax, y, f"{value:.4g}")
    ax.set_xlabel("coefficient, without standard errors")


def _draw_intervals(ax: Axes, place: Doubles, table: pd.DataFrame, alpha: float) -> None:
    error = table["std err"].to_numpy()
    error = np.where(np.isfinite(error) & (error > 0), error, np.nan)
    estimate = table["coef"].to_numpy()
    half = table["upper"].to_numpy() - estimate
    near = np.abs(estimate) + half <= _FARTHEST * error
    # Where all are clear of 0, only the intervals themselves show anything.
    around = not near.any()
    z, whole = (estimate - estimate if around else estimate) / error, half / error
    near = near | (around & np.isfinite(z))
    inner = whole * table["sampling"].to_numpy() / error
    reach = max(6.0, np.max((np.abs(z) + whole)[near], initial=0.0))
    _draw_parts(ax, place[near], z[near], whole[near], inner[near])
    for y, at, value, spread, drawn in zip(place, z, estimate, error, near, strict=True):
        if np.isnan(at):
            _write_unknown(ax, y, 0)
            continue
        _write_beside(ax, y, _with_error(value, spread))
        if not drawn:
            side = np.sign(at)
            ax.annotate(f"{at:.0f}", (side * reach, y), (side * 0.8 * reach, y), va="center",
                        ha="center", arrowprops={"arrowstyle": "->", "color": TOTAL})  # fmt: skip
    ax.set_xlim(-1.02 * reach, 1.02 * reach)
    what = "coefficient / standard error"
    if around:
        what = f"standard errors from the estimate (all are beyond {_FARTHEST:g} from 0)"
    ax.set_xlabel(f"{what}, with {100 * (1 - alpha):.3g}% intervals")


def plot_effect(found: DPEffect, ax: Axes | None = None, alpha: float = 0.05) -> Axes:
    """Draw the mean outcome of each arm, and the effect as a distance from the control's mean.

    The three intervals share the units of the outcome, so the effect has an axis of its own above,
    whose 0 is at the mean of the first arm, a line.  Values are on the right.
    """
    table = found.tidy(alpha)
    ax = new_axes(ax, 2.9)
    control = found.means[0]
    at = table["coef"].to_numpy() + np.array([control, 0.0, 0.0])
    whole = (table["upper"] - table["coef"]).to_numpy()
    inner = whole * (table["sampling"] / table["std err"]).to_numpy()
    place, known = np.array([2.0, 1.0, 0.0]), np.isfinite(at + whole)
    _draw_parts(ax, place[known], at[known], whole[known], inner[known], above=1.34)
    for y, value, spread, drawn in zip(place, table["coef"], table["std err"], known, strict=True):
        if drawn:
            _write_beside(ax, y, _with_error(value, spread))
        else:
            _write_unknown(ax, y, control)
    ax.set_xlabel(f"mean of {found.response}, with {100 * (1 - alpha):.3g}% intervals")
    risks = found.family == "binomial"
    above = ax.secondary_xaxis("top", functions=(lambda x: x - control, lambda x: x + control))
    above.set_xlabel(f"effect, a difference of {'risks' if risks else 'means'}")
    title = f"{found.treatment} on {found.response}: {found.method}, {cost_of(found.privacy)}"
    ax.set_title(title, loc="left", pad=60.0)
    return listed(ax, list(table.index), control)


def _draw_parts(ax: Axes, place: Doubles, at: Doubles, whole: Doubles, inner: Doubles,
                above: float = 1.0) -> None:  # fmt: skip
    """Draw estimates with intervals of these half widths, and the legend of the colours."""
    for half, color, label in ((whole, TOTAL, "with privacy noise"),
                               (inner, SAMPLING, "sampling alone")):  # fmt: skip
        ax.hlines(place, at - half, at + half, color=color, linewidth=5, label=label)
    ax.plot(at, place, "o", color="black", markersize=4)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, above), ncols=2,
              borderaxespad=0.1, borderpad=0.2)  # fmt: skip


def _write_unknown(ax: Axes, y: float, at: float) -> None:
    ax.text(at, y, "  not estimable at this eps", va="center", fontsize="small", color="0.4")


def _with_error(estimate: float, error: float) -> str:
    """Return both, with as many decimals as the error has with two digits."""
    decimals = max(0, 1 - math.floor(math.log10(error)))
    if decimals > 7 or error >= 1e7:
        return f"{estimate:.4g} ± {error:.2g}"
    return f"{estimate:.{decimals}f} ± {error:.{decimals}f}"


def _write_beside(ax: Axes, y: float, text: str) -> None:
    ax.annotate(text, (1.0, y), (6, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", fontsize="small")  # fmt: skip


def plot_beside(
    fits: Mapping[str, DPResults | pd.DataFrame],
    ax: Axes | None = None,
    *,
    terms: Sequence[str] | None = None,
    alpha: float = 0.05,
) -> Axes:
    """Draw coefficients of several fits with their intervals, one line for each term and fit.

    Parameters
    ----------
    fits : mapping of title to DPResults or DataFrame
        At most four.  A data frame has columns coef, lower and upper, and terms as its index; so
        estimates of other packages can be drawn beside private ones.
    terms : sequence of str, optional
        Which terms, in this order.  Default: all but the intercept.
    """
    if not 1 <= len(fits) <= len(_STYLES):
        raise ArgumentError("fits", f"must be 1 to {len(_STYLES)} fits, got {len(fits)}")
    tables = {
        title: fit.tidy(alpha) if isinstance(fit, DPResults) else fit for title, fit in fits.items()
    }
    named = list(dict.fromkeys(term for table in tables.values() for term in table.index))
    if terms is None:
        terms = [term for term in named if term != "Intercept"]
    terms = _chosen(terms, named)
    ax = new_axes(ax, 1.4 + (0.16 + 0.12 * len(fits)) * len(terms))
    place = np.arange(len(terms), dtype=float)[::-1]
    offsets = _SPREAD * (0.5 - (np.arange(len(fits)) + 0.5) / len(fits))
    for (title, table), (color, marker), offset in zip(
        tables.items(), _STYLES, offsets, strict=False
    ):
        values = table.reindex(terms)[["coef", "lower", "upper"]].to_numpy(float)
        # Without an interval a coefficient is not estimable.
        known = np.isfinite(values).all(axis=1)
        coef, lower, upper = values[known].T
        seeded = getattr(getattr(fits[title], "privacy", None), "seeded", False)
        label = f"{title} (seeded: NOT PRIVATE)" if seeded else title
        ax.hlines(place[known] + offset, lower, upper, color=color, linewidth=2)
        ax.plot(coef, place[known] + offset, marker, color=color, markersize=5, label=label)
    ax.set_xlabel(f"coefficient, with {100 * (1 - alpha):.3g}% interval")
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return listed(ax, terms, 0)


def _chosen(terms: Sequence[str], named: Sequence[str]) -> list[str]:
    """Return the terms to draw, which may be one; refuse those that are no coefficient."""
    chosen = [terms] if isinstance(terms, str) else list(terms)
    for term in chosen:
        if term not in named:
            meant = closest(term, named)
            advice = f"perhaps {meant!r} was meant" if meant else f"write {named[-1]!r}"
            raise ArgumentError("terms", f"there is no coefficient {term!r}", advice)
    return chosen


def plot_correlations(moments: DPMoments, ax: Axes | None = None) -> Axes:
    """Draw the correlations as a heat map, blue below 0 and red above.

    Correlations within two standard errors of 0 are printed in grey.
    """
    values, errors = moments.corr().to_numpy(), moments.corr_errors().to_numpy()
    size = len(values)
    ax = new_axes(ax, 1.5 + 0.45 * size)
    image = ax.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1)
    ax.figure.colorbar(image, ax=ax, label="correlation")
    ax.set_xticks(range(size), moments.names, rotation=45, ha="right")
    ax.set_yticks(range(size), moments.names)
    if size <= _MOST_NUMBERS:
        for i, j in np.ndindex(size, size):
            r, error = values[i, j], errors[i, j]
            clear = abs(r) > 2 * error
            dark = "white" if abs(r) > 0.6 else "black"
            text = "n/a" if np.isnan(r) else f"{r:.2f}"
            ax.text(j, i, text, ha="center", va="center", color=dark if clear else "0.55")
    ax.set_title(f"Correlations, {cost_of(moments.privacy)}", loc="left")
    return ax
