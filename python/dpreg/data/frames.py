"""Data frames of every kind, and dicts of columns, as sources of rows.

The schema comes from declared types alone.  A Python list declares no type and is read as numbers
unless levels are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dpreg.base.errors import SchemaError, a_kind, write
from dpreg.base.later import pa, pd, pl
from dpreg.data.arrow import PER_SECOND, arrow_cells, arrow_column, arrow_schema
from dpreg.data.cells import Cells, Coded, Joined, Numbers, Ticks
from dpreg.data.objects import Objects
from dpreg.data.schema import LIST, Column, Schema, all_different
from dpreg.data.source import BATCH_ROWS, MemorySource, RowSource, StreamSource

Sliced = Callable[[slice], Cells]


def frame_source(data: Any) -> RowSource:
    """Return a table of pandas, polars or pyarrow, or one of these in narwhals, as a source.

    Only the type of any other table is inspected: its methods may read rows before the charge, and
    the resulting types may depend on a missing cell.
    """
    import narwhals.stable.v1 as nw

    table = nw.to_native(data, pass_through=True)
    known = nw.dependencies
    if known.is_pandas_dataframe(table):
        return _pandas_source(table)
    if known.is_polars_dataframe(table) or known.is_polars_lazyframe(table):
        return _polars_source(table)
    if known.is_pyarrow_table(table):
        return _table_source(table)
    package = type(data).__module__.partition(".")[0]
    other = "" if package in ("builtins", "__main__") else f" of {package}"
    raise SchemaError(
        "data",
        "must be a pandas, polars or pyarrow table, a dict of arrays or the path of a Parquet "
        f"file, not {a_kind(data)}{other}",
        (*write("data", {"x": [1.0, 2.0]}), ", for example"),
    )


def check_in_memory(argument: str, values: Any, named: str = "") -> None:
    """Refuse Dask objects, which would be computed on inspection, before the charge."""
    kind = type(values)  # row labels are attributes of a series, too
    graph = getattr(kind, "__dask_graph__", None)
    if kind.__module__.startswith("dask.") or (graph is not None and graph(values) is not None):
        problem = f"{named}would be computed by Dask before the budget is charged"
        raise SchemaError(argument, problem, "call compute() on it first")


def _table_source(table: Any) -> RowSource:
    # A table without columns has rows, but no batches.
    return StreamSource(
        arrow_schema(table.schema),
        lambda columns: table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS),
    )


def _polars_source(frame: Any) -> RowSource:
    lazy = isinstance(frame, pl.LazyFrame)
    types = frame.collect_schema()
    columns = {str(name): _polars_column(str(name), kind) for name, kind in types.items()}

    def read(names: Sequence[str]) -> Any:
        chosen = frame.select(names)
        if not lazy:
            return chosen.to_arrow().to_batches(BATCH_ROWS)
        parts = chosen.collect_batches(chunk_size=BATCH_ROWS)
        return (batch for part in parts for batch in part.to_arrow().to_batches(BATCH_ROWS))

    return StreamSource(Schema(columns), read)


def _polars_column(name: str, kind: Any) -> Column:
    """Return what is public about a column: an Enum has levels, other types have an Arrow type."""
    if kind == pl.Enum:
        return Column(name, "categorical", tuple(kind.categories.to_list()), holds="text")
    # Arrow has no 128-bit integers, and converts Python objects to addresses.
    if kind == pl.Object or str(kind).endswith("128"):
        return Column(name, "other", holds="values of another type")
    return arrow_column(name, pl.Series(dtype=kind).to_arrow().type)


def _pandas_source(frame: Any) -> RowSource:
    typed = zip(all_different(frame.columns), frame.dtypes, strict=True)
    columns = {
        name: _pandas_column(name, dtype, _column_of(frame, place))
        for place, (name, dtype) in enumerate(typed)
    }
    return MemorySource(columns, lambda: len(frame))


def _column_of(frame: Any, place: int) -> Callable[[], Any]:
    return lambda: frame.iloc[:, place]


def mapping_source(data: Mapping[str, Any]) -> RowSource:
    """Return a dict of columns of any package as a source."""
    columns: dict[str, tuple[Column, Sliced]] = {}
    for name, values in zip(all_different(data), data.values(), strict=True):
        columns[name] = _mapped_column(name, values)
    sizes = {len(values) for values in data.values()}
    if len(sizes) > 1:
        raise SchemaError("data", "all columns must have the same length")
    return MemorySource(columns, lambda: next(iter(sizes), 0))


def _mapped_column(name: str, values: Any) -> tuple[Column, Sliced]:
    package = type(values).__module__.partition(".")[0]
    check_in_memory("data", values, f"column {name!r} ")
    if package == "polars":
        column = _polars_column(name, values.dtype)
        return column, _of_arrow(lambda part: values[part].to_arrow())
    if package == "pyarrow":
        return arrow_column(name, values.type), _of_arrow(lambda part: values[part])
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise SchemaError("data", f"column {name!r} must be one-dimensional")
        if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
            numbers, missing = np.ma.getdata(values), np.ma.getmaskarray(values)
            column = Column(name, "numeric", holds="numbers")
            return column, lambda part: Numbers(numbers[part], missing[part])
        return _numpy_column(name, values.dtype, lambda: values)
    if hasattr(values, "dtype"):
        if isinstance(values, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
            return _pandas_column(name, values.dtype, lambda: pd.Series(values))
        # Arrays of other packages are converted to numpy.
        return _numpy_column(name, np.dtype(values.dtype), lambda: np.asarray(values))
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return Column(name, "numeric", holds=LIST), lambda part: Objects(values[part])
    problem = f"column {name!r} must be an array or a list, not {a_kind(values)}"
    raise SchemaError("data", problem, (*write("data", {name: [1.0, 2.0]}), ", for example"))


def _pandas_column(name: str, dtype: Any, series: Callable[[], Any]) -> tuple[Column, Sliced]:
    """Return a pandas column and a function that slices it; `series` is called on reading."""
    if isinstance(dtype, pd.CategoricalDtype):
        return _category(name, dtype, series)
    if isinstance(dtype, pd.ArrowDtype):
        return arrow_column(name, dtype.pyarrow_dtype), _of_series(series)
    if isinstance(dtype, pd.StringDtype):
        column = Column(name, "text", holds="text")
        if dtype.storage == "pyarrow":
            return column, _of_series(series)
        return column, lambda part: Objects(series().iloc[part].to_numpy(dtype=object))
    if isinstance(dtype, pd.DatetimeTZDtype):
        column = Column(name, "other", holds="timestamps")
        return column, lambda part: _numpy_ticks(
            series().iloc[part].dt.tz_convert(None).to_numpy(), b"Z"
        )
    if isinstance(dtype, np.dtype):
        return _numpy_column(name, dtype, lambda: series().to_numpy())
    if pd.api.types.is_numeric_dtype(dtype) and not isinstance(dtype, pd.SparseDtype):
        truth = pd.api.types.is_bool_dtype(dtype)
        return Column(name, "numeric", holds="numbers", truth=truth), _of_series(series)
    return Column(name, "other", holds="values of another type"), _unread


def _unread(part: slice) -> Cells:
    """Return cells of a type without a representation here: all are missing."""
    return Objects([None] * (part.stop - part.start))


def _of_series(series: Callable[[], Any]) -> Sliced:
    return _of_arrow(lambda part: pa.array(series().iloc[part].array))


def _of_arrow(array: Callable[[slice], Any]) -> Sliced:
    """Slice a series that converts to an Arrow array, chunked or not."""

    def cells(part: slice) -> Cells:
        found = array(part)
        if not isinstance(found, pa.ChunkedArray):
            return arrow_cells(found)
        if found.num_chunks < 2 or not pa.types.is_dictionary(found.type):
            return arrow_cells(found.combine_chunks())
        # Arrow does not combine dictionaries if one has a null entry, and entries are data.
        return Joined([arrow_cells(chunk) for chunk in found.chunks])

    return cells


def _category(name: str, dtype: Any, series: Callable[[], Any]) -> tuple[Column, Sliced]:
    """Return a pandas category; its type has the levels, but not where they come from."""
    entries = [v.item() if isinstance(v, np.generic) else v for v in dtype.categories]
    levels = tuple(v if isinstance(v, (str, int, float)) else str(v) for v in entries)
    # Entries with equal text cannot be levels; as keys of units they remain distinct.
    alike = len(set(levels)) < len(levels)
    shown = tuple(entries) if alike else levels
    column = Column(
        name, "other" if alike else "categorical", None if alike else levels, bool(dtype.ordered),
        holds="categories", taken_on_trust=not alike,
    )  # fmt: skip

    def cells(part: slice) -> Cells:
        return Coded(series().iloc[part].cat.codes.to_numpy(), Objects(shown))

    return column, cells


def _numpy_column(
    name: str, dtype: np.dtype[Any], values: Callable[[], Any]
) -> tuple[Column, Sliced]:
    if dtype.kind in "biuf":
        column = Column(name, "numeric", holds="numbers", truth=dtype.kind == "b")
        return column, lambda part: Numbers(values()[part])
    if dtype.kind in "Mm":
        column = Column(name, "other", holds="timestamps" if dtype.kind == "M" else "durations")
        tag = b"N" if dtype.kind == "M" else b"P"
        return column, lambda part: _numpy_ticks(values()[part], tag)
    if dtype.kind in "USO":
        holds = {"U": "text", "S": "bytes", "O": "objects"}[dtype.kind]
        column = Column(name, "other" if dtype.kind == "S" else "text", holds=holds)
        return column, lambda part: Objects(values()[part])
    return Column(name, "other", holds="values of another type"), _unread


def _numpy_ticks(values: Any, tag: bytes) -> Cells:
    unit, count = np.datetime_data(values.dtype)
    if unit not in PER_SECOND or count != 1:
        return Objects(values)  # such as days, one by one
    missing = np.isnat(values)
    ticks = np.where(missing, 0, values.view(np.int64))
    return Ticks(ticks, PER_SECOND[unit], tag, missing)
