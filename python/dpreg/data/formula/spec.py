"""A formula bound to a schema: the columns it makes, and their values in rows.

formulaic parses the formula and encodes the terms.  What it would learn from data (levels, names,
which contrasts keep full rank) it learns from a small table made from the schema alone, so nothing
public is read from the records.
"""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.base.errors import FormulaError
from dpreg.base.later import pd
from dpreg.data.formula.encoded import (
    anything,
    categorical,
    dummies,
    encoded,
    has_calls,
    probe,
    quiet,
    ranges_of,
)
from dpreg.data.formula.parse import check_widths, factors_of, lookups, parsed, schema_of
from dpreg.data.formula.terms import read_factor
from dpreg.data.roles import usable_weights
from dpreg.data.schema import Schema
from dpreg.data.source import Batch

_INTERCEPT = "Intercept"
# Formulas with more columns are not cached: each takes megabytes.
_FEW_COLUMNS = 1000


@dataclass(frozen=True, slots=True)
class Rows:
    """The complete rows of a batch, as numbers.  Private."""

    # Shape (n, width): regressors without the intercept, row-major; weights are last, and are
    # present only with the response.
    X: Doubles
    y: Doubles | None  # Response, when it was asked for.
    kept: Integers  # Shape (n,): index of each row in the batch.

    @classmethod
    def of(cls, X: Doubles, y: Doubles | None, complete: Flags) -> Rows:
        """Return the complete rows of a batch."""
        kept = np.flatnonzero(complete).astype(np.int64)
        if len(kept) == len(complete):
            return cls(X, y, kept)
        return cls(X[kept], None if y is None else y[kept], kept)

    @classmethod
    def of_columns(cls, columns: Sequence[Doubles], y: Doubles) -> Rows:
        """Return the complete rows of numeric columns."""
        X, finite = _core.side_by_side(columns, len(y))
        return cls.of(X, np.array(y), finite & np.isfinite(y))


@lru_cache(maxsize=16)
def _cached(formula: str, schema: bytes, weights: str | None) -> FormulaSpec:
    """Parse a formula once for all calls and tasks."""
    return FormulaSpec(formula, pickle.loads(schema), weights)


def bound_formula(formula: str, schema: Schema, weights: str | None = None) -> FormulaSpec:
    """Return the `FormulaSpec` of the arguments, cached.

    It depends on public arguments only, and so does the running time.
    """
    if len(schema.columns) > _FEW_COLUMNS or not isinstance(formula, str):  # which is refused
        return FormulaSpec(formula, schema, weights)
    return _cached(formula, pickle.dumps(schema), weights)


