"""The cells of one column, in the forms that every container has in common.

Whatever a cell is, it becomes a number, the position of a level, or the key of a unit by itself,
and what cannot become one is missing.  Nothing here raises, warns or prints because of a cell:
cells of declared types are converted by their bytes, and objects only when their type is one of
those listed, by the methods of that type.

A key is a tag for the type and the value in bytes, so that equal keys mean equal values of one
type: 1 is not "1", nor True, nor 1.0; -0.0 is 0.0; NaN is missing; text is compared as stored,
timestamps with a zone by their instant, whatever the unit they are counted in.
"""

from __future__ import annotations

import datetime
import decimal
import math
import struct
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpreg.data.schema import Level

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Cells", "Coded", "Decimals", "Numbers", "Objects", "Texts", "Ticks"]

Doubles = NDArray[np.float64]
Codes = NDArray[np.int32]

_NANOS = 10**9
# A double beyond holds whole numbers only, and this many bits hold any integer of a container.
_INTEGER_BYTES = 16


class Cells(Protocol):
    """One column of a batch of rows.  Private.  Total, and row by row."""

    def __len__(self) -> int: ...

    def numbers(self) -> Doubles:
        """Return the nearest doubles, NaN where a cell is missing or not a number."""
        ...

    def codes(self, levels: Sequence[Level]) -> Codes:
        """Return the position of each cell in `levels`, -1 where it has none."""
        ...

    def keys(self) -> pyarrow.LargeBinaryArray:
        """Return the key of each cell, null where it is missing or has none."""
        ...


@dataclass(frozen=True, slots=True)
class Numbers:
    """Integers, floats or booleans.

    Attributes
    ----------
    values : ndarray
        Of any numeric type.
    missing : ndarray of bool, or None
        None: no cell is, NaN apart.
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Doubles:
        """See `Cells.numbers`."""
        with np.errstate(all="ignore"):
            doubles = self.values.astype(np.float64, copy=self.missing is not None)
        if self.missing is not None:
            doubles[self.missing] = np.nan
        return doubles

    def codes(self, levels: Sequence[Level]) -> Codes:
        """See `Cells.codes`; levels are compared by value, exactly."""
        found = np.full(len(self.values), -1, dtype=np.int32)
        for position, level in enumerate(levels):
            same = _as_type(level, self.values.dtype)
            if same is not None:
                found[self.values == same] = position
        if self.missing is not None:
            found[self.missing] = -1
        return found

    def keys(self) -> pyarrow.LargeBinaryArray:
        """See `Cells.keys`."""
        kind = self.values.dtype.kind
        missing = self.missing
        if kind == "f":
            with np.errstate(all="ignore"):
                # Adding 0 makes -0.0 the other zero.
                doubles = self.values.astype(np.float64) + 0.0
                rest = (self.values - doubles).astype(np.float64)
            absent = np.isnan(doubles)
            missing = absent if missing is None else missing | absent
            if self.values.dtype.itemsize <= 8:
                return _fixed_keys(b"f", _bytes(doubles, ">f8"), missing)
            # Of more precision than a double: what is left of it is one more.
            pair = np.hstack([_bytes(doubles, ">f8"), _bytes(rest, ">f8")])
            return _fixed_keys(b"F", pair, missing)
        if kind == "b":
            return _fixed_keys(b"b", self.values.astype(np.uint8).reshape(-1, 1), missing)
        low = _bytes(self.values, ">u8" if kind == "u" else ">i8")
        negative = (self.values < 0) if kind == "i" else np.zeros(len(self.values), dtype=bool)
        high = np.repeat(np.where(negative, np.uint8(255), np.uint8(0))[:, None], 8, axis=1)
        return _fixed_keys(b"i", np.hstack([high, low]), missing)


def _as_type(level: Level, dtype: np.dtype[Any]) -> Any:
    """Return `level` as a value of a numeric type; None if it is none of its values."""
    if isinstance(level, str):
        return None
    try:
        with np.errstate(all="ignore"):
            value = dtype.type(level)
        return value if value == level else None
    except (OverflowError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Texts:
    """Text, as bytes that need not be valid UTF-8, or plain bytes.

    Attributes
    ----------
    values : pyarrow LargeBinaryArray
    tag : bytes
        ``b"s"`` for text, ``b"y"`` for bytes.
    """

    values: pyarrow.LargeBinaryArray
    tag: bytes = b"s"

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Doubles:
        """See `Cells.numbers`: text is not a number, whatever it spells."""
        return np.full(len(self.values), np.nan)

    def codes(self, levels: Sequence[Level]) -> Codes:
        """See `Cells.codes`."""
        if self.tag != b"s":
            return np.full(len(self.values), -1, dtype=np.int32)
        wanted = {
            level.encode("utf-8", "surrogatepass"): position
            for position, level in enumerate(levels)
            if isinstance(level, str)
        }
        return _by_entry(self.values.dictionary_encode(), wanted)

    def keys(self) -> pyarrow.LargeBinaryArray:
        """See `Cells.keys`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        tag, nothing = (pa.scalar(b, pa.large_binary()) for b in (self.tag, b""))
        return pc.binary_join_element_wise(tag, self.values, nothing)


