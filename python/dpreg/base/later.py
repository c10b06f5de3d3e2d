"""Packages that are imported when they are first used: R goes without them."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["Axes", "ds", "pa", "pc", "pd", "pq"]

if TYPE_CHECKING:
    import pandas as pd
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

    pd, pa, Axes = _Later("pandas"), _Later("pyarrow"), Any
    pc, pq, ds = map(_Later, ("pyarrow.compute", "pyarrow.parquet", "pyarrow.dataset"))
