"""One adaptor for every kind of table: schema (public) and columns (private).

pandas, polars, pyarrow and everything else narwhals reads, a dict of arrays, or the path
of a Parquet file.  The schema says of each column whether it is numeric, categorical
with declared levels, text, or something a regression cannot use; it never looks at a
cell.  A column is converted when a formula asks for it, and conversion is total: a
cell that cannot be used becomes missing.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpreg.data.containers import arrow_array, narwhals_frame, untyped_columns
from dpreg.errors import SchemaError

__all__ = ["Column", "Level", "Schema", "Table"]

Kind = Literal["numeric", "categorical", "text", "other"]
Level = str | int | float | bool
# What a column of a Python list has in the place of a type.
_LIST = "list"


@dataclass(frozen=True, slots=True)
class Column:
    """What is public about a column.

    Attributes
    ----------
    name : str
    kind : {"numeric", "categorical", "text", "other"}
    levels : tuple or None
        The declared levels of a categorical column, in their order.
    ordered : bool
    dtype : str
        The type as the container names it, for messages.
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] | None = None
    ordered: bool = False
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table, by name."""

    columns: Mapping[str, Column]

    def with_levels(self, levels: Mapping[str, Sequence[Level]] | None) -> Schema:
        """Return the schema with the columns in `levels` categorical.

        Raises
        ------
        SchemaError
            For an unknown column, fewer than two levels, repeated levels, or levels that no
            cell of the column's type can be.
        """
        columns = dict(self.columns)
        if levels is not None and not isinstance(levels, Mapping):
            raise SchemaError(
                "levels must be a dict of column names to lists of levels, such as "
                f"{{'edu': ['school', 'college']}}, not a {type(levels).__name__}"
            )
        for name, values in (levels or {}).items():
            if name not in columns:
                raise SchemaError(f"levels: there is no column {name!r} in the data")
            if isinstance(values, str) or not isinstance(values, Sequence):
                raise SchemaError(f"levels: write {{{name!r}: [...]}} with a list of levels")
            public = tuple(values)
            if not all(isinstance(v, (str, int, float, bool)) for v in public):
                raise SchemaError(f"levels: the levels of {name!r} must be strings or numbers")
            if len(public) < 2 or len(set(public)) < len(public):
                raise SchemaError(f"levels: {name!r} needs at least two levels, all different")
            _check_levels(columns[name], public)
            columns[name] = replace(columns[name], kind="categorical", levels=public)
        return Schema(columns)


def _check_levels(column: Column, levels: tuple[Level, ...]) -> None:
    """Refuse levels with which every row would be incomplete, by the declared type alone."""
    name, given = column.name, f"got {list(levels)!r}"
    if column.kind == "numeric" and column.dtype != _LIST:
        if any(isinstance(level, str) for level in levels):
            raise SchemaError(
                f"levels: column {name!r} ({column.dtype}) holds numbers, and its levels must be "
                f"numbers too, {given}; write levels={{{name!r}: [1, 2, ...]}}"
            )
    elif column.kind == "text" and column.dtype == "String":
        if not all(isinstance(level, str) for level in levels):
            raise SchemaError(
                f"levels: column {name!r} ({column.dtype}) holds text, and its levels must be "
                f"text too, {given}; write levels={{{name!r}: ['1', '2', ...]}}"
            )
    elif column.levels is not None and not set(column.levels) & set(levels):
        raise SchemaError(
            f"levels: column {name!r} ({column.dtype}) declares other levels, "
            f"{list(column.levels)!r}; {given}"
        )


class Table:
    """Private data with a public schema.

    Parameters
    ----------
    data : data frame, dict of arrays, or path of a Parquet file
    """

    def __init__(self, data: Any) -> None:
        self._untyped = untyped_columns(data)
        self._frame = narwhals_frame(data)
        dtypes = self._frame.schema.items()
        columns = {name: _column(self._frame, name, dtype) for name, dtype in dtypes}
        # A list declares no type, and none may be read from its cells: it holds numbers,
        # unless levels are declared.
        columns.update({name: Column(name, "numeric", dtype=_LIST) for name in self._untyped})
        self.schema = Schema(columns)

    @property
    def rows(self) -> int:
        """The number of rows.  Private."""
        return int(self._frame.shape[0])

    def numeric(self, name: str) -> NDArray[np.float64]:
        """Return a numeric column as doubles, NaN where a value is missing."""
        import narwhals.stable.v1 as nw

        if name in self._untyped:
            cells = self._cells(name)
            return np.fromiter(map(_number_in, cells), np.float64, len(cells))
        arrow = arrow_array(self._frame[name].to_native())
        if arrow is not None:
            return _arrow_doubles(arrow)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            doubles = self._frame[name].cast(nw.Float64).to_numpy()
        return np.asarray(doubles, dtype=np.float64)

    def codes(self, name: str, levels: Sequence[Level]) -> NDArray[np.int32]:
        """Return the position of each cell of a column in `levels`, -1 where it has none."""
        position = {level: i for i, level in enumerate(levels)}
        cells = self._cells(name)
        return np.fromiter((_position(position, cell) for cell in cells), np.int32, len(cells))

    def identifiers(self, name: str) -> NDArray[np.int64]:
        """Number the distinct values of a column, -1 where one is missing."""
        position: dict[Any, int] = {}
        cells = self._cells(name)
        return np.fromiter((_number(position, cell) for cell in cells), np.int64, len(cells))

    def _cells(self, name: str) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cells: list[Any] = self._frame[name].to_list()
        return cells


# A column of objects may hold anything: whatever a cell does when it is compared or
# hashed, the row becomes incomplete and nothing is raised.
def _position(position: Mapping[Level, int], cell: Any) -> int:
    try:
        return position.get(cell, -1)
    except Exception:
        return -1


def _number(position: dict[Any, int], cell: Any) -> int:
    try:
        missing = cell is None or bool(cell != cell)
        return -1 if missing else position.setdefault(cell, len(position))
    except Exception:
        return -1


def _number_in(cell: Any) -> float:
    """Return a cell of a list as a double; NaN, so missing, when it is no number."""
    try:
        return float(cell) if isinstance(cell, (numbers.Real, np.bool_)) else math.nan
    except Exception:
        return math.nan


def _chunked(array: Any) -> Any:
    import pyarrow

    return array if hasattr(array, "num_chunks") else pyarrow.chunked_array([array])


def _arrow_doubles(array: Any) -> NDArray[np.float64]:
    """Convert to the nearest doubles; the default of Arrow raises on integers beyond 2^53."""
    import pyarrow
    import pyarrow.compute

    doubles = pyarrow.compute.cast(array, pyarrow.float64(), safe=False)
    return np.array(doubles.to_numpy(zero_copy_only=False), dtype=np.float64)


def _column(frame: Any, name: str, dtype: Any) -> Column:
    import narwhals.stable.v1 as nw

    spelled = str(dtype)
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Column(name, "numeric", dtype=spelled)
    if isinstance(dtype, (nw.Categorical, nw.Enum)) or dtype in (nw.Categorical, nw.Enum):
        declared = _declared_levels(frame[name].to_native())
        if declared is not None:
            levels, ordered = declared
            return Column(name, "categorical", levels, ordered, spelled)
        return Column(name, "text", dtype=spelled)
    if dtype in (nw.String, nw.Object):
        # narwhals looks into the cells of a column of objects: whether all are text is private.
        objects = getattr(frame[name].to_native(), "dtype", None) == np.dtype(object)
        return Column(name, "text", dtype="object" if objects else spelled)
    return Column(name, "other", dtype=spelled)


def _declared_levels(native: Any) -> tuple[tuple[Level, ...], bool] | None:
    """Return the levels that a type declares, and whether they are ordered, or None.

    A pandas category and a polars Enum declare theirs; an Arrow dictionary does when it
    is ordered.  A polars Categorical and an unordered Arrow dictionary list what occurs
    in the data, which is private.
    """
    array = arrow_array(native)
    native = native if array is None else _chunked(array)
    dtype = getattr(native, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is not None and type(dtype).__name__ in ("CategoricalDtype", "Enum"):
        return tuple(categories), bool(getattr(dtype, "ordered", False))
    arrow = getattr(native, "type", None)
    if arrow is not None and getattr(arrow, "ordered", False) and native.num_chunks > 0:
        return tuple(native.unify_dictionaries().chunk(0).dictionary.to_pylist()), True
    return None
