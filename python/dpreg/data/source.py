"""Where rows come from: a schema, which is public, and batches of rows, which are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dpreg.data.arrow import arrow_cells
from dpreg.data.cells import Cells
from dpreg.data.schema import Column, Schema

# Rows of a batch, so that a few of its columns fit in the processor's cache.
BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, repr=False)
class Batch:
    """Some rows of a table.  Private."""

    cells: Mapping[str, Cells]  # Of the requested columns.
    rows: int


class RowSource(Protocol):
    """A table that can be read repeatedly, in batches of rows."""

    schema: Schema  # Known without reading a row.

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Read these columns; results must not depend on how rows are divided into batches.

        Raises SourceError if the source fails.  The message of the source, which may describe a
            record, is withheld.
        """


class MemorySource:
    """Columns in memory, each sliced on demand.

    columns: the public part of each, and ``cells(slice)``.
    rows: returns the number of rows; called when batches are read.
    """

    def __init__(
        self,
        columns: Mapping[str, tuple[Column, Callable[[slice], Cells]]],
        rows: Callable[[], int],
    ) -> None:
        self.schema = Schema({name: column for name, (column, _) in columns.items()})
        self._cells = {name: cells for name, (_, cells) in columns.items()}
        self._rows = rows

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        total = self._rows()
        for start in range(0, total, BATCH_ROWS):
            part = slice(start, min(start + BATCH_ROWS, total))
            cells = {name: quietly(self._cells[name], part) for name in columns}
            yield Batch(cells, part.stop - part.start)


class StreamSource:
    """Arrow record batches from anything that can produce them repeatedly.

    read: ``read(columns)`` starts anew and returns an iterable of record batches.
    """

    def __init__(self, schema: Schema, read: Callable[[Sequence[str]], Any]) -> None:
        self.schema = schema
        self._read = read

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        stream = quietly(iter, quietly(self._read, columns))
        while (batch := quietly(next, stream, None)) is not None:
            cells = {name: arrow_cells(batch.column(name)) for name in columns}
            yield Batch(cells, batch.num_rows)


class SourceError(RuntimeError):
    """A file or another source of rows failed while it was read, after the budget was charged.

    Examples are a damaged file, a lost connection, or a lazy query that raises.  Whether a source
    fails is not covered by the guarantee.  The message names the type of the error and withholds
    the message of the source.

    Examples
    --------
    >>> import dpreg, pyarrow as pa
    >>> def broken():
    ...     yield pa.record_batch({"y": [1.0], "x": [2.0]})
    ...     raise OSError("connection lost")
    >>> schema = pa.schema({"y": pa.float64(), "x": pa.float64()})
    >>> rows = pa.RecordBatchReader.from_batches(schema, broken())
    >>> try:
    ...     dpreg.dp_lm("y ~ x", rows, 1.0)
    ... except dpreg.SourceError:
    ...     print("the budget was charged, and the source failed")
    the budget was charged, and the source failed
    """


def quietly(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call another library and suppress its output, which may describe a record."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return call(*arguments)
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:  # a polars panic is not an Exception
        kind = type(error).__name__
    raise SourceError(
        f"data: reading the source failed ({kind}).  Its message may contain records and is not "
        "shown; the budget is charged.  Read the source without dpreg to see the message"
    )
