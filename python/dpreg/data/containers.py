"""Open data of any kind as a source of rows."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from typing import Any

from dpreg.base.errors import SchemaError
from dpreg.base.later import ds, pa
from dpreg.data.schema import no_column
from dpreg.data.source import RowSource

# Text that is longer, or has one of these characters, is the content of a table (CSV, JSON, HTML),
# not a file name.
_LONGEST, _MARKS = 255, '\n\r\0"<'


def open_source(data: Any) -> RowSource:
    """Return data of any kind as a source; only the schema is read here."""
    from dpreg.data import engines, frames, parquet

    if isinstance(data, (str, os.PathLike)):
        path = _name(data)
        many = os.path.isdir(path) or (glob.has_magic(path) and not os.path.exists(path))
        return parquet.files_source(path) if many else parquet.parquet_source(path)
    if isinstance(data, Mapping):
        return frames.mapping_source(data)
    several = isinstance(data, (list, tuple)) and len(data) > 0
    if several and all(isinstance(path, (str, os.PathLike)) for path in data):
        return parquet.files_source([_name(path) for path in data])
    package = type(data).__module__.partition(".")[0]
    if package in ("duckdb", "_duckdb"):
        return engines.duckdb_source(data)
    if package == "ibis":
        return engines.ibis_source(data)
    if package == "dask":
        return engines.DaskSource(data)
    if package == "pyspark":
        return engines.SparkSource(data)
    if package == "pyarrow":
        if isinstance(data, ds.Dataset):
            return parquet.dataset_source(data)
        if isinstance(data, pa.RecordBatchReader):
            return parquet.reader_source(data)
    return frames.frame_source(data)


def _name(path: str | os.PathLike[str]) -> str:
    """Return a file name; reject the text of a table without repeating it in the message."""
    name = os.fsdecode(path)
    longest = max(len(part.encode(errors="replace")) for part in name.split(os.sep))
    if longest > _LONGEST or any(mark in name for mark in _MARKS):
        raise SchemaError(
            "data",
            "must be a table or the path of a Parquet file, not the text of a table",
            "declare its types, types = {'x': 'float64', 'city': 'string'}, and read it with "
            "pyarrow.csv.read_csv(pyarrow.BufferReader(text.encode()), convert_options="
            "pyarrow.csv.ConvertOptions(column_types=types, include_columns=list(types)))",
        )
    return name


def check_column(argument: str, name: str, data: Any) -> None:
    """Raise an error if the data do not have the column."""
    schema = open_source(data).schema
    if name not in schema.columns:
        raise SchemaError(argument, *no_column(name, schema))
