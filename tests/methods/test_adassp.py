"""AdaSSP end to end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from methods.sums import check_accuracy, check_total, check_wrong_use, coverage, gaussian

import dpreg
from dpreg.accounting.gdp import gdp_epsilon
from dpreg.methods import AdaSSP
from dpreg.methods._wald import hidden_by_floor


def test_accuracy_without_bounds():
    check_accuracy("adassp", 0.84)


def test_total_on_odd_data():
    check_total("adassp")


def test_wrong_use():
    check_wrong_use("adassp")


@pytest.mark.slow
def test_intervals_cover():
    share, total = coverage("adassp", 10_000, 4, 100)
    assert abs(share - 0.95) < 0.044
    assert total == 400


def test_what_was_drawn_composes_to_the_claim():
    fit = dpreg.dp_lm("y ~ x0 + x1", gaussian(2000, 2, 1), 0.7, 1e-6, method="adassp", rng=1)
    mu = math.sqrt(sum((p.sensitivity / p.scale) ** 2 for p in fit.privacy.parts))
    assert 0.99 * 0.7 < gdp_epsilon(mu, 1e-6) <= 0.7


def test_with_hardly_any_noise_it_is_least_squares():
    data = gaussian(20_000, 3, 1)
    method = AdaSSP(response_limit=30.0, row_factor=30.0)
    fit = dpreg.dp_lm("y ~ x0 + x1 + x2", data, 500.0, method=method, rng=1)
    X = np.column_stack([np.ones(len(data)), data[["x0", "x1", "x2"]]])
    exact = np.linalg.lstsq(X, data["y"])[0]
    np.testing.assert_allclose(fit.params, exact, rtol=0.02)


def test_eigenvalues_below_the_noise_are_hidden():
    gram = np.diag([100.0, 100.0, 0.5])
    hidden = hidden_by_floor(gram, 1.0)
    assert hidden[2, 2] > 0
    assert np.abs(hidden[:2, :2]).max() == 0


@pytest.mark.parametrize(
    "options",
    [
        {"response_limit": 0.0},
        {"row_factor": 0.0},
        {"row_factor": 1e200},
    ],
)
def test_wrong_options(options):
    with pytest.raises(ValueError, match="greater than 0"):
        AdaSSP(**options)
