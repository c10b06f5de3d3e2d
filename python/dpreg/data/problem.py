"""A regression problem before its records are read: what is public, and how to read the rest.

It consists of a formula and a source, or of a model matrix made by another program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.errors import Argument, ArgumentError, FormulaError, leave_out
from dpreg.base.levels import Level
from dpreg.data.bounds import Bounds, column_pairs
from dpreg.data.containers import open_source
from dpreg.data.design import Block, Design, Terms, design_of, read_design, weighed_terms
from dpreg.data.formula import FormulaSpec, Rows, bound_formula
from dpreg.data.formula.parse import effects_of_unit
from dpreg.data.roles import Weights, check_stratum, check_unit, check_weight_column, usable_weights
from dpreg.data.sampling import within_terms, within_units
from dpreg.data.schema import Column, Schema
from dpreg.data.source import RowSource
from dpreg.privacy.charge import Stratum

_INTERCEPT = "Intercept"
# Followed by a bracket, these begin the names of offsets and weights among the regressors.
_WORDS = ("offset", "weights")

# Rows of a block: a matrix of all rows may not fit in memory.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class FormulaProblem:
    """A formula, bound to the schema of a source."""

    spec: FormulaSpec
    terms: Terms  # What is public about the design.
    source: RowSource
    unit: str | None
    stratum: Stratum | None

    @property
    def schema(self) -> Schema:
        """The columns in use, for predictions and notes.  Public."""
        return self.spec.schema

    def design(self, memory: float) -> Design:
        """Read the records; call it only after the charge.

        memory: bytes that rows may take before the rest goes to temporary files.
        """
        spec, source, unit = self.spec, self.source, self.unit
        design = read_design(spec, source, unit, self.terms, memory, self.stratum)
        return within_units(design) if self.terms.within else design


@dataclass(frozen=True, slots=True)
class ModelMatrix:
    """A problem whose formula another program evaluates; passed to `dp_lm` as `data`.

    R has its own formulas, factors and contrasts.  Public, except what `read` returns.
    """

    terms: Terms
    # Returns rows as from `blocks_of`; called once, after the charge.
    read: Callable[[], Iterable[Block]]
    unit: str | None = None  # Name of the units that labels number, for messages.
    # Keep the rows of this stratum; codes of rows are indices of its levels.
    stratum: Stratum | None = None

    def __post_init__(self) -> None:
        names = self.terms.names
        if len(set(names)) < len(names):
            raise ArgumentError("names", "each column needs a name of its own")
        if self.terms.intercept and _INTERCEPT in names:
            raise _reserved_name(_INTERCEPT, "the intercept")
        if not names and not self.terms.intercept:
            raise FormulaError("there is nothing on its right-hand side")

    @property
    def schema(self) -> Schema:
        """See `Problem`; the data columns stay with the other program."""
        return Schema({})

    def design(self, memory: float) -> Design:
        by_unit = self.unit is not None
        design = design_of(self.read(), self.terms, memory, self.stratum, by_unit=by_unit)
        return within_units(design) if self.terms.within else design


def blocks_of(
    columns: Sequence[Doubles],
    y: Doubles,
    labels: Integers | None = None,
    codes: NDArray[np.int32] | None = None,
    weights: Doubles | None = None,
) -> Iterator[Block]:
    """Divide rows of another program's columns into blocks.

    columns: shape (n,) each, without the intercept.  Rows with a non-finite value are dropped.
    y: shape (n,).
    labels, codes: see `Block`.
    weights: weights of the rows, if any; they become the last column.
    """
    every = [*columns, *([] if weights is None else [usable_weights(weights)])]
    for start in range(0, len(y), _BLOCK):
        part = slice(start, start + _BLOCK)
        yield Block(
            Rows.of_columns([column[part] for column in every], y[part]),
            None if labels is None else labels[part],
            None if codes is None else codes[part],
        )


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
    """Check a formula against the schema of the data, without reading rows.

    formula: for a `ModelMatrix` it is a label only.
    unit: column that names the protected unit; it cannot be in the formula or its ``.``.
    stratum: keep the rows of this stratum.  Its column cannot be in the formula, being constant.
    weights: weights of the rows; ``.`` leaves their column out.
    bounds: as for `dp_lm`; only those of data columns are used here, for bases.
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
    terms = Terms(
        spec.response, spec.names, spec.intercept, spec.ranges, groups=spec.terms,
        offsets=spec.offsets, data_bounds=spec.data_bounds,
    )  # fmt: skip
    terms = weighed_terms(terms, weights)
    terms = within_terms(terms) if within else terms
    return FormulaProblem(spec, terms, source, unit, stratum)


def _names(formula: str, column: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", formula) is not None


def check_order(formula: object, data: object) -> None:
    """Refuse data passed as the formula."""
    is_formula = [isinstance(given, str) and "~" in given for given in (formula, data)]
    if is_formula == [False, True]:
        problem = ("and ", Argument("data"), " are in the wrong order")
        raise FormulaError(problem, "write the formula first, then the data")


def check_column_names(columns: Iterable[str]) -> None:
    """Refuse data columns whose names are those of columns that a model adds."""
    for name in columns:
        if name == _INTERCEPT:
            raise _reserved_name(name, "the intercept")
        for word in _WORDS:
            if name.startswith(f"{word}("):
                raise _reserved_name(name, f"{word} of rows")


def _reserved_name(name: str, what: str) -> FormulaError:
    return FormulaError(f"a column named {name!r} cannot be distinguished from {what}", "rename it")
