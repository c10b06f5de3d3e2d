"""Sums and counts over residuals: definitions, what one row changes, and what is made of them."""

from __future__ import annotations

import dataclasses
import itertools
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.base.families import BINOMIAL, GAMMA, GAUSSIAN, POISSON, NegativeBinomial, Quantile
from dpreg.estimation.inference.residuals import (
    Diagnostics,
    FitStats,
    calibration,
    fit_stats_from,
    quantiles,
)
from dpreg.estimation.releases import residuals
from dpreg.estimation.releases.residuals import (
    Line,
    ResidualCells,
    ResidualMagnitudes,
    ResidualSums,
)
from dpreg.results.predict import stats_table

FAMILIES = [GAUSSIAN, BINOMIAL, POISSON, GAMMA, NegativeBinomial(0.5), Quantile(0.3)]
CELLS = [0.0, 1.0, -3.7, 1e9, -1e300, 5e-324, np.nan, np.inf, -np.inf]


def statistics(family):
    line = Line(0.3, np.array([0.5, 0.0, -1.0]), family)
    return {
        "MAGNITUDES_SENSITIVITY": ResidualMagnitudes(line, 1.3),
        "RESIDUAL_CELLS_SENSITIVITY": ResidualCells(line, (-1.0, 2.0), (-3.0, 3.0), (4, 5)),
        "RESIDUAL_SUMS_SENSITIVITY": ResidualSums(line, 2.0, 0.5, 3.0),
    }


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.label)
def test_no_row_moves_a_statistic_by_more_than_its_sensitivity(family):
    """Sums are over rows, so what one row adds is the change; sums weigh their entries."""
    for name, statistic in statistics(family).items():
        bound, most = getattr(residuals, name), 0.0
        for a, b, y in itertools.product(CELLS, CELLS, CELLS):
            change = statistic(np.array([[a, 7.0, b]]), np.array([y])).astype(float)
            if name == "RESIDUAL_SUMS_SENSITIVITY":
                change = change * residuals._SUM_WEIGHTS
            most = max(most, float(np.linalg.norm(change)))
        assert most <= bound
        assert most > 0.9 * bound


def test_what_three_quarters_of_residuals_are_below_is_read_where_they_are_seen():
    """Reference: that of the residuals.  Of none it is hardly ever said that they are seen."""
    scales = SimpleNamespace(scale=np.array([2.0]))
    rng = np.random.default_rng(1)
    count = ResidualMagnitudes(Line(0.0, np.zeros(1), GAUSSIAN), 2.0)

    def read(drawn):
        exact = count(np.zeros((len(drawn), 1)), drawn)
        noise = 45.0 * rng.standard_normal((300, len(exact)))
        return [residuals._usual(exact + of, 45.0, scales) for of in noise]

    drawn = rng.standard_normal(2_000)
    found, seen = np.array(read(drawn)).T
    assert seen.all()
    assert np.abs(np.log(found / np.quantile(np.abs(drawn), 0.75))).max() < 0.22
    assert sum(seen for _, seen in read(drawn[:0])) <= 15  # of 300


