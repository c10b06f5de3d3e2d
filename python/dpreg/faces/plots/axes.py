"""Axes and colours of all plots; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from dpreg.base.errors import leave_out, unusable
from dpreg.base.later import Axes
from dpreg.privacy.certificate import Certificate

# Blue and orange of the Okabe-Ito palette, distinguishable for all readers.
SAMPLING, TOTAL, ACCENT = "#0072B2", "#E69F00", "#D55E00"


def new_axes(ax: Axes | None, height: float) -> Axes:
    """Return `ax`, or the axes of a new figure of this height, in inches."""
    if ax is not None:
        if not hasattr(ax, "get_figure"):
            raise unusable("ax", "a Matplotlib axis", ax, leave_out("ax"))
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib; run `pip install 'dpreg[plots]'`") from None
    return plt.subplots(figsize=(6.4, height), layout="constrained")[1]


def without_box(ax: Axes) -> None:
    """Leave out the lines above and to the right."""
    ax.spines[["top", "right"]].set_visible(False)


def listed(ax: Axes, labels: Sequence[str], at: float) -> Axes:
    """Name what is drawn, one below the other from the top, and draw a line at a number."""
    ax.axvline(at, color="0.6", linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(labels))[::-1], labels)
    ax.set_ylim(-0.6, len(labels) - 0.4)
    without_box(ax)
    return ax


def cost_of(privacy: Certificate) -> str:
    """Return eps for a title, or that the release is not private."""
    return "seeded: NOT PRIVATE" if privacy.seeded else f"eps={privacy.epsilon:.4g}"
