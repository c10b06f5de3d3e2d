"""What is public about a table: its columns, and the values that each may have."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from dpreg.base.errors import Blank, Pieces, SchemaError, a_kind, closest, write
from dpreg.base.levels import Level, listed, such_levels

Kind = Literal["numeric", "categorical", "text", "other"]

# Contents of a Python list, which declares no type: numbers, unless levels are declared.
LIST = "a list"
# Contents of a column whose type differs between files.
SEVERAL = "values of several types"
# Most columns that a message lists.
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Column:
    """What is public about a column."""

    name: str
    kind: Kind
    # The declared levels of a categorical column, in their order.
    levels: tuple[Level, ...] | None = None
    ordered: bool = False
    # Contents by the declared type, for messages: "numbers", "text", "dates".  It does not
    # distinguish integers from floats, which may depend on a missing cell.
    holds: str = ""
    # The levels come from a pandas category, which may have been made from cells.
    taken_on_trust: bool = False
    truth: bool = False  # True: the declared type is boolean.
    # Public limits, given by the user, of a numeric column that is expanded in a basis.
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table, by name."""

    columns: Mapping[str, Column]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def without(self, name: str | None) -> Schema:
        """Return the schema without this column."""
        return Schema({key: c for key, c in self.columns.items() if key != name})

    def with_bounds(self, bounds: Mapping[str, tuple[float, float]]) -> Schema:
        """Return the schema with public limits of its numeric columns."""
        return Schema(
            {
                name: replace(c, bounds=bounds.get(name) if c.levels is None else None)
                for name, c in self.columns.items()
            }
        )

    def with_levels(self, levels: Mapping[str, Iterable[Level]] | None) -> Schema:
        """Return the schema in which the columns in `levels` are categorical."""
        columns = dict(self.columns)
        if levels is not None and not isinstance(levels, Mapping):
            such = {"edu": ["school", "college"]}
            problem = f"must be a dict of column names to levels, not {a_kind(levels)}"
            raise SchemaError("levels", problem, (*write("levels", such), ", for example"))
        for name, values in (levels or {}).items():
            if name not in columns:
                raise SchemaError("levels", *no_column(name, self))
            public = listed(name, values)
            _check_levels(columns[name], public)
            columns[name] = replace(
                columns[name], kind="categorical", levels=public, taken_on_trust=False
            )
        return Schema(columns)


def all_different(names: Iterable[object]) -> list[str]:
    """Return the names of columns as text; refuse one that occurs twice."""
    named = [str(name) for name in names]
    again = sorted(name for name, times in Counter(named).items() if times > 1)
    if again:
        raise SchemaError("data", f"two columns are both named {again[0]!r}", "rename one")
    return named


def no_column(name: str, schema: Schema) -> tuple[str, ...]:
    """Return the message for a column that does not exist, with a suggestion."""
    names = list(schema.columns)
    plain = unicodedata.normalize("NFKC", name)
    for twin in names:
        if twin != name and unicodedata.normalize("NFKC", twin) == plain:
            problem = f"there is no column {name!a}; the data have {twin!a}, which looks the same"
            return problem, "rename the column"
    shown = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
    meant = closest(name, names)
    problem = f"there is no column {name!r}; the data have {shown or 'no columns'}"
    return (problem,) if meant is None else (problem, f"perhaps {meant!r} was meant")


def such_bounds(name: str) -> Pieces:
    """Return advice to declare the bounds of a column."""
    return write("bounds", {name: (Blank("low"), Blank("high"))})


def _check_levels(column: Column, levels: tuple[Level, ...]) -> None:
    """Refuse levels that no cell of the declared type can have."""
    name = column.name
    if column.kind == "numeric" and column.holds != LIST:
        if any(isinstance(level, str) for level in levels):
            problem = f"column {name!r} holds numbers, and its levels must be numbers too"
            raise SchemaError("levels", problem, such_levels(name, 1, 2))
    elif column.holds == "text":
        if not all(isinstance(level, str) for level in levels):
            problem = f"column {name!r} holds text, and its levels must be text too"
            raise SchemaError("levels", problem, such_levels(name, "1", "2"))
    elif column.kind == "other":
        problem = f"column {name!r} holds {column.holds}, which cannot be levels"
        raise SchemaError("levels", problem, "convert it to text or numbers before the call")
    elif column.levels is not None and not set(column.levels) & set(levels):
        problem = f"column {name!r} declares other levels, {list(column.levels)!r}"
        raise SchemaError("levels", problem)
