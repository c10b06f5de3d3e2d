"""Many small Lasso fits and the votes of their coefficients."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from dpreg import _core


def batches(n, models):
    return _core.assign_to_slots(n, models, max(1, -(-n // models)), _core.TestBits(1))


def by_sklearn(x, y, assignment, penalty, *, standardize=True):
    members, offsets = (np.asarray(v, dtype=int) for v in
                        (assignment.members, assignment.offsets))  # fmt: skip
    result = []
    for g in range(len(offsets) - 1):
        rows = members[offsets[g] : offsets[g + 1]]
        z, v = x[rows] - x[rows].mean(axis=0), y[rows] - y[rows].mean()
        if standardize:
            spread = z.std(axis=0)
            z, v = z / np.where(spread > 0, spread, 1), v / v.std()
        model = Lasso(alpha=penalty, tol=1e-15, max_iter=1_000_000, fit_intercept=False)
        result.append(model.fit(z, v).coef_)
    return np.array(result)


@pytest.mark.parametrize("penalty", [0.01, 0.1, 0.5])
@pytest.mark.parametrize(("n", "d", "models"), [(600, 5, 10), (300, 20, 10), (100, 40, 10)])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_equals_sklearn(n, d, models, penalty, scale):
    rng = np.random.default_rng([n, d])
    x = rng.standard_normal((n, d)) * rng.uniform(0.1, 10, d) + 5
    x[:, 1] += x[:, 0]
    y = x[:, :3] @ [1.0, -2.0, 0.5] + rng.standard_normal(n)
    assignment = batches(n, models)
    found = _core.fit_lasso_batches(x * scale, y / scale, assignment, penalty=penalty)
    # Both stop when little moves; with more columns than rows that can be far from the end.
    tolerance = 5e-6 if d < n / models else 5e-5
    np.testing.assert_allclose(found, by_sklearn(x, y, assignment, penalty), atol=tolerance)


def test_equals_sklearn_without_scaling():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 6)) * [1, 2, 3, 0.5, 1, 1] + 1
    y = 3 * x[:, 0] - x[:, 2] + rng.standard_normal(200)
    assignment = batches(200, 4)
    found = _core.fit_lasso_batches(x, y, assignment, penalty=0.3, scaling=_core.BatchScaling.NONE)
    expected = by_sklearn(x, y, assignment, 0.3, standardize=False)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_conditions_of_optimality():
    """Karush-Kuhn-Tucker, for more columns than rows, duplicated columns among them."""
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((30, 50)), rng.standard_normal(30)
    x[:, 7] = x[:, 3]
    (w,) = _core.fit_lasso_batches(x, y, batches(30, 1), penalty=0.05)
    z, v = (x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean()) / y.std()
    gradient = z.T @ (v - z @ w) / 30
    active = w != 0
    assert active.any()
    np.testing.assert_allclose(gradient[active], 0.05 * np.sign(w[active]), atol=1e-6)
    assert np.abs(gradient[~active]).max() <= 0.05 + 1e-6


def test_threads_and_layout_do_not_change_a_bit(use_threads):
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((500, 9)), rng.standard_normal(500)
    assignment = batches(500, 20)
    use_threads(1)
    one = _core.fit_lasso_batches(x, y, assignment, penalty=0.1)
    use_threads(3)
    two = _core.fit_lasso_batches(np.asfortranarray(x), y, assignment, penalty=0.1)
    np.testing.assert_array_equal(one, two)


def test_units_of_several_rows():
    """Units of two rows are the rows themselves, in that order."""
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    offsets, rows = np.arange(0, 61, 2), rng.permutation(60)
    assignment = batches(30, 3)
    found = _core.fit_lasso_batches(
        x, y, assignment, unit_offsets=offsets, unit_rows=rows, penalty=0.1
    )
    members = np.asarray(assignment.members, dtype=int)
    pairs = np.array([rows[2 * u : 2 * u + 2] for u in members]).ravel()
    plain = [_core.fit_lasso_batches(x[pairs[20 * g : 20 * g + 20]], y[pairs[20 * g : 20 * g + 20]],
                                     batches(20, 1), penalty=0.1)[0] for g in range(3)]  # fmt: skip
    np.testing.assert_allclose(found, plain, atol=1e-9)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_incomplete_rows_are_passed_over(odd):
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((40, 4)), rng.standard_normal(40)
    x[3, 2], y[8] = odd, odd
    good = np.isfinite(x).all(axis=1) & np.isfinite(y)
    found = _core.fit_lasso_batches(x, y, batches(40, 1), penalty=0.05)
    expected = _core.fit_lasso_batches(x[good], y[good], batches(38, 1), penalty=0.05)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def odd_worlds():
    rng = np.random.default_rng(6)
    x, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    yield x[:0], y[:0]
    yield x[:1], y[:1]
    yield np.ones_like(x), y
    yield x, np.zeros(20)
    yield x * 0, y * 0
    yield np.full_like(x, np.nan), y
    yield np.full_like(x, 5e-324), np.full(20, 1e308)


@pytest.mark.parametrize(("x", "y"), list(odd_worlds()), ids=range(7))
def test_nothing_to_fit_gets_no_votes(x, y):
    found = _core.fit_lasso_batches(x, y, batches(len(y), 3), penalty=0.1)
    assert not found.any()
    assert not _core.count_votes(found, 2).any()


def test_constant_columns_get_none_and_denormals_do_no_harm():
    rng = np.random.default_rng(6)
    x = np.column_stack([np.full(50, 3.3), rng.standard_normal(50) * 5e-324 * 1e6,
                         rng.standard_normal(50)])  # fmt: skip
    w = _core.fit_lasso_batches(x, x[:, 2], batches(50, 1), penalty=0.01)[0]
    assert w[0] == 0
    assert np.isfinite(w).all()
    assert abs(w[2]) > 0.5


def votes_by_definition(w, k):
    votes = np.zeros(w.shape[1])
    for row in np.abs(w):
        order = sorted(range(len(row)), key=lambda j: (-row[j], j))
        for j in order[:k]:
            votes[j] += row[j] > 0
    return votes


def test_votes():
    w = np.array([[3, -1, 0, 2], [0, 0, 0, 0], [1, -1, 1, 0], [0, 0, 5, 0.0]])
    for k in range(1, 6):
        np.testing.assert_array_equal(_core.count_votes(w, k), votes_by_definition(w, k))
    with pytest.raises(ValueError, match="k must"):
        _core.count_votes(w, 0)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_replacing_one_model_moves_votes_within_their_range(k):
    """Every vector on {0, 1, 2}^4 for the model that is replaced, before and after."""
    vectors = np.array(list(itertools.product([0.0, 1.0, -2.0], repeat=4)))
    ballots = np.array([_core.count_votes(v[None, :], k) for v in vectors])
    np.testing.assert_array_equal(ballots, [votes_by_definition(v[None, :], k) for v in vectors])
    changes = ballots[:, None, :] - ballots[None, :, :]
    assert np.abs(changes).max() == _core.VOTE_SENSITIVITY
    assert np.ptp(changes, axis=2).max() == _core.VOTE_RANGE


@pytest.mark.parametrize("penalty", [-1.0, np.nan, np.inf])
def test_wrong_penalty(penalty):
    with pytest.raises(ValueError, match="penalty"):
        _core.fit_lasso_batches(np.zeros((4, 2)), np.zeros(4), batches(4, 1), penalty=penalty)
