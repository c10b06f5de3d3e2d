"""Parquet files as sources of rows: first the schema, from the footer, then the rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dpreg.base.errors import SchemaError
from dpreg.data.arrow import arrow_column
from dpreg.data.schema import Schema
from dpreg.data.source import BATCH_ROWS, RowSource, StreamSource


def parquet_source(path: str | os.PathLike[str]) -> RowSource:
    """Return a Parquet file as a source."""
    name = os.fsdecode(path)
    types = _types(name)
    schema = Schema({field.name: arrow_column(field.name, field.type) for field in types})
    if len(schema.columns) < len(types):
        raise SchemaError("data", f"two columns of {name!r} have the same name", "rename one")

    def read(columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(name, pre_buffer=False) as file:
            yield from _ahead(file.iter_batches(BATCH_ROWS, columns=list(columns)))

    return StreamSource(schema, read)


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches, of which the next is read while one is used."""
    with ThreadPoolExecutor(1) as reader:
        try:
            coming = reader.submit(next, batches, None)
        except RuntimeError:  # no thread is to be had
            reader.shutdown(cancel_futures=True)
            yield from batches
            return
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


def _types(name: str) -> list[Any]:
    """Read the names and types of the columns, and nothing else."""
    import pyarrow
    import pyarrow.parquet as pq

    try:
        refuse_other_files(name)
        return list(pq.read_schema(name))
    except FileNotFoundError:
        raise SchemaError("data", f"cannot read {name!r}: there is no such file") from None
    except (OSError, pyarrow.ArrowException) as error:
        raise SchemaError("data", f"cannot read {name!r} as Parquet: {error}") from None


def refuse_other_files(path: str) -> None:
    """Raise an error for a file that is not Parquet, and say how a CSV file is read."""
    if not os.path.isfile(path) or _begins_as_parquet(path):
        return
    # CSV is not read here, not even with declared types: a value that does not parse would have to
    # be an error, which depends on the records, and a first line without names is a record.
    raise SchemaError(
        "data",
        f"{path!r} is not a Parquet file; a CSV file does not declare the types of its columns, "
        "and inferring them would read private values",
        "declare them, types = {'x': 'float64', 'city': 'string'}, and read the table with "
        f"pyarrow.csv.read_csv({path!r}, convert_options=pyarrow.csv.ConvertOptions("
        "column_types=types, include_columns=list(types)))",
        f"in R with read.csv({path!r}, colClasses = ...)",
    )


def _begins_as_parquet(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) in (b"PAR1", b"PARE")
