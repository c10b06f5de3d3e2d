"""Parquet files and streams of Arrow batches as sources: the schema first, then the rows."""

from __future__ import annotations

import glob
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dpreg.base.errors import SchemaError
from dpreg.base.later import ds, pa, pq
from dpreg.data.arrow import arrow_schema, is_text
from dpreg.data.schema import SEVERAL, Column, Schema
from dpreg.data.source import BATCH_ROWS, RowSource, StreamSource

# Tables of at most this many columns are decoded in batches of this many rows: a page of numbers
# (1 MB).  With less than a page Arrow keeps the rest, which costs a sixth of the reading time.
_FEW, _DECODED = 16, 2 * BATCH_ROWS


def parquet_source(path: str | os.PathLike[str]) -> RowSource:
    """Return a Parquet file as a source."""
    name = os.fsdecode(path)
    if re.match(r"(https?|ftp)://", name):
        raise SchemaError("data", f"cannot read {name!r}: it is not a file", "download it first")
    try:
        refuse_other_files(name)
        schema = pq.read_schema(name)
    except FileNotFoundError:
        raise SchemaError("data", f"cannot read {name!r}: there is no such file") from None
    except (OSError, pa.ArrowException) as error:
        raise SchemaError("data", f"cannot read {name!r} as Parquet: {error}") from None

    def read(columns: Sequence[str]) -> Iterator[Any]:
        rows = _DECODED if len(columns) <= _FEW else BATCH_ROWS
        with pq.ParquetFile(name, pre_buffer=False) as file:
            yield from pieces(_ahead(file.iter_batches(rows, columns=list(columns))))

    return StreamSource(arrow_schema(schema), read)


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches; the next batch is read while one is used."""
    with ThreadPoolExecutor(1) as reader:
        try:
            coming = reader.submit(next, batches, None)
        except RuntimeError:  # no thread is available
            reader.shutdown(cancel_futures=True)
            yield from batches
            return
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


def refuse_other_files(path: str) -> None:
    """Raise an error for a file that is not Parquet; the message says how to read CSV."""
    if not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        if file.read(4) in (b"PAR1", b"PARE"):
            return
    # CSV is not read, not even with declared types: a value that does not parse would be an error
    # that depends on the records, and a first line without names is a record.
    raise SchemaError(
        "data",
        f"{path!r} is not a Parquet file; a CSV file does not declare the types of its columns, "
        "and inferring them would read private values",
        "declare them, types = {'x': 'float64', 'city': 'string'}, and read the table with "
        f"pyarrow.csv.read_csv({path!r}, convert_options=pyarrow.csv.ConvertOptions("
        "column_types=types, include_columns=list(types)))",
        f"in R with read.csv({path!r}, colClasses = ...)",
    )


_HIVE = re.compile(r"([^/=]+)=[^/]*")


def dataset_source(dataset: ds.Dataset) -> RowSource:
    """Return a pyarrow dataset as a source; only the requested columns are read."""
    several, numbers = _other_types(dataset)

    def read(columns: Sequence[str]) -> Iterator[Any]:
        asked: dict[str, Any] = {"columns": list(columns), "batch_size": BATCH_ROWS,
                                 "batch_readahead": 2}  # fmt: skip
        if numbers.isdisjoint(columns):
            yield from dataset.scanner(fragment_readahead=1, **asked).to_batches()
            return
        for fragment in dataset.get_fragments():
            own = {field.name: field for field in fragment.physical_schema if field.name in numbers}
            schema = pa.schema([own.get(field.name, field) for field in dataset.schema])
            yield from fragment.scanner(schema=schema, **asked).to_batches()

    found = arrow_schema(dataset.schema).columns
    columns = {name: Column(name, "other", holds=SEVERAL) for name in several}
    return StreamSource(Schema({**found, **columns}), read)


def _other_types(dataset: ds.Dataset) -> tuple[set[str], set[str]]:
    """Return columns whose type in some part of a dataset may hold cells that do not fit.

    Arrow raises an error for such a cell.  The second result has the numeric ones, which are read
    with the type of each part; the others cannot be used.  Raises SchemaError where parts have text
    without types.
    """
    several: set[str] = set()
    numbers: set[str] = set()
    parts, filtered = _parts(dataset)
    for part in parts:
        if isinstance(getattr(part, "format", None), (ds.CsvFileFormat, ds.JsonFileFormat)):
            problem = "is a dataset of text files, in which a cell that does not parse is an error"
            raise SchemaError("data", problem, "write it as Parquet, with declared types")
        for field in part.physical_schema:
            place = dataset.schema.get_field_index(field.name)
            wanted = field.type if place < 0 else dataset.schema.field(place).type
            if not _fits(field.type, wanted):
                plain = _is_number(field.type) and _is_number(wanted) and not filtered
                (numbers if plain else several).add(field.name)
    return several, numbers - several


def _parts(dataset: ds.Dataset) -> tuple[list[Any], bool]:
    """Return the fragments of a dataset, and whether it has a filter, which fragments lack."""
    try:
        return list(dataset.get_fragments()), False
    except ValueError:
        children = getattr(dataset, "children", [])
        if not children and isinstance(dataset, ds.FileSystemDataset):
            files, where = dataset.files, dataset.filesystem
            children = [ds.dataset(files, filesystem=where, format=dataset.format)]
        return [part for child in children for part in _parts(child)[0]], True


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _fits(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether Arrow can convert every value of one type to another."""
    if kind == wanted or pa.types.is_null(kind) or (is_text(kind) and is_text(wanted)):
        return True
    both = pa.types.is_floating(kind) and pa.types.is_floating(wanted)
    return bool(both and kind.bit_width <= wanted.bit_width)


