"""`dpreg curve`."""

from __future__ import annotations

from typing import Any

import click

from dpreg.base.errors import ArgumentError
from dpreg.faces.cli.codes import DONE
from dpreg.faces.cli.help import Documented
from dpreg.faces.cli.output import Outputs, output_options
from dpreg.faces.cli.progress import working
from dpreg.faces.cli.release import levels_from
from dpreg.faces.cli.strata import payer_from


@click.command(
    cls=Documented,
    examples=(
        'dpreg curve "Surv(days, died) ~ arm" trial.parquet --eps 1 --cuts 90,180,365,730 '
        "--levels arm=placebo,drug",
        'dpreg curve "Surv(entry, exit, status == 2) ~ 1" cohort.parquet --eps 0.5 --start 40 '
        "--cuts 50,60,70,80 --unit person --json curve.json",
    ),
)
@click.argument("formula")
@click.argument("data")
@click.option("--eps", type=float, required=True, help="Privacy parameter epsilon.")
@click.option("--cuts", metavar="TIME,TIME,...", required=True,
              help="Public times, rising: the ends of the intervals.")  # fmt: skip
@click.option("--start", type=float, default=0.0, show_default=True,
              help="Where the first interval begins.")  # fmt: skip
@click.option("--levels", multiple=True, metavar="COLUMN=A,B,...",
              help="Public levels of a column; with a comma in double quotes.")  # fmt: skip
@click.option("--unit", metavar="COLUMN", help="Column that names the protected unit.")
@click.option("--max-rows", type=int, default=1, show_default=True,
              help="Maximum number of rows used per unit.")  # fmt: skip
@click.option("--budget", metavar="FILE", help="Budget to charge (see dpreg budget new).")
@click.option("--stratum", metavar="COLUMN=LEVEL",
              help="Use and charge one stratum only (see dpreg budget partition).")  # fmt: skip
@click.option("--rng", type=int, metavar="SEED",
              help="Random seed: makes the result reproducible and NOT PRIVATE.")  # fmt: skip
@click.option("--alpha", type=float, default=0.05, show_default=True,
              help="1 - coverage of the limits in the table.")  # fmt: skip
@click.option("--simultaneous", is_flag=True,
              help="Limits for all times of a group together.")  # fmt: skip
@output_options
def curve(formula: str, data: str, alpha: float, simultaneous: bool, **given: Any) -> int:
    """Estimate survival curves by group, with the log-rank test and restricted means.

    FORMULA is 'Surv(time, event) ~ group', or ~ 1 for one curve; DATA is the path of a Parquet
    file.
    """
    outputs = Outputs.of(given)
    from dpreg.calls.curve import dp_curve
    from dpreg.estimation.inference.law import check_alpha

    check_alpha(alpha)
    read = {
        "cuts": times_from(given["cuts"]),
        "levels": levels_from(given["levels"], data),
        "budget": payer_from(given["budget"], given.pop("stratum")),
    }
    with working("estimating curves"):
        found = dp_curve(formula, data, **{**given, **read})
    return outputs.tell(found, found.summary(alpha, simultaneous=simultaneous), DONE)


def times_from(text: str) -> list[float]:
    """Return the times that ``--cuts`` lists."""
    try:
        return [float(time) for time in text.split(",")]
    except ValueError:
        raise ArgumentError("--cuts", f"must be TIME,TIME,..., got {text!r}") from None
