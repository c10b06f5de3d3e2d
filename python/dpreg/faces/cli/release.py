"""What commands that make a release have in common: arguments, budget and output."""

from __future__ import annotations

import csv
import functools
import io
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import click

import dpreg
from dpreg.base.errors import ArgumentError, Choice
from dpreg.base.passes import padded
from dpreg.faces.cli.shell import Command, Outputs, option, output_options

if TYPE_CHECKING:
    from dpreg.calls.session import Payer
    from dpreg.privacy.partition import StratumBudget

T = TypeVar("T")


def releasing(*parameters: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator for a command that makes a release.

    The command is given what was typed, as Python takes it, and `Outputs`.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def asked(**given: Any) -> Any:
            pad = given.pop("pad", None)
            with nullcontext() if pad is None else padded(pad):
                outputs = Outputs.of(given)
                if "levels" in given:
                    given["levels"] = levels_from(given["levels"], given["data"])
                given["budget"] = payer_from(given["budget"], given.pop("stratum", None))
                return command(given, outputs)

        return taking(*parameters)(output_options(asked))

    return decorate


def fitting(*own: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator for a command that releases something of a formula."""
    return releasing(
        click.argument("formula"),
        click.argument("data"),
        *shared("eps", "delta", "unit", "budget", "stratum", "rng"),
        *own,
        *shared("levels", "bounds", "max_rows", "pad"),
    )


def levels_from(declarations: Sequence[str], path: str) -> dict[str, list[Any]] | None:
    """Return the levels as Python takes them: numbers, where the file declares numbers."""
    from dpreg.data.containers import open_source

    if not declarations:
        return None
    schema, levels = open_source(path).schema, {}
    for declaration in declarations:
        column, text = pair("--levels", declaration, "COLUMN=A,B,...")
        values: list[Any] = listed(text)
        if column in schema and schema[column].kind == "numeric":
            values = [number(value) for value in values]
        levels[column] = values
    return levels


def _bounds(
    context: click.Context, option: click.Parameter, declarations: Sequence[str]
) -> Mapping[str, tuple[float, float]] | None:
    """Return the bounds that an option declares."""
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


def numbers(context: click.Context, option: click.Parameter, text: str) -> tuple[float, ...]:
    """Return the numbers that an option lists."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise ArgumentError(option.opts[0], f"must be {option.metavar}, got {text!r}") from None


def names(context: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
    """Return the names that an option lists."""
    return None if text is None else listed(text)


def payer_from(path: str | None, stratum: str | None) -> Payer | None:
    """Open the budget that a command is charged to, or one stratum of it."""
    if path is None:
        if stratum is not None:
            raise ArgumentError("--stratum", "needs a budget", "add --budget FILE")
        return None
    if not os.path.exists(path):
        made = f"make it with dpreg budget new {path} --eps TOTAL"
        raise ArgumentError("--budget", f"there is no file {path!r}", made)
    budget = dpreg.Budget.open(path)
    return budget if stratum is None else stratum_of(budget, path, stratum)


def stratum_of(budget: dpreg.Budget, path: str, typed: str) -> StratumBudget:
    """Return the stratum that ``COLUMN=LEVEL`` names."""
    column, text = pair("--stratum", typed, "COLUMN=LEVEL")
    if column not in budget.partitions:
        how = f"declare its strata with dpreg budget partition {path} {column}=A,B,..."
        raise ArgumentError("--stratum", f"{path!r} is not divided by {column!r}", how)
    strata = budget.partition(column)
    for level, one in strata.items():
        if str(level) == text:
            return one
    levels = Choice(tuple(strata))
    raise ArgumentError("--stratum", (f"{column!r} has no level {text!r}; it has ", levels))


_OPTIONS = {
    "eps": option("eps", float, "Privacy parameter epsilon.", required=True),
    "delta": option(
        "delta", float, "Privacy parameter delta.  [default: 1e-5; with --budget, the same "
        "share of its delta as --eps is of its eps; 0 to select terms]"),
    "unit": option("unit", str, "Column that names the protected unit.", metavar="COLUMN"),
    "budget": option("budget", str, "Budget to charge (see dpreg budget new).", metavar="FILE"),
    "stratum": option(
        "stratum", str, "Use and charge one stratum only (see dpreg budget partition).",
        metavar="COLUMN=LEVEL"),
    "rng": option("rng", int, "Random seed: makes the result reproducible and NOT PRIVATE.",
                  metavar="SEED"),
    "levels": option(
        "levels", str, "Public levels of a column; a level with a comma goes in double quotes.",
        multiple=True, metavar="COLUMN=A,B,..."),
    "bounds": option(
        "bounds", str, "Public bounds of a column or of the response; they cost no privacy.",
        multiple=True, metavar="COLUMN=LOW,HIGH", callback=_bounds),
    "max_rows": option("max-rows", int, "Maximum number of rows used per unit.", metavar="N"),
    "pad": option("pad", float, metavar="SECONDS", text="Take a multiple of SECONDS, also when "
                  "nothing is released, so that the time does not depend on the data."),
    "cuts": option("cuts", str, "Public times, increasing: the ends of the intervals.",
                   metavar="TIME,TIME,...", required=True, callback=numbers),
    "start": option("start", float, "Where the first interval begins.", default=0.0),
    "weights": option("weights", str, "Column of row weights.", metavar="COLUMN"),
    "weight_limit": option(
        "weight-limit", float, "Clip weights at this value.  [default: estimated privately]"),
    "alpha": option("alpha", float, "1 - coverage of the intervals in the table.", default=0.05),
    "memory": option("memory", float, metavar="BYTES", text="Memory for rows; further rows go to "
                     "temporary files.  [default: a quarter of the machine's memory]"),
}  # fmt: skip


def shared(*names: str) -> list[Callable[[Command], Command]]:
    """Return options that several commands have, in this order."""
    return [_OPTIONS[name] for name in names]


def taking(*parameters: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds arguments and options, listed in the help in this order."""
    return lambda command: functools.reduce(lambda c, add: add(c), reversed(parameters), command)


def pair(option: str, declaration: str, form: str) -> tuple[str, str]:
    """Return what is on either side of the equals sign of a declaration."""
    name, equals, value = declaration.partition("=")
    if not equals or not name:
        raise ArgumentError(option, f"must be {form}, got {declaration!r}")
    return name, value


def listed(text: str) -> list[str]:
    """Return what commas separate; what has a comma itself is in double quotes."""
    return next(csv.reader(io.StringIO(text)), [])


def text_of(path: str, argument: str) -> str:
    """Return what is in a file that was given for `argument`."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise ArgumentError(argument, f"cannot read {path!r}: {error.strerror}") from None


def read_saved(path: str, argument: str, read: Callable[[str], T], what: str, commands: str) -> T:
    """Read what is in a file that was given for `argument`, and that `commands` write."""
    text = text_of(path, argument)
    try:
        return read(text)
    except ValueError as error:
        problem = f"{path!r} does not hold {what}: {error}"
        raise ArgumentError(argument, problem, f"give a file written by {commands}") from None


def number(text: str) -> int | float | str:
    """Return the number that a text spells, or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
