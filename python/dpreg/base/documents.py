"""Results as JSON, and back: what a document has to be like follows from its class.

A dataclass in a document may say: `_optional`, its one field that is left out where it is None;
`_derived`, properties with texts that are written too; `_unknown`, its numbers may be NaN, null in
JSON.
"""

from __future__ import annotations

import functools
import json
import math
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from dpreg.base.errors import shown
from dpreg.base.keywords import hinted


class Document:
    """A dataclass that is saved as JSON.

    A class says in `_document` what to say of something else, the kind, and the number of the
    format; `_blank`: numbers in its arrays may be missing; `_older`: which other field is what one
    was that older documents do not have.
    """

    __slots__ = ()
    _document: ClassVar[tuple[str, str, int]]
    _blank: ClassVar[bool] = False
    _older: ClassVar[Mapping[str, str]] = {}

    @hinted("to_json")
    def to_json(self) -> str:
        """Return everything as JSON; `from_json` reads it."""
        of = next(each for each in type(self).__mro__ if "_document" in vars(each))
        found = {name: _plain(getattr(self, name)) for name in _hints(of)}
        _, kind, number = self._document
        return json.dumps({kind: number, **found}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; a ValueError if `text` is something else."""
        what, kind, number = cls._document
        with reading(what, number):
            data = parsed(text, kind, number)
            older = {name: data[other] for name, other in cls._older.items() if other in data}
            found = read_fields(older | data, _hints(typing.cast(Any, cls)), blank=cls._blank)
            cls._check(found)
        return cls(**found)

    @classmethod
    def _check(cls, data: Mapping[str, Any]) -> None:
        """Raise a ValueError that names the first field which does not go with the others."""


def _plain(value: Any) -> Any:
    """Return plain data; None for NaN, which JSON does not have."""
    if isinstance(value, np.ndarray):
        objects = value.astype(object)
        objects[np.isnan(value)] = None
        return objects.tolist()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if not is_dataclass(value):
        return value
    found = {name: getattr(value, name) for name in getattr(value, "_derived", ())}
    found |= {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    optional = getattr(value, "_optional", None)
    if optional is not None and found[optional] is None:
        del found[optional]
    if getattr(value, "_unknown", False):
        return {name: None if math.isnan(number) else number for name, number in found.items()}
    return found


@contextmanager
def reading(what: str, number: int) -> Iterator[None]:
    """Name the kind of document and its format in the error of one that cannot be read."""
    try:
        yield
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{what} of format {number}: {error}") from None


def parsed(text: str, kind: str, number: int) -> dict[str, Any]:
    """Return what is in JSON, but for the number of the format of this kind of document."""
    if isinstance(text, str) and not text.lstrip().startswith("{"):
        raise ValueError("not JSON; give the text of a file, not its path: Path(name).read_text()")
    data: dict[str, Any] = json.loads(text)
    found = data.pop(kind, None)
    if found == number:
        return data
    if found is not None:
        raise ValueError(f"it is of format {shown(found)}, of another version of dpreg")
    other = next((name for name in data if name.startswith("dpreg_")), None)
    raise ValueError(f"it has no {kind}" + ("" if other is None else f", but {shown(other)}"))


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    found = typing.get_type_hints(cls)
    return {each.name: found[each.name] for each in fields(cls)}


def read_fields(
    value: Any,
    hints: Mapping[str, Any],
    path: str = "",
    *,
    blank: bool = False,
    may_lack: str | None = None,
) -> dict[str, Any]:
    """Return values of types, by name, from what is in a document.

    hints: a type for each name that has to be there, or the hints of an inner mapping.
    blank: numbers of arrays may be missing.
    may_lack: the one name that need not be there.
    Raises ValueError that says where something else is.
    """
    if not isinstance(value, dict) or value.keys() - {may_lack} != hints.keys() - {may_lack}:
        raise _unlike(path)
    start = path and f"{path}."
    return {name: _read(value[name], hints[name], start + name, blank) for name in value}


def _unlike(path: str) -> ValueError:
    return ValueError(f"{path or 'the document'} is not as in a result")


def _read(value: Any, hint: Any, path: str, blank: bool = False) -> Any:
    if isinstance(hint, dict):
        return read_fields(value, hint, path)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        chosen = next((one for one in inside if _fits(value, one)), inside[0])
        return _read(value, chosen, path, blank)
    if not _fits(value, hint):
        raise _unlike(path)
    if origin is np.ndarray:
        return _array(value, typing.get_args(inside[1])[0], path, blank)
    if origin is tuple:
        return tuple(_read(one, inside[0], f"{path}[{k}]") for k, one in enumerate(value))
    if origin is Mapping:
        return {name: _read(one, inside[1], f"{path}.{name}") for name, one in value.items()}
    if is_dataclass(hint):
        return _read_dataclass(value, hint, path)
    return int(value) if hint is int else value


def _array(value: Any, kind: Any, path: str, blank: bool) -> Any:
    def check(part: Any, at: str) -> None:
        for k, one in enumerate(part):
            if isinstance(one, list):
                check(one, f"{at}[{k}]")
            elif not (_fits(one, bool if kind is np.bool_ else float) or (blank and one is None)):
                raise _unlike(f"{at}[{k}]")

    check(value, path)
    try:
        return np.asarray(value, dtype=kind)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _read_dataclass(value: Any, hint: Any, path: str) -> Any:
    hints, derived = _hints(hint), dict.fromkeys(getattr(hint, "_derived", ()), str)
    if getattr(hint, "_unknown", False):
        found = read_fields(value, dict.fromkeys(hints, float | None), path)
        return hint(**{name: math.nan if v is None else v for name, v in found.items()})
    found = read_fields(value, hints | derived, path, may_lack=getattr(hint, "_optional", None))
    if issubclass(hint, Document):
        hint._check(found)
    return hint(**{name: one for name, one in found.items() if name in hints})


def _fits(value: Any, hint: Any) -> bool:
    """Whether the outermost of `value` is as a document has values of a type."""
    if hint is Any:
        return True
    if hint is object:
        return any(_fits(value, one) for one in (str, float, bool))
    if hint in (int, float):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and abs(value) <= sys.float_info.max
    origin = typing.get_origin(hint)
    if origin in (np.ndarray, tuple):
        return isinstance(value, list)
    if origin is Mapping or is_dataclass(hint):
        return isinstance(value, dict)
    return isinstance(value, str if origin is Literal else hint)
