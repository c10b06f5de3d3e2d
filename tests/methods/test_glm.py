"""`dp_glm`: each family against statsmodels, whole fits on odd data, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from methods.sums import odd_frames
from methods.tables import COUNTS
from methods.tables import responses as table
from scipy import special

import dpreg
from dpreg.base.families import (
    BINOMIAL,
    GAMMA,
    POISSON,
    Quantile,
)

FAMILIES = ["binomial", "poisson", "gamma", COUNTS, Quantile(0.75)]


@pytest.mark.parametrize("family", ["gaussian", *FAMILIES], ids=str)
@pytest.mark.parametrize("weights", [None, "b"])
def test_offsets_by_themselves_are_refused_before_the_charge(family, weights):
    """Most methods raised something when they had been paid."""
    budget = dpreg.Budget(1.0)
    data = table("binomial", 50)[0]
    with pytest.raises(dpreg.FormulaError, match="offsets only: there is no coefficient"):
        dpreg.dp_glm("y ~ 0 + offset(a)", data, 1.0, family=family, weights=weights, budget=budget)
    assert budget.charges == ()


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_intervals_cover_and_are_about_as_wide_as_without_noise(family):
    """Of 40 fits with 3 coefficients, 120 intervals, 102 and fewer have a chance below 1e-6."""
    covered, ratios = 0, []
    for seed in range(40):
        data, truth = table(family, 8_000, seed)
        fit = dpreg.dp_glm("y ~ a + b", data, 2.0, family=family, rng=seed)
        covered += int((np.abs(fit.estimates - truth) <= 1.96 * fit.bse.to_numpy()).sum())
        ratios.append(fit.bse.to_numpy() / fit.sampling)
    assert covered > 102
    # One intercept has no error: of these counts, the scale of a column was misread seven times.
    assert np.isnan(ratios).sum() <= (family == COUNTS)
    assert np.nanmedian(ratios) < 4


def test_estimates_are_those_of_statsmodels_but_for_noise():
    import statsmodels.api as sm
    from statsmodels.regression.quantile_regression import QuantReg

    gamma = sm.families.Gamma(sm.families.links.Log())
    negative_binomial = sm.families.NegativeBinomial(alpha=0.8)
    fitted = {
        "binomial": lambda y, X: sm.GLM(y, X, family=sm.families.Binomial()).fit(cov_type="HC0"),
        "poisson": lambda y, X: sm.GLM(y, X, family=sm.families.Poisson()).fit(cov_type="HC0"),
        "gamma": lambda y, X: sm.GLM(y, X, family=gamma).fit(cov_type="HC0"),
        COUNTS: lambda y, X: sm.GLM(y, X, family=negative_binomial).fit(cov_type="HC0"),
        Quantile(0.75): lambda y, X: QuantReg(y, X).fit(q=0.75),
    }
    for family, fit_exactly in fitted.items():
        data, _ = table(family, 50_000)
        exact = fit_exactly(data.y, sm.add_constant(data[["a", "b"]]))
        fit = dpreg.dp_glm("y ~ a + b", data, 100.0, family=family, rng=1)
        np.testing.assert_allclose(fit.estimates, exact.params, atol=2 * exact.bse.max())
        np.testing.assert_allclose(fit.sampling, exact.bse, rtol=0.25)


def test_predictions_without_inference_are_nearly_those_of_the_exact_fit():
    data, truth = table("binomial", 20_000, share=0.2)
    fit = dpreg.dp_glm("y ~ a + b", data, 1.0, inference=False, rng=3)
    assert fit.covariance is None
    exact = special.expit(truth[0] + data[["a", "b"]].to_numpy() @ truth[1:])
    assert np.sqrt(np.mean((fit.predict(data) - exact) ** 2)) < 0.03


@pytest.mark.parametrize("over", [0.0, 2.0])
def test_offsets_have_coefficient_one_and_counts_may_be_overdispersed(over):
    rng = np.random.default_rng(5)
    n, truth, z = 20_000, np.array([-1.0, 0.5]), []
    for seed in range(20):
        years, a = rng.uniform(0.1, 5, n), rng.standard_normal(n)
        mean = years * np.exp(truth[0] + truth[1] * a)
        y = rng.poisson(mean * (rng.gamma(1 / over, over, n) if over else 1.0))
        data = pd.DataFrame({"y": y, "a": a, "years": years})
        fit = dpreg.dp_glm("y ~ a + offset(log(years))", data, 2.0, family="poisson", rng=seed)
        assert fit.estimates[fit.names.index("offset(log(years))")] == 1
        z.append((fit.estimates[:2] - truth) / fit.bse.to_numpy()[:2])
    # One slope of 160, where the last step passed the root, has no error.
    assert np.isnan(z).sum() <= 1
    assert np.sqrt(np.nanmean(np.square(z))) == pytest.approx(1, abs=0.45)
    new = pd.DataFrame({"a": [0.0, 0.0], "years": [1.0, 4.0]})
    one, four = fit.predict(new, winsorise=False)
    assert four == pytest.approx(4 * one)


def test_separated_data_give_finite_coefficients():
    x = np.linspace(-1, 1, 20_000)
    fit = dpreg.dp_glm("y ~ x", {"x": x, "y": (x > 0).astype(float)}, 1.0, rng=1)
    assert np.isfinite(fit.estimates).all()
    assert fit.params["x"] > 5
    assert fit.predict({"x": np.array([0.9])})[0] > 0.95


def test_an_outcome_that_never_happens_gives_a_small_share():
    fit = dpreg.dp_glm("y ~ x", {"x": np.linspace(-1, 1, 5_000), "y": np.zeros(5_000)}, 1.0, rng=1)
    assert np.isfinite(fit.estimates).all()
    assert fit.predict({"x": np.zeros(1)})[0] < 0.1


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_any_table_gives_a_result(family, inference):
    """None raises, and no number that comes out is infinite; warnings are errors here."""
    for frame in odd_frames().values():
        fit = dpreg.dp_glm("y ~ x0 + x1", frame, 1.0, family=family, inference=inference, rng=1)
        if fit.released:
            assert np.isfinite(fit.estimates).all()
        assert "dpreg" in fit.to_json()


@pytest.mark.parametrize("x", [None, 7.0], ids=["no column", "one that is dropped"])
@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_an_intercept_alone_is_a_model(family, inference, x):
    data, _ = table(family, 2_000)
    formula = "y ~ 1" if x is None else "y ~ x"
    fit = dpreg.dp_glm(formula, data.assign(x=x), 5.0, family=family, inference=inference, rng=1)
    mean = np.quantile(data.y, 0.75) if family == Quantile(0.75) else data.y.mean()
    assert fit.predict({"x": np.full(1, 7.0)})[0] == pytest.approx(mean, rel=0.1)


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("most", [-1.0, 0.0, 3.0])
def test_counts_below_zero_are_counts_of_zero(inference, most):
    """A mean of them that is below 0 has no logarithm, and must not be an exception."""
    x = np.linspace(-1, 1, 5_000)
    data = {"x": x, "y": np.where(x > 0.9, most, -20.0 - x)}
    fit = dpreg.dp_glm("y ~ x", data, 1.0, family="poisson", inference=inference, rng=1)
    assert np.isfinite(fit.estimates).all()
    assert fit.predict({"x": np.zeros(1)})[0] < 1.0


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("formula", ["y ~ 1", "y ~ x"])
def test_a_model_without_telling_columns_has_an_intercept(formula, inference):
    """Whether a column is told from the intercept depends on records, so it must not matter."""
    data = {"x": np.ones(4_000), "y": np.arange(4_000) % 4 == 0}
    fit = dpreg.dp_glm(formula, data, 3.0, inference=inference, rng=1)
    assert special.expit(fit.estimates[0]) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("inference", [True, False])
def test_counts_that_are_all_negative_count_as_zero(inference):
    """Where responses lie is private: no place of theirs may raise an error."""
    rng = np.random.default_rng(1)
    data = {"x": rng.random(3_000), "y": -rng.random(3_000) - 3}
    fit = dpreg.dp_glm("y ~ x", data, 1.0, family="poisson", inference=inference, rng=3)
    assert fit.predict({"x": np.array([0.5])})[0] < 1


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_everything_is_spent_and_no_more(family, inference):
    data, _ = table(family, 2_000)
    fit = dpreg.dp_glm("y ~ a + b", data, 1.0, 1e-6, family=family, inference=inference, rng=1)
    from dpreg.privacy.gdp import gdp_mu

    spent = math.sqrt(math.fsum(part.mu**2 for part in fit.privacy.parts))
    assert 0.999 < spent / gdp_mu(1.0, 1e-6) <= 1


def test_persons_with_several_rows_have_wider_intervals():
    """Five rows of one person, all alike, are one: errors are those of as many persons."""
    once, _ = table("binomial", 10_000)
    five = once.loc[once.index.repeat(5)].assign(person=np.repeat(np.arange(10_000), 5))
    method = dpreg.BoostedAdaSSP(max_rows=5)
    fit = dpreg.dp_glm("y ~ a + b", five, 50.0, unit="person", method=method, rng=1)
    alone = dpreg.dp_glm("y ~ a + b", once, 50.0, rng=1)
    np.testing.assert_allclose(fit.sampling, alone.sampling, rtol=0.2)


@pytest.mark.parametrize("bounds", [None, {"x": (0, 1)}])
def test_no_score_of_a_person_is_shortened_to_that_of_a_row(bounds):
    """Where x is 1, persons have five rows, all alike; each outcome counts as often."""
    rng = np.random.default_rng(1)
    x = rng.random(10_000) < 0.5
    y = rng.random(10_000) < special.expit(-2 + 1.5 * x)
    once = pd.DataFrame({"x": 1.0 * x, "y": y, "person": np.arange(10_000)})
    rows = once.loc[once.index.repeat(np.where(x, 5, 1))]
    method = dpreg.BoostedAdaSSP(max_rows=5)
    fit = dpreg.dp_glm("y ~ x", rows, 100.0, unit="person", method=method, bounds=bounds, rng=1)
    exact = [special.logit(y[~x].mean()), special.logit(y[x].mean()) - special.logit(y[~x].mean())]
    np.testing.assert_allclose(fit.estimates, exact, atol=0.1)


def test_the_gaussian_family_is_dp_lm():
    data, _ = table(Quantile(0.5), 2_000)
    fit = dpreg.dp_glm("y ~ a + b", data, 1.0, family="gaussian", rng=1)
    same = dpreg.dp_lm("y ~ a + b", data, 1.0, rng=1)
    np.testing.assert_array_equal(fit.estimates, same.estimates)
    assert "Linear" in str(fit.summary())


def test_true_and_false_are_one_and_zero():
    data, _ = table("binomial", 2_000)
    fit = dpreg.dp_glm("y ~ a", data, 1.0, rng=1)
    same = dpreg.dp_glm("y ~ a", data.assign(y=data.y == 1), 1.0, rng=1)
    np.testing.assert_array_equal(fit.estimates, same.estimates)


@pytest.mark.parametrize("make", [pd.DataFrame, dict, pl.DataFrame, pa.table])
def test_a_linear_model_of_a_boolean_response_says_that_there_is_another(make):
    """The declared type says it; numbers that are 0 and 1 do not."""
    x = np.linspace(-1, 1, 2_000)
    for y, said in [(x > 0, True), ((x > 0).astype(float), False), ((x > 0).astype(int), False)]:
        fit = dpreg.dp_lm("y ~ x", make({"x": x, "y": y}), 1.0, rng=1)
        assert any("dp_glm fits a logistic regression" in note for note in fit.notes) == said


def test_a_result_keeps_its_family():
    data, _ = table("binomial", 5_000)
    fit = dpreg.dp_glm("y ~ a + b", data, 5.0, rng=1)
    again = dpreg.DPResults.from_json(fit.to_json())
    assert again.family == BINOMIAL
    new = data.head(5)
    pd.testing.assert_series_equal(again.predict(new), fit.predict(new))
    linear = fit.predict(new, which="linear")
    np.testing.assert_allclose(fit.predict(new), special.expit(linear))
    table_ = fit.predict(new, interval="confidence")
    assert ((table_.lower < table_["mean"]) & (table_["mean"] < table_.upper)).all()
    assert table_.to_numpy().min() > 0
    assert table_.to_numpy().max() < 1
    text = str(fit.summary())
    assert "Logistic" in text
    assert "Binomial" in text
    assert "Logit" in text


def test_families_with_a_log_link_say_what_they_are():
    data, _ = table(COUNTS, 3_000)
    fit = dpreg.dp_glm("y ~ a", data, 5.0, family=COUNTS, diagnostics=True, rng=1)
    again = dpreg.DPResults.from_json(fit.to_json())
    assert again.family == COUNTS
    assert fit.diagnostics.kind == "pearson"
    text = str(fit.summary())
    assert "Private Negative Binomial Regression" in text
    assert "NegativeBinomial (0.8)" in text
    linear = again.predict(data.head(3), which="linear")
    np.testing.assert_allclose(again.predict(data.head(3)), np.exp(linear))
    positive, _ = table("gamma", 3_000)
    fit = dpreg.dp_glm("y ~ a", positive, 5.0, family="gamma", rng=1)
    assert dpreg.DPResults.from_json(fit.to_json()).family == GAMMA
    assert "Private Gamma Regression" in str(fit.summary())
    with pytest.raises(ValueError, match="there is no such family"):
        dpreg.DPResults.from_json(fit.to_json().replace('"loss": "gamma"', '"loss": "poisson"'))


def test_exponentials_are_odds_ratios():
    data, _ = table("binomial", 5_000)
    fit = dpreg.dp_glm("y ~ a", data, 5.0, rng=1)
    plain, odds = fit.tidy(), fit.tidy(exp=True)
    for name in ("coef", "lower", "upper"):
        np.testing.assert_allclose(odds[name], np.exp(plain[name]))
    pd.testing.assert_series_equal(odds["std err"], plain["std err"])
    np.testing.assert_allclose(fit.conf_int(exp=True), np.exp(fit.conf_int()))
    assert "exp(coef)" in str(fit.summary(exp=True))


DATA = {"y": np.zeros(3), "x": np.zeros(3), "t": np.ones(3)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"family": "logit"},
            r"family must be one of .* or dpreg.Quantile\(q=0.9\), got .logit.; write family=.bin",
        ),
        ({"family": "quasibinomial"}, "write family=.binomial."),
        ({"method": "dpsgd"}, "'dpsgd' does not fit a binomial family; write method='auto'"),
        (
            {"method": "tukey", "link": "probit"},
            "'tukey' does not fit a binomial family with a probit",
        ),
        (
            {"method": "tukey", "link": "cloglog"},
            "'tukey' does not fit a binomial family with a cloglog",
        ),
        (
            {"link": "cauchit"},
            "link must be 'logit', 'probit', 'cloglog' for a binomial family",
        ),
        ({"family": "poisson", "link": "probit"}, "link"),
        ({"family": "gamma", "link": "inverse"}, "link must be 'log' for a gamma family"),
        ({"method": "tukey", "family": "gamma"}, "'tukey' does not fit a gamma family"),
        ({"method": "tukey", "family": COUNTS}, "'tukey' does not fit a negativebinomial family"),
        ({"method": dpreg.AdaSSP()}, "'adassp' does not fit a binomial family"),
        ({"method": "tukey", "family": Quantile()}, "'tukey' does not fit a quantile family"),
        (
            {"method": "tukey", "family": POISSON, "formula": "y ~ x + offset(t)"},
            "does not support offsets",
        ),
        (
            {"formula": "y ~ x + offset(t)", "family": POISSON, "select": "kendall", "k": 1},
            "select",
        ),
        ({"delta": 0.0}, "delta"),
        ({"links": "log"}, r"dp_glm\(\) has no such argument"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_spent(arguments, message):
    budget = dpreg.Budget(1.0, 1e-5)
    given = {"formula": "y ~ x", "delta": 1e-6, **arguments}
    with pytest.raises(ValueError, match=message):
        dpreg.dp_glm(given.pop("formula"), DATA, 0.5, given.pop("delta"), budget=budget, **given)
    assert not budget.charges


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_predictions_stay_near_the_mean_where_noise_is_all_there_is(share):
    """Noise that rounds add up would else reach linear predictors at which no score falls.

    And a mean whose noise is as large as itself would be one where none ever does.
    """
    worse = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        data = pd.DataFrame(rng.normal(size=(3_000, 20))).add_prefix("x")
        formula = "y ~ " + " + ".join(data)
        data["y"] = (rng.random(3_000) < share).astype(float)
        fit = dpreg.dp_glm(formula, data, 0.1, 1e-6, inference=False, rng=seed)
        mean = fit.predict(data).to_numpy()
        loss = -np.log(np.where(data["y"] == 1, mean, 1 - mean)).mean()
        worse.append(loss + share * math.log(share) + (1 - share) * math.log(1 - share))
    assert np.median(worse) < 0.16
    assert max(worse) < 0.4
