"""Queries of other engines as sources: run for the columns that are asked for, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from dpreg.base.errors import SchemaError, a_kind
from dpreg.data.dataset import arrow_schema, pieces
from dpreg.data.schema import Column, Schema
from dpreg.data.source import BATCH_ROWS, RowSource, StreamSource


def duckdb_source(relation: Any) -> RowSource:
    """Return a DuckDB relation as a source.  An ENUM declares the levels of a factor."""
    import duckdb
    import pyarrow

    if not isinstance(relation, duckdb.DuckDBPyRelation):
        problem = f"must be a relation of DuckDB, not {a_kind(relation)}"
        raise SchemaError("data", problem, "write connection.sql('select ...')")
    kinds: list[tuple[str, Any]] = list(zip(relation.columns, relation.types, strict=True))
    schema = arrow_schema(pyarrow.schema([(name, _arrow_type(str(kind))) for name, kind in kinds]))
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
    """Return what a type of DuckDB is in Arrow, by a query that has nothing to do with the data.

    Whatever is asked of the relation itself, if only for no rows, may run a part of it.
    """
    import duckdb
    import pyarrow

    try:
        table = duckdb.connect().sql(f"select null::{kind} as x").to_arrow_table()
    except duckdb.Error:  # a type of an extension
        return pyarrow.null()
    return table.schema.types[0]


def ibis_source(table: Any) -> RowSource:
    """Return an ibis table as a source."""

    def read(names: Sequence[str]) -> Any:
        return pieces(table.select(*names).to_pyarrow_batches(chunk_size=BATCH_ROWS))

    return StreamSource(arrow_schema(_as_batches_have_it(table.schema())), read)


def _as_batches_have_it(schema: Any) -> Any:
    """Return the Arrow schema of an ibis table; batches have durations as DuckDB's intervals."""
    import pyarrow

    interval = pyarrow.month_day_nano_interval()
    fields = schema.to_pyarrow()
    return pyarrow.schema(
        [(f.name, interval if pyarrow.types.is_duration(f.type) else f.type) for f in fields]
    )
