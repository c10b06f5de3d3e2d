"""Plain text for a terminal of 80 columns."""

from __future__ import annotations

import textwrap

__all__ = ["counted", "wrapped"]

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
