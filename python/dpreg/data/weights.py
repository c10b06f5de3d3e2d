"""Weights of rows: a column beside the regressors, and what is done with a cell of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import Argument, ArgumentError, SchemaError, add, leave_out, unusable, write

# Squares of ratios of limits must be doubles.
_LARGEST = 1e60


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of rows, as they were asked for.  Public."""

    column: str
    limit: float | None = None  # Larger weights count as this; None: it is found privately.

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Limits of the column, by its name among those of a design."""
        return {} if self.limit is None else {weight_name(self.column): (0.0, self.limit)}


def weight_name(column: str) -> str:
    """Return the name of a column of weights among those of a design, of which it is the last."""
    return f"weights({column})"


def check_weights(weights: str | None, weight_limit: float | None) -> Weights | None:
    """Check the arguments of that name."""
    if weights is None:
        if weight_limit is not None:
            problem = ("is a limit of ", Argument("weights"))
            advice = add("weights", "w"), leave_out("weight_limit")
            raise ArgumentError("weight_limit", problem, *advice)
        return None
    if not isinstance(weights, str):
        problem = f"must be the name of one column, a string, not a {type(weights).__name__}"
        raise SchemaError("weights", problem, (*write("weights", "w"), ", for example"))
    if weight_limit is None:
        return Weights(weights)
    number = isinstance(weight_limit, (int, float, np.integer, np.floating))
    if isinstance(weight_limit, bool) or not number or not 1 / _LARGEST <= weight_limit <= _LARGEST:
        raise unusable("weight_limit", "a number between 1e-60 and 1e60", weight_limit)
    return Weights(weights, float(weight_limit))


def usable_weights(cells: Doubles) -> Doubles:
    """Return weights that are greater than 0 as they are, and NaN, an incomplete row, for others.

    A weight is that of its row alone; limits come later.
    """
    return np.where((cells > 0) & np.isfinite(cells), cells, np.nan)
