"""AdaSSP end to end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from methods.sums import check_accuracy, check_total, check_wrong_use, errors_of_intervals, gaussian

import dpreg
from dpreg.estimation.inference import normal_equations
from dpreg.estimation.inference.covariance import hidden_by_floor
from dpreg.estimation.inference.normal_equations import bootstrapped
from dpreg.estimation.methods import AdaSSP
from dpreg.estimation.releases.moments import floored_inverse
from dpreg.privacy.gdp import gdp_epsilon


def test_accuracy_without_bounds():
    check_accuracy("adassp", 0.84)


def test_total_on_odd_data():
    check_total("adassp")


def test_wrong_use():
    check_wrong_use("adassp")


@pytest.mark.slow
def test_intervals_cover():
    errors = errors_of_intervals("adassp", 10_000, 4, 50)
    assert abs(np.mean(errors**2) - 1) < 4 * 0.1


def test_a_share_of_scores_that_could_leave_nothing_is_refused():
    """Columns far from 0 and correlated, and few rows: counts and coordinates cost most of it."""
    rng = np.random.default_rng(1)
    X = 1000 + rng.standard_normal((1000, 6)) @ np.triu(np.ones((6, 6)))
    data = {f"x{j}": X[:, j] for j in range(6)} | {"y": rng.standard_normal(1000)}
    formula = "y ~ " + " + ".join(f"x{j}" for j in range(6))
    with pytest.raises(dpreg.ArgumentError, match=r"^scatter_share must be between .* and 0\.2"):
        AdaSSP(scatter_share=0.3)
    fit = dpreg.dp_lm(formula, data, 1.0, method=AdaSSP(scatter_share=0.2), rng=3)
    assert len(fit.params) == 7


def test_what_was_drawn_composes_to_the_claim():
    fit = dpreg.dp_lm("y ~ x0 + x1", gaussian(2000, 2, 1), 0.7, 1e-6, method="adassp", rng=1)
    mu = math.sqrt(sum((p.sensitivity / p.scale) ** 2 for p in fit.privacy.parts))
    assert 0.99 * 0.7 < gdp_epsilon(mu, 1e-6) <= 0.7


def test_with_hardly_any_noise_it_is_least_squares():
    data = gaussian(20_000, 3, 1)
    method = AdaSSP(response_limit=10.0, row_factor=5.0)
    fit = dpreg.dp_lm("y ~ x0 + x1 + x2", data, 500.0, method=method, rng=1)
    X = np.column_stack([np.ones(len(data)), data[["x0", "x1", "x2"]]])
    exact = np.linalg.lstsq(X, data["y"])[0]
    np.testing.assert_allclose(fit.params, exact, rtol=0.02)


def test_eigenvalues_below_the_noise_are_hidden():
    gram = np.diag([100.0, 100.0, 0.5])
    hidden = hidden_by_floor(gram, 1.0)
    assert hidden[2, 2] > 0
    assert np.abs(hidden[:2, :2]).max() == 0


@pytest.mark.slow
def test_bootstrap_intervals_cover():
    errors = errors_of_intervals(AdaSSP(cov_type="bootstrap"), 10_000, 4, 50)
    assert abs(np.mean(errors**2) - 1) < 4 * 0.1


def test_bootstrap_takes_away_the_bias(monkeypatch):
    """Along an eigenvalue a few times the noise coefficients come out too large.

    A quarter of the draws: what they correct by has an error of 2.5% then, and the mean over 500
    matrices the error that it has with all of them, 0.013, from which bias is told.
    """
    monkeypatch.setattr(normal_equations, "_DRAWS", 100)
    rng = np.random.default_rng(5)
    truth, deviation = np.array([1.0, 1.0]), 1.0
    gram = np.diag([5.0, 30.0])
    plain, corrected = [], []
    for _ in range(500):
        noise = np.triu(rng.normal(0, math.sqrt(0.5), (3, 3)), 1)
        noise += noise.T + np.diag(rng.normal(0, 1, 3))
        moments = np.zeros((3, 3))
        moments[:2, :2], moments[:2, 2] = gram, gram @ truth
        moments += noise
        theta = floored_inverse(moments[:2, :2], deviation) @ moments[:2, 2]
        plain.append(theta)
        corrected.append(bootstrapped(moments, deviation, theta, 1.0)[0])
    bias = np.abs(np.mean(plain, axis=0) - truth)
    error = np.std(plain, axis=0) / math.sqrt(500)
    assert bias[0] > 2.5 * error[0]  # there is something to correct
    assert np.abs(np.mean(corrected, axis=0) - truth)[0] < 0.6 * bias[0]


def test_bootstrap_without_noise_is_least_squares():
    gram, theta = np.array([[50.0, 10.0], [10.0, 20.0]]), np.array([1.0, -2.0])
    moments = np.zeros((3, 3))
    moments[:2, :2], moments[:2, 2] = gram, gram @ theta
    estimate, sampling, privacy = bootstrapped(moments, 1e-9, theta, 2.0)
    np.testing.assert_allclose(estimate, theta, rtol=1e-9)
    np.testing.assert_allclose(sampling, 2.0 * np.linalg.inv(gram), rtol=1e-6)
    assert np.abs(privacy).max() < 1e-15


def test_bootstrap_through_the_origin_with_nothing_to_see():
    data = {"x": np.ones(3), "y": np.ones(3)}
    method, bounds = AdaSSP(cov_type="bootstrap"), {"y": (-2.0, 2.0)}
    fit = dpreg.dp_lm("y ~ 0 + x", data, 0.1, method=method, bounds=bounds, rng=1)
    assert fit.released
    assert np.isfinite(fit.params).all()


@pytest.fixture(scope="module")
def leverage():
    """Rows of which one in fifty is long and has long errors."""
    rng, n = np.random.default_rng(1), 20_000
    x = rng.standard_normal(n) * np.where(rng.random(n) < 0.02, 6.0, 1.0)
    return {"x": x, "y": x + rng.standard_normal(n) * (1 + 0.5 * np.abs(x))}


def test_robust_errors_are_of_rows_as_long_as_those_of_the_estimate(leverage):
    """The slope has an error of 0.021 to 0.023, clipped or not; constant variance has 0.0079."""
    fit = dpreg.dp_lm("y ~ x", leverage, 10.0, 1e-6, method="adassp", rng=1)
    assert 0.015 < fit.bse["x"] < 0.027


def test_a_fit_with_inference_says_that_rows_are_clipped(leverage):
    fit = dpreg.dp_lm("y ~ x", leverage, 1.0, 1e-6, method="adassp", rng=1)
    assert fit.estimand.name == "clipped least squares"
    assert 1.0 < fit.estimand.row_limit < 100.0
    assert "clipped least squares" in str(fit.summary())
    assert dpreg.DPResults.from_json(fit.to_json()).estimand == fit.estimand


@pytest.mark.parametrize(
    "options",
    [
        {"response_limit": 0.0},
        {"row_factor": 0.0},
        {"row_factor": 1e200},
    ],
)
def test_wrong_options(options):
    with pytest.raises(ValueError, match="must be between"):
        AdaSSP(**options)
    with pytest.raises(ValueError, match="cov_type must be"):
        AdaSSP(cov_type="HC0")
