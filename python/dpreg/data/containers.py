"""The one place where data become a source of rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dpreg.data.source import RowSource

__all__ = ["open_source"]


def open_source(data: Any) -> RowSource:
    """Return data of any kind as a source: only its schema is read here.

    Parameters
    ----------
    data : data frame, dict of arrays, or path of a Parquet file

    Raises
    ------
    SchemaError
        If it is of no kind that can be read.
    """
    from dpreg.data import frames, parquet

    if isinstance(data, (str, os.PathLike)):
        return parquet.parquet_source(data)
    if isinstance(data, Mapping):
        return frames.mapping_source(data)
    return frames.frame_source(data)
