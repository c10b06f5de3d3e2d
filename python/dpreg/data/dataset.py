"""Tables of many Parquet files, and streams of Arrow record batches, as sources of rows."""

from __future__ import annotations

import glob
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dpreg.base.errors import SchemaError
from dpreg.data.arrow import arrow_column
from dpreg.data.parquet import refuse_other_files
from dpreg.data.schema import Schema
from dpreg.data.source import BATCH_ROWS, RowSource, StreamSource

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset

_HIVE = re.compile(r"([^/=]+)=[^/]*")


def arrow_schema(schema: pyarrow.Schema) -> Schema:
    """Return what is public about columns of Arrow types."""
    columns = {field.name: arrow_column(field.name, field.type) for field in schema}
    if len(columns) < len(schema):
        again = next(name for name in schema.names if schema.names.count(name) > 1)
        raise SchemaError("data", f"two columns are both named {again!r}", "rename one")
    return Schema(columns)


def dataset_source(dataset: pyarrow.dataset.Dataset) -> RowSource:
    """Return a pyarrow dataset as a source: a column that is not asked for is not read."""

    def read(columns: Sequence[str]) -> Iterator[Any]:
        return dataset.scanner(  # type: ignore[no-any-return]
            columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=2, fragment_readahead=1
        ).to_batches()

    return StreamSource(arrow_schema(dataset.schema), read)


def files_source(paths: str | Sequence[str | os.PathLike[str]]) -> RowSource:
    """Return Parquet files as one source.

    paths: a folder, a pattern such as ``sales/*.parquet``, or files.  Names and types of columns
        are those of the first file by name; a folder named ``region=north`` makes a column
        ``region`` of text.
    """
    import pyarrow
    import pyarrow.dataset as ds

    files = _files(paths)
    refuse_other_files(files[0])
    keys = _HIVE.findall(os.path.dirname(files[0]))
    try:
        # Text whatever the names are: numbers, if all that are there happen to be some, would
        # make the type of the column depend on the rows that there are.
        flavour = ds.partitioning(
            pyarrow.schema([(key, pyarrow.string()) for key in keys]), flavor="hive"
        )
        return dataset_source(ds.dataset(files, format="parquet", partitioning=flavour))
    except (OSError, pyarrow.ArrowException) as error:
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
    """Whether the name, or that of a folder on the way, is one that writers use for themselves."""
    return any(part[:1] in "._" for part in os.path.relpath(path, root).split(os.sep))


# Readers that were handed to `reader_source` and read: nothing is left in them.
_read: weakref.WeakSet[Any] = weakref.WeakSet()


def reader_source(reader: pyarrow.RecordBatchReader) -> RowSource:
    """Return a stream that can be read once as a source.

    Raises SchemaError if it was read before.
    """
    if reader in _read:
        raise SchemaError(
            "data",
            "this RecordBatchReader has been read, and a stream can be read once only",
            "make another, or give a table, a pyarrow dataset or a path",
        )

    def read(columns: Sequence[str]) -> Iterable[Any]:
        _read.add(reader)
        return pieces(batch.select(list(columns)) for batch in reader)

    return StreamSource(arrow_schema(reader.schema), read)


def pieces(batches: Iterable[Any]) -> Iterator[Any]:
    """Divide batches that are longer than others are."""
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)
