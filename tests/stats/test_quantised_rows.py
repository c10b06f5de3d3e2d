"""Exact sums over quantised rows: definitions in Python integers, and what one row changes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpreg import _core

STEPS = _core.ROW_STEPS


def recipe(columns, *, limits=4.0, row_limit=2.0, intercept=True, response_limit=0.0):
    how = _core.Standardisation()
    how.columns = list(columns)
    how.low, how.high = [-limits] * len(columns), [limits] * len(columns)
    how.centre = [0.25] * len(columns)
    how.inverse_scale = [0.5] * len(columns)
    how.y_centre, how.y_inverse_scale = 1.0, 0.5
    how.intercept, how.row_limit, how.response_limit = intercept, row_limit, response_limit
    return how


def rows_by_definition(x, y, how):
    """The integers q and the shrunk responses, in numpy."""
    z = (np.clip(x[:, how.columns], how.low, how.high) - how.centre) * how.inverse_scale
    if how.intercept:
        z = np.column_stack([np.ones(len(z)), z])
    norm = np.sqrt((z**2).sum(axis=1))
    w = np.minimum(1.0, how.row_limit / np.maximum(norm, 1e-300))
    response = w * (y - how.y_centre) * how.y_inverse_scale
    z = z * w[:, None]
    limit = np.hypot(how.row_limit, how.response_limit)
    if how.response_limit > 0:
        z = np.column_stack([z, np.clip(response, -how.response_limit, how.response_limit)])
    return np.rint(z * (STEPS / limit)).astype(object), response, limit


def problem(n=300, d=4, seed=20260101):
    rng = np.random.default_rng(seed)
    x = rng.standard_t(3, (n, d)) * 2
    return x, x @ np.arange(1, d + 1) + rng.standard_t(3, n)


OPTIONS = [
    {},
    {"intercept": False},
    {"response_limit": 1.5},
    {"limits": np.inf, "row_limit": 0.7},
    {"limits": 0.5, "row_limit": 9.0},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_sums_equal_python_integers(options, threads):
    x, y = problem()
    how = recipe([2, 0, 1], **options)
    rows = _core.QuantisedRows(x, y, how, threads)
    q, response, limit = rows_by_definition(x, y, how)
    assert rows.width == q.shape[1]
    assert rows.limit == pytest.approx(limit)
    np.testing.assert_array_equal(rows.gram(threads), q.T @ q)
    theta = np.linspace(-1, 1, rows.width)
    residual = response - (q.astype(float) @ theta) * (limit / STEPS)
    p = np.rint(STEPS * np.clip(residual / 1.3, -1, 1)).astype(object)
    gradient, squares = rows.round(theta.tolist(), 1.3, threads)
    np.testing.assert_array_equal(gradient, q.T @ p)
    assert squares == (p**2).sum()
    v = np.rint((p[:, None].astype(float) / STEPS) * q.astype(float)).astype(object)
    scatter, unclipped = rows.scatter(theta.tolist(), 1.3, threads)
    np.testing.assert_array_equal(scatter, v.T @ v)
    assert unclipped == (np.abs(residual) < 1.3).sum()


def weighted_norm(change):
    """sqrt(sum of squares of the diagonal + 2 sum over i < j), as the noise weighs it."""
    return np.sqrt((change.astype(float) ** 2).sum())


CELLS = [0.0, 1.0, -1.0, 3.7, -4.0, 1e9, -1e300, 5e-324, np.nan, np.inf]


@pytest.mark.parametrize("options", OPTIONS)
def test_sensitivities_are_never_exceeded_and_nearly_attained(options):
    x, y = problem(10, 2)
    how = recipe([0, 1], **options)
    before = _core.QuantisedRows(x, y, how)
    width = before.width
    theta = [0.5] * width
    gram, (gradient, squares) = before.gram(), before.round(theta, 0.8)
    scatter, count = before.scatter(theta, 0.8)
    moves = {"gram": 0.0, "gradient": 0.0, "squares": 0.0, "scatter": 0.0, "count": 0.0}
    for a, b, c in itertools.product(CELLS, CELLS, CELLS):
        after = _core.QuantisedRows(np.vstack([x, [a, b]]), np.append(y, c), how)
        g, s = after.round(theta, 0.8)
        m, k = after.scatter(theta, 0.8)
        changes = {
            "gram": weighted_norm(after.gram() - gram),
            "gradient": np.linalg.norm((g - gradient).astype(float)),
            "squares": abs(s - squares),
            "scatter": weighted_norm(m - scatter),
            "count": abs(k - count),
        }
        moves = {name: max(move, changes[name]) for name, move in moves.items()}
    bounds = {
        "gram": _core.gram_sensitivity(width),
        "gradient": _core.gradient_sensitivity(width),
        "squares": _core.SQUARES_SENSITIVITY,
        "scatter": _core.scatter_sensitivity(width),
        "count": 1,
    }
    for name, bound in bounds.items():
        assert moves[name] <= bound
    # Rounding takes a part in a thousand of what is attained; short rows take more.
    if how.row_limit <= 2.0 and not options.get("response_limit"):
        assert min(moves[name] / bounds[name] for name in ("gram", "gradient", "scatter")) > 0.998
    assert moves["squares"] == bounds["squares"]


@pytest.mark.parametrize("theta", [np.inf, -np.inf, np.nan, 1e308])
def test_sums_stay_within_bounds_for_odd_coefficients(theta):
    """A row with a 0 beside an infinite coefficient has no residual: it counts as clipped."""
    rows = _core.QuantisedRows(np.zeros((1, 2)), np.zeros(1), recipe([0, 1]))
    gradient, squares = rows.round([theta] * rows.width, 1.0)
    scatter, _ = rows.scatter([theta] * rows.width, 1.0)
    assert np.linalg.norm(gradient.astype(float)) <= _core.gradient_sensitivity(rows.width)
    assert abs(squares) <= _core.SQUARES_SENSITIVITY
    assert weighted_norm(scatter) <= _core.scatter_sensitivity(rows.width)


@pytest.mark.parametrize("share", [0.1, 1.0])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, 1e155])
def test_odd_cells_make_a_row_nothing_or_short(value, share):
    x, y = problem(50, 3)
    x[np.random.default_rng(1).random(x.shape) < share] = value
    rows = _core.QuantisedRows(x, y, recipe([0, 1, 2], limits=np.inf))
    gram = rows.gram()
    assert (np.diag(gram) >= 0).all()
    gradient, squares = rows.round([1.0] * rows.width, 1.0)
    assert np.abs(gradient).max() <= 50 * _core.gradient_sensitivity(rows.width)
    assert 0 <= squares <= 50 * _core.SQUARES_SENSITIVITY


def test_unused_columns_do_not_matter():
    x, y = problem(50, 3)
    odd = x.copy()
    odd[:, 1] = np.nan
    how = recipe([0, 2])
    same = [_core.QuantisedRows(table, y, how).gram() for table in (x, odd)]
    np.testing.assert_array_equal(*same)


def test_no_rows_and_no_columns():
    rows = _core.QuantisedRows(np.empty((0, 2)), np.empty(0), recipe([0, 1]))
    assert rows.gram().sum() == 0
    nothing = _core.QuantisedRows(np.ones((5, 2)), np.ones(5), recipe([], intercept=False))
    assert nothing.width == 0
    assert nothing.gram().shape == (0, 0)
    assert nothing.round([], 1.0)[0].tolist() == []


@pytest.mark.parametrize(
    "how", [recipe([5]), recipe([0], row_limit=0.0), recipe([0], row_limit=np.nan)]
)
def test_public_preconditions(how):
    with pytest.raises(ValueError, match=r"column|row_limit"):
        _core.QuantisedRows(np.ones((3, 1)), np.ones(3), how)
