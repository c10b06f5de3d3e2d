"""Options that several commands have."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from dpreg.errors import ArgumentError

if TYPE_CHECKING:
    from dpreg.privacy.budget import Budget

__all__ = [
    "bounds_from",
    "budget_from",
    "data_options",
    "levels_from",
    "method_names",
    "method_options",
    "offering",
    "privacy_options",
    "selector_names",
]

Command = Callable[..., Any]


def offering(names: Callable[[], Sequence[str]]) -> Callable[..., list[CompletionItem]]:
    """Return what completes one of the names, which are looked up when somebody asks."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names() if name.startswith(begun)]

    return complete


def method_names() -> Sequence[str]:
    """Return what ``--method`` takes."""
    from dpreg.methods import METHODS

    return list(METHODS)


def selector_names() -> Sequence[str]:
    """Return what ``--select`` takes."""
    from dpreg.selection import SELECTORS

    return list(SELECTORS)


def _added(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def privacy_options(command: Command) -> Command:
    """Add what a release costs, who is protected, and who pays."""
    return _added(
        command,
        [
            click.option("--eps", type=float, required=True, help="Privacy loss in nats."),
            click.option(
                "--delta", type=float,
                help="Failure probability.  [default: as in Python]",
            ),
            click.option("--unit", metavar="COLUMN", help="Column that names the protected unit."),
            click.option(
                "--budget", metavar="FILE",
                help="Budget to charge, of dpreg budget new.",
            ),
            click.option(
                "--rng", type=int, metavar="SEED",
                help="A seed: the result can be repeated, and is NOT PRIVATE.",
            ),
        ],
    )  # fmt: skip


def data_options(command: Command) -> Command:
    """Add what is public about the data."""
    return _added(
        command,
        [
            click.option(
                "--levels", multiple=True, metavar="COLUMN=A,B,...",
                help="Public levels of a column; a level with a comma goes in double quotes.",
            ),
            click.option(
                "--bounds", multiple=True, metavar="COLUMN=LOW,HIGH",
                help="Public bounds of a column or of the response.",
            ),
            click.option(
                "--max-rows", type=int, metavar="N",
                help="Rows that a unit of --unit may give.",
            ),
        ],
    )  # fmt: skip


def method_options(argument: str, what: str) -> Callable[[Command], Command]:
    """Return a decorator that adds options of a method."""
    return click.option(
        f"--{argument}", multiple=True, metavar="NAME=VALUE",
        help=f"An option of {what}, see below; may be repeated.",
    )  # fmt: skip


def _pair(option: str, declaration: str, form: str) -> tuple[str, str]:
    name, equals, value = declaration.partition("=")
    if not equals or not name:
        raise ArgumentError(option, f"must be {form}, got {declaration!r}")
    return name, value


def levels_from(declarations: Sequence[str], path: str) -> dict[str, list[Any]] | None:
    """Return the levels as Python takes them: numbers, where the file declares numbers."""
    from dpreg.data.containers import open_source

    if not declarations:
        return None
    schema, levels = open_source(path).schema, {}
    for declaration in declarations:
        column, text = _pair("--levels", declaration, "COLUMN=A,B,...")
        values: list[Any] = next(csv.reader(io.StringIO(text)), [])
        if column in schema and schema[column].kind == "numeric":
            values = [_number(value) for value in values]
        levels[column] = values
    return levels


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def bounds_from(declarations: Sequence[str]) -> Mapping[str, tuple[float, float]] | None:
    """Return the bounds as Python takes them."""
    bounds = {}
    for declaration in declarations:
        # The name of a column may have "=" in it, as I(x == 1) has.
        column, _, values = declaration.rpartition("=")
        try:
            low, high = (float(v) for v in values.split(","))
        except ValueError:
            column = ""
        if not column:
            raise ArgumentError("--bounds", f"must be COLUMN=LOW,HIGH, got {declaration!r}")
        bounds[column] = (low, high)
    return bounds or None


def budget_from(path: str | None) -> Budget | None:
    """Open the budget that a command is charged to."""
    from dpreg.privacy.budget import Budget

    if path is None:
        return None
    if not os.path.exists(path):
        made = f"make it with dpreg budget new {path} --eps TOTAL"
        raise ArgumentError("--budget", f"there is no file {path!r}", made)
    return Budget.open(path)
