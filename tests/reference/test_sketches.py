"""Regression by Gaussian sketches as published."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpreg import reference
from dpreg.reference.sums import sketch_epsilon


@pytest.mark.parametrize(("level", "order"), [(3.0, 1.5), (20.0, 4.0)])
def test_the_renyi_divergence_of_a_sketch_is_that_of_its_law(level, order):
    """One column, one row: neighbours have variances `level` and `level` - 1."""
    p, q = stats.norm(0, math.sqrt(level)), stats.norm(0, math.sqrt(level - 1))

    def term(x, first, second):
        return math.exp(order * first.logpdf(x) + (1 - order) * second.logpdf(x))

    both = [
        math.log(integrate.quad(term, -150, 150, args=pair, limit=200, points=[0])[0]) / (order - 1)
        for pair in ((p, q), (q, p))
    ]
    loss = order * math.log1p(-1 / level) - math.log1p(-order / level)
    assert max(both) == pytest.approx(loss / (2 * (order - 1)), rel=1e-6)


def test_more_sketches_and_less_noise_cost_more():
    base = sketch_epsilon(1000.0, 100, 3, 1e-6)
    assert 0 < sketch_epsilon(2000.0, 100, 3, 1e-6) < base < sketch_epsilon(1000.0, 100, 6, 1e-6)


def test_close_to_least_squares_with_much_budget_and_far_with_little():
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, (20_000, 4))
    y = X @ np.arange(1.0, 5.0) / 5 + 0.1 * rng.standard_normal(len(X))
    exact = np.linalg.lstsq(X, y, rcond=None)[0]

    def error(eps):
        fit = reference.iterative_hessian_mixing(X, y, eps, 1e-5, x_bound=1.0, y_bound=1.0, rng=1)
        return np.linalg.norm(fit.params - exact)

    assert error(20.0) < 0.02 < error(0.1)


def test_wrong_use_is_refused():
    with pytest.raises(ValueError, match="rounds"):
        reference.iterative_hessian_mixing(
            np.ones((3, 1)), np.ones(3), 1.0, 1e-5, x_bound=1.0, y_bound=1.0, rounds=0
        )
