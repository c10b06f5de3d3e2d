"""`dpreg select`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from dpreg.cli.codes import DONE
from dpreg.cli.help import Documented
from dpreg.cli.methods import built, described
from dpreg.cli.parameters import method_options, offering, selector_names
from dpreg.cli.progress import working
from dpreg.cli.release import Release, release_options

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
@release_options(
    click.option("--k", type=int, required=True, help="Number of terms to select."),
    click.option("--method", metavar="NAME", shell_complete=offering(selector_names),
                 default="kendall", show_default=True, help="Method of selection."),
    method_options("option", "the method"),
)  # fmt: skip
def select(release: Release, k: int, method: str, option: Sequence[str]) -> int:
    """Choose terms of a regression with differential privacy.

    The terms of FORMULA are the candidates, such as 'price ~ .'; DATA is the path of the file.
    """
    from dpreg.calls.select import dp_select
    from dpreg.selection import SELECTORS

    release.typed.needs_a_taker([method], SELECTORS)
    with working("choosing terms"):
        found = dp_select(
            release.formula,
            release.data,
            k,
            release.eps,
            0.0 if release.delta is None else release.delta,
            method=built(method, SELECTORS, option, "--option", release.typed),
            **release.arguments(),
        )
    return release.outputs.tell(found, found.summary(), DONE)
