"""How the tables of a replay are held: in memory, in files, and in the partitions of an engine."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from dpreg.base.later import pa, pq

CONTAINERS = ("pandas", "pandas", "pandas", "dict", "pyarrow")
# With so few rows in a group or a file, small tables have several.
FILES, _GROUP, _PARTS = ("parquet", "parquet files", "dask"), 7, 3


@contextlib.contextmanager
def held(table: pd.DataFrame, container: str) -> Iterator[Any]:
    """Hold a table of doubles and text in a container, its rows in their order.

    Without Dask a table of its partitions is one of pandas.
    """
    if container == "dict":
        yield {name: table[name].to_numpy() for name in table.columns}
    elif container == "pyarrow":
        yield _arrow(table)
    elif container.startswith("parquet"):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            yield _written(table, several="files" in container)
    elif container == "dask" and importlib.util.find_spec("dask") is not None:
        with _partitioned(table) as frame:
            yield frame
    else:
        yield table


def _arrow(table: pd.DataFrame) -> Any:
    # With a declared type for text, or a column without a row would have another one.
    kinds = {"f": pa.float64(), "O": pa.string()}
    schema = pa.schema([(name, kinds[table[name].dtype.kind]) for name in table.columns])
    return pa.Table.from_pandas(table, schema, preserve_index=False)


def _written(table: pd.DataFrame, *, several: bool) -> str:
    """Write a file, or some, to the present folder; its name is the same for all tables."""
    rows = _arrow(table)
    if not several:
        pq.write_table(rows, "table.parquet", row_group_size=_GROUP)
        return "table.parquet"
    Path("table").mkdir()
    for number, first in enumerate(range(0, len(table) + 1, _GROUP)):
        pq.write_table(rows.slice(first, _GROUP), f"table/{number:04}.parquet")
    return "table"


@contextlib.contextmanager
def _partitioned(table: pd.DataFrame) -> Iterator[Any]:
    import dask
    import dask.dataframe as dd

    divide: Any = dd.from_pandas
    with dask.config.set(scheduler="synchronous"):
        yield divide(table, npartitions=_PARTS, sort=False)
