"""Encoding of terms by formulaic, learnt on tables made from a schema alone, and limits."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.base.later import pd
from dpreg.base.levels import Level
from dpreg.data.formula.functions import context
from dpreg.data.formula.parse import factors_of
from dpreg.data.schema import Column, Schema

Ranges = dict[str, tuple[float, float]]

_LARGEST_GRID = 10_000
# Rows of a grid from one bound of a column to the other.
_ACROSS = 1001


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings of numpy and pandas, which depend on cells."""
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        yield


def encoded(spec: Any, frame: Any, *, learn: bool = False) -> Any:
    """Return the model matrix of a table; with `learn`, the encoding is learnt from it."""
    from formulaic import ModelSpec

    model = spec if isinstance(spec, ModelSpec) else ModelSpec.from_spec(spec)
    return model.update(na_action="ignore", output="pandas").get_model_matrix(
        frame, context=context(learn=learn)
    )


def has_calls(side: Any) -> bool:
    """Whether a term is more than columns of the data and their products."""
    factors = (factor for structure in side.structure for factor in structure.term.factors)
    return any(factor.eval_method.value not in ("lookup", "literal") for factor in factors)


def dummies(matrix: Any, schema: Schema) -> dict[int, tuple[str, int]]:
    """Return which columns of the matrix of `probe` are indicators of one level.

    Their terms read no other column, so the first rows, which have each level once, determine every
    row.  Returns, by index, the name of the factor and the index of the level.
    """
    found, first = {}, 0
    for structure in matrix.model_spec.structure:
        last = first + len(structure.columns)
        variables = {v for factor in factors_of([structure.term]) for v in factor.variables}
        name = variables.pop() if len(variables) == 1 else ""
        levels = schema[name].levels if name in schema else None
        for place in range(first, last) if levels else ():
            values = np.asarray(matrix.iloc[: len(levels or ()), place], dtype=np.float64)
            (here,) = np.nonzero(values)
            if len(here) == 1 and values[here[0]] == 1:
                found[place] = name, int(here[0])
        first = last
    return found


def ranges_of(
    right: Any, schema: Schema, regressors: Iterable[str], ones: dict[int, tuple[str, int]]
) -> Ranges:
    """Return limits of the columns that come from declared levels or a basis alone.

    ones: as from `dummies`.
    """
    return {**_ranges_of_bases(right), **_ranges_of_levels(right, schema, regressors, ones)}


def _ranges_of_levels(
    right: Any, schema: Schema, regressors: Iterable[str], ones: dict[int, tuple[str, int]]
) -> Ranges:
    """Return limits of the columns that come from declared levels alone.

    Their values are those of the public coding: a dummy is 0 or 1.
    """
    found: Ranges = {}
    last = 0
    for structure in right.structure:
        first, last = last, last + len(structure.columns)
        factors = [str(f.expr) for f in structure.term.factors if f.eval_method.value != "literal"]
        kinds = [right.encoder_state[f][0].value for f in factors]
        if not factors or set(kinds) != {"categorical"}:
            continue
        if first < last and all(place in ones for place in range(first, last)):
            column, _ = ones[first]
            if 1 < len(schema[column].levels or ()) <= _LARGEST_GRID:
                found |= dict.fromkeys(map(str, structure.columns), (0.0, 1.0))
            continue
        variables = {v for f in factors_of([structure.term]) for v in f.variables}
        crossed = grid(schema, regressors, variables)
        if crossed is None:
            continue
        with quiet():
            table = encoded(right, crossed)
        for name in structure.columns:
            values = np.asarray(table[name], dtype=np.float64)
            if values.min() < values.max():
                found[str(name)] = (float(values.min()), float(values.max()))
    return found


def _ranges_of_bases(right: Any) -> Ranges:
    """Return limits of the columns of terms that are a basis of one column with bounds."""
    found: Ranges = {}
    for structure in right.structure:
        factors = factors_of([structure.term])
        bases = [basis for factor in factors for basis in factor.bases]
        if len(factors) != 1 or [b.term for b in bases] != [str(structure.term)]:
            continue
        (basis,) = bases
        # formulaic renames names in backticks; the new names are not known here.
        if basis.call == basis.term and all(map(str.isidentifier, basis.variables)):
            limits = right.transform_state[basis.call]["limits"]
            if len(limits) == len(structure.columns):
                found.update(zip(map(str, structure.columns), limits, strict=True))
    return found


def probe(schema: Schema, *, longer: int = 0) -> Any:
    """Make a table from the schema alone, with more rows if wanted.

    It has every level once, and columns with bounds run from one bound to the other.
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
        column, own = schema.columns[name], codes.get(name)
        columns[name] = (
            anything(column, rows) if own is None else categorical(own, column.levels or ())
        )
    return pd.DataFrame(columns, index=range(rows))


def categorical(codes: NDArray[Any], levels: Sequence[Level]) -> Any:
    """Return a pandas category of these levels, missing where a code is -1."""
    categories: Any = list(levels)
    return pd.Categorical.from_codes(codes, categories=categories)


def anything(column: Column, rows: int) -> Any:
    """Return values of the kind of `column` on which any formula can be evaluated."""
    if column.levels is None:
        return np.full(rows, 1.5)
    return categorical(np.zeros(rows, dtype=np.int32), column.levels)
