"""The one place where data become a source of rows."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from typing import Any

from dpreg.base.errors import SchemaError
from dpreg.base.later import ds, pa
from dpreg.data.schema import no_column
from dpreg.data.source import RowSource


def open_source(data: Any) -> RowSource:
    """Return data of any kind as a source: only its schema is read here."""
    from dpreg.data import engines, frames, parquet

    if isinstance(data, (str, os.PathLike)):
        path = os.fsdecode(data)
        many = os.path.isdir(path) or (glob.has_magic(path) and not os.path.exists(path))
        return parquet.files_source(path) if many else parquet.parquet_source(path)
    if isinstance(data, Mapping):
        return frames.mapping_source(data)
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], (str, os.PathLike)):
        return parquet.files_source(data)
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


def check_column(argument: str, name: str, data: Any) -> None:
    """Refuse the name of a column that the data do not have."""
    schema = open_source(data).schema
    if name not in schema.columns:
        raise SchemaError(argument, *no_column(name, schema))
