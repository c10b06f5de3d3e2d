"""`dpreg fit` and `dpreg glm`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from dpreg.cli.codes import DECLINED, DONE
from dpreg.cli.face import SHELL, in_shell
from dpreg.cli.help import Documented
from dpreg.cli.methods import built, described
from dpreg.cli.parameters import method_names, method_options, offering, selector_names
from dpreg.cli.progress import working
from dpreg.cli.release import Release, release_options

__all__ = ["fit", "glm"]


def _options() -> str:
    from dpreg.methods import METHODS

    return described(METHODS)


_FITTING = (
    click.option("--method", metavar="NAME", shell_complete=offering(method_names),
                 default="auto", show_default=True, help="Method of fitting."),
    method_options("option", "the method"),
    click.option("--select", metavar="NAME", shell_complete=offering(selector_names),
                 help="Select terms privately before the fit."),
    click.option("--k", type=int, help="Number of terms that --select keeps."),
    click.option("--split", type=float,
                 help="Probability that a unit is used for selection instead of estimation."),
    method_options("select-option", "the selector"),
    click.option("--weights", metavar="COLUMN", help="Column of row weights."),
    click.option("--weight-limit", type=float,
                 help="Clip weights at this value.  [default: estimated privately]"),
    click.option("--inference/--no-inference", default=True,
                 help="Release standard errors.  [default: yes]"),
    click.option("--fit-stats/--no-fit-stats", default=False,
                 help="Also release R squared and the residual scale.  [default: no]"),
    click.option("--diagnostics/--no-diagnostics", default=False,
                 help="Also release counts of residuals.  [default: no]"),
    click.option("--alpha", type=float, default=0.05, show_default=True,
                 help="1 - coverage of the intervals in the table."),
    click.option("--memory", type=float, metavar="BYTES",
                 help="Memory for rows; further rows go to temporary files.  [default: a "
                 "quarter of the machine's memory]"),
)  # fmt: skip


@click.command(
    cls=Documented,
    examples=(
        'dpreg fit "price ~ carat + depth" diamonds.parquet --eps 1',
        'dpreg fit "price ~ carat" diamonds.parquet --eps 1 --budget diamonds.ledger --json -',
        'dpreg fit "y ~ x" visits.parquet --eps 1 --unit person --method adassp --max-rows 3',
        'dpreg fit "y ~ x" d.parquet --eps 1 --method tukey --option models=500',
        'dpreg fit "y ~ ." d.parquet --eps 1 --select kendall --k 5',
    ),
    details=("Options of methods", _options),
)
@release_options(*_FITTING)
def fit(
    release: Release,
    method: str,
    option: Sequence[str],
    select: str | None,
    k: int | None,
    split: float | None,
    select_option: Sequence[str],
    weights: str | None,
    weight_limit: float | None,
    inference: bool,
    fit_stats: bool,
    diagnostics: bool,
    alpha: float,
    memory: float | None,
) -> int:
    """Fit a linear regression to Parquet files with differential privacy.

    FORMULA is a Wilkinson formula such as 'price ~ carat + cut'; DATA is a Parquet file,
    a folder of such files or a pattern.
    """
    return _fitted(
        release,
        "gaussian",
        method,
        option,
        select,
        k,
        split,
        select_option,
        weights,
        weight_limit,
        inference,
        fit_stats,
        diagnostics,
        alpha,
        memory,
    )


@click.command(
    cls=Documented,
    examples=(
        'dpreg glm "default ~ income + region" loans.parquet --eps 1',
        'dpreg glm "visits ~ age + offset(log(years))" d.parquet --eps 1 --family poisson',
        'dpreg glm "wage ~ age" d.parquet --eps 1 --family quantile',
    ),
    details=("Options of methods", _options),
)
@release_options(
    click.option("--family", metavar="NAME", default="binomial", show_default=True,
                 help="binomial, poisson, gaussian or quantile."),
    click.option("--link", metavar="NAME", help="logit, probit or cloglog, for binomial."),
    click.option("--exp/--no-exp", default=False,
                 help="Show exponentials, such as odds ratios.  [default: no]"),
    *_FITTING,
)  # fmt: skip
def glm(
    release: Release,
    family: str,
    link: str | None,
    exp: bool,
    method: str,
    option: Sequence[str],
    select: str | None,
    k: int | None,
    split: float | None,
    select_option: Sequence[str],
    weights: str | None,
    weight_limit: float | None,
    inference: bool,
    fit_stats: bool,
    diagnostics: bool,
    alpha: float,
    memory: float | None,
) -> int:
    """Fit a logistic, Poisson or median regression with differential privacy.

    FORMULA is a Wilkinson formula such as 'default ~ income'; DATA is a Parquet file,
    a folder of such files or a pattern.
    """
    return _fitted(
        release,
        family,
        method,
        option,
        select,
        k,
        split,
        select_option,
        weights,
        weight_limit,
        inference,
        fit_stats,
        diagnostics,
        alpha,
        memory,
        link=link,
        exp=exp,
    )


def _fitted(
    release: Release,
    family: str,
    method: str,
    option: Sequence[str],
    select: str | None,
    k: int | None,
    split: float | None,
    select_option: Sequence[str],
    weights: str | None,
    weight_limit: float | None,
    inference: bool,
    fit_stats: bool,
    diagnostics: bool,
    alpha: float,
    memory: float | None,
    *,
    link: str | None = None,
    exp: bool = False,
) -> int:
    from dpreg.glm import dp_glm
    from dpreg.inference.law import check_alpha
    from dpreg.lm import dp_lm
    from dpreg.methods import METHODS
    from dpreg.results.fit import DPResults
    from dpreg.selection import SELECTORS

    check_alpha(alpha)
    typed = release.typed
    names = [method, *([] if select is None else [select])]
    typed.needs_a_taker(names, {**METHODS, **SELECTORS})
    # A ledger says what was called.
    linear = family == "gaussian" and link is None
    call = dp_lm if linear else partial(dp_glm, family=family, link=link)
    with working("fitting"):
        found = call(
            release.formula,
            release.data,
            release.eps,
            release.delta,
            method=built(method, METHODS, option, "--option", typed),
            select=None if select is None else built(
                select, SELECTORS, select_option, "--select-option", typed
            ),
            k=k,
            split=split,
            weights=weights,
            weight_limit=weight_limit,
            inference=inference,
            fit_stats=fit_stats,
            diagnostics=diagnostics,
            memory=memory,
            **release.arguments(),
        )  # fmt: skip
    if isinstance(found, DPResults):
        return release.outputs.tell(found, in_shell(found.summary(alpha, exp=exp)), DONE)
    return release.outputs.tell(found, found.summary(SHELL), DECLINED)
