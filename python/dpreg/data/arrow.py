"""Convert Arrow arrays to cells, by their declared type alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Flags
from dpreg.base.later import pa
from dpreg.data.cells import Cells, Coded, Numbers, Texts, Ticks
from dpreg.data.objects import Objects
from dpreg.data.schema import Column, Schema, all_different

PER_SECOND = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


def arrow_column(name: str, kind: pa.DataType) -> Column:
    """Return what is public about a column of an Arrow type.

    A dictionary, ordered or not, declares no levels: its entries are part of the data.
    """
    if pa.types.is_dictionary(kind):
        inner = arrow_column(name, kind.value_type)
        return Column(name, "text", holds="text") if inner.kind == "text" else inner
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Column(name, "numeric", holds="numbers")
    if pa.types.is_boolean(kind):
        return Column(name, "numeric", holds="numbers", truth=True)
    if is_text(kind):
        return Column(name, "text", holds="text")
    return Column(name, "other", holds=_holds(kind))


def arrow_schema(schema: pa.Schema) -> Schema:
    """Return the public schema of an Arrow schema."""
    names = zip(all_different(schema.names), schema.types, strict=True)
    return Schema({name: arrow_column(name, kind) for name, kind in names})


def is_text(kind: Any) -> bool:
    """Whether cells of a type are text."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def _holds(kind: Any) -> str:
    named = (
        (pa.types.is_date, "dates"), (pa.types.is_time, "times"),
        (pa.types.is_timestamp, "timestamps"), (pa.types.is_duration, "durations"),
        (_is_bytes, "bytes"), (pa.types.is_nested, "lists"), (pa.types.is_null, "nulls"),
    )  # fmt: skip
    return next((word for test, word in named if test(kind)), "values of another type")


def _is_bytes(kind: Any) -> bool:
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view,
             pa.types.is_fixed_size_binary)  # fmt: skip
    return any(test(kind) for test in tests)


def arrow_cells(array: pa.Array) -> Cells:
    """Return the cells of one array."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return arrow_cells(array.storage)
    if pa.types.is_dictionary(kind):
        positions = array.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        missing = _missing(array.indices)
        return Coded(
            positions if missing is None else np.where(missing, -1, positions),
            arrow_cells(array.dictionary),
        )
    if pa.types.is_boolean(kind):
        truth = array.fill_null(False).cast(pa.uint8()).to_numpy(zero_copy_only=False)
        return Numbers(truth.astype(bool), _missing(array))
    if pa.types.is_decimal(kind):
        wide = array if kind.bit_width >= 128 else array.cast(pa.decimal128(38, kind.scale))
        # One entry at a time: Arrow's own conversion does not give the nearest double.
        encoded = wide.dictionary_encode()
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return Coded(places, Objects(encoded.dictionary.to_pylist()))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return Numbers(_fixed(array, kind.to_pandas_dtype()), _missing(array))
    if is_text(kind) or _is_bytes(kind):
        # As bytes: whether text is valid UTF-8 depends on a record.
        return Texts(array.cast(pa.large_binary()), b"s" if is_text(kind) else b"y")
    ticks = _ticks(kind)
    if ticks is not None:
        storage, per_second, tag = ticks
        values, missing = _fixed(array, storage).astype(np.int64), _missing(array)
        if tag == b"T":  # polars treats times outside a day as missing
            outside = (values < 0) | (values >= 86400 * per_second)
            missing = outside if missing is None else outside | missing
        return Ticks(values, per_second, tag, missing)
    # Types without a representation here are missing in every row, whatever the values.
    return Objects([None] * len(array))


def _ticks(kind: Any) -> tuple[type[np.signedinteger[Any]], int, bytes] | None:
    """Return integer type, ticks per second (0: days) and tag of a temporal type."""
    if pa.types.is_date32(kind):
        return np.int32, 0, b"D"
    if pa.types.is_date64(kind):
        return np.int64, 1000, b"D"
    if pa.types.is_time(kind):
        storage = np.int32 if pa.types.is_time32(kind) else np.int64
        return storage, PER_SECOND[kind.unit], b"T"
    if pa.types.is_timestamp(kind):
        return np.int64, PER_SECOND[kind.unit], b"N" if kind.tz is None else b"Z"
    if pa.types.is_duration(kind):
        return np.int64, PER_SECOND[kind.unit], b"P"
    return None


def _fixed(array: Any, dtype: Any) -> NDArray[Any]:
    """Return the values of a fixed-width array; values at nulls are arbitrary."""
    content = array.buffers()[1]
    if content is None or len(array) == 0:
        return np.zeros(len(array), dtype=dtype)
    return np.frombuffer(content, dtype=dtype, count=len(array), offset=array.offset
                         * np.dtype(dtype).itemsize)  # fmt: skip


def _missing(array: Any) -> Flags | None:
    if array.null_count == 0:
        return None
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)
