"""Dask and Spark: what a task is run on, and how what it returns is added up."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dpreg.data.arrow import arrow_cells
from dpreg.data.dataset import arrow_schema, pieces
from dpreg.data.frames import frame_source
from dpreg.data.observations import Sums
from dpreg.data.partitioned import PartitionedSource, Task
from dpreg.data.source import Batch, StreamSource, quietly

__all__ = ["dask_source", "spark_source"]


class _DaskSource:
    """A Dask DataFrame: one task a partition, and a tree of additions."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        # A frame without rows that Dask keeps for its types.
        self.schema = frame_source(frame._meta).schema

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for part in self._frame[list(columns)].to_delayed():
            yield from frame_source(quietly(part.compute)).batches(columns)

    def total(self, task: Task) -> Sums:
        from dask.delayed import delayed

        names = list(task.spec.needed(response=True))
        sums = [delayed(_of_frame)(task, part) for part in self._frame[names].to_delayed()]
        while len(sums) > 1:
            sums = [delayed(_added)(sums[k : k + 8]) for k in range(0, len(sums), 8)]
        total: Sums = sums[0].compute()
        return total


def _of_frame(task: Task, frame: Any) -> Sums:
    return task(frame_source(frame))


def _added(sums: list[Sums]) -> Sums:
    total: Sums = np.sum(sums, axis=0)
    return total


class _SparkSource:
    """A Spark DataFrame: one row of sums a partition, added up here."""

    def __init__(self, frame: Any) -> None:
        from pyspark.sql.pandas.types import to_arrow_schema

        self._frame = frame
        self.schema = arrow_schema(to_arrow_schema(frame.schema))

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        chosen = self._frame.select(*(_quoted(name) for name in columns))

        def read(names: Sequence[str]) -> Any:
            return pieces(chosen.toArrow().select(list(names)).to_batches())

        return StreamSource(self.schema, read, arrow_cells).batches(columns)

    def total(self, task: Task) -> Sums:
        names = task.spec.needed(response=True)
        chosen = self._frame.select(*(_quoted(name) for name in names))
        states = chosen.mapInArrow(_of_batches(task), "sums binary").toLocalIterator()
        nothing = task(StreamSource(self.schema, lambda names: iter(()), arrow_cells))
        for state in states:
            nothing += pickle.loads(bytes(state.sums))
        return nothing


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _of_batches(task: Task) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        first = next(batches, None)
        if first is None:
            return
        source = StreamSource(
            arrow_schema(first.schema), lambda names: pieces(_chained(first, batches)), arrow_cells
        )
        yield pa.RecordBatch.from_pydict({"sums": [pickle.dumps(task(source))]})

    return run


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def dask_source(frame: Any) -> PartitionedSource:
    """Return a `dask.dataframe.DataFrame` as a source."""
    return _DaskSource(frame)


def spark_source(frame: Any) -> PartitionedSource:
    """Return a `pyspark.sql.DataFrame` as a source."""
    return _SparkSource(frame)