def test_few_rows_have_no_fit_stats_rather_than_wrong_ones():
    """With the run that leads most, seen or not, some had an R squared of 1 and a sigma of 0."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(300)
    data = {"x": x, "y": 1 + x + rng.standard_normal(300)}
    fits = [dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, fit_stats=True, rng=seed) for seed in range(20)]
    shown = [fit.rsquared for fit in fits if fit.released and np.isfinite(fit.rsquared)]
    assert len(shown) <= 1
    assert all(0 < found < 0.95 for found in shown)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.label)
def test_statistics_add_up_over_rows_in_any_order(family):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((200, 3)), rng.random(200) * 2
    order = rng.permutation(200)
    for statistic in statistics(family).values():
        again = pickle.loads(pickle.dumps(statistic))
        whole = statistic(X, y)
        np.testing.assert_array_equal(again(X[order], y[order]), whole)
        parts = sum(statistic(X[i : i + 1], y[i : i + 1]) for i in range(200))
        np.testing.assert_array_equal(parts, whole)


def test_counts_are_those_of_a_histogram():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((5_000, 3)), rng.standard_normal(5_000)
    line = Line(0.3, np.array([0.5, 0.0, -1.0]), GAUSSIAN)
    fitted = 0.3 + 0.5 * X[:, 0] - X[:, 2]
    counts = ResidualCells(line, (-1.0, 2.0), (-3.0, 3.0), (4, 5))(X, y)
    edges = np.linspace(-1, 2, 5)[1:-1], np.linspace(-3, 3, 6)[1:-1]
    places = np.searchsorted(edges[0], fitted), np.searchsorted(edges[1], y - fitted)
    expected = np.zeros((4, 5), dtype=int)
    np.add.at(expected, places, 1)
    np.testing.assert_array_equal(counts, expected)


def test_stats_of_sums_without_noise_are_those_of_least_squares():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20_000, 1))
    y = 2 + X[:, 0] + rng.standard_normal(20_000)
    line = Line(2.0, np.array([1.0]), GAUSSIAN)
    sums = ResidualSums(line, 10.0, 2.0, 15.0)(X, y) / 2**20
    found = fit_stats_from(sums, np.zeros(7), 10.0, 15.0)
    assert found.scale == pytest.approx(np.mean((y - 2 - X[:, 0]) ** 2), rel=1e-4)
    assert found.rsquared == pytest.approx(1 - found.scale / np.var(y), rel=1e-4)
    # Of normal variables: 4 R2 (1 - R2)^2 / n and 2 scale^2 / n.
    assert found.rsquared_error == pytest.approx(np.sqrt(4 * 0.5 * 0.25 / 20_000), rel=0.05)
    assert found.scale_error == pytest.approx(np.sqrt(2 / 20_000), rel=0.05)


def test_hidden_variances_are_not_numbers():
    found = fit_stats_from(np.full(7, 1.0), np.full(7, 50.0), 1.0, 1.0)
    assert np.isnan([found.rsquared, found.scale, found.rsquared_error, found.scale_error]).all()


def test_squares_that_are_zero_in_doubles_are_no_error():
    found = FitStats(rsquared=1.0, rsquared_error=0.0, scale=-0.0, scale_error=0.1, most_residual=1)
    assert found.sigma == 0
    assert np.isnan(found.sigma_error)


def test_quantiles_and_shares_from_counts():
    from scipy import stats

    ends = np.linspace(-3, 3, 25)
    shares = np.diff(np.concatenate([[0], stats.norm.cdf(ends[1:-1] / 0.8), [1]]))
    counts = np.tile(shares * 5_000, (20, 1))
    found = Diagnostics("residual", counts, np.linspace(0, 1, 21), ends, 3.0)
    normal, observed, off = quantiles(found)
    np.testing.assert_allclose(observed, 0.8 * normal, atol=1e-9)
    assert (off > 0).all()
    two = np.array([[90.0, 10.0], [3.0, 1.0], [2_000.0, 6_000.0]])
    middle, share, error, number = calibration(
        Diagnostics("response", two, np.linspace(0, 1, 4), np.array([0.0, 0.5, 1.0]), 4.0)
    )
    np.testing.assert_allclose(middle, [1 / 6, 0.5, 5 / 6])
    np.testing.assert_allclose(share, [0.1, np.nan, 0.75])
    assert number.tolist() == [100, 4, 8_000]
    assert error[0] == pytest.approx(np.hypot(np.sqrt(0.1 * 0.9 / 100), 0.04 * np.hypot(0.1, 0.9)))


def table(n, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    data = {"x": x, "y": 1 + x + rng.standard_normal(n), "b": rng.random(n) < 1 / (1 + np.exp(-x)),
            "c": rng.poisson(np.exp(0.5 * x))}  # fmt: skip
    return pd.DataFrame(data).astype(float)


@pytest.mark.parametrize("method", ["auto", "adassp", "boosted_adassp"])
def test_what_was_asked_for_is_released_within_the_same_allowance(method):
    from dpreg.privacy.gdp import gdp_mu

    data = table(20_000)
    fit = dpreg.dp_lm("y ~ x", data, 2.0, 1e-6, method=method, fit_stats=True, diagnostics=True,
                      rng=1)  # fmt: skip
    spent = sum((part.mu or 0.0) ** 2 for part in fit.privacy.parts)
    assert spent <= gdp_mu(2.0, 1e-6) ** 2
    if method != "auto":  # which pays for a count first
        assert spent > 0.999 * gdp_mu(2.0, 1e-6) ** 2
    stats = fit.fit_stats()
    assert ((stats["estimate"] - [0.5, 1.0]).abs() < 5 * stats["std err"]).all()
    assert fit.rsquared == stats["estimate"]["R-squared"]
    assert fit.scale == pytest.approx(stats["estimate"]["sigma"] ** 2)
    noise = fit.diagnostics.deviation * np.sqrt(fit.diagnostics.counts.size)
    assert abs(fit.diagnostics.counts.sum() - 20_000) < 5 * noise
    assert "took 15% of the squared mu" in " ".join(fit.notes)
    # As many digits as the error has, which has two.
    error = stats["std err"]["R-squared"]
    assert 0.01 < error < 0.1
    printed = " ".join(str(fit.summary()).split())
    assert f"R-squared: {fit.rsquared:.3f} (s.e. {error:.3f})" in printed
    wide = dataclasses.replace(fit, stats=FitStats(0.3716, 0.2187, 4.0, math.nan, 9.0))
    printed = " ".join(str(wide.summary()).split())
    assert "R-squared: 0.37 (s.e. 0.22) Sigma: 2.0000 " in printed
    again = dpreg.DPResults.from_json(fit.to_json())
    assert again.stats == fit.stats
    np.testing.assert_array_equal(again.diagnostics.counts, fit.diagnostics.counts)


def test_the_interval_of_sigma_is_that_of_its_logarithm():
    """One of a positive number that is not: 0 was inside where its error was half as large."""
    stats = FitStats(0.97, 0.02, 4.0, 4.0, 9.0)
    found = stats_table(stats, 0.05)
    low, high = found.loc["sigma", ["lower", "upper"]]
    assert low > 0
    assert low * high == pytest.approx(4.0)
    assert np.log(high / low) == pytest.approx(2 * 1.959964 * 1.0 / 2.0)
    assert found.loc["R-squared", "upper"] == 1
    assert stats_table(FitStats(np.nan, np.nan, np.nan, np.nan, 9.0), 0.05).isna().all(axis=None)


def test_prediction_intervals_hold_new_observations():
    fit = dpreg.dp_lm("y ~ x", table(30_000), 2.0, fit_stats=True, rng=1)
    new = table(5_000, 2)
    found = fit.predict(new, interval="prediction", winsorise=False)
    inside = (found.lower <= new.y) & (new.y <= found.upper)
    assert inside.mean() == pytest.approx(0.95, abs=0.02)
    mean = fit.predict(new, interval="confidence", winsorise=False)
    pd.testing.assert_series_equal(found["mean"], mean["mean"])
    assert (found.upper > mean.upper).all()


def test_pictures_are_drawn(tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    data = table(10_000)
    for formula, family, pictures in [
        ("y ~ x", "gaussian", ("plot_residuals", "plot_qq")),
        ("y ~ x", Quantile(0.5), ("plot_residuals", "plot_qq")),
        ("c ~ x", "poisson", ("plot_residuals", "plot_qq")),
        ("b ~ x", "binomial", ("plot_calibration",)),
    ]:
        fit = dpreg.dp_glm(formula, data, 3.0, family=family, diagnostics=True, rng=1)
        for picture in pictures:
            assert getattr(fit, picture)().get_xlabel()


def test_a_calibrated_model_is_on_the_diagonal():
    fit = dpreg.dp_glm("b ~ x", table(100_000), 3.0, diagnostics=True, rng=1)
    middle, share, error, _ = calibration(fit.diagnostics)
    known = ~np.isnan(share)
    assert known.sum() >= 8
    assert (np.abs(share - middle)[known] < 5 * error[known] + 0.02).all()


def test_what_was_not_paid_for_is_refused_with_what_to_write():
    fit = dpreg.dp_lm("y ~ x", table(2_000), 1.0, rng=1)
    with pytest.raises(AttributeError, match="fit_stats=True"):
        _ = fit.rsquared
    for call in (fit.fit_stats, lambda: fit.predict(table(3), interval="prediction")):
        with pytest.raises(ValueError, match="fit_stats=True"):
            call()
    for picture in (fit.plot_residuals, fit.plot_qq, fit.plot_calibration):
        with pytest.raises(ValueError, match="diagnostics=True"):
            picture()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fit_stats": 1}, "fit_stats must be"),
        ({"method": "tukey", "fit_stats": True}, "fit_stats: 'tukey' releases only coefficients"),
        (
            {"method": "dpsgd", "diagnostics": True},
            "diagnostics: 'dpsgd' releases only coefficients",
        ),
        ({"inference": False, "diagnostics": True}, "may choose a method"),
        ({"family": "binomial", "fit_stats": True}, "neither R squared"),
        ({"weights": "x", "diagnostics": True}, "not supported with weights"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_spent(arguments, message):
    budget = dpreg.Budget(1.0, 1e-5)
    given = {"family": "gaussian", **arguments}
    with pytest.raises(ValueError, match=message):
        dpreg.dp_glm("y ~ x", table(5), 0.5, 1e-6, budget=budget, **given)
    assert not budget.charges


def test_units_of_several_rows_pay_for_as_many():
    data = table(4_000).assign(person=np.arange(4_000) // 4)
    one, four = (
        dpreg.dp_lm("y ~ x", data, 1.0, unit="person", diagnostics=True, rng=1,
                    method=dpreg.BoostedAdaSSP(max_rows=rows))
        for rows in (1, 4)
    )  # fmt: skip
    assert four.diagnostics.deviation == pytest.approx(4 * one.diagnostics.deviation, rel=0.01)
