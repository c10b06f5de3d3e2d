"""The demonstration for newcomers."""

from __future__ import annotations

import math
import sys
from typing import Any, TextIO

import click

import dpreg
from dpreg.base.later import pd
from dpreg.faces.cli.shell import DECLINED, DONE

FORMULA = "log(price) ~ log(carat) + color + clarity"

_INTRODUCTION = """\
Data      prices and qualities of {n:,} diamonds; one row per diamond
Question  what do weight (carat), color and clarity add to the price of a diamond?
Promise   the result reveals almost nothing about whether any one diamond is in the data:
          probabilities of results change by a factor of at most e^eps, except for a
          failure probability delta.  No bounds and no number of rows are taken from
          the data.

    dpreg.dp_lm({formula!r}, diamonds, eps=1.0, delta=1e-6)
"""

_COMPARISON = """
Compared with ordinary least squares (shown because these data are public):

{table}

Conclusion: {conclusion}
"""

_READING = """
How to read it
  coef, std err    change of log(price), and its standard error, which combines the
                   sampling error and the noise added for privacy
  color, clarity   compared with color D (the best) and clarity I1 (the lowest)
  [0.025  0.975]   95% confidence interval, noise included
Run it again: the numbers change within their standard errors.  Each run spends eps = 1; a
dpreg.Budget keeps the total."""


def least_squares(diamonds: pd.DataFrame) -> pd.DataFrame:
    """Return coefficients of the demo's model without privacy, with robust standard errors."""
    import numpy as np
    import statsmodels.formula.api as smf

    logs = diamonds.assign(price=np.log(diamonds["price"]), carat=np.log(diamonds["carat"]))
    fit = smf.ols("price ~ carat + color + clarity", logs).fit(cov_type="HC1")
    limits = fit.conf_int().set_axis(["lower", "upper"], axis=1)
    table: pd.DataFrame = limits.assign(**{"coef": fit.params, "std err": fit.bse})
    return table.rename(index={"carat": "log(carat)"})


def demo(out: TextIO, picture: str | None = None) -> bool:
    """Fit the diamonds, compare with least squares, and explain both."""
    diamonds = dpreg.load_diamonds()
    print(_INTRODUCTION.format(n=len(diamonds), formula=FORMULA), file=out)
    fit = dpreg.dp_lm(FORMULA, diamonds, eps=1.0, delta=1e-6)
    print(fit.summary(), file=out)
    if not isinstance(fit, dpreg.DPResults):
        print("The mechanism declined this time, which can happen.  Run the demo again.", file=out)
        return False
    exact = least_squares(diamonds)
    print(
        _COMPARISON.format(
            table=_beside(fit, exact), conclusion=conclusion(fit.params, exact["coef"])
        ),
        end="",
        file=out,
    )
    print(_READING, file=out)
    if picture is not None:
        print(_draw(fit, exact, picture), file=out)
    return True


def conclusion(params: pd.Series, exact: pd.Series) -> str:
    """Return what private and exact coefficients say about prices."""
    weight, also = (100 * (1.1 ** found["log(carat)"] - 1) for found in (params, exact))
    clarity, too = (math.exp(found["clarity[T.IF]"]) for found in (params, exact))
    return (
        "at the same color and clarity a diamond that is 10% heavier costs about\n"
        f"{weight:.0f}% more, and a flawless one (IF) about {clarity:.1f} times one of clarity I1; "
        f"by least\nsquares {also:.0f}% and {too:.1f} times."
    )


def _beside(fit: dpreg.DPResults, exact: pd.DataFrame) -> str:
    lines = [f"  {'coefficient (standard error)':<30}{'least squares':>18}{'private, eps = 1':>20}"]
    for term in fit.names:
        theirs = _with_error(exact["coef"][term], exact["std err"][term])
        ours = _with_error(fit.params[term], fit.bse[term])
        lines.append(f"  {term:<30}{theirs:>18}{ours:>20}")
    return "\n".join(lines)


def _with_error(estimate: float, error: float) -> str:
    return f"{estimate:.3f} ({error:.3f})" if error == error else "not estimable"


def _draw(fit: dpreg.DPResults, exact: pd.DataFrame, path: str) -> str:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return "For a plot: pip install 'dpreg[plots]'."
    from dpreg.faces.plots import plot_beside

    figure = Figure(figsize=(7, 6), layout="constrained")
    FigureCanvasAgg(figure)
    named: dict[str, Any] = {"least squares": exact, "private, eps = 1": fit}
    ax = plot_beside(named, figure.subplots(), terms=fit.names[1:])
    ax.set_xlabel("change of log(price), with 95% interval")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        return f"The plot cannot be written to {path}: {error.strerror}."
    return f"Plot: {path}"


@click.command("demo")
@click.option("--picture", metavar="FILE", default="dpreg-demo.png", show_default=True,
              help="File for a plot, which needs matplotlib.")  # fmt: skip
@click.option("--no-picture", is_flag=True, help="Text only.")
def demo_command(picture: str, no_picture: bool) -> int:
    """Fit the bundled diamonds data and explain the result.

    The private fit is compared with least squares.
    """
    return DONE if demo(sys.stdout, None if no_picture else picture) else DECLINED
