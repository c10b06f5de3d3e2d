"""What options of several commands are made of."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from dpreg.base.errors import ArgumentError

Command = Callable[..., Any]


def offering(names: Callable[[], Sequence[str]]) -> Callable[..., list[CompletionItem]]:
    """Return what completes one of the names, which are looked up when somebody asks."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names() if name.startswith(begun)]

    return complete


def method_names() -> Sequence[str]:
    """Return what ``--method`` takes."""
    from dpreg.estimation.methods import METHODS

    return list(METHODS)


def selector_names() -> Sequence[str]:
    """Return what ``--select`` takes."""
    from dpreg.estimation.selection import SELECTORS

    return list(SELECTORS)


def method_options(argument: str, what: str) -> Callable[[Command], Command]:
    """Return a decorator that adds options of a method."""
    return click.option(
        f"--{argument}", multiple=True, metavar="NAME=VALUE",
        help=f"An option of {what}, see below; may be repeated.",
    )  # fmt: skip


def pair(option: str, declaration: str, form: str) -> tuple[str, str]:
    """Return what is on either side of the equals sign of a declaration."""
    name, equals, value = declaration.partition("=")
    if not equals or not name:
        raise ArgumentError(option, f"must be {form}, got {declaration!r}")
    return name, value


def listed(text: str) -> list[str]:
    """Return what commas separate; what has a comma itself is in double quotes."""
    return next(csv.reader(io.StringIO(text)), [])


def number(text: str) -> int | float | str:
    """Return the number that a text spells, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
