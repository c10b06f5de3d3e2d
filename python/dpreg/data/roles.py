"""Columns with a role other than regressor: units, strata, weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import (
    Argument,
    ArgumentError,
    SchemaError,
    a_kind,
    add,
    leave_out,
    unusable,
    write,
)
from dpreg.base.options import is_number
from dpreg.data.schema import SEVERAL, Schema, no_column
from dpreg.privacy.charge import Stratum

# Squared ratios of limits must not overflow.
_LARGEST = 1e60


@dataclass(frozen=True, slots=True)
class Weights:
    """The requested weights of rows.  Public."""

    column: str
    limit: float | None = None  # Larger weights are clipped to this; None: found privately.


def check_weights(weights: str | None, weight_limit: float | None) -> Weights | None:
    """Check the arguments `weights` and `weight_limit`."""
    if weights is None:
        if weight_limit is not None:
            problem = ("is a limit of ", Argument("weights"))
            advice = add("weights", "w"), leave_out("weight_limit")
            raise ArgumentError("weight_limit", problem, *advice)
        return None
    _check_is_name("weights", weights, "w")
    if weight_limit is None:
        return Weights(weights)
    if not is_number(weight_limit) or not 1 / _LARGEST <= weight_limit <= _LARGEST:
        raise unusable("weight_limit", "a number between 1e-60 and 1e60", weight_limit)
    return Weights(weights, float(weight_limit))


def _check_is_name(argument: str, value: object, example: str) -> None:
    if not isinstance(value, str):
        problem = f"must be the name of one column, a string, not {a_kind(value)}"
        raise SchemaError(argument, problem, (*write(argument, example), ", for example"))


def usable_weights(cells: Doubles) -> Doubles:
    """Return positive weights unchanged, and NaN (an incomplete row) for others.

    A weight depends on its row alone; it is clipped later.
    """
    return np.where((cells > 0) & np.isfinite(cells), cells, np.nan)


# Contents of columns that have no keys (cells.py).
_NO_KEYS = ("lists", "nulls", "values of another type", SEVERAL)


def check_unit(unit: str | None, schema: Schema) -> None:
    """Refuse a unit column that does not exist or whose type cannot identify units."""
    if unit is None:
        return
    _check_is_name("unit", unit, "person")
    if unit not in schema:
        raise SchemaError("unit", *no_column(unit, schema))
    if schema[unit].holds in _NO_KEYS:
        problem = f"column {unit!r} holds {schema[unit].holds}, which cannot name a unit"
        raise SchemaError("unit", problem, "convert it to text or whole numbers before the call")


def check_stratum(stratum: Stratum, schema: Schema) -> None:
    """Refuse a stratum whose column does not exist or cannot have a declared level."""
    column = stratum.column
    if column not in schema:
        why, *advice = no_column(column, schema)
        raise SchemaError("budget", f"is divided by {column!r}, and {why}", *advice)
    try:
        schema.with_levels({column: stratum.levels})
    except SchemaError as error:
        problem = error.problem if isinstance(error.problem, tuple) else (error.problem,)
        raise SchemaError("budget", (f"is divided by {column!r}, and ", *problem)) from None


def check_weight_column(weights: Weights | None, schema: Schema) -> None:
    """Refuse a weight column that does not exist or is not numeric."""
    if weights is None:
        return
    name = weights.column
    if name not in schema:
        raise SchemaError("weights", *no_column(name, schema))
    if schema[name].kind != "numeric":
        problem = f"column {name!r} holds {schema[name].holds}, which cannot be weights"
        raise SchemaError("weights", problem, "write the name of a column of numbers")
