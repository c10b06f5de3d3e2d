"""A model matrix that another program made, as a regression problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.errors import ArgumentError, FormulaError
from dpreg.data.design import Block, Design, Terms, design_of
from dpreg.data.formula import Rows
from dpreg.data.roles import usable_weights
from dpreg.data.sampling import within_units
from dpreg.data.schema import Schema
from dpreg.privacy.stratum import Stratum

_INTERCEPT = "Intercept"
# With a bracket behind them, the names of offsets and of weights among those of regressors.
_WORDS = ("offset", "weights")

# Rows of a block, should there be more: a matrix of all of them may not fit in memory.
_BLOCK = 1 << 20


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
