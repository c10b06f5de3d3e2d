"""Tables of every kind, and dicts of columns, as narwhals data frames."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.errors import SchemaError

__all__ = ["arrow_array", "narwhals_frame", "untyped_columns"]


def narwhals_frame(data: Any) -> Any:
    """Return any kind of table, a dict of columns or a Parquet file as an eager data frame."""
    import narwhals.stable.v1 as nw

    if isinstance(data, (str, os.PathLike)):
        data = _read_parquet(data)
    elif isinstance(data, Mapping):
        data = _frame_of_arrays(data)
    try:
        frame = nw.from_native(data)
    except TypeError:
        raise SchemaError(
            "data must be a pandas, polars or pyarrow table, a dict of arrays or the path of a "
            f"Parquet file, not {type(data).__name__}"
        ) from None
    except nw.exceptions.NarwhalsError as error:
        raise SchemaError(f"data: {error}") from None
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _read_parquet(path: str | os.PathLike[str]) -> Any:
    import pyarrow
    import pyarrow.parquet

    name = os.fsdecode(path)
    try:
        if os.path.isfile(name) and not _begins_as_parquet(name):
            raise SchemaError(
                f"data: {name!r} is no Parquet file, and no other is read, because others do not "
                f"declare types and levels; for a CSV file, pandas.read_csv({name!r})"
                ".to_parquet('data.parquet') makes one"
            )
        return pyarrow.parquet.read_table(path)
    except FileNotFoundError:
        raise SchemaError(f"data: cannot read {name!r}: there is no such file") from None
    except (OSError, pyarrow.ArrowException) as error:
        raise SchemaError(f"data: cannot read {name!r} as Parquet: {error}") from None


def _begins_as_parquet(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) in (b"PAR1", b"PARE")


def untyped_columns(data: Any) -> frozenset[str]:
    """Return the columns of a dict that are Python lists, which declare no type."""
    if not isinstance(data, Mapping):
        return frozenset()
    return frozenset(str(name) for name, values in data.items() if not _has_type(values))


def _has_type(values: Any) -> bool:
    return hasattr(values, "dtype") or arrow_array(values) is not None


def _frame_of_arrays(data: Mapping[str, Any]) -> Any:
    import pandas as pd

    columns = {str(name): _series(str(name), values) for name, values in data.items()}
    if len({len(values) for values in columns.values()}) > 1:
        raise SchemaError("data: all columns must have the same length")
    return pd.DataFrame(columns)


def _series(name: str, values: Any) -> Any:
    import pandas as pd

    if not _has_type(values):
        return pd.Series(_objects(name, values), dtype=object)
    # numpy would make objects of these, or not, depending on whether a cell is missing.
    if type(values).__module__.partition(".")[0] == "polars":
        values = values.to_arrow()
    if isinstance(values, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        return pd.Series(values).reset_index(drop=True)
    if arrow_array(values) is not None:
        return pd.Series(values, dtype=pd.ArrowDtype(values.type))
    array = np.asarray(values)
    if array.ndim != 1:
        raise SchemaError(f"data: column {name!r} must be one-dimensional")
    # Left to itself, pandas makes text of objects that all are.
    return pd.Series(array, dtype=object if array.dtype == object else None)


def _objects(name: str, values: Any) -> NDArray[np.object_]:
    """Hold the cells of a list as they are: numpy would look for a type that fits them all."""
    try:
        cells = list(values)
    except TypeError:
        raise SchemaError(f"data: column {name!r} must be an array or a list") from None
    column = np.empty(len(cells), dtype=object)
    column[:] = cells if cells else None
    return column


def arrow_array(native: Any) -> Any | None:
    """Return the Arrow array that a column is or is made of, or None."""
    if type(native).__module__.partition(".")[0] == "pyarrow":
        return native
    if type(getattr(native, "dtype", None)).__name__ == "ArrowDtype":
        import pyarrow

        return pyarrow.array(native)
    return None