class FormulaSpec:
    """A parsed and checked formula.  Public.

    formula: Wilkinson formula with one response, such as `"price ~ carat + cut"`.
    schema: schema of the data; columns that the formula does not use are ignored.
    weights: column of weights, which is read with the response.
    schema: of the columns the formula uses.
    factors: of the right-hand side.
    regressors: the columns that it reads.
    names: length d: of the columns of X.
    Raises FormulaError, SchemaError depending on the formula and the schema only.
    """

    def __init__(self, formula: str, schema: Schema, weights: str | None = None) -> None:
        self.formula = formula
        self.weights = weights
        sides = parsed(formula, schema)
        left, right = (factors_of(side) for side in sides)
        self.schema = schema_of([*left, *right], schema)
        check_widths(sides[1], self.schema)
        self._responses = tuple(dict.fromkeys(v for f in left for v in f.variables))
        self.factors = tuple(right)
        self.regressors = tuple(dict.fromkeys(v for f in right for v in f.variables))
        with quiet():
            try:
                built = [encoded(side, probe(self.schema), learn=True) for side in sides]
                # Something that happens to have the length of one table differs from another.
                for side, matrix in zip(sides, built, strict=True):
                    if has_calls(matrix.model_spec):
                        encoded(side, probe(self.schema, longer=3), learn=True)
            except Exception as error:
                raise self._not_evaluated(str(error)) from None
        self._left, self._right = (matrix.model_spec for matrix in built)
        if built[0].shape[1] != 1:
            raise FormulaError(
                f"the response of {formula!r} must be one number in each row, but makes "
                f"{built[0].shape[1]} columns",
                f"for a category write {self._comparison(self._responses[0])}",
            )
        self.response = str(self._left.column_names[0])
        columns = [str(name) for name in self._right.column_names]
        self.intercept = _INTERCEPT in columns
        self.names = tuple(name for name in columns if name != _INTERCEPT)
        self._places = [i for i, name in enumerate(columns) if name != _INTERCEPT]
        self._lefts, self._rights = (lookups(m.model_spec, self.schema) for m in built)
        self._dummies = dummies(built[1], self.schema)
        if not columns or not formula.partition("~")[2].strip():
            problem = f"{formula!r} has nothing on its right-hand side"
            raise FormulaError(problem, "write 'y ~ x', or 'y ~ 1' for the mean alone")
        if self.response in columns:
            problem = f"{self.response!r} is the response and a regressor too"
            raise FormulaError(problem, "leave it out on the right")

    def _not_evaluated(self, why: str) -> FormulaError:
        """Return the error for a formula that formulaic could not evaluate."""
        found = re.search("factor `(.*)`\\. ", why)
        names = read_factor(found[1]).variables if found else ()
        for name in names:
            if found and self.schema[name].levels is not None:
                problem = f"the term {found[1]!r} cannot be used: {name!r} has levels, not numbers"
                advice = f"write {name} by itself", f"one level: {self._comparison(name)}"
                return FormulaError(problem, *advice)
        return FormulaError(f"cannot evaluate {self.formula!r}: {why}")

    def _comparison(self, name: str) -> str:
        """Return an example of a comparison, with a declared level."""
        levels = self.schema[name].levels
        return f"I({name} == {levels[-1]!r})" if levels else "I(x == 'level')"

    def __reduce__(self) -> tuple[Any, tuple[str, bytes, str | None]]:
        return _cached, (self.formula, pickle.dumps(self.schema), self.weights)

    @property
    def width(self) -> int:
        """Columns of X beside a response."""
        return len(self.names) + (self.weights is not None)

    @cached_property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Limits of the columns of X that come from declared levels or a basis alone."""
        return ranges_of(self._right, self.schema, self.regressors, self._dummies)

    @property
    def data_bounds(self) -> dict[str, tuple[float, float]]:
        """Public limits of the data columns that the formula expands in a basis."""
        return {name: c.bounds for name, c in self.schema.columns.items() if c.bounds}

    @cached_property
    def terms(self) -> dict[str, tuple[str, ...]]:
        """Columns of X of each term of the right-hand side, without the intercept."""
        return {
            str(structure.term): tuple(str(name) for name in structure.columns)
            for structure in self._right.structure
            if structure.term.factors and str(structure.term) != "1"
        }

    @cached_property
    def offsets(self) -> tuple[str, ...]:
        """Columns of X that are offsets."""
        return tuple(
            str(name)
            for structure in self._right.structure
            if any(factor.offset for factor in factors_of([structure.term]))
            for name in structure.columns
        )

    def keeping(self, names: Sequence[str]) -> FormulaSpec:
        """Return the formula restricted to these columns of X.

        Data columns that they do not need may be absent or incomplete.
        """
        reduced = copy.copy(self)
        pairs = zip(self.names, self._places, strict=True)
        kept = [(name, place) for name, place in pairs if name in set(names)]
        reduced.names = tuple(name for name, _ in kept)
        reduced._places = [place for _, place in kept]
        places = set(reduced._places)
        makes = {str(name): set(at) for name, at in self._right.variable_indices.items()}
        reduced.regressors = tuple(
            name for name in self.regressors if name not in makes or makes[name] & places
        )
        return reduced

    def needed(self, *, response: bool) -> tuple[str, ...]:
        """Return the columns of the data that `rows` reads, in the order of the schema."""
        wanted = {*self.regressors, *(self._responses if response else ())}
        needed = [name for name in self.schema.columns if name in wanted]
        if response and self.weights is not None and self.weights not in needed:
            needed.append(self.weights)
        return tuple(needed)

    def rows(self, batch: Batch, *, response: bool) -> Rows:
        """Evaluate the formula on `batch`, which has the columns `needed`.

        Incomplete rows are dropped.  A row is complete if each variable is present and one of its
        levels, and each resulting number is finite.
        """
        columns, complete = self._columns(batch, response=response)
        if self._as_read:
            made = [self._made(columns, place) for place in self._places]
            X, finite = _core.side_by_side(made, batch.rows)
            complete &= finite
        else:
            X = self._evaluate(self._right, self._frame(columns, batch.rows))[:, self._places]
            complete &= np.isfinite(X).all(axis=1)
        y = None
        if response and self._lefts:
            y = columns[self._lefts[0]]
        elif response:
            y = self._evaluate(self._left, self._frame(columns, batch.rows))[:, 0]
        if response and self.weights is not None:
            weights = usable_weights(batch.cells[self.weights].numbers())
            X = np.column_stack([X, weights])
            complete &= np.isfinite(weights)
        if y is not None:
            complete &= np.isfinite(y)
        return Rows.of(X, y, complete)

    @property
    def _as_read(self) -> bool:
        """Whether each column of X is a numeric data column or the indicator of a level."""
        return self._rights.keys() | self._dummies.keys() >= set(self._places)

    def _columns(self, batch: Batch, *, response: bool) -> tuple[dict[str, Any], Flags]:
        """Convert the needed columns, levels to indices; return which rows have all of them.

        Numbers used as they are read are checked when columns are combined.
        """
        made = {self._rights[p] for p in self._places if p in self._rights and self._as_read}
        if response and self._lefts:
            made.add(self._lefts[0])
        complete = np.ones(batch.rows, dtype=bool)
        columns: dict[str, Any] = {}
        needed = set(self.needed(response=response))
        for name, column in self.schema.columns.items():
            if name not in needed:
                continue
            if column.levels is not None:
                columns[name] = batch.cells[name].codes(column.levels)
                complete &= columns[name] >= 0
            else:
                columns[name] = batch.cells[name].numbers()
                if name not in made:
                    complete &= np.isfinite(columns[name])
        return columns, complete

    def _made(self, columns: dict[str, Any], place: int) -> Doubles:
        """Return a column of X that is a numeric data column or the indicator of a level."""
        if place in self._rights:
            return np.asarray(columns[self._rights[place]])
        name, level = self._dummies[place]
        return np.asarray(columns[name] == level, dtype=np.float64)

    def _frame(self, columns: dict[str, Any], rows: int) -> pd.DataFrame:
        """Return a table to evaluate; columns that no column of X needs have arbitrary values."""
        table: dict[str, Any] = {}
        for name, column in self.schema.columns.items():
            if name not in columns:
                if name in self._right.required_variables:
                    table[name] = anything(column, rows)
            elif column.levels is None:
                table[name] = columns[name]
            else:
                table[name] = categorical(columns[name], column.levels)
        return pd.DataFrame(table, index=range(rows))

    def _evaluate(self, side: Any, frame: pd.DataFrame) -> Doubles:
        """Return the columns of a side; a row that raises an error is NaN, and no other row is.

        No such row is known, since the formula was evaluated on other rows before.  But an error
        would depend on the records, and so would the loss of other rows.
        """
        try:
            with quiet():
                return np.asarray(encoded(side, frame), dtype=np.float64)
        except Exception:
            if len(frame) <= 1:
                return np.full((len(frame), len(side.column_names)), np.nan)
        middle = len(frame) // 2
        return np.concatenate(
            [self._evaluate(side, part) for part in (frame.iloc[:middle], frame.iloc[middle:])]
        )