def _by_entry(encoded: Any, wanted: dict[Any, int]) -> Codes:
    """Look the entries of a dictionary up, and then the cells by their entry."""
    entries = [wanted.get(entry, -1) for entry in encoded.dictionary.to_pylist()]
    # The last place is that of missing cells.
    table = np.array([*entries, -1], dtype=np.int32)
    places = encoded.indices.fill_null(len(entries)).to_numpy(zero_copy_only=False)
    return np.asarray(table[places])


@dataclass(frozen=True, slots=True)
class Ticks:
    """Dates, times, timestamps or durations, which are neither numbers nor levels.

    Attributes
    ----------
    values : ndarray of int64
    per_second : int
        1, 1000, 10**6 or 10**9; or 0: days.
    tag : bytes
    missing : ndarray of bool, or None
    """

    values: NDArray[np.int64]
    per_second: int
    tag: bytes
    missing: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Doubles:
        """See `Cells.numbers`."""
        return np.full(len(self.values), np.nan)

    def codes(self, levels: Sequence[Level]) -> Codes:
        """See `Cells.codes`."""
        return np.full(len(self.values), -1, dtype=np.int32)

    def keys(self) -> pyarrow.LargeBinaryArray:
        """See `Cells.keys`: whole seconds, and nanoseconds beyond them."""
        if self.per_second == 0:
            seconds, rest = self.values * 86400, np.zeros_like(self.values)
        else:
            seconds, rest = np.divmod(self.values, self.per_second)
            rest *= _NANOS // self.per_second
        payload = np.hstack([_bytes(seconds, ">i8"), _bytes(rest, ">u4")])
        return _fixed_keys(self.tag, payload, self.missing)


@dataclass(frozen=True, slots=True)
class Decimals:
    """Decimal numbers of a container that has a type for them.

    Attributes
    ----------
    values : pyarrow Array
        Of a decimal type.
    """

    values: pyarrow.Array

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Doubles:
        """See `Cells.numbers`."""
        return self._coded().numbers()

    def codes(self, levels: Sequence[Level]) -> Codes:
        """See `Cells.codes`."""
        return self._coded().codes(levels)

    def keys(self) -> pyarrow.LargeBinaryArray:
        """See `Cells.keys`."""
        return self._coded().keys()

    def _coded(self) -> Coded:
        # Entries one by one: the conversion of Arrow does not give the nearest double.
        encoded = self.values.dictionary_encode()
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return Coded(places, Objects(encoded.dictionary.to_pylist()))


