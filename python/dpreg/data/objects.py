"""Cells that are Python objects of any kind.

Only the types below are inspected, by the methods of the type itself: the conversion, comparison
and hash methods of subclasses are never run.
"""

from __future__ import annotations

import datetime
import decimal
import math
import struct
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.later import pa
from dpreg.base.levels import Level
from dpreg.data.cells import MOST_WHOLE, NANOS, Codes, Numbers

# Bytes that hold any integer of a container.
_INTEGER_BYTES = 16


@dataclass(frozen=True, slots=True, repr=False)
class Objects:
    """Python objects of any kind."""

    values: Sequence[Any]

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Doubles:
        return np.fromiter(map(_number, self.values), np.float64, len(self.values))

    def codes(self, levels: Sequence[Level]) -> Codes:
        wanted = {level: k for k, level in enumerate(levels)}
        found = (wanted.get(_plain(cell), -1) for cell in self.values)
        return np.fromiter(found, np.int32, len(self.values))

    def keys(self) -> pa.LargeBinaryArray:
        return pa.array([_key(cell) for cell in self.values], pa.large_binary())


_REAL = (float, np.floating)
_WHOLE = (int, np.integer)
_TRUTH = (bool, np.bool_)


def _is(cell: Any, types: tuple[type, ...]) -> bool:
    return issubclass(type(cell), types)


def _number(cell: Any) -> float:
    """Return a cell as a double; NaN (missing) if it is not a number."""
    plain = _plain(cell)
    if isinstance(plain, str):
        return math.nan
    try:
        return float(plain)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def _plain(cell: Any) -> Any:
    """Return a number or text as a built-in Python value; None for everything else."""
    if _is(cell, _TRUTH):
        return bool.__bool__(cell) if type(cell) is bool else bool(np.bool_.item(cell))
    if _is(cell, _WHOLE) and not _is(cell, (np.timedelta64,)):  # numpy has it among the integers
        return int.__int__(cell) if _is(cell, (int,)) else int(np.generic.item(cell))
    if _is(cell, _REAL):
        return float.__float__(cell) if _is(cell, (float,)) else float(np.generic.item(cell))
    if _is(cell, (str,)):
        return str.__str__(cell)
    if type(cell) is decimal.Decimal and decimal.Decimal.is_finite(cell):
        return cell
    return None


def _key(cell: Any) -> bytes | None:
    """Return the key of an object; None if it is missing or its type has no keys."""
    if _is(cell, (np.longdouble,)):  # `_plain` would lose digits
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
    except BaseException:  # a custom time zone may fail
        return None


def _plain_key(value: Any) -> bytes | None:
    if isinstance(value, bool):
        return b"b" + bytes([value])
    if isinstance(value, int):
        return _integer_key(value)
    if isinstance(value, float):
        if abs(value) < MOST_WHOLE and value.is_integer():
            return _integer_key(int(value))
        return None if math.isnan(value) else b"f" + struct.pack(">d", value + 0.0)
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    # By its digits: Python refuses to print very long integers.
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


# In nanoseconds; numpy's other units are not whole numbers of nanoseconds.
_UNITS = {"ns": 1, "us": 1000, "ms": 10**6, "s": NANOS, "m": 60 * NANOS, "h": 3600 * NANOS,
          "D": 86400 * NANOS, "W": 604800 * NANOS}  # fmt: skip


def _numpy_key(cell: Any) -> bytes | None:
    unit, count = np.datetime_data(cell.dtype)
    if unit not in _UNITS or np.isnat(cell):
        return None
    tag = b"N" if _is(cell, (np.datetime64,)) else b"P"
    return _ticks(tag, *divmod(int(cell.view("i8")) * count * _UNITS[unit], NANOS))


def _ticks(tag: bytes, seconds: int, nanos: int) -> bytes:
    return tag + struct.pack(">qI", seconds, nanos)
