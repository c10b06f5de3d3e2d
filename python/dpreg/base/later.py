"""Packages that are imported when they are first used; R does not need most of them."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["Axes", "ds", "duckdb", "pa", "pc", "pd", "pl", "pq", "sqlite3"]

if TYPE_CHECKING:
    import sqlite3

    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq
    from matplotlib.axes import Axes
else:

    class _Later(ModuleType):
        """A module that is imported when something in it is asked for."""

        def __getattr__(self, attribute: str) -> Any:
            return getattr(importlib.import_module(self.__name__), attribute)

        def __reduce__(self) -> Any:  # as workers of Spark and Dask are sent functions that use it
            return importlib.import_module, (self.__name__,)

    duckdb, pd, pl, sqlite3 = map(_Later, ("duckdb", "pandas", "polars", "sqlite3"))
    pa, pc = _Later("pyarrow"), _Later("pyarrow.compute")
    ds, pq = _Later("pyarrow.dataset"), _Later("pyarrow.parquet")
    Axes = Any
