"""Probit, complementary log-log and gamma: near maximum likelihood, and predictions by the link."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from methods.tables import COUNTS
from methods.tables import responses as table
from scipy import special

import dpreg
from dpreg.base.families import (
    CLOGLOG,
    PROBIT,
    NegativeBinomial,
)


def probit_table(n, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal(n), rng.random(n) < 0.3
    truth = np.array([-0.3, 0.6, -0.4])
    y = rng.random(n) < special.ndtr(truth[0] + truth[1] * a + truth[2] * b)
    return pd.DataFrame({"a": a, "b": b.astype(float), "y": y.astype(float)}), truth


def test_a_probit_covers_and_is_near_maximum_likelihood():
    """Of 120 intervals 102 and fewer have a chance below 1e-6; errors of the exact fit are less."""
    import statsmodels.api as sm

    covered, ratios = 0, []
    for seed in range(40):
        data, truth = probit_table(8_000, seed)
        fit = dpreg.dp_glm("y ~ a + b", data, 2.0, link="probit", rng=seed)
        covered += int((np.abs(fit.estimates - truth) <= 1.96 * fit.bse.to_numpy()).sum())
        probit = sm.families.Binomial(sm.families.links.Probit())
        exact = sm.GLM(data.y, sm.add_constant(data[["a", "b"]]), family=probit).fit()
        ratios.append(fit.bse.to_numpy() / exact.bse.to_numpy())
        assert (np.abs(fit.estimates - exact.params.to_numpy()) < 6 * fit.bse.to_numpy()).all()
    assert covered > 102
    assert 1 < np.median(ratios) < 2


def grouped_hazards(persons, seed, periods=5):
    """Rows of persons and periods: hazard ratios e^.5 and e^-.7, until the event or the end."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal(persons), rng.random(persons) < 0.4
    rate = np.exp(-1.8 + 0.5 * a - 0.7 * b)
    period = np.floor(rng.exponential(1, persons) / rate).astype(int)
    rows = [(np.flatnonzero(period >= k), k) for k in range(periods)]
    who = np.concatenate([w for w, _ in rows])
    when = np.concatenate([np.full(len(w), k) for w, k in rows])
    y = (period[who] == when).astype(float)
    return pd.DataFrame({"a": a[who], "b": b[who].astype(float), "y": y, "who": who})


def test_a_complementary_log_log_covers_and_is_near_maximum_likelihood():
    """Of 120 intervals 102 and fewer have a probability below 1e-6."""
    import statsmodels.api as sm

    truth, covered, ratios = np.array([-1.8, 0.5, -0.7]), 0, []
    for seed in range(40):
        data = grouped_hazards(3_000, seed)
        fit = dpreg.dp_glm("y ~ a + b", data, 2.0, link="cloglog", rng=seed)
        covered += int((np.abs(fit.estimates - truth) <= 1.96 * fit.bse.to_numpy()).sum())
        family = sm.families.Binomial(sm.families.links.CLogLog())
        exact = sm.GLM(data.y, sm.add_constant(data[["a", "b"]]), family=family).fit()
        ratios.append(fit.bse.to_numpy() / exact.bse.to_numpy())
        assert (np.abs(fit.estimates - exact.params.to_numpy()) < 6 * fit.bse.to_numpy()).all()
    assert covered > 102
    assert 1 < np.median(ratios) < 2


def test_a_complementary_log_log_predicts_by_its_link():
    data = grouped_hazards(3_000, 1)
    fit = dpreg.dp_glm("y ~ a + b", data, 5.0, link="cloglog", unit="who", max_rows=5, rng=1)
    again = dpreg.DPResults.from_json(fit.to_json())
    assert again.family == CLOGLOG
    linear = again.predict(data.head(5), which="linear")
    np.testing.assert_allclose(again.predict(data.head(5)), -np.expm1(-np.exp(linear)))
    assert "Private Complementary Log-Log Regression" in str(fit.summary())
    assert "Cloglog" in str(fit.summary())
    ratios = fit.conf_int(exp=True)
    np.testing.assert_allclose(ratios, np.exp(fit.conf_int()))


def test_a_probit_predicts_by_its_link():
    data, _ = probit_table(5_000, 1)
    fit = dpreg.dp_glm("y ~ a + b", data, 5.0, family="binomial", link="probit", rng=1)
    again = dpreg.DPResults.from_json(fit.to_json())
    assert again.family == PROBIT
    new = data.head(5)
    linear = again.predict(new, which="linear")
    np.testing.assert_allclose(again.predict(new), special.ndtr(linear))
    effects = fit.marginal_effects(new)["dy/dx"]
    density = np.exp(-(linear**2) / 2) / np.sqrt(2 * np.pi)
    assert effects["a"] == pytest.approx(density.mean() * fit.params["a"])
    text = str(fit.summary())
    assert "Private Probit Regression" in text
    predictions = dpreg.dp_glm("y ~ a", data, 5.0, link="probit", inference=False, rng=1)
    exact = special.ndtr(-0.3 + 0.6 * data.a - 0.4 * data.b)
    assert np.sqrt(np.mean((predictions.predict(data) - exact) ** 2)) < 0.1


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_gamma_responses_have_any_unit(unit):
    """Slopes are the same, and the intercept has the logarithm of the unit."""
    data, truth = table("gamma", 20_000)
    for inference in (True, False):
        given = {"family": "gamma", "inference": inference, "rng": 1}
        fit = dpreg.dp_glm("y ~ a + b", data.assign(y=unit * data.y), 5.0, **given)
        wanted = truth + np.array([np.log(unit), 0, 0])
        np.testing.assert_allclose(fit.estimates, wanted, atol=0.06)


def test_a_dispersion_that_is_far_off_costs_width_and_not_coverage():
    """Of 60 intervals 49 and fewer have a probability below 1e-3; errors are sandwich estimates."""
    covered = 0
    for seed in range(20):
        data, truth = table(COUNTS, 20_000, seed)
        family = NegativeBinomial((0.1, 5.0)[seed % 2])
        fit = dpreg.dp_glm("y ~ a + b", data, 2.0, family=family, rng=seed)
        covered += int((np.abs(fit.estimates - truth) <= 1.96 * fit.bse.to_numpy()).sum())
    assert covered > 49
