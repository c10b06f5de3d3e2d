"""The cells of one column, in forms common to all containers.

Each cell becomes a number, the index of a level, or the key of a unit, independently of other
cells; a cell that cannot be converted is missing.  Nothing here raises, warns or prints because of
a cell: cells of declared types are converted by their bytes, and objects only if their type is
listed, by the methods of that type.

A key is a tag for the kind of value followed by the value in bytes, so that equal keys mean equal
values of one kind. 1 differs from "1" and from True but equals 1.0, since readers convert integers
to floats where another cell is missing. -0.0 equals 0.0.  NaN is missing, and so is a time outside
a day.  Text is compared as stored; timestamps with a zone are compared by instant, whatever their
unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.base.later import pa, pc
from dpreg.base.levels import Level

Codes = NDArray[np.int32]

NANOS = 10**9
# Whole floats below it have the keys of integers.
MOST_WHOLE = 2.0**63


class Cells(Protocol):
    """One column of a batch of rows.  Private.  Conversions are total and act on each row alone."""

    def __len__(self) -> int: ...

    def numbers(self) -> Doubles:
        """Return the nearest doubles, NaN where a cell is missing or not a number."""

    def codes(self, levels: Sequence[Level]) -> Codes:
        """Return the index of each cell in `levels`, -1 where it is none of them."""

    def keys(self) -> pa.LargeBinaryArray:
        """Return the key of each cell; null if it is missing or has no key."""


@dataclass(frozen=True, slots=True, repr=False)
class Numbers:
    """Integers, floats or booleans."""

    values: NDArray[Any]  # Of any numeric type.
    missing: Flags | None = None  # None: no cell except NaN.

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Doubles:
        with np.errstate(all="ignore"):
            doubles = self.values.astype(np.float64, copy=self.missing is not None)
        if self.missing is not None:
            doubles[self.missing] = np.nan
        # Fields of records may be unaligned, which the core cannot read.
        return np.require(doubles, requirements="A")

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

    def keys(self) -> pa.LargeBinaryArray:
        kind = self.values.dtype.kind
        if kind == "f":
            return _float_keys(self.values, self.missing)
        if kind == "b":
            return _fixed_keys(b"b", self.values.astype(np.uint8).reshape(-1, 1), self.missing)
        return _integer_keys(self.values, self.missing)


def _float_keys(values: NDArray[np.floating[Any]], missing: Flags | None) -> pa.LargeBinaryArray:
    """Return keys of floats: whole numbers as integers, extended precision in two parts."""
    with np.errstate(all="ignore"):
        # Adding 0 turns -0.0 into 0.0.
        doubles = values.astype(np.float64) + 0.0
        rest = (values - doubles).astype(np.float64)
        absent = np.isnan(doubles) if missing is None else missing | np.isnan(doubles)
        whole = (np.abs(doubles) < MOST_WHOLE) & (np.floor(doubles) == doubles) & (rest == 0)
        integers = _integer_keys(np.where(whole, doubles, 0).astype(np.int64), absent)
    keys = _fixed_keys(b"f", _bytes(doubles, ">f8"), absent)
    exact = (rest == 0) | ~np.isfinite(doubles)
    if not exact.all():  # a type with more precision than a double
        pair = np.hstack([_bytes(doubles, ">f8"), _bytes(rest, ">f8")])
        keys = pc.if_else(pa.array(exact), keys, _fixed_keys(b"F", pair, absent))
    return pc.if_else(pa.array(whole), integers, keys)


def _integer_keys(values: NDArray[np.integer[Any]], missing: Flags | None) -> pa.LargeBinaryArray:
    kind = values.dtype.kind
    low = _bytes(values, ">u8" if kind == "u" else ">i8")
    negative = (values < 0) if kind == "i" else np.zeros(len(values), dtype=bool)
    high = np.repeat(np.where(negative, np.uint8(255), np.uint8(0))[:, None], 8, axis=1)
    return _fixed_keys(b"i", np.hstack([high, low]), missing)


def _as_type(level: Level, dtype: np.dtype[Any]) -> Any:
    """Return `level` as a value of a numeric type; None if the type has no such value."""
    if isinstance(level, str):
        return None
    try:
        with np.errstate(all="ignore"):
            value = dtype.type(level)
        return value if value == level else None
    except (OverflowError, ValueError):
        return None


class _NoNumbers:
    """Cells that are never numbers, and are levels only where a subclass says so."""

    __slots__ = ()

    def numbers(self: Cells) -> Doubles:
        return np.full(len(self), np.nan)

    def codes(self: Cells, levels: Sequence[Level]) -> Codes:
        return np.full(len(self), -1, dtype=np.int32)


@dataclass(frozen=True, slots=True, repr=False)
class Texts(_NoNumbers):
    """Text, as bytes that need not be valid UTF-8, or bytes."""

    values: pa.LargeBinaryArray
    tag: bytes = b"s"  # ``b"s"`` for text, ``b"y"`` for bytes.

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, levels: Sequence[Level]) -> Codes:
        if self.tag != b"s":
            return _NoNumbers.codes(self, levels)
        wanted = {
            level.encode("utf-8", "surrogatepass"): position
            for position, level in enumerate(levels)
            if isinstance(level, str)
        }
        return by_entry(self.values.dictionary_encode(), lambda entry: wanted.get(entry, -1))

    def keys(self) -> pa.LargeBinaryArray:
        tag, nothing = (pa.scalar(b, pa.large_binary()) for b in (self.tag, b""))
        return pc.binary_join_element_wise(tag, self.values, nothing)


def by_entry(encoded: Any, number: Callable[[Any], int], dtype: Any = np.int32) -> NDArray[Any]:
    """Return, for each cell, the number of its dictionary entry; -1 where it is missing."""
    # The last index is for missing cells.
    table = np.array([*map(number, encoded.dictionary.to_pylist()), -1], dtype=dtype)
    places = encoded.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(table[places])


@dataclass(frozen=True, slots=True, repr=False)
class Ticks(_NoNumbers):
    """Dates, times, timestamps or durations: neither numbers nor levels."""

    values: Integers
    per_second: int  # 1, 1000, 10**6 or 10**9; or 0: days.
    tag: bytes
    missing: Flags | None = None

    def __len__(self) -> int:
        return len(self.values)

    def keys(self) -> pa.LargeBinaryArray:
        """See `Cells.keys`; a key has whole seconds and the remaining nanoseconds."""
        if self.per_second == 0:
            seconds, rest = self.values * 86400, np.zeros_like(self.values)
        else:
            seconds, rest = np.divmod(self.values, self.per_second)
            rest *= NANOS // self.per_second
        payload = np.hstack([_bytes(seconds, ">i8"), _bytes(rest, ">u4")])
        return _fixed_keys(self.tag, payload, self.missing)


@dataclass(frozen=True, slots=True, repr=False)
class Coded:
    """Cells that are indices into a list of entries: categories and dictionaries."""

    positions: NDArray[np.signedinteger[Any]]  # Negative where a cell is missing.
    entries: Cells

    def __len__(self) -> int:
        return len(self.positions)

    def numbers(self) -> Doubles:
        return np.append(self.entries.numbers(), np.nan)[self.places()]

    def codes(self, levels: Sequence[Level]) -> Codes:
        return np.append(self.entries.codes(levels), np.int32(-1))[self.places()]

    def keys(self) -> pa.LargeBinaryArray:
        places = self.places()
        return self.entries.keys().take(pa.array(places, mask=places == len(self.entries)))

    def places(self) -> NDArray[np.intp]:
        """Return indices; missing cells have the number of entries."""
        size, positions = len(self.entries), self.positions.astype(np.intp)
        return np.where((positions >= 0) & (positions < size), positions, size)


@dataclass(frozen=True, slots=True, repr=False)
class Joined:
    """The concatenated cells of several parts of a column."""

    parts: Sequence[Cells]  # At least one.

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def numbers(self) -> Doubles:
        return np.concatenate([part.numbers() for part in self.parts])

    def codes(self, levels: Sequence[Level]) -> Codes:
        return np.concatenate([part.codes(levels) for part in self.parts])

    def keys(self) -> pa.LargeBinaryArray:
        return pa.concat_arrays([part.keys() for part in self.parts])


def _bytes(values: NDArray[Any], dtype: str) -> NDArray[np.uint8]:
    """Return the bytes of each value as a row."""
    width = np.dtype(dtype).itemsize
    return values.astype(dtype).view(np.uint8).reshape(len(values), width)


def _fixed_keys(
    tag: bytes, payload: NDArray[np.uint8], missing: Flags | None
) -> pa.LargeBinaryArray:
    """Return keys with one tag; payloads are the rows of an array, all of one length."""
    rows, width = payload.shape
    content = np.empty((rows, 1 + width), dtype=np.uint8)
    content[:, 0] = tag[0]
    content[:, 1:] = payload
    offsets = np.arange(rows + 1, dtype=np.int64) * (1 + width)
    valid = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(content)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), rows, buffers)
