"""Tables in every container and file format, and their neighbours, for hypothesis to shrink.

A world is an Arrow table with declared types; a neighbour has one unit more.  Both become the
same kind of container, whose types are declared and so are equal.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from hypothesis import strategies as st

LEVELS = {
    "words": ["a", "b", "é"],
    "numbers": [1, 2, 2.5],
    "truths": [True, False],
}
HUGE = [2**63 - 1, -(2**63), 2**53 + 1, 0, 1, -1]


def integers(kind):
    info = np.iinfo(kind)
    return st.one_of(
        st.sampled_from([int(v) for v in HUGE if info.min <= v <= info.max]),
        st.integers(int(info.min), int(info.max)), st.integers(0, 3),
    )  # fmt: skip


TICKS = st.one_of(st.sampled_from([1, 2, 999, 1000, -1, 0, 86_400_000, 2**62, -(2**62)]),
                  st.integers(-(2**63) + 1, 2**63 - 1))  # fmt: skip
# Any bytes may be handed on as text by a reader that does not look.
BYTES = st.one_of(st.sampled_from([b"a", b"b", b"\xff\xfe", b"", b"1", "é".encode()]),
                  st.binary(max_size=3))  # fmt: skip
FLOATS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 2.5, np.inf, np.nan, 5e-324, 1e308]),
                   st.floats(), st.floats(-4, 4))  # fmt: skip


def plain(kind, values):
    return st.lists(st.one_of(st.none(), values), max_size=7).map(lambda v: pa.array(v, kind))


def ticking(kind):
    return st.lists(st.one_of(st.none(), TICKS), max_size=7).map(
        lambda v: pa.array(v, pa.int64()).view(kind)
    )


def unchecked_text(values):
    content = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(content), content.buffers())


TEXT = st.lists(st.one_of(st.none(), BYTES), max_size=7).map(unchecked_text)
NUMBERS = st.one_of(
    *(plain(pa.from_numpy_dtype(k), integers(k)) for k in ("int64", "uint8", "int32")),
    plain(pa.float64(), FLOATS),
    plain(pa.float32(), st.floats(width=32)),
    plain(pa.bool_(), st.booleans()),
    plain(pa.decimal128(12, 2), st.decimals(-(10**6), 10**6, places=2)),
)
CODED = {
    "words": st.one_of(TEXT, plain(pa.large_string(), st.text(alphabet="abé", max_size=2))),
    "numbers": st.one_of(plain(pa.int64(), st.integers(0, 3)), plain(pa.float64(), FLOATS)),
    "truths": plain(pa.bool_(), st.booleans()),
}
UNITS = st.one_of(
    TEXT,
    plain(pa.int64(), integers("int64")),
    plain(pa.uint64(), st.integers(0, 2**64 - 1)),
    plain(pa.float64(), FLOATS),
    plain(pa.bool_(), st.booleans()),
    plain(pa.binary(), BYTES),
    plain(pa.decimal128(12, 2), st.decimals(-(10**6), 10**6, places=2)),
    *(ticking(pa.timestamp(unit, zone)) for unit in ("s", "us", "ns") for zone in (None, "UTC")),
    *(ticking(pa.duration(unit)) for unit in ("ms", "ns")),
    ticking(pa.time64("ns")),
    # Off midnight they do not come out of a Parquet file as they went in: see test_cells.py.
    st.lists(st.one_of(st.none(), st.integers(-9999, 9999)), max_size=7).map(
        lambda days: pa.array(days, pa.date32()).cast(pa.date64())
    ),
    st.lists(st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)), max_size=7).map(
        lambda v: pa.array(v, pa.int32()).view(pa.date32())
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """Two tables, `having` with the rows of one unit more, from place `at` on."""

    without: pa.Table
    having: pa.Table
    coded: str
    unit: str | None

    @property
    def levels(self):
        return {"c": LEVELS[self.coded]}


@st.composite
def pairs(draw):
    coded = draw(st.sampled_from(sorted(LEVELS)))
    columns = {"x": draw(NUMBERS), "y": draw(NUMBERS), "c": draw(CODED[coded]), "who": draw(UNITS)}
    rows = min(len(column) for column in columns.values())
    table = pa.table({name: column[:rows] for name, column in columns.items()})
    if rows == 0:
        return Pair(table, table, coded, None)
    at = draw(st.integers(0, rows - 1))
    if draw(st.booleans()):
        # Without units: a row is one.
        without = pa.concat_tables([table[:at], table[at + 1 :]])
        return Pair(without, table, coded, None)
    same = np.array([_alike(table["who"], at, i) for i in range(rows)])
    without = table.filter(pa.array(~same))
    return Pair(without, table, coded, "who")


def _alike(column, a, b):
    """Whether two cells are of one unit: equal, as Arrow has them; zeros have no sign."""
    first, second = (column.slice(i, 1).combine_chunks() for i in (a, b))
    if first.null_count or second.null_count:
        return a == b
    if pa.types.is_floating(first.type):
        return a == b or float(first[0].as_py()) == float(second[0].as_py())
    if pa.types.is_string(first.type):
        first, second = first.cast(pa.binary()), second.cast(pa.binary())
    return first.equals(second)


def _nullable(kind):
    known = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.uint8(): pd.UInt8Dtype(),
             pa.uint64(): pd.UInt64Dtype(), pa.bool_(): pd.BooleanDtype()}  # fmt: skip
    return known.get(kind, pd.ArrowDtype(kind))


def in_pandas(table):
    """Types of numpy and pandas where they have the like, of Arrow elsewhere."""
    columns = {}
    for name in table.column_names:
        column, kind = table[name], table.schema.field(name).type
        if pa.types.is_floating(kind):
            values = column.combine_chunks().to_numpy(zero_copy_only=False)
            columns[name] = pd.Series(np.asarray(values, dtype=kind.to_pandas_dtype()))
        elif (pa.types.is_timestamp(kind) and kind.tz is None) or pa.types.is_duration(kind):
            numpy_kind = f"{'M8' if pa.types.is_timestamp(kind) else 'm8'}[{kind.unit}]"
            ticks = column.cast(pa.int64()).fill_null(np.iinfo(np.int64).min).to_numpy()
            columns[name] = pd.Series(ticks.astype("i8").view(numpy_kind))
        else:
            columns[name] = pd.Series(
                pd.array(column.combine_chunks(), dtype=_nullable(kind))
                if isinstance(_nullable(kind), pd.ArrowDtype)
                else column.to_pandas(types_mapper=_nullable)
            )
    return pd.DataFrame(columns, index=range(len(table)))


def in_pandas_with_arrow(table):
    return pd.DataFrame(
        {n: pd.Series(table[n].combine_chunks(), dtype=pd.ArrowDtype(table.schema.field(n).type))
         for n in table.column_names}, index=range(len(table)),
    )  # fmt: skip


def in_pandas_as_it_infers(table):
    """Numbers as a reader infers their types: integers become floats when a cell is missing."""
    frame = in_pandas_with_arrow(table)
    for name in ("x", "y"):
        kind = table.schema.field(name).type
        if pa.types.is_integer(kind) and not pa.types.is_unsigned_integer(kind):
            missing = table[name].null_count > 0
            frame[name] = pd.Series(table[name].to_pylist(), dtype="f8" if missing else "i8")
    return frame


def in_records(table):
    """Numbers of numpy as fields of records, which lie between whole doubles."""
    columns = dict(in_pandas(table).items())
    plain = {name: column.to_numpy() for name, column in columns.items()
             if isinstance(column.dtype, np.dtype) and column.dtype.kind == "f"}  # fmt: skip
    records = np.empty(len(table), [("at", "i1"), *((n, v.dtype) for n, v in plain.items())])
    for name, values in plain.items():
        records[name] = values
    return columns | {name: records[name] for name in plain}


def in_chunks(table):
    pieces = [table.slice(i, 1) for i in range(len(table))]
    return pa.concat_tables(pieces) if pieces else table.schema.empty_table()


def in_dictionaries(table):
    for name in ("c", "who"):
        column = table[name]
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_integer(kind):
            encoded = column.dictionary_encode()
            ordered = pa.dictionary(pa.int32(), kind, ordered=True)
            pieces = [pa.DictionaryArray.from_arrays(c.indices, c.dictionary, ordered=True)
                      for c in encoded.chunks]  # fmt: skip
            table = table.set_column(
                table.column_names.index(name), name, pa.chunked_array(pieces, ordered)
            )
    return table


def in_polars(table):
    return pl.from_arrow(table)


def in_parquet(**options):
    def write(table, folder):
        path = folder / "t.parquet"
        pq.write_table(table, path, **options)
        return path

    return write


def in_parquet_of_polars(table, folder):
    path = folder / "t.parquet"
    in_polars(table).write_parquet(path)
    return path


def in_parquet_of_categories(table, folder):
    """Text as an ordered dictionary, whose entries a reader rebuilds from the cells."""
    return in_parquet(use_dictionary=False)(in_dictionaries(table), folder)


def in_files(path):
    """Make two files, one of them perhaps empty."""

    def put(table, folder):
        half = len(table) // 2
        pq.write_table(table.slice(0, half), f"{folder}/a.parquet")
        pq.write_table(table.slice(half), f"{folder}/b.parquet")
        return path(folder)

    return put


def in_query(query):
    """In DuckDB, whose intervals are no keys, and whose times with a zone are of microseconds."""

    def put(table):
        kinds = table.schema.types
        if any(pa.types.is_duration(kind) for kind in kinds):
            raise ValueError("durations become intervals")
        if any(pa.types.is_timestamp(kind) and kind.tz and kind.unit != "us" for kind in kinds):
            raise ValueError("they are converted, in a query that fails where they do not fit")
        return query(table)

    return put


IN_MEMORY = {
    "pyarrow": lambda t: t,
    "pyarrow in chunks": in_chunks,
    "pyarrow dictionaries": in_dictionaries,
    "pandas": in_pandas,
    "pandas with arrow types": in_pandas_with_arrow,
    "pandas as it infers": in_pandas_as_it_infers,
    "polars": in_polars,
    "polars lazy": lambda t: in_polars(t).lazy(),
    "dict of arrow": lambda t: {n: t[n] for n in t.column_names},
    "dict of pandas": lambda t: dict(in_pandas(t).items()),
    "dict of fields of records": in_records,
    "dict of polars": lambda t: in_polars(t).to_dict(),
    "stream": lambda t: pa.RecordBatchReader.from_batches(t.schema, t.to_batches()),
    "duckdb": in_query(lambda t: duckdb.connect().from_arrow(t)),
    "ibis": in_query(ibis.memtable),
}
IN_FILES = {
    "parquet": in_parquet(),
    "parquet without dictionaries": in_parquet(use_dictionary=False),
    "parquet in row groups": in_parquet(row_group_size=1, compression="zstd"),
    "parquet 1.0": in_parquet(version="1.0", data_page_version="2.0"),
    "parquet without its arrow schema": in_parquet(store_schema=False),
    "parquet of polars": in_parquet_of_polars,
    "parquet of categories": in_parquet_of_categories,
    "folder of parquet": in_files(lambda folder: folder),
    "parquet by pattern": in_files(lambda folder: f"{folder}/*.parquet"),
    "pyarrow dataset": in_files(lambda folder: ds.dataset(folder)),
}
CONTAINERS = [*IN_MEMORY, *IN_FILES]


@contextlib.contextmanager
def put(container, *tables):
    """Put tables into containers, for as long as it takes; None where whatever writes it cannot."""
    with tempfile.TemporaryDirectory() as scratch:
        found = []
        for number, table in enumerate(tables):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            try:
                if container in IN_MEMORY:
                    found.append(IN_MEMORY[container](table))
                else:
                    found.append(IN_FILES[container](table, folder))
            except (pa.ArrowException, ValueError, pl.exceptions.PolarsError):
                found.append(None)
        yield found
