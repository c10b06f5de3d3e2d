"""What a newcomer sees first."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from dpreg.cli.codes import DECLINED, DONE

__all__ = ["demo", "demo_command"]

_FORMULA = "price ~ carat + cut + color + clarity"

_INTRODUCTION = """\
The data: prices and qualities of 53,940 diamonds, one row per diamond.
The question: what does a diamond cost, by weight (carat) and by quality?  Cut, color and
clarity are ordered categories; each coefficient compares a level with the first one.

The promise: the result reveals almost nothing about whether any one diamond is in the data.
Probabilities of results change by a factor of at most e^eps, except for a failure
probability delta.  Nothing about the rows is treated as public, not even their number.

    dpreg.dp_lm({formula!r}, diamonds, eps=1.0)
"""

_READING = """\

How to read it
  coef       dollars per unit: one more carat costs about ${carat:,.0f}.
  std err    standard error, which combines
  sampling   the sampling error of least squares, and
  privacy    the noise added to protect the diamonds.
  [0.025 0.975]  95% confidence interval.
  n/a        too few diamonds of this level to estimate a standard error at this eps.
Run it again: the numbers change within their standard errors.  Each run spends eps=1; a
dpreg.Budget keeps the total.
"""

_DECLINED = """\
The mechanism declined this time, which can happen.  Run the demo again."""


def demo(out: TextIO) -> bool:
    """Fit the diamonds and explain the result; return whether there was one."""
    from dpreg.datasets import load_diamonds
    from dpreg.lm import dp_lm

    print(_INTRODUCTION.format(formula=_FORMULA), file=out)
    fit = dp_lm(_FORMULA, load_diamonds(), eps=1.0)
    print(fit.summary(), file=out)
    print(_READING.format(carat=fit.params["carat"]) if fit.released else _DECLINED, file=out)
    return fit.released


@click.command("demo")
def demo_command() -> int:
    """Fit the diamonds that come with the package, and explain the result."""
    return DONE if demo(sys.stdout) else DECLINED
