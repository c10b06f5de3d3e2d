"""What commands that make a release have in common: what is asked, who pays, where it goes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import click

from dpreg.base.errors import ArgumentError
from dpreg.base.padding import padded
from dpreg.faces.cli.output import Outputs, output_options
from dpreg.faces.cli.parameters import listed, number, pair, shared, taking
from dpreg.faces.cli.strata import payer_from

Command = Callable[..., Any]


def release_options(*own: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator for a command that takes arguments of a release, and `Outputs`."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def asked(**given: Any) -> Any:
            pad = given.pop("pad")
            with nullcontext() if pad is None else padded(pad):
                outputs = Outputs.of(given)
                given["levels"] = levels_from(given["levels"], given["data"])
                given["bounds"] = bounds_from(given["bounds"])
                given["budget"] = payer_from(given["budget"], given.pop("stratum"))
                return command(given, outputs)

        return taking(
            click.argument("formula"),
            click.argument("data"),
            *shared("eps", "delta", "unit", "budget", "stratum", "rng"),
            *own,
            *shared("levels", "bounds", "max_rows", "pad"),
        )(output_options(asked))

    return decorate


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
