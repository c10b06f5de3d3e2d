"""How results are shown: plain text for a terminal of 80 columns, and access to plots."""

from __future__ import annotations

import importlib
import re
import textwrap
from typing import Any

from dpreg.base.later import Axes

# A name and the blanks before its value.
_NAMED = re.compile(r" +\S+( \S+)* {2,}(?=\S)")
_WIDTH = 78


def wrapped(text: str, hang: int = 2, width: int = _WIDTH) -> list[str]:
    """Return the lines of `text`, long ones broken, with `hang` blanks before what follows.

    An indented line with a name, blanks and a value goes on below the value.
    """
    pieces: list[str] = []
    for line in text.split("\n"):
        named = _NAMED.match(line)
        indent = " " * (named.end() if named else len(line) - len(line.lstrip()) + hang)
        pieces += textwrap.wrap(line, width, subsequent_indent=indent) or [""]
    return pieces


def counted(number: int, noun: str) -> str:
    """Return ``"1 charge"``, ``"2 charges"``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def share_lost(share: float) -> str:
    """Return a share in [0, 1] as a percentage of two digits, or in words near 1."""
    if share >= 1:
        return "all"
    return "nearly all" if share >= 0.99 else f"{100 * share:.2g}%"


def drawn(picture: str, *arguments: Any) -> Axes:
    """Draw a plot of `dpreg.faces.plots`, which is imported by its name.

    picture: its module and function, such as ``"curves.plot_curve"``.
    """
    module, _, function = picture.partition(".")
    home = importlib.import_module(f"dpreg.faces.plots.{module}")
    axes: Axes = getattr(home, function)(*arguments)
    return axes
