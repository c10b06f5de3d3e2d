"""`dpreg plan`."""

from __future__ import annotations

from typing import Any

import click

import dpreg
from dpreg.faces.cli.shell import DONE, command


@command(
    "dpreg plan --n 50000 --d 10 --eps 1",
    "dpreg plan --rows 50000 --features 10 --eps 1 --effect 0.1",
    "dpreg plan --features 10 --eps 1 --effect 0.1 --power 0.8",
    "dpreg plan --n 50000 --d 10 --eps 1 --family binomial",
    "dpreg plan --events 5000 --event-rate 0.4 --d 3 --eps 1 --family survival",
    "dpreg plan --n 20000 --d 5 --eps 1 --family ordinal --classes 4",
    "dpreg plan --n 20000 --d 5 --eps 1 --family effect --treated 0.3",
)
@click.option("--n", "--rows", "n", type=int,
              help="Number of units, if it is public.")  # fmt: skip
@click.option("--d", "--features", "d", type=int, required=True, help="Number of regressors.")
@click.option("--eps", type=float, help="Privacy parameter epsilon.")
@click.option(
    "--delta", type=float, default=1e-5, show_default=True, help="Privacy parameter delta."
)
@click.option("--effect", type=float,
              help="Slope times the sd of its regressor, over the residual sd.")  # fmt: skip
@click.option("--power", type=float,
              help="Probability that the 5% test detects such a slope.")  # fmt: skip
@click.option("--method", default="auto", show_default=True,
              help="Method of fitting, or moments (one release, many models).")  # fmt: skip
@click.option("--family", metavar="NAME", default="gaussian", show_default=True,
              help="gaussian, binomial, poisson, gamma, negativebinomial, quantile; "
                   "survival, with hazard ratios as --effect; ordinal, multinomial; effect, of a "
                   "treatment.")  # fmt: skip
@click.option("--events", type=int, help="Number of events, for survival.")
@click.option("--event-rate", "event_rate", type=float,
              help="Share of persons with an event, for survival.")  # fmt: skip
@click.option("--classes", type=int, help="Number of classes, for ordinal and multinomial.")
@click.option("--treated", type=float, help="Share of treated units, for effect.")
@click.option("--link", metavar="NAME", help="logit, probit or cloglog, for binomial.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(as_json: bool, **given: Any) -> int:
    """Plan a fit before any data are read: which slopes it detects.

    Without --effect and --power the plan shows the smallest slope that is detected with power 0.8.
    With both, leave out --n or --eps: the plan shows the smallest value that is enough.
    """
    found = dpreg.dp_plan(**given)
    print(found.to_json() if as_json else found)
    return DONE
