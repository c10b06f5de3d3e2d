"""Figures in words, from what is written on them: the text for those who do not see a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def titles_of(axes: Axes) -> str:
    return next((t for where in ("left", "center", "right") if (t := axes.get_title(where))), "")


def axes_in_words(axes: Axes) -> str:
    x, y, title = axes.get_xlabel(), axes.get_ylabel(), titles_of(axes)
    scales = f"{y} against {x}" if x and y else x or y
    legend = axes.get_legend()
    labels = [text.get_text() for text in legend.get_texts()] if legend else []
    # Where that axis has names on it, not numbers, these say what is compared.
    names = [name for text in axes.get_yticklabels() if (name := text.get_text())]
    named = len(names) <= 12 and any(name[0].isalpha() for name in names)
    of = ", ".join(names) if named else ""
    parts = (title, scales, f"for {of}" if of else "", ", ".join(labels))
    return "; ".join(" ".join(part.split()) for part in parts if part)


def in_words(figure: Figure) -> str:
    """Return titles, what is drawn against what, and the legends, of each of its panels."""
    whole = figure.get_suptitle()
    panels = [axes_in_words(axes) for axes in figure.axes]
    return ". ".join(dict.fromkeys(text for text in (whole, *panels) if text))
