"""`dpreg effect`."""

from __future__ import annotations

from typing import Any

import click

from dpreg.faces.cli.release import fitting, numbers, shared
from dpreg.faces.cli.shell import Outputs, command, release_and_tell


@command(
    'dpreg effect "pressure ~ age + C(stage)" cohort.parquet --eps 1 --treatment drug '
    "--levels stage=I,II,III",
    'dpreg effect "died ~ age" trial.parquet --eps 1 --treatment arm --levels arm=placebo,drug '
    "--family binomial --propensity 0.5 --json effect.json",
)
@fitting(
    click.option("--treatment", metavar="COLUMN", required=True,
                 help="Column of the treatment: 0 or 1, or two levels, the control first."),
    click.option("--method", type=click.Choice(["aipw", "regression", "difference"]),
                 default="aipw", show_default=True,
                 help="Doubly robust scores, models of the outcome, or difference in means."),
    click.option("--family", type=click.Choice(["gaussian", "binomial"]), default="gaussian",
                 show_default=True, help="Of the outcome; binomial: a difference of risks."),
    click.option("--propensity", type=float, metavar="P",
                 help="Public probability of the treatment in a randomised trial."),
    click.option("--overlap", metavar="LOW,HIGH", default="0.05,0.95", show_default=True,
                 callback=numbers,
                 help="Public limits of estimated probabilities of the treatment."),
    *shared("alpha", "memory"),
)  # fmt: skip
def effect(given: dict[str, Any], outputs: Outputs) -> int:
    """Estimate an average treatment effect privately.

    FORMULA is 'outcome ~ age + sex', without the treatment; DATA is a Parquet file, a folder of
    such files or a pattern.
    """
    from dpreg.calls.effect import dp_effect

    return release_and_tell(dp_effect, given, outputs, "estimating the effect")
