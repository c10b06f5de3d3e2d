"""Databases and clusters as sources: DuckDB, ibis, Dask and Spark."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dpreg.base.arrays import Sums
from dpreg.base.errors import SchemaError, a_kind
from dpreg.base.later import duckdb, pa
from dpreg.data.arrow import arrow_schema
from dpreg.data.cells import Cells, Joined
from dpreg.data.frames import frame_source
from dpreg.data.objects import Objects
from dpreg.data.parquet import pieces
from dpreg.data.partitioned import PartitionedSource, Task
from dpreg.data.schema import Column, Schema
from dpreg.data.source import BATCH_ROWS, Batch, RowSource, StreamSource, quietly


def duckdb_source(relation: Any) -> RowSource:
    """Return a DuckDB relation as a source.  An ENUM declares the levels of a factor."""
    if not isinstance(relation, duckdb.DuckDBPyRelation):
        problem = f"must be a relation of DuckDB, not {a_kind(relation)}"
        raise SchemaError("data", problem, "write connection.sql('select ...')")
    kinds: list[tuple[str, Any]] = list(zip(relation.columns, relation.types, strict=True))
    schema = arrow_schema(pa.schema([(name, _arrow_type(str(kind))) for name, kind in kinds]))
    levels = {name: tuple(kind.children[0][1]) for name, kind in kinds if kind.id == "enum"}
    columns = {
        name: Column(name, "categorical", levels[name], holds="text") if name in levels else column
        for name, column in schema.columns.items()
    }

    def read(names: Sequence[str]) -> Any:
        chosen = relation.select(*(duckdb.ColumnExpression(name) for name in names))
        return pieces(chosen.to_arrow_reader(BATCH_ROWS))

    return StreamSource(Schema(columns), read)


@lru_cache(maxsize=1024)
def _arrow_type(kind: str) -> Any:
    """Return the Arrow type of a DuckDB type, by a query that does not involve the data.

    Any query of the relation itself, even for no rows, may run a part of it.
    """
    try:
        table = duckdb.connect().sql(f"select null::{kind} as x").to_arrow_table()
    except duckdb.Error:  # a type of an extension
        return pa.null()
    return table.schema.types[0]


def ibis_source(table: Any) -> RowSource:
    """Return an ibis table as a source."""
    interval = pa.month_day_nano_interval()  # as batches of DuckDB have durations
    declared = [(f.name, f.type) for f in table.schema().to_pyarrow()]
    kinds = [(name, interval if pa.types.is_duration(k) else k) for name, k in declared]

    def read(names: Sequence[str]) -> Any:
        return pieces(table.select(*names).to_pyarrow_batches(chunk_size=BATCH_ROWS))

    return StreamSource(arrow_schema(pa.schema(kinds)), read)


class DaskSource(PartitionedSource):
    """A Dask DataFrame: one task per partition, and a tree of additions."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        # Dask's empty frame that declares the types.
        self.schema = frame_source(frame._meta).schema

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for part in self._frame[list(columns)].to_delayed():
            source = frame_source(quietly(part.compute))
            for batch in source.batches(columns):
                cells = {n: self._as_declared(n, c, source) for n, c in batch.cells.items()}
                yield Batch(cells, batch.rows)

    def _as_declared(self, name: str, cells: Cells, source: RowSource) -> Cells:
        """Give cells their declared type, which Dask does not enforce in partitions."""
        declared, found = self.schema[name].holds, source.schema[name].holds
        alike = declared == found or {declared, found} <= _WORDS
        return cells if alike else _Keyless([cells])

    def total(self, task: Task) -> Sums:
        from dask.delayed import delayed

        names = list(task.spec.needed(response=True))
        sums = [delayed(_of_frame)(task, part) for part in self._frame[names].to_delayed()]
        while len(sums) > 1:
            sums = [delayed(np.sum)(sums[k : k + 8], axis=0) for k in range(0, len(sums), 8)]
        total: Sums = sums[0].compute()
        return total


# Contents of columns whose type or categories may differ between partitions.
_WORDS = {"text", "categories", "objects"}


class _Keyless(Joined):
    """Cells of another kind than declared, without keys: one unit could be both 1 and "1"."""

    def keys(self) -> Any:
        return Objects([None] * len(self)).keys()


def _of_frame(task: Task, frame: Any) -> Sums:
    return task(frame_source(frame))


class SparkSource(PartitionedSource):
    """A Spark DataFrame: one row of sums per partition, added up here."""

    def __init__(self, frame: Any) -> None:
        from pyspark.sql.pandas.types import to_arrow_schema

        self._frame = frame
        self.schema = arrow_schema(to_arrow_schema(frame.schema))

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        chosen = self._frame.select(*(_quoted(name) for name in columns))

        def read(names: Sequence[str]) -> Any:
            return pieces(chosen.toArrow().select(list(names)).to_batches())

        return StreamSource(self.schema, read).batches(columns)

    def total(self, task: Task) -> Sums:
        names = task.spec.needed(response=True)
        chosen = self._frame.select(*(_quoted(name) for name in names))
        states = chosen.mapInArrow(_of_batches(task), "sums binary").toLocalIterator()
        nothing = task(StreamSource(self.schema, lambda names: iter(())))
        for state in states:
            nothing += pickle.loads(bytes(state.sums))
        return nothing


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _of_batches(task: Task) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        first = next(batches, None)
        if first is None:
            return
        source = StreamSource(
            arrow_schema(first.schema), lambda names: pieces(itertools.chain([first], batches))
        )
        yield pa.RecordBatch.from_pydict({"sums": [pickle.dumps(task(source))]})

    return run
