"""Scores of units that stop in time: their definition, what one unit changes, and their mean."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpreg import _core
from dpreg.estimation.releases.quantised import RowLoss

STEPS, SCORE_STEPS = _core.ROW_STEPS, _core.SCORE_STEPS
THETA = [0.3, -0.8]


def recipe(kind="counting", **weights):
    """Rows (1, x), the second column given: the logarithm of the exposure."""
    how = _core.Standardisation()
    how.columns, how.low, how.high = [0], [-np.inf], [np.inf]
    how.centre, how.inverse_scale, how.row_limit = [0.0], [1.0], 4.0
    how.loss, how.given = RowLoss(kind, (0.0, 9.0), (-20.0, 5.0)).loss(), [1]
    for name, value in weights.items():
        setattr(how, name, value)
    return how


def units(rows, seed=3):
    """Rows of units of one to five, some with an event at their end, some with one on the way."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(0, 1.5, rows), rng.normal(-0.5, 1, rows)])
    sizes = rng.integers(1, 6, rows)
    ends = np.cumsum(sizes)
    offsets = [0, *ends[ends < rows].tolist(), rows]
    return x, rng.choice([0.0, 1.0, 2.0], rows, p=[0.6, 0.3, 0.1]), offsets


def walked(x, y, limit, weight=1.0):
    """The score of a unit in small steps: the rows' drifts, each with its events at its end."""
    score = np.zeros(2)
    for (slope, log_exposure), events in zip(x, y, strict=True):
        row = np.array([1.0, slope])
        row *= min(1.0, 4.0 / np.linalg.norm(row))
        row *= weight
        mean = math.exp(min(max(THETA[0] + THETA[1] * slope + log_exposure, -20.0), 5.0))
        path = score - np.arange(20_001)[:, None] * row * (mean / 20_000)
        (outside,) = np.nonzero(np.linalg.norm(path[1:], axis=1) > limit)
        if len(outside):
            return path[outside[0]]
        score = path[-1] + events * row
        if np.linalg.norm(score) > limit:
            return score * (limit / np.linalg.norm(score))
    return score


@pytest.mark.parametrize("limit", [0.8, 2.5])
def test_a_unit_stops_where_its_limit_is_reached(limit, use_threads):
    x, y, offsets = units(60)
    order = list(range(60))
    rows = _core.QuantisedRows(x, y, recipe(), offsets, order)
    each = [walked(x[a:b], y[a:b], limit) for a, b in itertools.pairwise(offsets)]
    stopped = sum(np.linalg.norm(one) > 0.99 * limit for one in each)
    assert stopped > 3
    found = rows.score(THETA, limit) * (limit / SCORE_STEPS)
    np.testing.assert_allclose(found, np.sum(each, axis=0), atol=0.01)
    products = rows.score_products(THETA, limit) * (limit / STEPS) ** 2
    np.testing.assert_allclose(products, np.einsum("ui,uj->ij", each, each), atol=0.02 * limit)
    again = []
    for threads in (1, 2, 3):
        use_threads(threads)
        again.append(rows.score(THETA, limit))
    np.testing.assert_array_equal(again, [again[0]] * 3)


def test_short_scores_are_those_of_the_poisson_loss():
    x, y, offsets = units(200)
    order = np.arange(200).tolist()
    pair = [_core.QuantisedRows(x, y, recipe(kind), offsets, order)
            for kind in ("counting", "poisson")]  # fmt: skip
    scores = [rows.score(THETA, 1e4) for rows in pair]
    np.testing.assert_allclose(*scores, atol=2 * STEPS * 200)
    for name, arguments in [("score_norms", ()), ("curvature", (2.0,)), ("gram", None)]:
        found = [getattr(rows, name)(*(() if arguments is None else (THETA, *arguments)))
                 for rows in pair]  # fmt: skip
        np.testing.assert_array_equal(*found)


CELLS = [0.0, 1.0, -3.7, 1e9, -1e300, 5e-324, np.nan, np.inf]


@pytest.mark.parametrize("weights", [{}, {"weight": 1, "most_weight": 1e300}])
@pytest.mark.parametrize("theta", [THETA, [1e308, 1.0], [np.nan, 0.0]])
def test_no_unit_moves_scores_by_more_than_one_row_may(weights, theta):
    x, y, offsets = units(30)
    how = recipe(**weights)
    before = _core.QuantisedRows(x, y, how, offsets, list(range(30)))
    score, products = before.score(theta, 0.7), before.score_products(theta, 0.7)
    largest = 0.0
    for a, b, c in itertools.product(CELLS, CELLS, [0.0, 1.0, 1e300, np.nan, -np.inf]):
        for size in (1, 2, 5):
            more = np.tile([a, b], (size, 1))
            after = _core.QuantisedRows(
                np.vstack([x, more]), np.append(y, [c] * size), how,
                [*offsets, 30 + size], list(range(30 + size)),
            )  # fmt: skip
            moved = np.linalg.norm((after.score(theta, 0.7) - score).astype(float))
            largest = max(largest, moved)
            assert moved <= _core.score_sensitivity(2)
            change = np.linalg.norm((after.score_products(theta, 0.7) - products).astype(float))
            assert change <= _core.score_products_sensitivity(2)
    assert largest > 0.99 * SCORE_STEPS or np.isnan(theta[0])