@dataclass(frozen=True, slots=True)
class Coded:
    """Cells that are positions in a list of entries: categories and dictionaries.

    Attributes
    ----------
    positions : ndarray of int
        Negative where a cell is missing.
    entries : Cells
    """

    positions: NDArray[np.signedinteger[Any]]
    entries: Cells

    def __len__(self) -> int:
        return len(self.positions)

    def numbers(self) -> Doubles:
        """See `Cells.numbers`."""
        return np.append(self.entries.numbers(), np.nan)[self._places()]

    def codes(self, levels: Sequence[Level]) -> Codes:
        """See `Cells.codes`."""
        return np.append(self.entries.codes(levels), np.int32(-1))[self._places()]

    def keys(self) -> pyarrow.LargeBinaryArray:
        """See `Cells.keys`."""
        import pyarrow as pa

        missing = (self.positions < 0) | (self.positions >= len(self.entries))
        return self.entries.keys().take(pa.array(self.positions, mask=missing))

    def _places(self) -> NDArray[np.intp]:
        """Positions, and one beyond the entries where a cell is missing."""
        size = len(self.entries)
        inside = (self.positions >= 0) & (self.positions < size)
        return np.where(inside, self.positions, size).astype(np.intp)


@dataclass(frozen=True, slots=True)
class Objects:
    """Python objects of any kind.

    Attributes
    ----------
    values : sequence
    """

    values: Sequence[Any]

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Doubles:
        """See `Cells.numbers`."""
        return np.fromiter(map(_number, self.values), np.float64, len(self.values))

    def codes(self, levels: Sequence[Level]) -> Codes:
        """See `Cells.codes`."""
        wanted = {level: k for k, level in enumerate(levels)}
        found = (wanted.get(_plain(cell), -1) for cell in self.values)
        return np.fromiter(found, np.int32, len(self.values))

    def keys(self) -> pyarrow.LargeBinaryArray:
        """See `Cells.keys`."""
        import pyarrow as pa

        return pa.array([_key(cell) for cell in self.values], pa.large_binary())


def _bytes(values: NDArray[Any], dtype: str) -> NDArray[np.uint8]:
    """Return the bytes of each value as a row."""
    width = np.dtype(dtype).itemsize
    return values.astype(dtype).view(np.uint8).reshape(len(values), width)


def _fixed_keys(
    tag: bytes, payload: NDArray[np.uint8], missing: NDArray[np.bool_] | None
) -> pyarrow.LargeBinaryArray:
    """Return keys of one tag whose payloads, the rows of an array, have one length."""
    import pyarrow as pa

    rows, width = payload.shape
    content = np.empty((rows, 1 + width), dtype=np.uint8)
    content[:, 0] = tag[0]
    content[:, 1:] = payload
    offsets = np.arange(rows + 1, dtype=np.int64) * (1 + width)
    valid = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(content)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), rows, buffers)


# Python objects.  Only the types below are looked into, and by the methods of the type itself:
# what a subclass does when it is converted, compared or hashed is never run.

_REAL = (float, np.floating)
_WHOLE = (int, np.integer)
_TRUTH = (bool, np.bool_)


def _is(cell: Any, types: tuple[type, ...]) -> bool:
    return issubclass(type(cell), types)


def _number(cell: Any) -> float:
    """Return a cell as a double; NaN, so missing, when it is not a number."""
    plain = _plain(cell)
    if isinstance(plain, str):
        return math.nan
    try:
        return float(plain)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def _plain(cell: Any) -> Any:
    """Return a number or a text as one of Python's own; None for everything else."""
    if _is(cell, _TRUTH):
        return bool.__bool__(cell) if type(cell) is bool else bool(np.bool_.item(cell))
    if _is(cell, _WHOLE) and not _is(cell, (np.timedelta64,)):  # which is an integer to numpy
        return int.__int__(cell) if _is(cell, (int,)) else int(np.generic.item(cell))
    if _is(cell, _REAL):
        return float.__float__(cell) if _is(cell, (float,)) else float(np.generic.item(cell))
    if _is(cell, (str,)):
        return str.__str__(cell)
    if type(cell) is decimal.Decimal and decimal.Decimal.is_finite(cell):
        return cell
    return None


