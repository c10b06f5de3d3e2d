"""`dpreg ordinal` and `dpreg multinomial`."""

from __future__ import annotations

from typing import Any

import click

from dpreg.faces.cli.release import fitting, shared
from dpreg.faces.cli.shell import Outputs, command, release_and_tell


@command(
    'dpreg ordinal "rating ~ age + C(region)" survey.parquet --eps 1 '
    "--levels rating=low,mid,high --levels region=N,S --exp",
    'dpreg ordinal "rating ~ age" survey.parquet --eps 1 --link probit --json fit.json',
)
@fitting(
    click.option("--link", default="logit", show_default=True, help="logit or probit."),
    *shared("weights", "weight_limit"),
    click.option("--exp/--no-exp", default=False, help="Show odds ratios.  [default: no]"),
    *shared("alpha", "memory"),
)  # fmt: skip
def ordinal(given: dict[str, Any], outputs: Outputs) -> int:
    """Fit a model of ordered classes to Parquet files privately.

    FORMULA is 'rating ~ age + C(region)', whose response has public levels in their order; DATA is
    a Parquet file, a folder of such files or a pattern.
    """
    from dpreg.calls.classes import dp_ordinal

    return release_and_tell(dp_ordinal, given, outputs)


@command(
    'dpreg multinomial "choice ~ age + income" travel.parquet --eps 1 '
    "--levels choice=bus,car,train --json fit.json"
)
@fitting(
    *shared("weights", "weight_limit"),
    click.option("--exp/--no-exp", default=False, help="Show odds ratios.  [default: no]"),
    *shared("alpha", "memory"),
)  # fmt: skip
def multinomial(given: dict[str, Any], outputs: Outputs) -> int:
    """Fit a multinomial logit model to Parquet files privately.

    FORMULA is 'choice ~ age + income', whose response has public levels, the baseline first; DATA
    is a Parquet file, a folder of such files or a pattern.
    """
    from dpreg.calls.classes import dp_multinomial

    return release_and_tell(dp_multinomial, given, outputs)
