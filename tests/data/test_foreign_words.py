"""Words of other packages in a formula: each message says what to write, and that works."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import dpreg
from dpreg.base.errors import FormulaError, KeywordError
from dpreg.sklearn import DPLinearRegression


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    n = 20_000
    x, z = rng.standard_normal((2, n))
    w = rng.uniform(0.25, 4.0, n)
    y = 3 + x + z + rng.standard_normal(n) / np.sqrt(w)
    return pd.DataFrame({"y": y, "x": x, "z": z, "w": w, "a|b": x})


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ x | w", "write C(w, levels=[...])"),
        ("y ~ x + (1 | w)", "unit='person'"),
        ("y ~ x + weights(w)", "write weights='w' as an argument of the call"),
        ("y ~ s(x)", "write ns(x, 5), with public bounds of x"),
        ("y ~ factor(w)", "C(g, levels=['a', 'b'])"),
        ("y ~ x + cluster(w)", "unit='person'"),
        ("cbind(y, z) ~ x", "dp_moments"),
        ("y ~ diff(x)", "before the data are protected"),
    ],
)
def test_a_formula_says_what_to_write(data, formula, says):
    with pytest.raises(FormulaError) as refusal:
        dpreg.dp_lm(formula, data, 1.0)
    assert says in str(refusal.value)


@pytest.mark.parametrize("word", ["freq_weights", "offset", "subset"])
def test_an_argument_says_what_to_write(data, word):
    with pytest.raises(KeywordError, match=r"write|subtract|filter"):
        dpreg.dp_lm("y ~ x", data, 1.0, **{word: "w"})


def test_a_bar_in_a_name_is_none(data):
    assert dpreg.dp_lm("y ~ `a|b`", data, 1.0, rng=1).names == ("Intercept", "a|b")


def test_weights_written_out_are_weights(data):
    written = "I(sqrt(w) * y) ~ 0 + sqrt(w) + I(sqrt(w) * x) + I(sqrt(w) * z)"
    fit = dpreg.dp_lm(written, data, 4.0, 1e-6, rng=1)
    theirs = smf.wls("y ~ x + z", data, weights=data["w"]).fit()
    assert (np.abs(fit.params.to_numpy() - theirs.params.to_numpy()) < 4 * fit.bse).all()
    assert (fit.bse.to_numpy() < 4 * theirs.bse.to_numpy()).all()


def test_an_offset_taken_off_is_one(data):
    fit = dpreg.dp_lm("I(y - z) ~ x", data, 4.0, 1e-6, rng=1)
    assert (np.abs(fit.params - [3.0, 1.0]) < 4 * fit.bse).all()


@pytest.mark.parametrize("term", ["offset(z):x", "x:offset(z)", "I(offset(z))", "np.offset(z)"])
def test_an_offset_is_a_term_by_itself(data, term):
    """Columns are known as offsets by their names, and these would be some or not."""
    with pytest.raises(FormulaError, match="by itself"):
        dpreg.dp_lm(f"y ~ x + {term}", data, 1.0)


@pytest.mark.parametrize("name", ["weights(w)", "offset(t)", "Intercept"])
def test_a_column_is_not_taken_for_what_its_name_says(data, name):
    odd = data.rename(columns={"z": name})
    budget = dpreg.Budget(1.0, 1e-5)
    for formula in (f"y ~ x + `{name}`", "y ~ ."):
        with pytest.raises(FormulaError, match="rename it"):
            dpreg.dp_lm(formula, odd, 1.0, budget=budget)
    with pytest.raises(FormulaError, match="rename it"):
        DPLinearRegression(eps=1.0, budget=budget).fit(odd[["x", name]], odd["y"])
    assert budget.charges == ()
    # Beside the formula it does no harm.
    assert dpreg.dp_lm("y ~ x", odd, 1.0, rng=1).names == ("Intercept", "x")
