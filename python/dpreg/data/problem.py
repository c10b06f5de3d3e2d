"""A regression problem before its records are read: what is public, and how to read the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from dpreg.data.containers import open_source
from dpreg.data.design import Design, Terms, read_design
from dpreg.data.formula import FormulaSpec
from dpreg.data.formula.effects import effects_of_unit
from dpreg.data.matrix import INTERCEPT, ModelMatrix, intercept_is_taken
from dpreg.data.schema import Column, Level, Schema, no_column
from dpreg.data.source import RowSource
from dpreg.data.within import within_terms, within_units
from dpreg.errors import Argument, FormulaError, SchemaError, leave_out, write
from dpreg.privacy.stratum import Stratum

__all__ = ["Problem", "check_unit", "pose"]


class Problem(Protocol):
    """What a fit is asked to do: terms and schema are public, for predictions and notes."""

    @property
    def terms(self) -> Terms:
        """What the formula says about the design."""
        ...

    @property
    def schema(self) -> Schema:
        """The columns in use."""
        ...

    def design(self, memory: float) -> Design:
        """Read the records; to be called when they have been paid for.

        Parameters
        ----------
        memory : float
            Bytes that rows may take before they go to a temporary file.
        """
        ...


@dataclass(frozen=True, slots=True)
class FormulaProblem:
    """A formula, bound to the schema of a source."""

    spec: FormulaSpec
    source: RowSource
    unit: str | None
    stratum: Stratum | None
    within: bool = False

    @property
    def terms(self) -> Terms:
        """See `Problem`."""
        spec = self.spec
        terms = Terms(spec.response, spec.names, spec.intercept, spec.ranges)
        return within_terms(terms) if self.within else terms

    @property
    def schema(self) -> Schema:
        """See `Problem`."""
        return self.spec.schema

    def design(self, memory: float) -> Design:
        """See `Problem.design`."""
        spec, source, unit = self.spec, self.source, self.unit
        design = read_design(spec, source, unit, self.terms, memory, self.stratum)
        return within_units(design) if self.within else design


def pose(
    formula: str,
    data: Any,
    levels: Mapping[str, Iterable[Level]] | None,
    unit: str | None = None,
    stratum: Stratum | None = None,
) -> Problem:
    """Check a formula against the schema of the data, and read nothing else.

    Parameters
    ----------
    formula : str
        For a `ModelMatrix` it is a label only.
    data : ModelMatrix, or whatever `open_source` takes
    levels : dict, optional
        As for `dp_lm`.
    unit : str, optional
        Column that names the protected unit: it is no part of the formula, nor of its ``.``.
    stratum : Stratum, optional
        Whose rows are wanted.  Its column is no part of the formula either: it has one value.
    """
    if isinstance(data, ModelMatrix):
        columns = {} if data.unit is None else {data.unit: Column(data.unit, "other")}
        check_unit(unit, Schema(columns))
        assert data.stratum == stratum
        return data
    _check_order(formula, data)
    source = open_source(data)
    check_unit(unit, source.schema)
    schema = source.schema.with_levels(levels).without(unit)
    apart = {unit: ("names the protected unit", leave_out("unit"))}
    if stratum is not None:
        _check_stratum(stratum, source.schema)
        schema = schema.without(stratum.column)
        whole = "charge the fit to the whole budget"
        apart[stratum.column] = ("divides the budget", (whole,))
    formula, within = effects_of_unit(formula, unit)
    try:
        spec = FormulaSpec(formula, schema)
    except FormulaError:
        for name, (role, instead) in apart.items():
            if name and isinstance(formula, str) and _names(formula, name):
                problem = f"{name!r} {role}, and cannot be in the formula too"
                raise FormulaError("formula", problem, "leave it out", instead) from None
        raise
    if INTERCEPT in spec.regressors:
        raise intercept_is_taken()
    if within and not spec.names:
        raise FormulaError("formula", "has nothing but effects of units, which are not released")
    return FormulaProblem(spec, source, unit, stratum, within)


def _names(formula: str, column: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", formula) is not None


def _check_order(formula: object, data: object) -> None:
    """Refuse data in the place of the formula."""
    is_formula = [isinstance(given, str) and "~" in given for given in (formula, data)]
    if is_formula == [False, True]:
        raise FormulaError(
            "formula",
            ("and ", Argument("data"), " are in each other's place"),
            "write the formula first, then the data",
        )


# What has no keys (cells.py), by what the column holds.
_NO_KEYS = ("lists", "nothing", "values of another type")


def check_unit(unit: str | None, schema: Schema) -> None:
    """Refuse a unit column that is not there, or whose type cannot tell one unit from another."""
    if unit is None:
        return
    if not isinstance(unit, str):
        problem = f"must be the name of one column, a string, not a {type(unit).__name__}"
        raise SchemaError("unit", problem, (*write("unit", "person"), ", for example"))
    if unit not in schema:
        raise SchemaError("unit", *no_column(unit, schema))
    if schema[unit].holds in _NO_KEYS:
        raise SchemaError(
            "unit",
            f"column {unit!r} holds {schema[unit].holds}, which cannot name a unit",
            "convert it to text or whole numbers before the call",
        )


def _check_stratum(stratum: Stratum, schema: Schema) -> None:
    """Refuse a stratum whose column is not there, or cannot have one of the declared levels."""
    column = stratum.column
    if column not in schema:
        why, *advice = no_column(column, schema)
        raise SchemaError("budget", f"is divided by {column!r}, and {why}", *advice)
    try:
        schema.with_levels({column: stratum.levels})
    except SchemaError as error:
        problem = error.problem if isinstance(error.problem, tuple) else (error.problem,)
    else:
        return
    raise SchemaError("budget", (f"is divided by {column!r}, and ", *problem))
