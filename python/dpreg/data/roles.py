"""Columns that are no regressors: of units, of strata, of weights."""

from __future__ import annotations

from dpreg.base.errors import SchemaError, write
from dpreg.data.schema import Schema, no_column
from dpreg.data.weights import Weights
from dpreg.privacy.stratum import Stratum

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


def check_stratum(stratum: Stratum, schema: Schema) -> None:
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


def check_weight_column(weights: Weights | None, schema: Schema) -> None:
    """Refuse a column that is not there, or does not hold numbers."""
    if weights is None:
        return
    name = weights.column
    if name not in schema:
        raise SchemaError("weights", *no_column(name, schema))
    if schema[name].kind != "numeric":
        problem = f"column {name!r} holds {schema[name].holds}, which cannot be weights"
        raise SchemaError("weights", problem, "write the name of a column of numbers")
