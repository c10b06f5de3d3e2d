"""What a newcomer sees first."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from dpreg.cli.codes import DECLINED, DONE

__all__ = ["demo", "demo_command"]

_FORMULA = "price ~ carat + cut + color + clarity"

_INTRODUCTION = """\
The data: prices and qualities of 53,940 diamonds, one row a diamond.
The question: what does a diamond cost, by weight (carat) and by quality?  Cut, color and
clarity are ordered categories; each coefficient compares a level with the first one.

The promise: whether or not any one diamond is in the data, whoever reads the result can
tell hardly any difference: probabilities change by a factor of at most e^eps, apart from
a failure probability delta.  Nothing else about the rows is used as if it were public, not
even how many there are.

    dpreg.dp_lm({formula!r}, diamonds, eps=1.0)
"""

_READING = """\

How to read it
  coef       dollars for one unit more: one carat more costs about ${carat:,.0f}.
  std err    how far the coefficient may be off, and of that
  sampling   what ordinary least squares would have had anyway,
  privacy    what was added to protect the diamonds.
  [0.025 0.975]  holds the true coefficient with probability 95%.
  blank      too few diamonds of a level for this eps: no error can be told.
Run it again: the numbers change within their standard errors.  Each run spends eps=1; a
dpreg.Budget keeps the sum.
"""

_DECLINED = """\
This time the mechanism declined, as it may.  Run the demo again."""


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
