"""`dpreg select`."""

from __future__ import annotations

from typing import Any

import click

from dpreg.faces.cli.methods import build, described, selectors
from dpreg.faces.cli.release import by_request, fitting, method_options, offering
from dpreg.faces.cli.shell import Outputs, command, release_and_tell


@command(
    'dpreg select "price ~ ." diamonds.parquet --k 5 --eps 0.2',
    'dpreg select "y ~ a + b" d.parquet --k 1 --eps 1 --method sis --bounds a=0,5 '
    "--bounds b=0,9 --bounds y=0,100",
    details=("Options of methods", lambda: described(selectors())),
)
@fitting(
    click.option("--k", type=int, required=True, help="Number of terms to select."),
    click.option("--method", metavar="NAME", shell_complete=offering(selectors),
                 default="kendall", show_default=True, help="Method of selection."),
    method_options("option", "the method"),
)  # fmt: skip
def select(given: dict[str, Any], outputs: Outputs) -> int:
    """Choose terms of a regression privately.

    The terms of FORMULA are the candidates, such as 'price ~ .'; DATA is the path of the file.
    """
    from dpreg.calls.select import selected

    build(given, "method", selectors(), "option")
    if given["delta"] is None:
        given["delta"] = 0.0
    return release_and_tell(by_request("dp_select", selected), given, outputs, "choosing terms")
