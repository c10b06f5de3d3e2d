"""`dpreg moments` and `dpreg lm`."""

from __future__ import annotations

from typing import Any

import click

import dpreg
from dpreg.base.errors import ArgumentError
from dpreg.faces.cli.release import by_request, fitting, read_saved, shared, taking
from dpreg.faces.cli.shell import DONE, Outputs, command, output_options, release_and_tell
from dpreg.faces.cli.words import in_shell


@command(
    'dpreg moments "~ price + carat + depth" diamonds.parquet --eps 1 --json moments.json',
    'dpreg moments "~ ." visits.parquet --eps 1 --unit person --max-rows 5 --json moments.json',
)
@fitting()
def moments(given: dict[str, Any], outputs: Outputs) -> int:
    """Release the moments that any number of regressions need.

    FORMULA names the columns, as in '~ price + carat + cut'; DATA is the path of a Parquet file.
    Regressions are then fitted by dpreg lm.
    """
    from dpreg.calls.moments import released_moments

    call = by_request("dp_moments", released_moments)
    return release_and_tell(call, given, outputs, "releasing moments")


@command(
    'dpreg lm moments.json "price ~ carat"',
    'dpreg lm moments.json "carat ~ price + depth" --json fit.json',
)
@click.argument("path", metavar="MOMENTS")
@click.argument("formula")
@click.option("--instruments", metavar="TERMS",
              help="Instruments for two-stage least squares, such as '~ z + a'.")  # fmt: skip
@taking(*shared("alpha"))
@output_options
def lm(path: str, formula: str, instruments: str | None, alpha: float, **files: Any) -> int:
    """Fit a linear regression to saved moments, at no further cost.

    MOMENTS is a file that dpreg moments --json wrote; FORMULA has columns of it.
    """
    outputs = Outputs.of(files)
    if "~" in path and "~" not in formula:
        raise ArgumentError(
            "MOMENTS", f"{path!r} is a formula", f"write dpreg lm {formula} {path!r}"
        )
    saved = read_saved(
        path, "MOMENTS", dpreg.DPMoments.from_json, "moments", "dpreg moments --json"
    )
    fit = saved.lm(formula) if instruments is None else saved.iv(formula, instruments)
    return outputs.tell(fit, in_shell(fit.summary(alpha)), DONE)
