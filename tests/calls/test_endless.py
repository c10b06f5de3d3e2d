"""Arguments that would take hours or all memory are refused in words, before a charge."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.base.errors import ArgumentError

LONG = 10**5000
DATA = {"a": np.linspace(1, 2, 9), "t": np.arange(9) % 2.0, "y": np.ones(9)}


def lm(formula="y ~ a", **given):
    return dpreg.dp_lm(formula, DATA, 1.0, 1e-6, rng=1, **given)


def survival(**given):
    return dpreg.dp_survival("Surv(a, t) ~ 1", DATA, 1.0, 1e-6, **given)


def effect(**given):
    return dpreg.dp_effect("y ~ a", DATA, 1.0, 1e-6, treatment="t", **given)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: lm("y ~ I(a + 9**9**9)"), "a power of numbers needs a plain exponent"),
    (lambda: lm("y ~ I(a > 9**999999999)"), "a power of numbers needs a plain exponent"),
    (lambda: lm("y ~ offset((((9**999)**999)**999) * a)"), "a power of numbers needs a plain"),
    (lambda: lm("y ~ I(a ** -9**-9**9**9)"), "a power of numbers needs a plain exponent"),
    (lambda: lm(bounds={"a": range(10**12)}), "those of 'a' must be two numbers"),
    (lambda: lm(bounds={"a": itertools.count()}), "those of 'a' must be two numbers"),
    (lambda: lm("y ~ C(a)", levels={"a": range(20_001)}), r"the term 'C\(a\)' has 20,001 columns"),
    (lambda: lm("y ~ t + C(a):t", levels={"a": range(300), "t": range(300)}),
     r"the term 'C\(a\):t' has 90,000 columns, more than 20,000; declare fewer levels"),
    (lambda: survival(cuts=range(1, 10**12)), "cuts must be increasing finite numbers"),
    (lambda: survival(cuts=itertools.count(1)), "cuts must be increasing finite numbers"),
    (lambda: survival(cuts=[1, LONG]), "cuts must be increasing finite numbers"),
    (lambda: survival(cuts=[1, 2], start=-LONG), "start must be a number below .*, got an int"),
    (lambda: effect(propensity=LONG), "propensity must be a number .*, got an int"),
    (lambda: survival(cuts=np.array(1.0)), "cuts must be increasing finite numbers"),
    (lambda: survival(cuts=[1], strata="site"), "strata: there is no column 'site'"),
    (lambda: dpreg.dp_survival("Surv(a, t) ~ 1", {**DATA, "1": DATA["a"]}, 1.0, 1e-6, cuts=[1],
                               strata="1"), "strata: '1' has no public levels"),
    (lambda: lm(unit="a", max_rows=[2]), "max_rows must be a whole number, got a list"),
    (lambda: lm(memory=LONG), "memory must be a number of bytes, .*, got an int"),
    (lambda: lm(weights="a", weight_limit=Fraction(1, LONG)), "weight_limit .* got a Fraction"),
    (lambda: dpreg.dp_plan(n=LONG, d=3, eps=1.0), "n must be an integer .*, got an int"),
    (lambda: dpreg.dp_plan(n=100, d=3, eps=1.0, effect=LONG), "effect must be .*, got an int"),
    (lambda: dpreg.dp_moments(np.array("a"), DATA, 1.0), "formula must be a string"),
    (lambda: effect(unit="a", max_rows=LONG), "max_rows must be an integer .*, got an int"),
])  # fmt: skip
def test_what_would_not_end_is_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()


@pytest.mark.parametrize("term", [
    "a*10**6", "a + 2**-3", "a + 2**0.5", "a**2**3", "2**a", "(2 + 3)**2 * a", "a**(1/2)",
])  # fmt: skip
def test_powers_that_end_are_not(term):
    assert lm(f"y ~ I({term})").privacy.parts


def test_a_category_may_have_many_levels_where_it_is_compared():
    places = pd.Categorical.from_codes([0, 1, 2] * 3, [f"{k}" for k in range(30_000)])
    data = pd.DataFrame({"y": np.ones(9), "place": places})
    assert dpreg.dp_lm("y ~ I(place == '1')", data, 1.0, 1e-6, rng=1).privacy.parts
    with pytest.raises(ArgumentError, match="the term 'place' has 30,000 columns"):
        dpreg.dp_lm("y ~ place", data, 1.0, 1e-6)