def _key(cell: Any) -> bytes | None:
    """Return the key of an object; None when it is missing or of a type that has no keys."""
    if _is(cell, (np.longdouble,)):  # more digits than the float that `_plain` makes of it
        key: bytes | None = Numbers(np.array([cell])).keys()[0].as_py()
        return key
    plain = _plain(cell)
    if plain is not None:
        return _plain_key(plain)
    if _is(cell, (bytes,)):
        return b"y" + bytes.__getitem__(cell, slice(None))
    if type(cell) is uuid.UUID:
        return b"u" + cell.bytes
    try:
        return _time_key(cell)
    except BaseException:  # a zone of its own that fails
        return None


def _plain_key(value: Any) -> bytes | None:
    if isinstance(value, bool):
        return b"b" + bytes([value])
    if isinstance(value, int):
        return _integer_key(value)
    if isinstance(value, float):
        return None if math.isnan(value) else b"f" + struct.pack(">d", value + 0.0)
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    # Digit by digit: as an integer it may be too long for Python to print.
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    number = text.rstrip("0")
    if not number:
        return b"d0e0"
    return b"d" + f"{'-' * sign}{number}e{exponent + len(text) - len(number)}".encode()


def _integer_key(value: int) -> bytes:
    if -(1 << 127) <= value < 1 << 127:
        return b"i" + value.to_bytes(_INTEGER_BYTES, "big", signed=True)
    return b"I" + value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


_EPOCH = datetime.date(1970, 1, 1).toordinal()


def _time_key(cell: Any) -> bytes | None:
    """Return the key of a date, a time, a timestamp or a duration of Python, numpy or pandas."""
    if _is(cell, (np.datetime64, np.timedelta64)):
        return _numpy_key(cell)
    if type(cell).__module__.partition(".")[0] not in ("datetime", "pandas"):
        return None
    if _is(cell, (datetime.datetime,)):
        nanos = getattr(cell, "nanosecond", 0)
        offset = cell.utcoffset()
        whole = cell.replace(tzinfo=None) - (offset or datetime.timedelta())
        days = whole.toordinal() - _EPOCH
        seconds = days * 86400 + whole.hour * 3600 + whole.minute * 60 + whole.second
        return _ticks(b"N" if offset is None else b"Z", seconds, whole.microsecond * 1000 + nanos)
    if _is(cell, (datetime.date,)):
        return _ticks(b"D", (cell.toordinal() - _EPOCH) * 86400, 0)
    if _is(cell, (datetime.time,)) and cell.tzinfo is None:
        seconds = cell.hour * 3600 + cell.minute * 60 + cell.second
        return _ticks(b"T", seconds, cell.microsecond * 1000)
    if _is(cell, (datetime.timedelta,)):
        nanos = getattr(cell, "nanoseconds", 0)
        return _ticks(b"P", cell.days * 86400 + cell.seconds, cell.microseconds * 1000 + nanos)
    return None


# Nanoseconds; other units of numpy are no whole number of them.
_UNITS = {"ns": 1, "us": 1000, "ms": 10**6, "s": _NANOS, "m": 60 * _NANOS, "h": 3600 * _NANOS,
          "D": 86400 * _NANOS, "W": 604800 * _NANOS}  # fmt: skip


def _numpy_key(cell: Any) -> bytes | None:
    unit, count = np.datetime_data(cell.dtype)
    if unit not in _UNITS or np.isnat(cell):
        return None
    tag = b"N" if _is(cell, (np.datetime64,)) else b"P"
    return _ticks(tag, *divmod(int(cell.view("i8")) * count * _UNITS[unit], _NANOS))


def _ticks(tag: bytes, seconds: int, nanos: int) -> bytes:
    return tag + struct.pack(">qI", seconds, nanos)
