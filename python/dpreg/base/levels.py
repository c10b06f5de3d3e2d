"""Levels of a column, as users declare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from dpreg.base.errors import Pieces, SchemaError, write

Level = str | int | float | bool

_SPELLED = "a list of strings or numbers"


def listed(name: str, values: Any) -> tuple[Level, ...]:
    """Return declared levels as plain values, from a list, an array, an index or a series.

    values: at least two levels, all different.
    """
    import numpy as np

    unordered, such = isinstance(values, Set), such_levels(name, "first", "second")
    if unordered or isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        why = ", in order: the first is the reference level" if unordered else ""
        raise SchemaError("levels", f"those of {name!r} must be {_SPELLED}{why}", such)
    public = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
    if not all(isinstance(v, (str, int, float)) and v == v for v in public):
        raise SchemaError("levels", f"the levels of {name!r} must be strings or numbers", such)
    if len(public) < 2 or len(set(public)) < len(public):
        raise SchemaError("levels", f"{name!r} needs at least two levels, all different", such)
    return public


def such_levels(name: str, *levels: Level) -> Pieces:
    """Suggest to declare the levels of a column."""
    return write("levels", {name: [*levels, ...]})
