"""The one place where data become a source of rows."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from typing import Any

from dpreg.data.source import RowSource


def open_source(data: Any) -> RowSource:
    """Return data of any kind as a source: only its schema is read here."""
    from dpreg.data import dataset, engines, frames, parquet, queries

    if isinstance(data, (str, os.PathLike)):
        path = os.fsdecode(data)
        many = os.path.isdir(path) or (glob.has_magic(path) and not os.path.exists(path))
        return dataset.files_source(path) if many else parquet.parquet_source(path)
    if isinstance(data, Mapping):
        return frames.mapping_source(data)
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], (str, os.PathLike)):
        return dataset.files_source(data)
    package = type(data).__module__.partition(".")[0]
    if package in ("duckdb", "_duckdb"):
        return queries.duckdb_source(data)
    if package == "ibis":
        return queries.ibis_source(data)
    if package == "dask":
        return engines.dask_source(data)
    if package == "pyspark":
        return engines.spark_source(data)
    if package == "pyarrow":
        import pyarrow
        import pyarrow.dataset

        if isinstance(data, pyarrow.dataset.Dataset):
            return dataset.dataset_source(data)
        if isinstance(data, pyarrow.RecordBatchReader):
            return dataset.reader_source(data)
    return frames.frame_source(data)
