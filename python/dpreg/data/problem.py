"""A regression problem before its records are read: what is public, and how to read the rest.

Of a formula and a source, or of a model matrix that another program made.
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
# With a bracket behind them, the names of offsets and of weights among those of regressors.
_WORDS = ("offset", "weights")

# Rows of a block, should there be more: a matrix of all of them may not fit in memory.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class FormulaProblem:
    """A formula, bound to the schema of a source."""

    spec: FormulaSpec
    terms: Terms  # What it says about the design.  Public.
    source: RowSource
    unit: str | None
    stratum: Stratum | None

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
        return within_units(design) if self.terms.within else design


@dataclass(frozen=True, slots=True)
class ModelMatrix:
    """A problem whose formula another program evaluates, which `dp_lm` takes for its `data`.

    R has formulas, factors and contrasts of its own.  Public, all but what `read` returns.
    """

    terms: Terms
    # Returns rows as `blocks_of` makes them; called once, after the budget was charged.
    read: Callable[[], Iterable[Block]]
    unit: str | None = None  # What the labels of the rows number, for messages.
    # Whose rows are wanted; the codes of the rows are positions of its levels.
    stratum: Stratum | None = None

    def __post_init__(self) -> None:
        names = self.terms.names
        if len(set(names)) < len(names):
            raise ArgumentError("names", "each column needs a name of its own")
        if self.terms.intercept and _INTERCEPT in names:
            raise _taken(_INTERCEPT, "the intercept")
        if not names and not self.terms.intercept:
            raise FormulaError("there is nothing on its right-hand side")

    @property
    def schema(self) -> Schema:
        """See `Problem`; the columns of the data stay with the program that has them."""
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
    """Divide rows whose columns another program made, each row by itself.

    columns: shape (n,): without the intercept.  A row with a value that is not finite is
        incomplete, and dropped.
    y: shape (n,).
    labels, codes: see `Block`.
    weights: of the rows, when there are any; a last column then.
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
    """Refuse data in the place of the formula."""
    is_formula = [isinstance(given, str) and "~" in given for given in (formula, data)]
    if is_formula == [False, True]:
        problem = ("and ", Argument("data"), " are in the wrong order")
        raise FormulaError(problem, "write the formula first, then the data")


def check_column_names(columns: Iterable[str]) -> None:
    """Refuse columns of the data that are named as what a model adds to them is."""
    for name in columns:
        if name == _INTERCEPT:
            raise _taken(name, "the intercept")
        for word in _WORDS:
            if name.startswith(f"{word}("):
                raise _taken(name, f"{word} of rows")


def _taken(name: str, what: str) -> FormulaError:
    return FormulaError(f"a column named {name!r} cannot be distinguished from {what}", "rename it")
