"""Which coefficients belong to which term of a formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpreg.base.errors import ArgumentError
from dpreg.data.formula import bound_formula
from dpreg.data.formula.parse import effects_as_terms, split_effects
from dpreg.results.predict import schema_from_dict


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
    columns_in_use = schema_from_dict(schema)
    text, groups = split_effects(formula)
    # The unit is none of them.
    declared = (group for group in groups if group in columns_in_use.columns)
    spec = bound_formula(effects_as_terms(str(text), declared, columns_in_use), columns_in_use)
    found = {}
    for term, columns in spec.terms.items():
        kept = [place[name] for name in columns if name in place]
        if kept:
            found[term] = kept
    return found
