"""Tables made from a schema alone, to learn what a formula makes of any data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.base.later import pd
from dpreg.base.levels import Level
from dpreg.data.schema import Column, Schema

_LARGEST_GRID = 10_000
# Rows that show a column from one of its bounds to the other.
_ACROSS = 1001


def probe(schema: Schema, *, longer: int = 0) -> Any:
    """Make a table from the schema alone, with more rows if wanted.

    It shows every level once, and columns with bounds from one end to the other.
    """
    shown = [len(c.levels or ()) for c in schema.columns.values()]
    across = [_ACROSS for c in schema.columns.values() if c.bounds]
    size = max([2, *shown, *across]) + longer
    columns: dict[str, Any] = {}
    for name, column in schema.columns.items():
        if column.levels is None:
            columns[name] = np.linspace(*(column.bounds or (1.0, 2.0)), size)
        else:
            columns[name] = categorical(np.arange(size) % len(column.levels), column.levels)
    return pd.DataFrame(columns, index=range(size))


def grid(schema: Schema, needed: Iterable[str], variables: set[str]) -> Any:
    """Make a table with every combination of the levels of some columns; None if too many."""
    crossed = [c for n, c in schema.columns.items() if n in variables and c.levels]
    sizes = [len(c.levels or ()) for c in crossed]
    rows = math.prod(sizes)
    if rows > _LARGEST_GRID:
        return None
    place = np.unravel_index(np.arange(rows), sizes)
    codes = {c.name: code for c, code in zip(crossed, place, strict=True)}
    columns: dict[str, Any] = {}
    for name in needed:
        column = schema.columns[name]
        if column.levels is None:
            columns[column.name] = np.ones(rows)
        else:
            own = codes.get(column.name, np.zeros(rows, dtype=np.int64))
            columns[column.name] = categorical(own, column.levels)
    return pd.DataFrame(columns, index=range(rows))


def categorical(codes: NDArray[Any], levels: Sequence[Level]) -> Any:
    """Return a pandas category of these levels, missing where a code is -1."""
    categories: Any = list(levels)
    return pd.Categorical.from_codes(codes, categories=categories)


def anything(column: Column, rows: int) -> Any:
    """Values of the kind of `column` that any formula can evaluate."""
    if column.levels is None:
        return np.full(rows, 1.5)
    return categorical(np.zeros(rows, dtype=np.int32), column.levels)
