"""Terms as formulaic encodes them, and the limits of the columns that it makes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpreg.data.formula.functions import context
from dpreg.data.formula.parse import factors_of
from dpreg.data.formula.tables import grid
from dpreg.data.schema import Schema

Ranges = dict[str, tuple[float, float]]


@contextmanager
def quiet() -> Iterator[None]:
    """What numpy and pandas say about odd cells must not be heard."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def encoded(spec: Any, frame: Any, *, learn: bool = False) -> Any:
    """Return the model matrix of a table; with `learn`, of the schema for the first time."""
    from formulaic import ModelSpec

    model = spec if isinstance(spec, ModelSpec) else ModelSpec.from_spec(spec)
    return model.update(na_action="ignore", output="pandas").get_model_matrix(
        frame, context=context(learn=learn)
    )


def ranges_of_levels(right: Any, schema: Schema, regressors: Iterable[str]) -> Ranges:
    """Return limits of the columns that are made of declared levels alone.

    Their values are those of the coding, which is public: a dummy is 0 or 1.
    """
    found: Ranges = {}
    for structure in right.structure:
        factors = [str(f.expr) for f in structure.term.factors if f.eval_method.value != "literal"]
        kinds = [right.encoder_state[f][0].value for f in factors]
        if not factors or set(kinds) != {"categorical"}:
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


def ranges_of_bases(right: Any) -> Ranges:
    """Return limits of the columns of terms that are one basis of a column with public bounds."""
    found: Ranges = {}
    for structure in right.structure:
        factors = factors_of([structure.term])
        bases = [basis for factor in factors for basis in factor.bases]
        if len(factors) != 1 or [b.term for b in bases] != [str(structure.term)]:
            continue
        (basis,) = bases
        # Names in backticks get others in formulaic, which are not known here.
        if basis.call == basis.term and all(map(str.isidentifier, basis.variables)):
            limits = right.transform_state[basis.call]["limits"]
            if len(limits) == len(structure.columns):
                found.update(zip(map(str, structure.columns), limits, strict=True))
    return found
