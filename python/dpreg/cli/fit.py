"""`dpreg fit`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from dpreg.cli.codes import DECLINED, DONE
from dpreg.cli.face import SHELL
from dpreg.cli.help import Documented
from dpreg.cli.methods import Typed, built, described
from dpreg.cli.output import Outputs, output_options
from dpreg.cli.parameters import (
    bounds_from,
    budget_from,
    data_options,
    levels_from,
    method_names,
    method_options,
    offering,
    privacy_options,
    selector_names,
)
from dpreg.cli.progress import working

__all__ = ["fit"]


def _options() -> str:
    from dpreg.methods import METHODS

    return described(METHODS)


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
@click.argument("formula")
@click.argument("data")
@privacy_options
@click.option("--method", metavar="NAME", shell_complete=offering(method_names), default="auto",
              show_default=True, help="How to fit.")  # fmt: skip
@method_options("option", "the method")
@data_options
@click.option(
    "--select",
    metavar="NAME",
    shell_complete=offering(selector_names),
    help="Choose columns privately first.",
)
@click.option("--k", type=int, help="How many columns --select keeps.")
@click.option("--split", type=float, help="Chance of a unit to be used for --select alone.")
@method_options("select-option", "the selector")
@click.option("--inference/--no-inference", default=True,
              help="Release what standard errors need.  [default: do]")  # fmt: skip
@click.option("--alpha", type=float, default=0.05, show_default=True,
              help="1 - coverage of the intervals in the table.")  # fmt: skip
@output_options
def fit(
    formula: str,
    data: str,
    eps: float,
    delta: float | None,
    unit: str | None,
    budget: str | None,
    rng: int | None,
    method: str,
    option: Sequence[str],
    levels: Sequence[str],
    bounds: Sequence[str],
    max_rows: int | None,
    select: str | None,
    k: int | None,
    split: float | None,
    select_option: Sequence[str],
    inference: bool,
    alpha: float,
    json: str | None,
    html: str | None,
    latex: str | None,
    quiet: bool,
) -> int:
    """Fit a linear regression to a Parquet file with differential privacy.

    FORMULA is a Wilkinson formula such as 'price ~ carat + cut'; DATA is the path of the file.
    """
    from dpreg.inference.law import check_alpha
    from dpreg.lm import dp_lm
    from dpreg.methods import METHODS
    from dpreg.results.fit import DPResults
    from dpreg.selection import SELECTORS

    outputs = Outputs(json, html, latex, quiet)
    outputs.check()
    check_alpha(alpha)
    typed = Typed(bounds_from(bounds), max_rows)
    names = [method, *([] if select is None else [select])]
    typed.needs_a_taker(names, {**METHODS, **SELECTORS})
    with working("fitting"):
        found = dp_lm(
            formula,
            data,
            eps,
            delta,
            method=built(method, METHODS, option, "--option", typed),
            select=None if select is None else built(
                select, SELECTORS, select_option, "--select-option", typed
            ),
            k=k,
            split=split,
            levels=levels_from(levels, data),
            unit=unit,
            budget=budget_from(budget),
            inference=inference,
            rng=rng,
        )  # fmt: skip
    if isinstance(found, DPResults):
        return outputs.tell(found, found.summary(alpha), DONE)
    return outputs.tell(found, found.summary(SHELL), DECLINED)