def files_source(paths: str | Sequence[str | os.PathLike[str]]) -> RowSource:
    """Return Parquet files as one source.

    paths: a folder, a pattern such as ``sales/*.parquet``, or files.  Names and types of columns
        are those of the first file by name, but numbers keep the type of each file.  A folder named
        ``region=north`` adds a text column ``region``.
    """
    files = _files(paths)
    for file in files:
        refuse_other_files(file)
    keys = _HIVE.findall(os.path.dirname(files[0]))
    try:
        # Always text: if names that look like numbers became numbers, the type of the column would
        # depend on the rows.
        flavour = ds.partitioning(pa.schema([(key, pa.string()) for key in keys]), flavor="hive")
        return dataset_source(ds.dataset(files, format="parquet", partitioning=flavour))
    except (OSError, pa.ArrowException) as error:
        raise SchemaError("data", f"cannot read {files[0]!r} as Parquet: {error}") from None


def _files(paths: str | Sequence[str | os.PathLike[str]]) -> list[str]:
    if not isinstance(paths, str):
        found = [os.fsdecode(path) for path in paths]
    elif os.path.isdir(paths):
        found = sorted(glob.glob(os.path.join(glob.escape(paths), "**", "*"), recursive=True))
        found = [path for path in found if os.path.isfile(path) and not _hidden(path, paths)]
    else:
        found = sorted(glob.glob(paths, recursive=True))
    if not found:
        raise SchemaError("data", f"there is no file in {paths!r}")
    missing = next((path for path in found if not os.path.isfile(path)), None)
    if missing is not None:
        raise SchemaError("data", f"cannot read {missing!r}: there is no such file")
    return found


def _hidden(path: str, root: str) -> bool:
    """Whether the name, or a folder in the path, is one that writers reserve."""
    return any(part[:1] in "._" for part in os.path.relpath(path, root).split(os.sep))


# Readers from `reader_source` that were read and are now empty.
_read: weakref.WeakSet[Any] = weakref.WeakSet()


def reader_source(reader: pa.RecordBatchReader) -> RowSource:
    """Return a stream that can be read once as a source.

    Raises SchemaError if it was read before.
    """
    if reader in _read:
        problem = "this RecordBatchReader has been read, and a stream can be read once only"
        advice = "make another, or give a table, a pyarrow dataset or a path"
        raise SchemaError("data", problem, advice)

    def read(columns: Sequence[str]) -> Iterable[Any]:
        _read.add(reader)
        return pieces(batch.select(list(columns)) for batch in reader)

    return StreamSource(arrow_schema(reader.schema), read)


def pieces(batches: Iterable[Any]) -> Iterator[Any]:
    """Divide batches that are longer than `BATCH_ROWS`."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)
