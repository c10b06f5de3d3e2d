"""`dpreg fit`, `dpreg glm` and `dpreg select`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from dpreg.faces.cli.methods import build, described, methods, selectors
from dpreg.faces.cli.release import (
    by_request,
    fitting,
    method_options,
    offering,
    read_saved,
    shared,
)
from dpreg.faces.cli.shell import Outputs, command, release_and_tell

_FITTING: tuple[Callable[..., Any], ...] = (
    click.option("--method", metavar="NAME", shell_complete=offering(methods),
                 default="auto", show_default=True, help="Method of fitting."),
    method_options("option", "the method"),
    click.option("--select", metavar="NAME", shell_complete=offering(selectors),
                 help="Select terms privately before the fit."),
    click.option("--k", type=int, help="Number of terms that --select keeps."),
    click.option("--split", type=float,
                 help="Probability that a unit is used for selection instead of estimation."),
    method_options("select-option", "the selector"),
    *shared("weights", "weight_limit"),
    click.option("--inference/--no-inference", default=True,
                 help="Release standard errors.  [default: yes]"),
    click.option("--fit-stats/--no-fit-stats", default=False,
                 help="Also release R squared and the residual scale.  [default: no]"),
    click.option("--diagnostics/--no-diagnostics", default=False,
                 help="Also release counts of residuals.  [default: no]"),
    *shared("alpha"),
    click.option("--start", metavar="FILE",
                 help="Fit or moments that --json wrote, of the same formula; their scales cost "
                 "nothing."),
    *shared("memory"),
)  # fmt: skip


@command(
    'dpreg fit "price ~ carat + depth" diamonds.parquet --eps 1',
    'dpreg fit "price ~ carat" diamonds.parquet --eps 1 --budget diamonds.ledger --json -',
    'dpreg fit "y ~ x" visits.parquet --eps 1 --unit person --method adassp --max-rows 3',
    'dpreg fit "y ~ x" d.parquet --eps 1 --method tukey --option models=500',
    'dpreg fit "y ~ ." d.parquet --eps 1 --select kendall --k 5',
    'dpreg fit "y ~ x" november.parquet --eps 1 --start october.json',
    details=("Options of methods", lambda: described(methods())),
)
@fitting(*_FITTING)
def fit(given: dict[str, Any], outputs: Outputs) -> int:
    """Fit a linear regression to Parquet files privately.

    FORMULA is a Wilkinson formula such as 'price ~ carat + cut'; DATA is a Parquet file,
    a folder of such files or a pattern.
    """
    return _fitted(given, outputs)


@command(
    'dpreg glm "default ~ income + region" loans.parquet --eps 1',
    'dpreg glm "visits ~ age + offset(log(years))" d.parquet --eps 1 --family poisson',
    'dpreg glm "wage ~ age" d.parquet --eps 1 --family quantile',
    details=("Options of methods", lambda: described(methods())),
)
@fitting(
    click.option("--family", metavar="NAME", default="binomial", show_default=True,
                 help="binomial, poisson, gamma, negativebinomial, gaussian or quantile."),
    click.option("--link", metavar="NAME", help="logit, probit or cloglog, for binomial."),
    click.option("--exp/--no-exp", default=False,
                 help="Show exponentials, such as odds ratios.  [default: no]"),
    *_FITTING,
)  # fmt: skip
def glm(given: dict[str, Any], outputs: Outputs) -> int:
    """Fit a generalised linear or quantile regression privately.

    FORMULA is a Wilkinson formula such as 'default ~ income'; DATA is a Parquet file,
    a folder of such files or a pattern.  --family is binomial, poisson, gamma and others.
    """
    return _fitted(given, outputs)


def _fitted(given: dict[str, Any], outputs: Outputs) -> int:
    from dpreg.calls.fit import fit as fitted
    from dpreg.calls.starts import origin_from_json

    build(given, "method", methods(), "option")
    build(given, "select", selectors(), "select_option")
    if given["start"] is not None:
        commands = "dpreg fit --json or dpreg moments --json"
        given["start"] = read_saved(
            given["start"], "start", origin_from_json, "a fit or moments", commands
        )
    # A ledger says what was called.
    linear = given.get("family", "gaussian") == "gaussian" and given.get("link") is None
    name = "dp_lm" if linear else "dp_glm"
    return release_and_tell(by_request(name, fitted), given, outputs)


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
