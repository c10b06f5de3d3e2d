"""A regression problem before its records are read: what is public, and how to read the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpreg.base.errors import Argument, FormulaError, leave_out
from dpreg.base.levels import Level
from dpreg.data.bounds import Bounds, column_pairs
from dpreg.data.containers import open_source
from dpreg.data.design import Design, Terms, read_design, weighed_terms
from dpreg.data.formula import FormulaSpec, bound_formula
from dpreg.data.formula.parse import effects_of_unit
from dpreg.data.matrix import ModelMatrix, check_column_names
from dpreg.data.roles import Weights, check_stratum, check_unit, check_weight_column
from dpreg.data.sampling import within_terms, within_units
from dpreg.data.schema import Column, Schema
from dpreg.data.source import RowSource
from dpreg.privacy.stratum import Stratum


@dataclass(frozen=True, slots=True)
class FormulaProblem:
    """A formula, bound to the schema of a source."""

    spec: FormulaSpec
    source: RowSource
    unit: str | None
    stratum: Stratum | None
    within: bool = False
    weights: Weights | None = None

    @property
    def terms(self) -> Terms:
        """What the formula says about the design.  Public."""
        spec = self.spec
        terms = Terms(
            spec.response, spec.names, spec.intercept, spec.ranges, groups=spec.terms,
            offsets=spec.offsets, data_bounds=spec.data_bounds,
        )  # fmt: skip
        terms = weighed_terms(terms, self.weights)
        return within_terms(terms) if self.within else terms

    @property
    def schema(self) -> Schema:
        """The columns in use, for predictions and notes.  Public."""
        return self.spec.schema

    def design(self, memory: float) -> Design:
        """Read the records; to be called when they have been paid for.

        memory: bytes that rows may take before others go to temporary files.
        """
        spec, source, unit = self.spec, self.source, self.unit
        design = read_design(spec, source, unit, self.terms, memory, self.stratum)
        return within_units(design) if self.within else design


# What a fit is asked to do.
Problem = FormulaProblem | ModelMatrix


def pose(
    formula: str,
    data: Any,
    levels: Mapping[str, Iterable[Level]] | None,
    unit: str | None = None,
    stratum: Stratum | None = None,
    weights: Weights | None = None,
    bounds: Mapping[str, Bounds] | None = None,
) -> Problem:
    """Check a formula against the schema of the data, and read nothing else.

    formula: for a `ModelMatrix` it is a label only.
    unit: column that names the protected unit: it is no part of the formula, nor of its ``.``.
    stratum: whose rows are wanted.  Its column is no part of the formula either: it has one value.
    weights: of the rows; ``.`` leaves their column out.
    bounds: as for `dp_lm`; here those of columns of the data, for terms that make a basis of them.
    """
    if isinstance(data, ModelMatrix):
        columns = {} if data.unit is None else {data.unit: Column(data.unit, "other")}
        check_unit(unit, Schema(columns))
        assert data.stratum == stratum
        return replace(data, terms=weighed_terms(data.terms, weights))
    check_order(formula, data)
    source = open_source(data)
    check_unit(unit, source.schema)
    check_weight_column(weights, source.schema)
    schema = source.schema.with_levels(levels).without(unit)
    schema = schema.with_bounds(column_pairs(bounds, schema))
    if weights is not None and not _names(str(formula), weights.column):
        schema = schema.without(weights.column)
    apart = {unit: ("names the protected unit", leave_out("unit"))}
    if stratum is not None:
        check_stratum(stratum, source.schema)
        schema = schema.without(stratum.column)
        whole = "charge the fit to the whole budget"
        apart[stratum.column] = ("divides the budget", (whole,))
    formula, within = effects_of_unit(formula, unit, schema)
    try:
        spec = bound_formula(formula, schema, None if weights is None else weights.column)
    except FormulaError:
        for name, (role, instead) in apart.items():
            if name and isinstance(formula, str) and "|" not in formula and _names(formula, name):
                problem = f"{name!r} {role}, and cannot be in the formula too"
                raise FormulaError(problem, "leave it out", instead) from None
        raise
    check_column_names(spec.regressors)
    if within and not spec.names:
        raise FormulaError("has only unit effects, which are not released")
    return FormulaProblem(spec, source, unit, stratum, within, weights)


def _names(formula: str, column: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", formula) is not None


def check_order(formula: object, data: object) -> None:
    """Refuse data in the place of the formula."""
    is_formula = [isinstance(given, str) and "~" in given for given in (formula, data)]
    if is_formula == [False, True]:
        problem = ("and ", Argument("data"), " are in the wrong order")
        raise FormulaError(problem, "write the formula first, then the data")
