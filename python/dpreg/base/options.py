"""Types of options, checked against the annotations of their class."""

from __future__ import annotations

import math
import numbers
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, TypeGuard, Union

from dpreg.base.errors import Pieces, Words, leave_out, unusable, write


@dataclass(frozen=True, slots=True)
class Limit:
    """What the values of an option must be, beside its type."""

    wanted: Words
    holds: Callable[[Any], bool]
    advice: tuple[Words, ...] = ()

    def check(self, name: str, value: object) -> None:
        """Refuse a value that is not so."""
        if not self.holds(value):
            raise unusable(name, self.wanted, value, *self.advice)

    def option(self, default: Any) -> Any:
        """Return the field of a class of options; None need not be so."""
        return field(default=default, metadata={"limit": self})


def check_options(options: Any) -> None:
    """Refuse an option that is beyond its limit or not of its annotated type, and NaN.

    options: annotated with int, float, str, literals, tuples, mappings, classes, None and unions.
    """
    for name, hint in _hints(options.__class__).items():
        value, kinds = getattr(options, name), alternatives(hint)
        if not any(_fits(value, kind) for kind in kinds):
            raise unusable(name, kind_of(hint), value, _instead(name, value, options, kinds))
    for each in fields(options):
        value = getattr(options, each.name)
        if value is not None and "limit" in each.metadata:
            each.metadata["limit"].check(each.name, value)


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the annotation of each field: read for each call, they were 4% of a small fit."""
    hints = typing.get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


def _instead(name: str, value: Any, options: Any, kinds: tuple[Any, ...]) -> Pieces:
    """Return what to write: the whole number that a number is near to, or the default."""
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if _FITS[float][1](number) and 1 <= number < 1e15 and {int, float} & set(kinds):
        return write(name, round(number))
    default = next(each.default for each in fields(options) if each.name == name)
    plain = isinstance(default, (numbers.Real, str))
    return write(name, default) if plain else leave_out(name)


def kind_of(hint: Any) -> str:
    """Return what a value with this annotation must be, in words."""
    return " or ".join(_spelled(kind) for kind in alternatives(hint))


def alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, and of anything else itself."""
    union = typing.get_origin(hint) in (Union, types.UnionType)
    return typing.get_args(hint) if union else (hint,)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a real number, of Python or numpy; a bool is one by accident only.

    An integer that no double holds is none.
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is an integer, of Python or numpy."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


_FITS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("a whole number", is_whole),
    float: ("a number", lambda value: is_number(value) and not math.isnan(value)),
    types.NoneType: ("None", lambda value: value is None),
    Mapping: ("a dict", lambda value: isinstance(value, Mapping)),
}


def _kind(hint: Any) -> Any:
    return typing.get_origin(hint) or hint


def _fits(value: object, hint: Any) -> bool:
    kind = _kind(hint)
    if kind is Literal:
        return isinstance(value, str) and value in typing.get_args(hint)
    if kind is tuple:
        entry = typing.get_args(hint)[0]
        return isinstance(value, (tuple, list)) and all(_fits(v, entry) for v in value)
    return _FITS[kind][1](value) if kind in _FITS else isinstance(value, kind)


def _spelled(hint: Any) -> str:
    kind = _kind(hint)
    if kind is Literal:
        return " or ".join(map(repr, typing.get_args(hint)))
    if kind is tuple:
        return "a tuple or list"
    if kind in _FITS:
        return _FITS[kind][0]
    return f"a {kind.__name__}"
