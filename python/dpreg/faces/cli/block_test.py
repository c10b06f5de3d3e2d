"""`dpreg test`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import click

import dpreg
from dpreg.base.errors import ArgumentError
from dpreg.faces.cli.release import releasing, shared
from dpreg.faces.cli.shell import Outputs, command, release_and_tell


@command(
    "dpreg test tests_of_mine:depth_and_price diamonds.parquet --eps 1",
    "dpreg test tests_of_mine:before_and_after visits.parquet --eps 0.5 --unit person "
    "--budget year.budget",
    name="test",
)
@releasing(
    click.argument("statistic"),
    click.argument("data"),
    *shared("eps"),
    click.option("--blocks", type=int, help="Number of blocks.  [default: 12 / eps, at least 5]"),
    click.option("--threshold", type=float, default=0.2, show_default=True,
                 help="Threshold below which a p-value is small."),
    *shared("unit", "budget", "rng"),
)  # fmt: skip
def block_test(given: dict[str, Any], outputs: Outputs) -> int:
    """Test any hypothesis that has a p-value, by blocks of rows.

    STATISTIC is MODULE:FUNCTION, a Python function of a pandas data frame that returns a p-value;
    DATA is the path of a Parquet file.  MODULE is looked for in this folder too.
    """
    given["statistic"] = function_of(given["statistic"])
    return release_and_tell(dpreg.dp_test, given, outputs, "testing blocks")


def function_of(text: str) -> Callable[..., Any]:
    """Return the function that MODULE:FUNCTION names."""
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        example = "my_tests:slope for def slope(rows) in my_tests.py"
        raise ArgumentError("STATISTIC", f"must be MODULE:FUNCTION, got {text!r}", f"as {example}")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
    except Exception as error:
        kind = type(error).__name__
        raise ArgumentError("STATISTIC", f"cannot import {module!r}: {kind}: {error}") from None
    function = getattr(found, name, None)
    if not callable(function):
        raise ArgumentError("STATISTIC", f"{module!r} has no function {name!r}")
    taken: Callable[..., Any] = function
    return taken
