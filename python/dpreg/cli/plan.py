"""`dpreg plan`."""

from __future__ import annotations

import click

from dpreg.cli.codes import DONE
from dpreg.cli.help import Documented

__all__ = ["plan"]


@click.command(
    cls=Documented,
    examples=(
        "dpreg plan --n 50000 --d 10 --eps 1",
        "dpreg plan --n 50000 --d 10 --eps 1 --family binomial",
    ),
)
@click.option("--n", "--rows", "n", type=int, required=True,
              help="Number of units, if it is public.")  # fmt: skip
@click.option("--d", "--features", "d", type=int, required=True, help="Number of regressors.")
@click.option("--eps", type=float, required=True, help="Privacy parameter epsilon.")
@click.option(
    "--delta", type=float, default=1e-5, show_default=True, help="Privacy parameter delta."
)
@click.option("--method", default="auto", show_default=True,
              help="Method of fitting, or moments (one release, many models).")  # fmt: skip
@click.option("--family", metavar="NAME", default="gaussian", show_default=True,
              help="gaussian, binomial, poisson or quantile.")  # fmt: skip
@click.option("--link", metavar="NAME", help="logit or probit, for the binomial family.")
def plan(
    n: int, d: int, eps: float, delta: float, method: str, family: str, link: str | None
) -> int:
    """Say what a fit will give, before any data is touched."""
    from dpreg.planning.plan import dp_plan

    print(dp_plan(n, d, eps, delta, method=method, family=family, link=link))
    return DONE
