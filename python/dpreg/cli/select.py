"""`dpreg select`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from dpreg.cli.codes import DONE
from dpreg.cli.help import Documented
from dpreg.cli.methods import Typed, built, described
from dpreg.cli.output import Outputs, output_options
from dpreg.cli.parameters import (
    bounds_from,
    budget_from,
    data_options,
    levels_from,
    method_options,
    offering,
    privacy_options,
    selector_names,
)
from dpreg.cli.progress import working

__all__ = ["select"]


def _options() -> str:
    from dpreg.selection import SELECTORS

    return described(SELECTORS)


@click.command(
    cls=Documented,
    examples=(
        'dpreg select "price ~ ." diamonds.parquet --k 5 --eps 0.2',
        'dpreg select "y ~ a + b" d.parquet --k 1 --eps 1 --method sis --bounds a=0,5 '
        "--bounds b=0,9 --bounds y=0,100",
    ),
    details=("Options of methods", _options),
)
@click.argument("formula")
@click.argument("data")
@click.option("--k", type=int, required=True, help="How many columns to choose.")
@privacy_options
@click.option("--method", metavar="NAME", shell_complete=offering(selector_names),
              default="kendall", show_default=True, help="How to choose.")  # fmt: skip
@method_options("option", "the method")
@data_options
@output_options
def select(
    formula: str,
    data: str,
    k: int,
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
    json: str | None,
    html: str | None,
    latex: str | None,
    quiet: bool,
) -> int:
    """Choose columns of a Parquet file with differential privacy.

    FORMULA makes the candidates, such as 'price ~ .'; DATA is the path of the file.
    """
    from dpreg.select import dp_select
    from dpreg.selection import SELECTORS

    outputs = Outputs(json, html, latex, quiet)
    outputs.check()
    typed = Typed(bounds_from(bounds), max_rows)
    typed.needs_a_taker([method], SELECTORS)
    with working("choosing columns"):
        found = dp_select(
            formula,
            data,
            k,
            eps,
            0.0 if delta is None else delta,
            method=built(method, SELECTORS, option, "--option", typed),
            levels=levels_from(levels, data),
            unit=unit,
            budget=budget_from(budget),
            rng=rng,
        )
    return outputs.tell(found, found.summary(), DONE)
