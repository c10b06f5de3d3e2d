"""`dp_effect`: its rows by definition, exact estimates, errors, what is released, and wrong use."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from methods.tables import steep
from methods.tables import treated as cohort

import dpreg
from dpreg.base.errors import ArgumentError, FormulaError, SchemaError

LEVELS = {"arm": ["placebo", "drug"]}


def exact(data, outcome="y", family=None, propensity=None):
    """Return means and covariance of doubly robust scores without noise."""
    X, t, y = sm.add_constant(data[["a", "b"]].to_numpy()), data["t"], data[outcome]
    family = family or sm.families.Gaussian()
    m = [sm.GLM(y[t == k], X[t == k], family=family).fit().predict(X) for k in (0, 1)]
    e = propensity
    if e is None:
        fit = sm.GLM(t, X, family=sm.families.Binomial()).fit()
        e = np.clip(fit.predict(X), 0.05, 0.95)
    scores = np.array([m[0] + (1 - t) * (y - m[0]) / (1 - e), m[1] + t * (y - m[1]) / e])
    return scores.mean(axis=1), np.cov(scores) / len(y)


CALLS = {
    "aipw": ({"treatment": "t"}, {}),
    "trial": ({"treatment": "t", "propensity": 0.5}, {"propensity": 0.5}),
    "risks": ({"treatment": "t", "family": "binomial"},
              {"outcome": "hit", "family": sm.families.Binomial()}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_with_little_noise_it_is_the_exact_estimate(name):
    given, of = CALLS[name]
    data = cohort(20_000, trial=name == "trial")
    outcome = of.get("outcome", "y")
    found = dpreg.dp_effect(f"{outcome} ~ a + b", data, 300.0, 1e-2, rng=1, **given)
    means, covariance = exact(data, **of)
    errors = np.sqrt(np.diag(covariance))
    assert np.abs(found.means - means).max() < 0.1 * errors.max()
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), errors, rtol=0.05)
    wanted = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert found.se == pytest.approx(wanted, rel=0.05)


def test_a_difference_in_means_has_welchs_error():
    data = cohort(20_000, trial=True)
    found = dpreg.dp_effect("y ~ 1", data, 300.0, 1e-2, treatment="t", method="difference", rng=1)
    parts = [data["y"][data["t"] == arm] for arm in (0, 1)]
    error = math.sqrt(sum(part.var() / len(part) for part in parts))
    assert found.effect == pytest.approx(parts[1].mean() - parts[0].mean(), abs=0.1 * error)
    assert found.se == pytest.approx(error, rel=0.03)
    assert found.overlap is None
    assert "randomised" in " ".join(found.notes)


def test_regression_has_the_error_of_predictions_and_of_coefficients():
    data = cohort(20_000)
    found = dpreg.dp_effect("y ~ a + b", data, 300.0, 1e-2, treatment="t", method="regression",
                            rng=1)  # fmt: skip
    X = sm.add_constant(data[["a", "b"]].to_numpy())
    fits = [sm.OLS(data["y"][data["t"] == k], X[data["t"] == k]).fit() for k in (0, 1)]
    score, mean = fits[1].predict(X) - fits[0].predict(X), X.mean(axis=0)
    error = math.sqrt(
        score.var() / len(score) + sum(mean @ fit.cov_params() @ mean for fit in fits)
    )
    assert found.effect == pytest.approx(score.mean(), abs=0.1 * error)
    assert found.se == pytest.approx(error, rel=0.05)


def test_errors_of_scores_of_few_rows_are_those_of_the_rows():
    """Where norms of scores were not counted, they were 16% too small in the median."""
    ratios = []
    for seed in range(24):
        data = cohort(2000, seed)
        found = dpreg.dp_effect("y ~ a + b", data, 1.0, 1e-6, treatment="t", rng=seed)
        _, covariance = exact(data)
        own = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
        ratios.append(found.tidy()["sampling"]["effect"] / math.sqrt(own))
    assert 0.9 < np.nanmedian(ratios) < 1.2


def test_intervals_cover_where_one_arm_is_small():
    """Few scores are long, and all that the model of their arm is off by is in these."""
    missed = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x, t = rng.standard_normal(10_000), (rng.random(10_000) < 0.05).astype(float)
        y = x + t * (0.5 + 0.3 * x) + rng.standard_normal(10_000)
        data = {"x": x, "t": t, "y": y}
        fit = dpreg.dp_effect("y ~ x", data, 1.0, 1e-5, treatment="t", propensity=0.05, rng=seed)
        missed.append((fit.effect - 0.5) / fit.se)
    assert np.sqrt(np.mean(np.square(missed))) < 1.6


@pytest.mark.parametrize(("rows", "most"), [(5_000, 3.0), (20_000, 2.2)])
def test_errors_of_a_small_arm_are_not_those_of_slopes_that_are_noise(rows, most):
    """With slopes of its own they were 13 and 5 times those without noise."""
    widths = []
    for seed in range(8):
        rng = np.random.default_rng([3, seed])
        X, t = rng.standard_normal((rows, 3)), (rng.random(rows) < 0.05).astype(float)
        y = X @ [0.8, 0.5, -0.3] + t * (1 + 0.5 * X[:, 0]) + rng.standard_normal(rows)
        data = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "t": t, "y": y})
        fit = dpreg.dp_effect(
            "y ~ a + b + c", data, 1.0, 1e-6, treatment="t", propensity=0.05, rng=seed
        )
        widths.append(fit.se / math.sqrt((1 / 0.05 + 1 / 0.95 + 0.25) / rows))
    assert np.median(widths) < most


def test_sampling_errors_are_those_of_scores_where_few_are_long():
    """With those of scores that stop at a limit it was .85 of them.

    The mean of 8 fits differs by .04 from one eight to another: these are 32.
    """
    ratios = []
    for seed in range(32):
        X, t, y = steep(5_000, "gaussian", np.random.default_rng([7, seed]))
        data = pd.DataFrame({"a": X[:, 1], "b": X[:, 2], "t": t.astype(float), "y": y})
        found = dpreg.dp_effect("y ~ a + b", data, 1.0, 1e-6, treatment="t", rng=seed)
        error = np.sqrt(np.array([-1, 1]) @ exact(data)[1] @ np.array([-1, 1]))
        ratios.append(found.tidy().loc["effect", "sampling"] / error)
    assert 0.93 < np.nanmean(ratios) < 1.15


@pytest.fixture(scope="module")
def fitted():
    data = cohort(8000)
    return dpreg.dp_effect("y ~ a + b", data, 2.0, treatment="arm", levels=LEVELS, rng=3)


def test_effect_means_and_limits_are_those_of_the_table(fitted):
    table = fitted.tidy(0.1)
    assert list(table.index) == ["effect", "mean[arm=placebo]", "mean[arm=drug]"]
    assert table.loc["effect", "coef"] == fitted.effect == fitted.means[1] - fitted.means[0]
    assert (table.loc["effect", ["lower", "upper"]].tolist()) == list(fitted.conf_int(0.1))
    np.testing.assert_allclose(
        table["sampling"] ** 2 + table["privacy"] ** 2, table["std err"] ** 2
    )
    assert table.loc["effect", "P>|z|"] == fitted.pvalue < 1e-6
    assert fitted.overlap.share < 0.1
    assert abs(fitted.treated / fitted.units - cohort(8000)["t"].mean()) < 0.05
    text = " ".join(str(fitted).split())
    assert "Private effect of arm on y" in text
    assert "probability of treatment outside 0.05 to 0.95" in text


def test_an_effect_is_drawn_from_the_mean_of_the_control(fitted):
    pytest.importorskip("matplotlib").use("Agg")
    ax, table = fitted.plot(alpha=0.1), fitted.tidy(0.1)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(table.index)
    whole = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(whole[1:], table[["lower", "upper"]].to_numpy()[1:])
    np.testing.assert_allclose(whole[0] - fitted.means[0], table.loc["effect", ["lower", "upper"]])
    assert len(ax.texts) == 3
    assert "90% intervals" in ax.get_xlabel()
    assert ax.child_axes[0].get_xlabel() == "effect, a difference of means"
    risks = dataclasses.replace(fitted, family="binomial").plot()
    assert risks.child_axes[0].get_xlabel() == "effect, a difference of risks"
    unknown = dataclasses.replace(fitted, covariance=np.full((2, 2), np.nan)).plot()
    assert {t.get_text().strip() for t in unknown.texts} == {"not estimable at this eps"}


def test_an_effect_goes_to_json_and_back(fitted):
    again = dpreg.DPEffect.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()
    assert str(again) == str(fitted)
    document = json.loads(fitted.to_json())
    for broken in (
        {"means": [1.0]}, {"arms": ["a"]}, {"overlap": 3}, {"dpreg_effect": 2}, {"units": None},
        {"covariance": [[1.0, 2.0]]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="not a treatment effect"):
            dpreg.DPEffect.from_json(json.dumps({**document, **broken}))


@pytest.mark.parametrize("eps", [0.3, 1.0, 30.0])
@pytest.mark.parametrize("given", [
    {}, {"propensity": 0.5}, {"method": "regression"}, {"unit": "who", "max_rows": 2},
])  # fmt: skip
def test_squares_of_all_stages_are_within_the_allowance(eps, given):
    found = dpreg.dp_effect("hit ~ a + b", cohort(3000), eps, treatment="t", family="binomial",
                            rng=1, **given)  # fmt: skip
    spent = math.fsum((part.mu or 0.0) ** 2 for part in found.privacy.parts)
    from dpreg.estimation.releases.accountant import releases_cost

    whole = releases_cost(eps, found.privacy.delta).mu ** 2
    assert spent <= whole
    assert not found.released or spent > 0.97 * whole


def test_a_budget_is_charged_once_and_the_ledger_says_what_for():
    budget = dpreg.Budget(2.0, 1e-5)
    found = dpreg.dp_effect("y ~ a", cohort(4000), 1.0, 1e-6, treatment="t", budget=budget)
    (charge,) = budget.charges
    assert charge.label == "dp_effect('y ~ a', method='aipw')"
    assert (charge.paid.epsilon, charge.status) == (1.0, "released")
    assert found.privacy.request["method"] == {"name": "effect", "treatment": "t"}
    labels = [part.label for part in found.privacy.parts]
    assert {label.partition(": ")[0] for label in labels if ": " in label} == {
        "outcome", "treatment", "untreated", "treated", "effect"
    }  # fmt: skip


def test_rows_in_neither_arm_are_as_if_they_were_not_there():
    data = cohort(3000)
    data.loc[::5, "t"], data.loc[1::10, "t"] = 2.0, np.nan
    kept = data[np.isin(data["t"], (0, 1))]
    calls = [dpreg.dp_effect("y ~ a + b", d, 2.0, treatment="t", rng=2) for d in (data, kept)]
    assert calls[0].to_json() == calls[1].to_json()


@pytest.mark.parametrize("more", [{}, {"unit": "who", "max_rows": 2}])
def test_where_rows_are_changes_nothing(more, tmp_path):
    data = cohort(30_000)
    path = tmp_path / "cohort.parquet"
    data.to_parquet(path, row_group_size=700)

    def call(given, **other):
        return dpreg.dp_effect("y ~ a + b", given, 1.0, treatment="arm", levels=LEVELS, rng=2,
                               **more, **other).to_json()  # fmt: skip

    first = call(data)
    dictionary = {name: data[name].to_numpy() for name in data}
    assert call(dictionary) == call(path) == call(data, memory=1e6) == first


@pytest.mark.parametrize("rows", [0, 1, 30, 400])
def test_few_records_are_an_outcome(rows):
    data = cohort(rows)
    for method in ("aipw", "regression", "difference"):
        right = "1" if method == "difference" else "a + b"
        found = dpreg.dp_effect(f"y ~ {right}", data, 1.0, treatment="t", method=method, rng=1)
        assert found.privacy.parts
        assert "nan" not in found.to_json().lower()
        str(found)


def test_an_arm_without_a_row_is_an_outcome():
    for arm in (0.0, 1.0):
        found = dpreg.dp_effect("y ~ a", cohort(3000).assign(t=arm), 1.0, treatment="t", rng=1)
        assert not found.released or np.isnan(found.se) or found.se > 0.2


def test_little_overlap_is_said():
    rng = np.random.default_rng(4)
    data = cohort(20_000)
    data["t"] = (rng.random(20_000) < 1 / (1 + np.exp(-3 * data["a"]))).astype(float)
    found = dpreg.dp_effect("y ~ a + b", data, 1.0, treatment="t", rng=1)
    true = ((1 / (1 + np.exp(-3 * data["a"])) - 0.5).abs() > 0.45).sum()
    assert abs(found.overlap.rows - true) < 1500
    assert "depends on the model of the outcome" in found.notes[0]


@pytest.mark.parametrize(("given", "kind", "says"), [
    ({"treatment": "zz"}, SchemaError, "zz"),
    ({"treatment": "arm"}, ArgumentError, "arm"),
    ({"treatment": "arm", "levels": {"arm": ["placebo", "drug", "x"]}}, ArgumentError,
     "two public levels"),
    ({"treatment": 3}, ArgumentError, "the name of one column"),
    ({"formula": "y ~ t + a"}, FormulaError, "is the treatment"),
    ({"formula": "y"}, FormulaError, "on the left of ~"),
    ({"formula": "y ~ ."}, FormulaError, "must name the covariates"),
    ({"formula": "y ~ 0 + a"}, FormulaError, "must have an intercept"),
    ({"formula": "y ~ a", "method": "difference"}, FormulaError, "uses none"),
    ({"method": "tmle"}, ArgumentError, "must be one of"),
    ({"family": "poisson"}, ArgumentError, "family"),
    ({"propensity": 1.0}, ArgumentError, "propensity"),
    ({"propensity": 0.5, "method": "regression"}, ArgumentError, "not used by 'regression'"),
    ({"overlap": (0.9, 0.1)}, ArgumentError, "overlap"),
    ({"overlap": (0.0, 0.9)}, ArgumentError, "overlap"),
    ({"max_rows": 2}, ArgumentError, "unit"),
    ({"bounds": {"t": (0, 1)}}, ArgumentError, "is the treatment"),
    ({"eps": 0}, ArgumentError, "eps"),
    ({"delta": 0.0}, ArgumentError, "delta"),
])  # fmt: skip
def test_wrong_use_is_refused_before_the_charge(given, kind, says):
    budget = dpreg.Budget(9.0, 1e-3)
    asked = {"formula": "y ~ a + b", "data": cohort(20), "eps": 1.0, "treatment": "t", **given}
    with pytest.raises(kind, match=says):
        dpreg.dp_effect(**asked, budget=budget)
    assert not budget.charges
