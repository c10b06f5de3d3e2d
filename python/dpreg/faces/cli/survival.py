"""`dpreg survival`."""

from __future__ import annotations

from typing import Any

import click

from dpreg.faces.cli.curve import times_from
from dpreg.faces.cli.release import listed, release_options, shared
from dpreg.faces.cli.shell import Documented, Outputs, fit_and_tell


@click.command(
    cls=Documented,
    examples=(
        'dpreg survival "Surv(days, died) ~ age + C(stage)" trial.parquet --eps 1 '
        "--cuts 90,180,365,730 --levels stage=I,II,III --exp",
        'dpreg survival "Surv(entry, exit, status == 2) ~ dose" cohort.parquet --eps 1 '
        "--cuts 50,60,70,80 --start 40 --unit person --max-rows 4 --json fit.json",
    ),
)
@release_options(
    *shared("cuts", "start"),
    click.option("--strata", metavar="COLUMN",
                 help="Column whose public levels have baseline hazards of their own."),
    click.option("--time-varying", metavar="TERM,TERM,...",
                 help="Terms whose effect may change with time, with a test of that."),
    *shared("weights", "weight_limit"),
    click.option("--exp/--no-exp", default=False, help="Show hazard ratios.  [default: no]"),
    *shared("alpha", "memory"),
)  # fmt: skip
def survival(given: dict[str, Any], outputs: Outputs) -> int:
    """Fit a proportional hazards model to Parquet files privately.

    FORMULA is 'Surv(time, event) ~ age + C(stage)'; DATA is a Parquet file, a folder of such files
    or a pattern.
    """
    from dpreg.calls.survival import dp_survival

    given["cuts"] = times_from(given["cuts"])
    if given["time_varying"] is not None:
        given["time_varying"] = listed(given["time_varying"])
    return fit_and_tell(dp_survival, given, outputs)
