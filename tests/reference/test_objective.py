"""Objective perturbation as printed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from dpreg import reference


def problem(n, d, loss, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d)) / math.sqrt(d)
    eta = X @ np.linspace(-0.5, 0.5, d)
    y = eta if loss == "squared" else (rng.random(n) < special.expit(3 * eta)).astype(float)
    return X, y


def gradient(X, y, theta, loss):
    eta = X @ theta
    return X.T @ ((eta if loss == "squared" else special.expit(eta)) - y)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_linear_term_has_the_printed_law(loss):
    """At the minimum, the gradient without the term is minus the term."""
    X, y = problem(400, 3, loss)
    eps, delta, ridge = 20.0, 1e-5, 4.0
    slope, curvature = (2.0, 1.0) if loss == "squared" else (1.0, 0.25)
    scale = slope * math.sqrt(8 * math.log(2 / delta) + 4 * eps) / eps
    terms = []
    for seed in range(60):
        theta = reference.objective_perturbation(
            X, y, eps, delta, x_bound=1.0, loss=loss, ridge=ridge, rng=seed
        ).params
        assert loss == "logistic" or np.linalg.norm(theta) < 1  # within the ball
        terms.append(-gradient(X, y, theta, loss) - (2 * curvature / eps + ridge) * theta)
    assert stats.kstest(np.ravel(terms) / scale, "norm").pvalue > 1e-6
    assert abs(np.std(terms) / scale - 1) < 0.3


def test_coefficients_of_squared_loss_stay_within_their_ball():
    X, y = problem(50, 3, "squared")
    fits = [
        reference.objective_perturbation(X, 9 * y, 0.5, 1e-5, x_bound=1.0, y_bound=2.0, rng=seed)
        for seed in range(5)
    ]
    np.testing.assert_allclose([np.linalg.norm(fit.params) for fit in fits], 2.0)
    assert "guarantee not claimed" in str(fits[0])


def test_a_response_that_is_not_binary_is_refused():
    X, y = problem(50, 3, "squared")
    with pytest.raises(ValueError, match="0 or 1"):
        reference.objective_perturbation(X, y, 1.0, 1e-5, x_bound=1.0, loss="logistic")
