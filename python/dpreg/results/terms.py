"""Which coefficients belong to which term of a formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpreg.data.formula import FormulaSpec
from dpreg.data.formula.effects import split_effects
from dpreg.errors import ArgumentError
from dpreg.results.predict import schema_from_dict

__all__ = ["term_columns"]


def term_columns(
    formula: str, schema: Mapping[str, Mapping[str, Any]], names: tuple[str, ...]
) -> dict[str, list[int]]:
    """Return the places in `names` of the coefficients of each term, without the intercept.

    A term of which no coefficient was kept by a selection is left out.
    """
    if not schema:
        why = "needs the terms of a formula, and this model was fitted from a matrix"
        raise ArgumentError("anova", why, "use wald_test")
    place = {name: j for j, name in enumerate(names)}
    found = {}
    for term, columns in FormulaSpec(
        str(split_effects(formula)[0]), schema_from_dict(schema)
    ).terms.items():
        kept = [place[name] for name in columns if name in place]
        if kept:
            found[term] = kept
    return found
