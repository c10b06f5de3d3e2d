"""The dispersion of negative binomial counts: its sums, their sensitivity, and whole fits."""

from __future__ import annotations

import itertools
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg import _core
from dpreg.base.families import NegativeBinomial
from dpreg.data.design import Design, Terms
from dpreg.estimation.releases import dispersion
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.dispersion import (
    DispersionSums,
    first_alpha,
    released_dispersion,
)
from dpreg.estimation.releases.residuals import Line

CELLS = [0.0, 1.0, 2.0, -3.7, 1e9, -1e300, 5e-324, np.nan, np.inf, -np.inf]
LINE = Line(0.3, np.array([0.5, 0.0, -1.0]), NegativeBinomial(0.7))


def counts(n, alpha, seed, mean=2.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    mu = np.exp(np.log(mean) - 0.125 + X @ [0.4, -0.3])
    y = rng.poisson(rng.gamma(1 / alpha, alpha * mu)).astype(float)
    return pd.DataFrame(X, columns=["a", "b"]).assign(y=y), mu


def test_no_row_moves_the_sums_by_more_than_their_sensitivity():
    """Sums are over rows, so what one row adds is the change, times the weights of the sums."""
    bound, most = dispersion.DISPERSION_SENSITIVITY, 0.0
    for a, b, y in itertools.product(CELLS, CELLS, CELLS):
        change = DispersionSums(LINE, 2.0, 0.5)(np.array([[a, 7.0, b]]), np.array([y]))
        most = max(most, float(np.linalg.norm(change * dispersion._WEIGHTS)))
    assert most <= bound
    assert most > 0.9 * bound


def test_sums_add_up_over_rows_in_any_order():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((200, 3)), rng.poisson(2.0, 200).astype(float)
    statistic, order = DispersionSums(LINE, 20.0, 3.0), rng.permutation(200)
    whole = statistic(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(statistic))(X[order], y[order]), whole)
    parts = sum(statistic(X[i : i + 1], y[i : i + 1]) for i in range(200))
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize("weight", [0.1, 0.7, 3.0])
def test_without_noise_and_limits_it_is_consistent_whatever_weights_are(weight):
    data, mu = counts(400_000, 0.7, 1)
    line = Line(np.log(2) - 0.125, np.array([0.4, -0.3]), NegativeBinomial(weight))
    X, y = data[["a", "b"]].to_numpy(), data.y.to_numpy()
    np.testing.assert_allclose(line.means(X), mu)
    a, b, squares = DispersionSums(line, 1e4, 4.0)(X, y) / 2.0**20 * np.array([1e4, 4.0, 1e8])
    assert a / b == pytest.approx(0.7, abs=4 * np.sqrt(squares) / b)
    assert np.sqrt(squares) / b < 0.02


def test_the_first_dispersion_is_that_of_moments_within_limits():
    assert first_alpha(2 + 0.5 * 6, 2.0, 6.0) == pytest.approx(0.5)
    assert first_alpha(1.0, 2.0, 6.0) == 0.01
    assert first_alpha(1e9, 2.0, 6.0) == 20.0


def test_a_released_dispersion_covers_and_costs_its_share():
    """Of 24 intervals of 1.96 errors 17 and fewer have a probability below 1e-4."""
    held = 0
    for seed in range(24):
        data, _ = counts(30_000, 0.8, seed)
        fit = dpreg.dp_glm("y ~ a + b", data, 2.0, 1e-6, family="negativebinomial", rng=seed)
        (note,) = (note for note in fit.notes if note.startswith("dispersion alpha"))
        error = float(note.split("standard error ")[1].rstrip(")"))
        assert error < 0.2
        held += abs(fit.family.alpha - 0.8) <= 1.96 * error
        (part,) = (
            p for p in fit.privacy.parts if p.label == "squares of residuals beyond the mean"
        )
        assert part.mu**2 <= 0.05 * sum(p.mu**2 for p in fit.privacy.parts) * 1.001
    assert held > 17
    assert dpreg.DPResults.from_json(fit.to_json()).family == fit.family
    assert any("dispersion took 5%" in note for note in fit.notes)


def test_coefficients_are_those_of_statsmodels_with_its_dispersion():
    import statsmodels.api as sm

    data, _ = counts(50_000, 0.8, 3)
    exact = sm.NegativeBinomial(data.y, sm.add_constant(data[["a", "b"]])).fit(disp=0)
    fit = dpreg.dp_glm("y ~ a + b", data, 100.0, family="negativebinomial", rng=1)
    np.testing.assert_allclose(fit.estimates, exact.params[:3], atol=2 * exact.bse.max())
    assert fit.family.alpha == pytest.approx(exact.params["alpha"], abs=0.05)
    both = dpreg.dp_glm(
        "y ~ a", data, 5.0, family="negativebinomial", diagnostics=True, inference=False, rng=1
    )
    assert both.diagnostics.kind == "pearson"
    assert both.family.alpha > 0.3


def test_where_noise_hides_it_scores_have_the_one_that_they_began_with():
    data, _ = counts(400, 0.8, 3)
    terms = Terms("y", ("a", "b"), intercept=True, family=LINE.family)
    design = Design.of(data[["a", "b"]].to_numpy(), data.y.to_numpy(), terms)
    scales = SimpleNamespace(centre=np.array([0.0, 0.0, 2.0]), units=400.0)
    line = Line(0.5, np.array([0.4, -0.3]), LINE.family)
    noise = GaussianReleases(1.0, 1e-5, _core.TestBits(1))
    found = released_dispersion(design, scales, line, noise, 1e-3)
    assert found.alpha == 0.7
    assert "not estimable at this eps; scores use 0.7" in found.note
    seen = released_dispersion(design, scales, line, noise, 0.2)
    assert 0.001 <= seen.alpha <= 1000
    assert "standard error" in seen.note
