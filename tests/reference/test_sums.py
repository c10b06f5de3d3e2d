"""AdaSSP and Boosted AdaSSP as printed."""

from __future__ import annotations

import numpy as np
import pytest

from dpreg import reference


def problem(n, d, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    return X, X @ np.arange(1.0, d + 1) / d + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("form", [reference.adassp, reference.boosted_adassp])
def test_close_to_least_squares_with_much_budget(form):
    X, y = problem(20_000, 4)
    fit = form(X, y, 100.0, 1e-5, x_bound=4.0, y_bound=4.0, rng=1)
    np.testing.assert_allclose(fit.params, np.linalg.lstsq(X, y, rcond=None)[0], atol=0.02)
    assert "guarantee not claimed" in str(fit)


def test_little_budget_shrinks_adassp():
    """The rounds of Boosted AdaSSP add up noise instead: it is not true of that."""
    form = reference.adassp
    X, y = problem(300, 4)
    sizes = [
        np.linalg.norm(form(X, y, eps, 1e-5, x_bound=4.0, y_bound=4.0, rng=1).params)
        for eps in (0.01, 1000.0)
    ]
    assert sizes[0] < 0.5 * sizes[1]


@pytest.mark.parametrize("form", [reference.adassp, reference.boosted_adassp])
def test_wide_bounds_cost_accuracy(form):
    X, y = problem(20_000, 4)
    truth = np.linalg.lstsq(X, y, rcond=None)[0]

    def error(factor):
        bounds = {"x_bound": 4.0 * factor, "y_bound": 4.0 * factor}
        fits = [form(X, y, 1.0, 1e-5, **bounds, rng=s).params for s in range(10)]
        return np.mean([np.linalg.norm(f - truth) for f in fits])

    assert error(10) > 3 * error(1)


@pytest.mark.parametrize("form", [reference.adassp, reference.boosted_adassp])
def test_rows_are_clipped_and_wrong_use_refused(form):
    X, y = problem(100, 3)
    far = np.vstack([X, 1e9 * np.ones((1, 3))]), np.append(y, 1e9)
    assert np.isfinite(form(*far, 1.0, 1e-5, x_bound=1.0, y_bound=1.0, rng=1).params).all()
    with pytest.raises(ValueError, match="x_bound"):
        form(X, y, 1.0, 1e-5, x_bound=0.0, y_bound=1.0)
    with pytest.raises(ValueError, match="same number"):
        form(X, y[1:], 1.0, 1e-5, x_bound=1.0, y_bound=1.0)
