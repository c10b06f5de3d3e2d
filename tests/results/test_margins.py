"""Average marginal effects: derivatives of the mean response, by the definition."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import dpreg


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.standard_normal(20_000), "g": rng.choice(["a", "b"], 20_000)})
    chance = 1 / (1 + np.exp(-(table["x"] - 0.5 * (table["g"] == "b"))))
    return table.assign(y=(rng.random(20_000) < chance) * 1.0)


LEVELS = {"g": ["a", "b"]}


@pytest.mark.parametrize("family", ["binomial", "poisson", "gaussian"])
def test_effects_and_errors_are_numerical_derivatives(data, family):
    fit = dpreg.dp_glm("y ~ x + g", data, 2.0, 1e-6, family=family, levels=LEVELS, rng=1)
    grid = data[["x", "g"]].head(50)
    found = fit.marginal_effects(grid)
    assert list(found.index) == ["x", "g: b - a"]
    X = np.column_stack([np.ones(50), grid["x"], grid["g"] == "b"]).astype(float)

    def effects(b):
        step, mean, (low, high) = 1e-6, fit.family.mean, (X.copy(), X.copy())
        low[:, 2], high[:, 2] = 0, 1
        slope = (mean(X @ b + step * b[1]) - mean(X @ b - step * b[1])).mean() / (2 * step)
        return np.array([slope, (mean(high @ b) - mean(low @ b)).mean()])

    np.testing.assert_allclose(found["dy/dx"], effects(fit.estimates), rtol=1e-6)
    moved = [(effects(fit.estimates + e) - effects(fit.estimates - e)) / 2e-4
             for e in 1e-4 * np.eye(3)]  # fmt: skip
    change = np.array(moved).T
    errors = np.sqrt(np.diag(change @ fit.covariance @ change.T))
    np.testing.assert_allclose(found["std err"], errors, rtol=1e-3)


def test_they_are_near_those_of_statsmodels(data):
    fit = dpreg.dp_glm("y ~ x + g", data, 3.0, 1e-6, levels=LEVELS, rng=1)
    found = fit.marginal_effects(data)
    exact = smf.logit("y ~ x + g", data).fit(disp=False).get_margeff(dummy=True).margeff
    assert (np.abs(found["dy/dx"].to_numpy() - exact[[1, 0]]) < 5 * found["std err"]).all()


@pytest.mark.parametrize("family", ["binomial", "gaussian"])
@pytest.mark.parametrize(
    "formula", ["x * g + I(x ** 2)", "log(x + 9):z + x", "poly(x, 2) * z", "ns(x, 3) + np.exp(z)"]
)
def test_effects_of_a_variable_go_through_all_terms_that_have_it(data, family, formula):
    """By the definition: mean predictions where the variable is a little more, and a little less.

    Of errors too, the coefficients a little more and less.
    """
    data = data.assign(z=np.random.default_rng(2).uniform(1, 2, len(data)))
    fit = dpreg.dp_glm(
        f"y ~ {formula}", data, 3.0, 1e-6, family=family, levels=LEVELS,
        bounds={"x": (-5, 5)} if "(x, " in formula else None, rng=1,
    )  # fmt: skip
    grid = data[["x", "g", "z"]].head(40)
    found = fit.marginal_effects(grid)
    assert set(found.index) == {v for v in ("x", "z") if v in formula} | (
        {"g: b - a"} if "g" in formula.replace("log", "") else set()
    )

    def effect(fit, name):
        ends = ("b", "a") if name == "g" else (grid[name] + 1e-4, grid[name] - 1e-4)
        high, low = (fit.predict(grid.assign(**{name: e}), winsorise=False).mean() for e in ends)
        return (high - low) / (1.0 if name == "g" else 2e-4)

    for label, row in found.iterrows():
        name = label[0]
        assert row["dy/dx"] == pytest.approx(effect(fit, name), rel=1e-4)
        moved = [(effect(dataclasses.replace(fit, estimates=fit.estimates + e), name)
                  - effect(dataclasses.replace(fit, estimates=fit.estimates - e), name)) / 2e-2
                 for e in 1e-2 * np.eye(len(fit.names))]  # fmt: skip
        error = np.sqrt(moved @ fit.covariance @ moved)
        assert row["std err"] == pytest.approx(error, rel=1e-2)


def test_a_term_that_jumps_has_no_derivative_and_an_offset_no_coefficient(data):
    formula = "y ~ I(x > 0):z + z + w + I(w // 2) + g + offset(o)"
    more = {name: np.random.default_rng(k).uniform(1, 9, len(data)) for k, name in enumerate("zwo")}
    table = data.assign(**more)
    fit = dpreg.dp_glm(formula, table, 3.0, 1e-6, levels=LEVELS, rng=1)
    found = fit.marginal_effects(table.head(20))
    assert list(found.index) == ["z", "w", "g: b - a", "x"]
    assert found["dy/dx"].isna().tolist() == [False, True, False, True]
    assert found["std err"].isna().tolist() == [False, True, False, True]


def test_errors_are_upper_bounds_where_covariances_are_not_released(data):
    table = data.assign(y=lambda d: d["x"] ** 2)
    fit = dpreg.dp_lm("y ~ x + I(x ** 2)", table, 9.0, 1e-6, method="tukey", rng=1)
    found = fit.marginal_effects({"x": [1.0, 2.0]})
    assert found.loc["x", "dy/dx"] == pytest.approx(fit.params["x"] + 3 * fit.params["I(x ** 2)"])
    assert found.loc["x", "std err"] == pytest.approx(fit.bse["x"] + 3 * fit.bse["I(x ** 2)"])


def test_without_errors_or_rows(data):
    fit = dpreg.dp_glm("y ~ x", data, 1.0, 1e-6, inference=False, rng=1)
    assert fit.marginal_effects(data.head())["std err"].isna().all()
    with pytest.raises(ValueError, match="no complete row"):
        fit.marginal_effects({"x": np.array([np.nan])})
