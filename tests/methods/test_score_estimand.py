"""What a fit says it estimates, and how far least squares may lie from that."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpreg

N = 20_000


def skewed(seed):
    """Errors whose tail leans to one side where x is large: limits move both coefficients."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N)
    error = (rng.pareto(1.6, N) - 1 / 0.6) * np.exp(0.5 * x)
    return pd.DataFrame({"x": x, "y": 1 + x + error})


def plain(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N)
    return pd.DataFrame({"x": x, "t": rng.normal(size=N), "y": 1 + x + rng.normal(size=N)})


def test_limits_that_hardly_matter_leave_least_squares():
    fit = dpreg.dp_lm("y ~ x", plain(1), 1.0, 1e-6, rng=1)
    table = fit.tidy()
    assert (table["clipping"] > 0).all()
    farthest = (table["clipping"] / table["std err"]).max()
    assert farthest < 1
    assert fit.notes[0].startswith("least squares, but rows over ")
    assert f"by up to about {farthest:.1f} standard errors" in fit.notes[0]
    # In the units of the coefficients, but for bins that lie elsewhere.
    again = dpreg.dp_lm("y ~ x", plain(1).assign(y=lambda d: 8 * d["y"]), 1.0, 1e-6, rng=1)
    np.testing.assert_allclose(again.clipping, 8 * fit.clipping, rtol=0.3)


def test_limits_that_matter_are_named_and_least_squares_is_mostly_within_what_is_told():
    """In 40 samples: named in all but one, .70 of coefficients covered, .94 within what is told."""
    covered, within, named = [], [], []
    for seed in range(16):
        data = skewed(seed)
        fit = dpreg.dp_lm("y ~ x", data, 1.0, 1e-6, rng=seed)
        exact = np.polyfit(data["x"], data["y"], 1)[::-1]
        away = np.abs(fit.params - exact).to_numpy()
        # Of the noise alone: the sample is the population.
        margin = 3 * fit.tidy()["privacy"].to_numpy()
        covered += list(away < margin)
        within += list(away < margin + fit.clipping)
        named.append(fit.notes[0].startswith("Huber regression: "))
        assert named[-1] == ("least squares may lie up to about" in fit.notes[0])
    assert np.mean(named) > 0.9
    assert np.mean(covered) < 0.8
    assert np.mean(within) > 0.9


def test_what_is_given_is_not_moved_and_other_methods_do_not_tell():
    fit = dpreg.dp_lm("y ~ x + offset(t)", plain(2), 1.0, 1e-6, rng=2)
    assert fit.tidy().loc["offset(t)", "clipping"] == 0
    again = dpreg.DPResults.from_json(fit.to_json())
    np.testing.assert_array_equal(again.clipping, fit.clipping)
    other = dpreg.dp_lm("y ~ x", plain(2), 1.0, 1e-6, method="tukey", rng=2)
    assert other.clipping is None
    assert other.tidy()["clipping"].isna().all()
    assert "clipping" not in str(fit.summary())


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"family": "poisson"}, "maximum likelihood"),
        ({"family": "binomial", "link": "probit"}, "the root of residuals times rows"),
        ({"family": dpreg.Quantile(0.5)}, "the quantile 0.5"),
    ],
)
def test_other_families_name_their_own(options, what):
    data = plain(3)
    rate = np.exp(0.3 * data["x"])
    y = np.random.default_rng(3).poisson(rate)
    data["y"] = np.minimum(y, 1) if options["family"] == "binomial" else y
    fit = dpreg.dp_glm("y ~ x", data, 1.0, 1e-6, rng=3, **options)
    assert fit.notes[0].startswith(what)
    assert "count less" in fit.notes[0]
