"""A model matrix that another program made, as a regression problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.errors import ArgumentError, FormulaError
from dpreg.data.design import Block, Design, Terms, design_of, weighed_terms
from dpreg.data.formula import Rows
from dpreg.data.roles import Weights, usable_weights
from dpreg.data.sampling import within_terms, within_units
from dpreg.data.schema import Schema
from dpreg.privacy.stratum import Stratum

_INTERCEPT = "Intercept"
# With a bracket behind them, the names of offsets and of weights among those of regressors.
_WORDS = ("offset", "weights")

# Rows of a block, should there be more: a matrix of all of them may not fit in memory.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, repr=False)
class Records:
    """Rows whose columns another program made, each row by itself.  Private."""

    # Shape (n,): without the intercept.  A row with a value that is not finite is incomplete, and
    # dropped.
    columns: Sequence[Doubles]
    y: Doubles  # Shape (n,).
    # The unit of each row, -1 where it is missing.  None: a row is a unit.
    labels: Integers | None = None
    # Position of the level of each row's stratum, -1 where it has none.
    strata: NDArray[np.int32] | None = None
    weights: Doubles | None = None  # Of the rows, when there are any.

    def all_columns(self) -> list[Doubles]:
        """Return the columns, and weights as the last of them."""
        return [*self.columns, *([] if self.weights is None else [usable_weights(self.weights)])]


@dataclass(frozen=True, slots=True)
class ModelMatrix:
    """A problem whose formula another program evaluates, which `dp_lm` takes for its `data`.

    R has formulas, factors and contrasts of its own.  Public, all but what `read` returns.
    """

    response: str
    names: tuple[str, ...]  # Length d: of the columns, the intercept not among them.
    intercept: bool
    # Returns an iterable of `Records`; called once, after the budget was charged.
    read: Callable[[], Iterable[Records]]
    # Limits of those columns that are known from declared levels.
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    unit: str | None = None  # What the labels of the records number, for messages.
    # Whose rows are wanted of the records; their strata are numbered as its levels are.
    stratum: Stratum | None = None
    within: bool = False  # The model has an effect of each unit.
    weights: Weights | None = None  # The records have weights.
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    offsets: tuple[str, ...] = ()
    data_bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # As in `Terms`.

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise ArgumentError("names", "each column needs a name of its own")
        if self.intercept and _INTERCEPT in self.names:
            raise _taken(_INTERCEPT, "the intercept")
        if not self.names and not self.intercept:
            raise FormulaError("there is nothing on its right-hand side")

    @property
    def terms(self) -> Terms:
        terms = Terms(
            self.response, self.names, self.intercept, self.ranges, groups=self.groups,
            offsets=self.offsets, data_bounds=self.data_bounds,
        )  # fmt: skip
        terms = weighed_terms(terms, self.weights)
        return within_terms(terms) if self.within else terms

    @property
    def schema(self) -> Schema:
        """See `Problem`; the columns of the data stay with the program that has them."""
        return Schema({})

    def design(self, memory: float) -> Design:
        by_unit = self.unit is not None
        design = design_of(self._blocks(), self.terms, memory, self.stratum, by_unit=by_unit)
        return within_units(design) if self.within else design

    def _blocks(self) -> Iterator[Block]:
        for records in self.read():
            columns = records.all_columns()
            for start in range(0, len(records.y), _BLOCK):
                part = slice(start, start + _BLOCK)
                labels, strata = records.labels, records.strata
                yield Block(
                    Rows.of_columns([column[part] for column in columns], records.y[part]),
                    None if labels is None else labels[part],
                    None if strata is None else strata[part],
                )


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
