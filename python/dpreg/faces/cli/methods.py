"""Options objects of methods and selectors, from what was typed."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dpreg.base.errors import ArgumentError, Choice, Setting, Value, closest
from dpreg.base.options import alternatives, kind_of
from dpreg.faces.cli.release import pair


def methods() -> Mapping[str, Any]:
    """Return what ``--method`` takes."""
    from dpreg.estimation.methods import METHODS

    return METHODS


def selectors() -> Mapping[str, Any]:
    """Return what ``--select`` takes."""
    from dpreg.estimation.selection import SELECTORS

    return SELECTORS


def build(given: dict[str, Any], argument: str, kinds: Mapping[str, Any], settings: str) -> None:
    """Put the options object of a method in the place of its name, if there is something to set.

    given: what was typed, by name; `settings` is taken out of it.
    """
    typed, name = given.pop(settings), given[argument]
    if name is not None:
        given[argument] = _built(name, kinds, typed, f"--{settings.replace('_', '-')}")


def _built(name: str, kinds: Mapping[str, Any], settings: Sequence[str], option: str) -> Any:
    """Return an options object; ``NAME=VALUE`` may be ``standardisation.NAME=VALUE``."""
    if not settings:
        return name
    if name not in kinds:
        raise ArgumentError(option, f"needs a method, and {name!r} is not one")
    given: dict[str, Any] = {}
    nested: dict[str, list[str]] = {}
    for setting in settings:
        key, text = pair(option, setting, "NAME=VALUE")
        outer, dot, inner = key.partition(".")
        if dot:
            nested.setdefault(outer, []).append(f"{inner}={text}")
        else:
            given[key] = _converted(kinds[name], name, option, key, text)
    for outer, inside in nested.items():
        hint = _hint(kinds[name], name, option, outer)
        given[outer] = _built(outer, {outer: hint}, inside, option)
    try:
        return kinds[name](**given)
    except ArgumentError as error:
        if error.argument not in {setting.partition("=")[0] for setting in settings}:
            raise
        typed_as = f"{option} {error.argument}"
        raise ArgumentError(typed_as, error.problem, *error.suggestion) from None


def _fields(kind: Any) -> dict[str, Any]:
    return {f.name: f for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {}


def _hint(kind: Any, name: str, option: str, key: str) -> Any:
    fields = _fields(kind)
    if key not in fields:
        meant = closest(key, fields)
        advice = [] if meant is None else [("write ", Setting(option, f"{meant}=..."))]
        problem = (f"{name!r} has no option {key!r}; it has ", Choice(tuple(fields)))
        raise ArgumentError(option, problem, *advice)
    return typing.get_type_hints(kind)[key]


def _converted(kind: Any, name: str, option: str, key: str, text: str) -> Any:
    """Return the value that a text stands for, by the type that the option is annotated with."""
    hint = _hint(kind, name, option, key)
    for one in alternatives(hint):
        read = _READERS.get(typing.get_origin(one) or one)
        try:
            if read is not None:
                return read(text, one)
        except (KeyError, ValueError):
            continue
    if dataclasses.is_dataclass(hint):
        inside = Choice(tuple(f"{key}.{field}=..." for field in _fields(hint)))
        raise ArgumentError(option, (f"{key!r} has options of its own: ", inside))
    kind = kind_of(hint).replace("None", "none").replace("a bool", "yes or no")
    raise ArgumentError(option, (f"{key!r} of {name!r} must be {kind}, got ", Value(text)))


_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
# Of a text and an annotation; KeyError or ValueError for a text that stands for no such value.
_READERS: dict[Any, Any] = {
    bool: lambda text, _: _TRUTHS[text.lower()],
    int: lambda text, _: int(text),
    float: lambda text, _: float(text),
    str: lambda text, _: text,
    Literal: lambda text, hint: {name: name for name in typing.get_args(hint)}[text],
    tuple: lambda text, _: tuple(text.split(",")),
    types.NoneType: lambda text, _: {"none": None}[text.lower()],
}


def described(kinds: Mapping[str, Any]) -> str:
    """List the options of all methods with their defaults, for help."""
    lines = []
    for name, kind in kinds.items():
        fields = [f for f in dataclasses.fields(kind) if f.name != "max_rows"]
        shown = []
        for field in fields:
            if field.default is dataclasses.MISSING:
                shown.append(f"{field.name}.NAME")
            elif isinstance(field.default, tuple):
                shown.append(f"{field.name}={','.join(field.default)}")
            else:
                shown.append(f"{field.name}={field.default}")
        lines.append(f"{name}: {', '.join(shown)}")
    return "\n\n".join(lines)
