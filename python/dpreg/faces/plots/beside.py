"""Coefficients of several fits in one plot, such as a private fit and the exact one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpreg.base.errors import ArgumentError
from dpreg.faces.plots.axes import ACCENT, SAMPLING, new_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dpreg.results.fit import DPResults

# Blue, vermilion, green and purple of the Okabe-Ito palette, and shapes for those who print grey.
_STYLES = ((SAMPLING, "s"), (ACCENT, "o"), ("#009E73", "D"), ("#CC79A7", "^"))
# Of the distance between two terms, how much the fits of one term take.
_SPREAD = 0.5


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
    tables = {title: _table(fit, alpha) for title, fit in fits.items()}
    if terms is None:
        named = dict.fromkeys(term for table in tables.values() for term in table.index)
        terms = [term for term in named if term != "Intercept"]
    ax = new_axes(ax, 1.4 + (0.16 + 0.12 * len(fits)) * len(terms))
    place = np.arange(len(terms), dtype=float)[::-1]
    offsets = _SPREAD * (0.5 - (np.arange(len(fits)) + 0.5) / len(fits))
    for (title, table), (color, marker), offset in zip(
        tables.items(), _STYLES, offsets, strict=False
    ):
        values = table.reindex(list(terms))[["coef", "lower", "upper"]].to_numpy(float)
        # Without an interval a coefficient is not estimable.
        known = np.isfinite(values).all(axis=1)
        coef, lower, upper = values[known].T
        seeded = getattr(getattr(fits[title], "privacy", None), "seeded", False)
        label = f"{title} (seeded: NOT PRIVATE)" if seeded else title
        ax.hlines(place[known] + offset, lower, upper, color=color, linewidth=2)
        ax.plot(coef, place[known] + offset, marker, color=color, markersize=5, label=label)
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    ax.set_yticks(place, terms)
    ax.set_ylim(-0.6, len(terms) - 0.4)
    ax.set_xlabel(f"coefficient, with {100 * (1 - alpha):.3g}% interval")
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _table(fit: DPResults | pd.DataFrame, alpha: float) -> pd.DataFrame:
    from dpreg.results.fit import DPResults

    return fit.tidy(alpha) if isinstance(fit, DPResults) else fit
