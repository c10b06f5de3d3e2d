"""`dpreg survival`, `curve`, `ordinal`, `multinomial`, `effect`, `moments` and `test`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import click

import dpreg
from dpreg.base.errors import ArgumentError
from dpreg.faces.cli.release import fitting, names, numbers, releasing, shared
from dpreg.faces.cli.shell import DONE, Outputs, command, option, release_and_tell, working
from dpreg.faces.cli.words import in_shell


@command(
    'dpreg survival "Surv(days, died) ~ age + C(stage)" trial.parquet --eps 1 '
    "--cuts 90,180,365,730 --levels stage=I,II,III --exp",
    'dpreg survival "Surv(entry, exit, status == 2) ~ dose" cohort.parquet --eps 1 '
    "--cuts 50,60,70,80 --start 40 --unit person --max-rows 4 --json fit.json",
)
@fitting(
    *shared("cuts", "start"),
    option("strata", str, "Column whose public levels have baseline hazards of their own.",
           metavar="COLUMN"),
    option("time-varying", str, "Terms whose effect may change with time, which is tested.",
           metavar="TERM,TERM,...", callback=names),
    *shared("weights", "weight_limit"),
    click.option("--exp/--no-exp", default=False, help="Show hazard ratios.  [default: no]"),
    *shared("alpha", "memory"),
)  # fmt: skip
def survival(given: dict[str, Any], outputs: Outputs) -> int:
    """Fit a proportional hazards model to Parquet files privately.

    FORMULA is 'Surv(time, event) ~ age + C(stage)'; DATA is a Parquet file, a folder of such files
    or a pattern.
    """
    return release_and_tell(dpreg.dp_survival, given, outputs)


@command(
    'dpreg curve "Surv(days, died) ~ arm" trial.parquet --eps 1 --cuts 90,180,365,730 '
    "--levels arm=placebo,drug",
    'dpreg curve "Surv(entry, exit, status == 2) ~ 1" cohort.parquet --eps 0.5 --start 40 '
    "--cuts 50,60,70,80 --unit person --json curve.json",
)
@releasing(
    click.argument("formula"),
    click.argument("data"),
    *shared("eps", "cuts", "start", "levels", "unit"),
    option("max-rows", int, "Maximum number of rows used per unit.", default=1),
    *shared("budget", "stratum", "rng", "alpha"),
    click.option("--simultaneous", is_flag=True, help="Limits for all times of a group together."),
    click.option("--concordance", is_flag=True, help="Print the concordance of groups whose "
                 "levels are in order of increasing risk."),
    option("event-cuts", click.IntRange(1), metavar="COUNT", text="Finally print cuts for `dpreg "
           "survival`, at most COUNT, that divide the events about evenly; with --quiet print "
           "nothing else."),
)  # fmt: skip
def curve(given: dict[str, Any], outputs: Outputs) -> int:
    """Estimate survival curves by group, with a log-rank test.

    FORMULA is 'Surv(time, event) ~ group', or ~ 1 for one curve; DATA is the path of a Parquet
    file.  Restricted means are estimated too.
    """
    from dpreg.estimation.inference.law import check_alpha

    alpha, simultaneous = check_alpha(given.pop("alpha")), given.pop("simultaneous")
    concordance, event_cuts = given.pop("concordance"), given.pop("event_cuts")
    with working("estimating curves"):
        found = dpreg.dp_curve(**given)
    code = outputs.tell(found, in_shell(found.summary(alpha, simultaneous=simultaneous)), DONE)
    if concordance:
        of = found.concordance(alpha)
        print(f"Concordance: {of.estimate:.4f} ({of.lower:.4f} to {of.upper:.4f})")
    if event_cuts is not None:
        print(",".join(f"{cut:.17g}" for cut in found.event_cuts(event_cuts)))
    return code


@command(
    'dpreg ordinal "rating ~ age + C(region)" survey.parquet --eps 1 '
    "--levels rating=low,mid,high --levels region=N,S --exp",
    'dpreg ordinal "rating ~ age" survey.parquet --eps 1 --link probit --json fit.json',
)
@fitting(
    option("link", str, "logit or probit.", default="logit"),
    *shared("weights", "weight_limit"),
    click.option("--exp/--no-exp", default=False, help="Show odds ratios.  [default: no]"),
    *shared("alpha", "memory"),
)  # fmt: skip
def ordinal(given: dict[str, Any], outputs: Outputs) -> int:
    """Fit a model of ordered classes to Parquet files privately.

    FORMULA is 'rating ~ age + C(region)', whose response has public levels in their order; DATA is
    a Parquet file, a folder of such files or a pattern.
    """
    return release_and_tell(dpreg.dp_ordinal, given, outputs)


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
    return release_and_tell(dpreg.dp_multinomial, given, outputs)


@command(
    'dpreg effect "pressure ~ age + C(stage)" cohort.parquet --eps 1 --treatment drug '
    "--levels stage=I,II,III",
    'dpreg effect "died ~ age" trial.parquet --eps 1 --treatment arm --levels arm=placebo,drug '
    "--family binomial --propensity 0.5 --json effect.json",
)
@fitting(
    option("treatment", str, "Column of the treatment: 0 or 1, or two levels, the control first.",
           metavar="COLUMN", required=True),
    option("method", click.Choice(["aipw", "regression", "difference"]), default="aipw",
           text="Doubly robust scores, models of the outcome, or difference in means."),
    option("family", click.Choice(["gaussian", "binomial"]), default="gaussian",
           text="Family of the outcome; binomial gives a difference of risks."),
    option("propensity", float, "Public probability of the treatment in a randomised trial.",
           metavar="P"),
    option("overlap", str, "Public limits of estimated probabilities of the treatment.",
           metavar="LOW,HIGH", default="0.05,0.95", callback=numbers),
    *shared("alpha", "memory"),
)  # fmt: skip
def effect(given: dict[str, Any], outputs: Outputs) -> int:
    """Estimate an average treatment effect privately.

    FORMULA is 'outcome ~ age + sex', without the treatment; DATA is a Parquet file, a folder of
    such files or a pattern.
    """
    return release_and_tell(dpreg.dp_effect, given, outputs, "estimating the effect")


@command(
    'dpreg moments "~ price + carat + depth" diamonds.parquet --eps 1 --json moments.json',
    'dpreg moments "~ ." visits.parquet --eps 1 --unit person --max-rows 5 --json moments.json',
)
@fitting()
def moments(given: dict[str, Any], outputs: Outputs) -> int:
    """Release moments for any number of regressions.

    FORMULA names the columns, as in '~ price + carat + cut'; DATA is the path of a Parquet file.
    Regressions are then fitted by dpreg lm.
    """
    return release_and_tell(dpreg.dp_moments, given, outputs, "releasing moments")


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
    option("blocks", int, "Number of blocks.  [default: 12 / eps, at least 5]"),
    option("threshold", float, "Threshold below which a p-value is small.", default=0.2),
    *shared("unit", "budget", "rng"),
)  # fmt: skip
def block_test(given: dict[str, Any], outputs: Outputs) -> int:
    """Test any hypothesis that has a p-value, by blocks of rows.

    STATISTIC is MODULE:FUNCTION, a Python function of a pandas data frame that returns a p-value;
    DATA is the path of a Parquet file.  MODULE is also searched for in the current folder.
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
