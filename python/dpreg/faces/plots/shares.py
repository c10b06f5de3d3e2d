"""What each release took of a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpreg.faces.plots.axes import SAMPLING, TOTAL, new_axes, without_box

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more, releases have no room for their names.
_MOST_BARS = 40


def plot_shares(
    labels: Sequence[str], shares: Sequence[float], of: str, title: str, ax: Axes | None = None
) -> Axes:
    """Draw what each release took of a total, one below the other, and what is left.

    Parameters
    ----------
    shares : sequence of float
        Of the total, which is 1.
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
    without_box(ax)
    return ax
