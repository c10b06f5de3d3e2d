"""`dp_glm` with `Quantile`: what is left of the response when much of it is explained."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import special
from statsmodels.regression.quantile_regression import QuantReg

import dpreg
from dpreg import _core
from dpreg.estimation.newton.at_quantile import _counts_by_residual, _line, _quantiles
from dpreg.estimation.releases.accountant import GaussianReleases


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_quantiles_of_a_response_that_is_nearly_explained_are_released(level):
    """With these seeds noise hides all residuals of the first look."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=50_000)
    data = pd.DataFrame({"x": x, "y": 1 + x + 0.28 * rng.normal(size=len(x))})
    fits = [
        dpreg.dp_glm("y ~ x", data, 1.0, 1e-6, family=dpreg.Quantile(level), rng=seed)
        for seed in range(40)
    ]
    assert all(fit.released for fit in fits)
    # With a loss that is as smooth whatever is explained, intercepts missed by 15 errors.
    exact = [1 + 0.28 * special.ndtri(level), 1.0]
    away = np.array([(fit.params - exact) / fit.bse for fit in fits])
    assert np.isfinite(away).mean() > 0.9
    assert np.nanmax(np.abs(away)) < 6


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantiles_of_a_skewed_response_are_covered(level):
    """As if residuals were normal, lower deciles missed by up to 12 errors, or had none."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=20_000)
    away = []
    for seed in range(20):
        y = np.exp(0.2 * x.clip(-2, 2)) + rng.exponential(size=len(x))
        away.append(_away(x, y, level, seed))
    rest = np.array(away)[:, 1]  # The slope: the curve is no line, but nearly.
    assert np.isfinite(away).mean() > 0.9
    assert np.nanmax(np.abs(rest)) < 6


def test_upper_deciles_of_long_tailed_incomes_have_errors_that_hold():
    """With a curvature measured after one score, of 16 fits 2 had no error and one missed by 6."""
    away = []
    for seed in range(16):
        rng = np.random.default_rng([seed, 5])
        years = rng.normal(13, 3, 20_000).round().clip(0, 20)
        income = np.exp(9 + 0.1 * years + rng.normal(size=len(years))).round(-2)
        away.append(_away(years, income, 0.9, seed))
    assert np.isfinite(away).all()
    assert np.abs(away).max() < 4


def test_upper_vigintiles_of_few_rows_have_errors_that_hold():
    """With as loud counts of residuals as others have, 6 of 80 numbers were off by 4 to 10."""
    away = []
    for seed in range(20):
        rng = np.random.default_rng([seed, 6])
        x = rng.normal(size=(2_000, 3))
        y = np.exp(0.3 * x[:, 0]) * rng.exponential(size=len(x))
        data = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=y)
        fit = dpreg.dp_glm("y ~ a + b + c", data, 1.0, 1e-6, family=dpreg.Quantile(0.95), rng=seed)
        exact = QuantReg(y, np.column_stack([np.ones(len(x)), x])).fit(q=0.95).params
        away.append((fit.params - exact) / fit.bse)
    assert np.isfinite(away).mean() > 0.9
    assert np.nanmax(np.abs(away)) < 4


def test_counts_of_residuals_cost_more_where_few_rows_are_beyond():
    costs = [_counted(n, level) for n, level in ((2_000, 0.95), (20_000, 0.5), (20_000, 0.95))]
    assert costs[0] == pytest.approx(2 * costs[1], rel=0.01)  # of mu: four times the share
    assert costs[2] == costs[1]


def test_counts_of_residuals_cost_more_where_a_unit_has_several_rows():
    """Noise in a count is as many times as loud."""

    def counts(rows):
        noise = GaussianReleases(1.0, 1e-6, _core.TestBits(1), rows=rows)
        begun = SimpleNamespace(noise=noise, left=0.6, tail_share=0.0)
        mu, groups, bins = _counts_by_residual(begun, 1e3)
        return mu**2 / noise.mu**2, groups, bins, 1e3 * mu / rows

    (one, _, most, _), (five, groups, fewer, clear) = counts(1), counts(5)
    assert one == pytest.approx(0.03, rel=1e-3)
    assert most == int(1e3 * np.sqrt(0.03) * GaussianReleases(1.0, 1e-6, _core.TestBits(1)).mu)
    assert clear == pytest.approx(12.0, rel=1e-3)
    assert one < five < 0.12
    assert (groups, fewer) == (1, 16)


def test_counts_of_residuals_are_by_mean_too_where_many_rows_are_beyond():
    """In each group they are as clear as they must be in one."""
    noise = GaussianReleases(1.0, 1e-6, _core.TestBits(1), rows=1)
    begun = SimpleNamespace(noise=noise, left=0.6, tail_share=0.0)
    seen = []
    for beyond in (1e3, 2e3, 3e3, 1e5):
        mu, groups, _ = _counts_by_residual(begun, beyond)
        assert groups == 1 or beyond / groups * mu >= 12.0
        seen.append(groups)
    assert seen == [1, 6, 8, 8]
    _, *alike = _counts_by_residual(begun, 1e5, alike=True)
    assert alike == [1, 48]


def test_the_line_through_groups_is_that_of_least_squares():
    edges = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    at, weights = np.array([1.0, 2.5, 2.0, 4.0]), np.array([1.0, 4.0, 9.0, 2.0])
    x = np.column_stack([np.ones(4), [-1.5, -0.5, 0.5, 1.5]])
    exact = np.linalg.solve(x.T * weights @ x, x.T * weights @ at)
    assert _line(edges, at, weights) == pytest.approx(tuple(exact))
    assert _line(edges[:2], at[:1], weights[:1]) == (1.0, 0.0)


def test_upper_deciles_whose_spread_grows_with_a_regressor_have_errors():
    """Without groups by mean 6 of 10 of these had an error, and with them all."""
    away = []
    for seed in range(10):
        rng = np.random.default_rng([seed, 9])
        x = rng.gamma(2.0, size=50_000)
        away.append(_away(x, x * rng.exponential(size=len(x)), 0.9, seed))
    assert np.isfinite(away).mean() > 0.9
    assert np.nanmax(np.abs(away)) < 4


def _counted(n, level):
    """Return mu of the counts of residuals of `n` rows."""
    x = np.random.default_rng(7).normal(size=(n, 2))
    data = pd.DataFrame(x, columns=["x", "y"])
    fit = dpreg.dp_glm("y ~ x", data, 1.0, 1e-6, family=dpreg.Quantile(level), rng=0)
    parts = fit.privacy.to_frame()
    cost = parts.loc[parts.iloc[:, 0] == "numbers of rows by residual"].iloc[0, 1]
    return float(str(cost).removeprefix("mu="))


def _away(x, y, level, seed):
    exact = QuantReg(y, np.column_stack([np.ones(len(x)), x])).fit(q=level).params
    data = pd.DataFrame({"x": x, "y": y})
    fit = dpreg.dp_glm("y ~ x", data, 1.0, 1e-6, family=dpreg.Quantile(level), rng=seed)
    return (fit.params.to_numpy() - exact) / fit.bse.to_numpy()


def test_quantiles_are_read_from_counts_between_edges():
    counts, edges = np.array([0.0, 10.0, 30.0, 0.0]), np.arange(5.0)
    assert _quantiles(counts, edges, np.array([0.125, 0.25, 0.625])).tolist() == [1.5, 2.0, 2.5]
    # Noise may leave nothing, or less.
    for noisy in (np.zeros(4), -counts):
        assert np.isfinite(_quantiles(noisy, edges, np.array([0.1, 0.5, 0.9]))).all()


def test_quantiles_along_a_curve_are_those_of_the_exact_line():
    """With limits of scores in coordinates before the curvature they were up to 10 errors off."""
    away = []
    for seed in range(8):
        rng = np.random.default_rng([seed, 4])
        x = rng.lognormal(sigma=0.6, size=20_000)
        away.append(_away(x, x**1.7 * np.exp(0.25 * rng.normal(size=len(x))), 0.75, seed))
    assert np.isfinite(away).all()
    assert np.abs(away).max() < 4
