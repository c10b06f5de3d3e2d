"""Average marginal effects: derivatives of the mean response, by the definition."""

from __future__ import annotations

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
    assert list(found.index) == ["x", "g[T.b]"]
    X = np.column_stack([np.ones(50), grid["x"], grid["g"] == "b"]).astype(float)

    def effects(b):
        step, mean = 1e-6, fit.family.mean
        return np.array(
            [(mean(X @ b + step * b[j]) - mean(X @ b - step * b[j])).mean() / (2 * step)
             for j in (1, 2)]
        )  # fmt: skip

    np.testing.assert_allclose(found["dy/dx"], effects(fit.estimates), rtol=1e-6)
    moved = [(effects(fit.estimates + e) - effects(fit.estimates - e)) / 2e-4
             for e in 1e-4 * np.eye(3)]  # fmt: skip
    change = np.array(moved).T
    errors = np.sqrt(np.diag(change @ fit.covariance @ change.T))
    np.testing.assert_allclose(found["std err"], errors, rtol=1e-3)


def test_they_are_near_those_of_statsmodels(data):
    fit = dpreg.dp_glm("y ~ x + g", data, 3.0, 1e-6, levels=LEVELS, rng=1)
    found = fit.marginal_effects(data)
    exact = smf.logit("y ~ x + g", data).fit(disp=False).get_margeff().margeff
    assert (np.abs(found["dy/dx"].to_numpy() - exact[[1, 0]]) < 5 * found["std err"]).all()


def test_without_errors_or_rows(data):
    fit = dpreg.dp_glm("y ~ x", data, 1.0, 1e-6, inference=False, rng=1)
    assert fit.marginal_effects(data.head())["std err"].isna().all()
    with pytest.raises(ValueError, match="no complete row"):
        fit.marginal_effects({"x": np.array([np.nan])})