def followed(x, y, stop, limit, weight=1.0):
    """What a unit adds to the curvature: nothing if its score stops."""
    if np.linalg.norm(walked(x, y, stop)) > 0.98 * stop:
        return np.zeros((2, 2))
    found = np.zeros((2, 2))
    for slope, log_exposure in x:
        row = np.array([1.0, slope])
        row *= min(1.0, 4.0 / np.linalg.norm(row))
        found += np.outer(row, row) * math.exp(THETA[0] + THETA[1] * slope + log_exposure)
    return found * min(1.0, limit**2 / np.trace(found))


@pytest.mark.parametrize("limit", [1.5, 30.0])
def test_the_followed_curvature_is_that_of_units_whose_score_does_not_stop(limit, use_threads):
    x, y, offsets = units(60)
    rows = _core.QuantisedRows(x, y, recipe(), offsets, list(range(60)))
    each = [followed(x[a:b], y[a:b], 2.5, limit) for a, b in itertools.pairwise(offsets)]
    assert 3 < sum(not one.any() for one in each) < len(each) - 3
    for leading in (2, 1):
        again = []
        for threads in (1, 2, 3):
            use_threads(threads)
            again.append(rows.followed_curvature(THETA, 2.5, limit, leading))
        np.testing.assert_array_equal(again, [again[0]] * 3)
        if leading == 2 or limit > 10:
            wanted = np.sum(each, axis=0)[:leading, :leading]
            found = again[0] * (limit / STEPS) ** 2
            np.testing.assert_allclose(found, wanted, atol=1e-3 * limit**2)
    with pytest.raises(ValueError, match="leading"):
        rows.followed_curvature(THETA, 2.5, limit, 3)
    with pytest.raises(ValueError, match="counting"):
        _core.QuantisedRows(x, y, recipe("poisson")).followed_curvature(THETA, 2.5, limit, 2)


def test_the_followed_curvature_is_minus_the_derivative_of_scores_that_do_not_stop():
    x, y, offsets = units(400)
    rows = _core.QuantisedRows(x, y, recipe(), offsets, list(range(400)))
    found = rows.followed_curvature(THETA, 1e4, 1e2, 2) * (1e2 / STEPS) ** 2
    step = 1e-4
    for j in range(2):
        ends = [rows.score(np.add(THETA, sign * step * np.eye(2)[j]), 1e4) * (1e4 / SCORE_STEPS)
                for sign in (-1, 1)]  # fmt: skip
        np.testing.assert_allclose(-np.subtract(ends[1], ends[0]) / 2 / step, found[j], rtol=0.01)


@pytest.mark.parametrize("weights", [{}, {"weight": 1, "most_weight": 1e300}])
@pytest.mark.parametrize("theta", [THETA, [1e308, 1.0], [np.nan, 0.0]])
@pytest.mark.parametrize(("stop", "limit"), [(3.0, 0.7), (1e300, 1e-3), (1e300, 5e-324)])
def test_no_unit_moves_the_followed_curvature_by_more_than_is_said(weights, theta, stop, limit):
    x, y, offsets = units(30)
    how, largest = recipe(**weights), 0.0
    before = _core.QuantisedRows(x, y, how, offsets, list(range(30)))
    sums = [before.followed_curvature(theta, stop, limit, leading) for leading in (0, 1, 2)]
    for a, b, c in itertools.product(CELLS, CELLS, [0.0, 1.0, np.nan]):
        for size in (1, 9):
            more = np.tile([a, b], (size, 1)) * np.linspace(1, -0.3, size)[:, None]
            after = _core.QuantisedRows(
                np.vstack([x, more]), np.append(y, [c] * size), how,
                [*offsets, 30 + size], list(range(30 + size)),
            )  # fmt: skip
            for leading in (0, 1, 2):
                moved = after.followed_curvature(theta, stop, limit, leading) - sums[leading]
                change = float(np.linalg.norm(moved.astype(float)))
                most = _core.followed_curvature_sensitivity(leading)
                assert change <= most
                largest = max(largest, change / most)
    assert largest > 0.99 or np.isnan(theta[0]) or theta[0] > 1e3 or weights


def test_what_is_left_out_has_mean_zero():
    """Exponential times, a hazard exp(.6 x): clipped scores have another mean at the truth."""
    rng = np.random.default_rng(11)
    n, edges = 40_000, np.array([0.0, 0.4, 1.0, 8.0])
    slope = rng.normal(size=n)
    time = rng.exponential(np.exp(-0.6 * slope))
    person, interval = np.nonzero(time[:, None] > edges[:-1])
    stay = np.minimum(time[person], edges[interval + 1]) - edges[interval]
    y = (time[person] <= edges[interval + 1]).astype(float)
    x = np.column_stack([slope[person], np.log(stay)])
    offsets = np.append(np.flatnonzero(np.diff(person, prepend=-1)), len(y)).tolist()
    means = {}
    for kind in ("counting", "poisson"):
        rows = _core.QuantisedRows(x, y, recipe(kind), offsets, np.arange(len(y)).tolist())
        sums = rows.score([0.0, 0.6], 2.0) * (2.0 / SCORE_STEPS)
        spread = np.sqrt(np.diag(rows.score_products([0.0, 0.6], 2.0))) * (2.0 / STEPS)
        means[kind] = sums / spread
    assert np.abs(means["counting"]).max() < 4
    assert means["poisson"][0] > 6
