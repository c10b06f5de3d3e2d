"""Weights of rows and offsets: against statsmodels, and against what they must be equal to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import special

import dpreg
from dpreg.estimation.methods import METHODS

FAMILIES = ["gaussian", "binomial", "poisson", dpreg.Quantile(0.5)]
TRUTH = np.array([0.2, 0.6, -0.4])


def table(family, n, seed=1):
    rng = np.random.default_rng(seed)
    x, g = rng.standard_normal(n), (rng.random(n) < 0.3).astype(float)
    w, t = rng.gamma(2, 1, n), rng.uniform(90, 110, n)
    eta = TRUTH[0] + TRUTH[1] * x + TRUTH[2] * g
    if family == "binomial":
        y = (rng.random(n) < special.expit(eta)).astype(float)
    elif family == "poisson":
        y = rng.poisson(np.exp(eta)).astype(float)
    else:
        y = eta + rng.standard_normal(n) / np.sqrt(w)
    return pd.DataFrame({"y": y, "x": x, "g": g, "w": w, "t": t})


def fitted(family, data, eps=1.0, **options):
    return dpreg.dp_glm("y ~ x + g", data, eps, family=family, weights="w", rng=1, **options)


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_estimates_are_those_of_weighted_fits_but_for_noise(family, inference):
    import statsmodels.api as sm

    data = table(family, 40_000)
    X = sm.add_constant(data[["x", "g"]])
    if family in ("binomial", "poisson"):
        kind = {"binomial": sm.families.Binomial(), "poisson": sm.families.Poisson()}[family]
        exact = sm.GLM(data.y, X, family=kind, freq_weights=data.w).fit().params
    elif family == "gaussian":
        exact = sm.WLS(data.y, X, weights=data.w).fit().params
    else:
        # A median weighs rows by repeating them: w is nearly a fraction of tenths.
        many = np.repeat(np.arange(len(data)), np.rint(3 * data.w).astype(int))
        exact = sm.QuantReg(data.y.to_numpy()[many], X.to_numpy()[many]).fit(q=0.5).params
    fit = fitted(family, data, 50.0, inference=inference)
    np.testing.assert_allclose(fit.estimates, exact, atol=0.03)
    assert any("weighted by w" in note for note in fit.notes)


def test_intervals_cover_with_weights():
    """Of 3 families, 12 fits and 3 coefficients, 108 intervals: 90 have a chance below 1e-6."""
    covered = 0
    for family in FAMILIES[:3]:
        for seed in range(12):
            fit = fitted(family, table(family, 8_000, seed), 2.0)
            covered += int((np.abs(fit.estimates - TRUTH) <= 1.96 * fit.bse.to_numpy()).sum())
    assert covered > 90


@pytest.mark.parametrize("method", ["auto", "boosted_adassp", "adassp"])
def test_a_row_with_a_useless_weight_is_not_there(method):
    data = table("gaussian", 2_000)
    useless = np.array([np.nan, 0.0, -3.0, np.inf, -np.inf])
    more = pd.concat([data, data.head(5).assign(w=useless, y=1e9)], ignore_index=True)
    alone, both = (
        dpreg.dp_lm("y ~ x", frame, 1.0, weights="w", method=method, rng=1)
        for frame in (data, more)
    )
    np.testing.assert_array_equal(alone.estimates, both.estimates)
    assert alone.to_json() == both.to_json()


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_weights_above_the_limit_count_as_the_limit(family):
    data = table(family, 3_000)
    cut = data.assign(w=np.minimum(data.w, 1.5))
    limited, same = (fitted(family, frame, weight_limit=1.5) for frame in (data, cut))
    assert limited.to_json() == same.to_json()
    assert any("clipped at 1.5" in note for note in limited.notes)


def test_a_weight_that_is_the_same_everywhere_changes_little():
    data = table("gaussian", 20_000).assign(w=7.0)
    fit = fitted("gaussian", data, 200.0, weight_limit=10.0)
    plain = dpreg.dp_lm("y ~ x + g", data, 200.0, rng=1)
    np.testing.assert_allclose(fit.estimates, plain.estimates, atol=0.02)
    np.testing.assert_allclose(fit.sampling, plain.sampling, rtol=0.2)


def test_rows_of_units_are_added_up_with_their_weights():
    """Five rows of one person, all alike, are one: errors are those of as many persons."""
    once = table("binomial", 6_000)
    five = once.loc[once.index.repeat(5)].assign(person=np.repeat(np.arange(6_000), 5))
    method = dpreg.BoostedAdaSSP(max_rows=5)
    fit = fitted("binomial", five, 50.0, unit="person", method=method)
    alone = fitted("binomial", once, 50.0)
    np.testing.assert_allclose(fit.sampling, alone.sampling, rtol=0.2)


@pytest.mark.parametrize("formula", ["y ~ x + g + offset(t)", "y ~ . - w"])
def test_blocks_and_containers_do_not_change_weights_or_offsets(formula, tmp_path):
    data = table("gaussian", 40_000)
    data.to_parquet(tmp_path / "data.parquet")
    results = {
        dpreg.dp_lm(formula, source, 1.0, weights="w", rng=1, **options).to_json()
        for source, options in [
            (data, {}),
            (data, {"memory": 1e6}),
            (pl.from_pandas(data), {}),
            (str(tmp_path / "data.parquet"), {"memory": 1e6}),
        ]
    }
    assert len(results) == 1


def test_an_engine_weighs_rows_where_they_are():
    dask = pytest.importorskip("dask.dataframe")
    data = table("gaussian", 3_000)
    formula = "y ~ x + g + offset(t)"
    parts = dask.from_pandas(data, npartitions=3)
    there = dpreg.dp_lm(formula, parts, 1.0, weights="w", rng=1)
    assert there.to_json() == dpreg.dp_lm(formula, data, 1.0, weights="w", rng=1).to_json()


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_an_offset_is_taken_off_the_response(method, inference):
    options = {"method": method, "rng": 1, "inference": inference}
    if method == "frank_wolfe":
        options["method"] = dpreg.FrankWolfe(steps=20)
    data = table("gaussian", 5_000)
    fit = dpreg.dp_lm("y ~ x + offset(t) + g", data, 8.0, **options)
    same = dpreg.dp_lm("I(y - t) ~ x + g", data, 8.0, **options)
    assert fit.released
    assert fit.names == ("Intercept", "x", "offset(t)", "g")
    others = [0, 1, 3]
    np.testing.assert_array_equal(fit.estimates[others], same.estimates)
    np.testing.assert_array_equal(fit.bse, same.bse)
    assert fit.estimates[2] == 1
    assert fit.covariance is None or (fit.covariance[2] == 0).all()
    assert "offset(t)" not in fit.params
    new = data.head(50)
    straight = fit.predict(new, winsorise=False) - new["t"]
    np.testing.assert_allclose(straight, same.predict(new, winsorise=False), atol=1e-9)
    again = dpreg.DPResults.from_json(fit.to_json())
    pd.testing.assert_series_equal(again.predict(new), fit.predict(new))


def test_offsets_of_quantiles_and_of_effects_of_units():
    data = table("gaussian", 6_000).assign(person=np.repeat(np.arange(1_500), 4))
    for formula, options in [
        ("{} ~ x {}", {"family": dpreg.Quantile(0.7)}),
        ("{} ~ x {} | person", {"family": "gaussian", "unit": "person"}),
    ]:
        fit, same = (
            dpreg.dp_glm(formula.format(*sides), data, 4.0, rng=1, **options)
            for sides in [("y", "+ offset(t)"), ("I(y - t)", "")]
        )
        np.testing.assert_allclose(fit.params["x"], same.params["x"], rtol=1e-9)


def test_an_offset_that_overflows_is_no_news():
    data = table("gaussian", 3_000)
    data.loc[:3, "y"], data.loc[:3, "t"] = 1e308, -1e308
    assert dpreg.dp_lm("y ~ x + offset(t)", data, 1.0, rng=1).released in (True, False)


@pytest.mark.parametrize(
    "call", [dpreg.dp_moments, lambda *a: dpreg.dp_select(a[0], a[1], 1, a[2])]
)
def test_an_offset_is_no_column_to_choose_or_to_release(call):
    with pytest.raises(ValueError, match=r"does not support offset\(t\)"):
        call("y ~ x + offset(t)", table("gaussian", 20), 1.0)


DATA = {"y": np.zeros(3), "x": np.zeros(3), "w": np.ones(3), "g": np.array(["a", "b", "a"])}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": "v"}, "there is no column 'v'"),
        ({"weights": "g"}, "which cannot be weights"),
        ({"weights": np.ones(3)}, "weights must be the name of one column"),
        ({"weight_limit": 2.0}, "is a limit of weights"),
        ({"weights": "w", "weight_limit": 0.0}, "weight_limit must be"),
        ({"weights": "w", "weight_limit": "high"}, "weight_limit must be"),
        ({"weights": "w", "select": "kendall", "k": 1}, "cannot be used together with weights"),
        ({"weights": "w", "method": "tukey"}, "does not support row weights"),
        ({"weights": "w", "method": "dpsgd"}, "does not support row weights"),
        ({"weights": "w", "method": "frank_wolfe"}, "does not support row weights"),
        (
            {"weights": "w", "method": dpreg.Auto(candidates=("tukey",))},
            "does not support row weights",
        ),
        ({"formula": "y ~ x + weights(w)"}, "weights='w'"),
        ({"weights": "w", "unit": "g", "formula": "y ~ x | g"}, "unit effects"),
        ({"formula": "y ~ x + offset(w)", "select": "kendall", "k": 1}, "select"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_spent(arguments, message):
    budget = dpreg.Budget(1.0, 1e-5)
    given = {"formula": "y ~ x", **arguments}
    with pytest.raises(ValueError, match=message):
        dpreg.dp_lm(given.pop("formula"), DATA, 0.5, 1e-6, budget=budget, **given)
    assert not budget.charges
