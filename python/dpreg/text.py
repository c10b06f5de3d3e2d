"""Plain text for a terminal of 80 columns."""

from __future__ import annotations

import textwrap

__all__ = ["counted", "share_lost", "wrapped"]

_WIDTH = 78


def wrapped(text: str, hang: int = 2) -> list[str]:
    """Return the lines of `text`, long ones broken, with `hang` blanks before what follows."""
    pieces: list[str] = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + hang)
        pieces += textwrap.wrap(line, _WIDTH, subsequent_indent=indent) or [""]
    return pieces


def counted(number: int, noun: str) -> str:
    """Return ``"1 charge"``, ``"2 charges"``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def share_lost(share: float) -> str:
    """Return a share in [0, 1] as a percentage of two digits, or in words near 1."""
    if share >= 1:
        return "all"
    return "nearly all" if share >= 0.99 else f"{100 * share:.2g}%"
