"""A plot of correlations; matplotlib is imported when it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpreg.faces.plots.axes import cost_of, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpreg.results.moments import DPMoments

# With more columns numbers have no room.
_MOST_NUMBERS = 15


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
