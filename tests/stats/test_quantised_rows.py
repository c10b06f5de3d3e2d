"""Exact sums over quantised rows: definitions in Python integers, and what one row changes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from row_recipes import recipe, rounded

from dpreg import _core
from dpreg.estimation.releases.quantised import RowLoss

STEPS = _core.ROW_STEPS


def rows_by_definition(x, y, how):
    """The integers q and the shrunk responses, in numpy."""
    z = (np.clip(x[:, how.columns], how.low, how.high) - how.centre) * how.inverse_scale
    if how.intercept:
        z = np.column_stack([np.ones(len(z)), z])
    root = np.ones(len(z))
    if how.weight is not None:
        weight = np.nan_to_num(x[:, how.weight] * how.inverse_weight)
        root = np.sqrt(np.clip(weight, 0, how.most_weight))
    norm = np.sqrt((z**2).sum(axis=1))
    w = np.minimum(root, how.row_limit / np.maximum(norm, 1e-300))
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


WEIGHTS = {"weight": 3, "inverse_weight": 0.5, "most_weight": 2.0}
WEIGHED = [
    {**WEIGHTS},
    {**WEIGHTS, "response_limit": 1.5},
    {**WEIGHTS, "most_weight": 1e9, "limits": np.inf, "row_limit": 0.7},
]
OPTIONS = [
    {},
    {"intercept": False},
    {"response_limit": 1.5},
    {"limits": np.inf, "row_limit": 0.7},
    {"limits": 0.5, "row_limit": 9.0},
]


@pytest.mark.parametrize("options", OPTIONS + WEIGHED)
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_sums_equal_python_integers(options, threads, use_threads):
    use_threads(threads)
    x, y = problem()
    how = recipe([2, 0, 1], **options)
    rows = _core.QuantisedRows(x, y, how)
    q, response, limit = rows_by_definition(x, y, how)
    assert rows.width == q.shape[1]
    assert rows.limit == pytest.approx(limit)
    np.testing.assert_array_equal(rows.gram(), q.T @ q)
    theta = np.linspace(-1, 1, rows.width)
    residual = response - (q.astype(float) @ rounded(theta)) * (limit / STEPS)
    p = np.rint(STEPS * np.clip(residual / 1.3, -1, 1)).astype(object)
    gradient, squares = rows.round(theta.tolist(), 1.3)
    np.testing.assert_array_equal(gradient, q.T @ p)
    assert squares == (p**2).sum()


def scores_by_definition(q, response, limit, theta, score_limit):
    """The integers p q of each row, its norm at most SCORE_STEPS."""
    residual = response - (q.astype(float) @ rounded(theta)) * (limit / STEPS)
    longest = _core.SCORE_STEPS / np.maximum(np.linalg.norm(q.astype(float), axis=1), 1)
    per_residual = _core.SCORE_STEPS * (limit / STEPS) / score_limit
    p = np.rint(np.clip(residual * per_residual, -longest, longest))
    return (p[:, None] * q.astype(float)).astype(object), residual


@pytest.mark.parametrize("options", OPTIONS + WEIGHED)
@pytest.mark.parametrize("threads", [1, 7])
@pytest.mark.parametrize("score_limit", [0.2, 5.0])
def test_scores_equal_python_integers(options, threads, score_limit, use_threads):
    use_threads(threads)
    x, y = problem()
    how = recipe([2, 0, 1], **options)
    rows = _core.QuantisedRows(x, y, how)
    q, response, limit = rows_by_definition(x, y, how)
    theta = np.linspace(-1, 1, rows.width)
    scores, residual = scores_by_definition(q, response, limit, theta, score_limit)
    np.testing.assert_array_equal(rows.score(theta, score_limit), scores.sum(axis=0))
    v = np.rint(scores.astype(float) * (STEPS / _core.SCORE_STEPS)).astype(object)
    np.testing.assert_array_equal(rows.score_products(theta, score_limit), v.T @ v)
    norms = np.linalg.norm(q.astype(float), axis=1) * (limit / STEPS) * np.abs(residual)
    bins = np.floor(2 * np.log2(np.maximum(norms, 1e-300))).astype(int) - _core.LEAST_SCORE_BIN
    counts = rows.score_norms(theta)
    expected = np.bincount(np.clip(bins, 0, len(counts) - 1), minlength=len(counts))
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[1], OPTIONS[3], WEIGHED[0]])
def test_residuals_at_the_aim_are_those_of_rows_that_are_not_rounded(options):
    x, y = problem()
    how = recipe([2, 0, 1], **options)
    q, response, limit = rows_by_definition(x, y, how)
    aim = rounded(np.linspace(-1, 1, q.shape[1]))
    z = (np.clip(x[:, how.columns], how.low, how.high) - how.centre) * how.inverse_scale
    if how.intercept:
        z = np.column_stack([np.ones(len(z)), z])
    share = response / ((y - how.y_centre) * how.y_inverse_scale)
    residual = response - share * (z @ aim)
    how.aim = aim.tolist()
    rows = _core.QuantisedRows(x, y, how)
    np.testing.assert_array_equal(rows.gram(), q.T @ q)
    _, squares = rows.round(aim.tolist(), 50.0)
    assert squares == (np.rint(STEPS * np.clip(residual / 50.0, -1, 1)) ** 2).sum()
    aimed = residual + (q.astype(float) @ aim) * (limit / STEPS)
    scores, _ = scores_by_definition(q, aimed, limit, aim, 5.0)
    np.testing.assert_array_equal(rows.score(aim, 5.0), scores.sum(axis=0))


def test_an_aim_moves_predictors_of_other_losses_to_those_of_rows_that_are_not_rounded():
    """The logistic residual at the aim, by its definition."""
    x, y = problem()
    how = recipe([2, 0, 1], row_limit=300.0)
    y = (y > 0).astype(float)
    how.y_centre, how.y_inverse_scale = 0.0, 1.0
    how.loss = RowLoss("logistic", (0.0, 1.0), (-30.0, 30.0)).loss()
    z = (np.clip(x[:, how.columns], how.low, how.high) - how.centre) * how.inverse_scale
    z = np.column_stack([np.ones(len(z)), z])
    aim = rounded([0.3, -1.0, 2.0, 0.5])
    q = np.rint(z * (STEPS / 300.0)) * (300.0 / STEPS)
    expected = ((y - 1 / (1 + np.exp(-(z @ aim))))[:, None] * q).sum(axis=0)
    errors = []
    for target in ([], aim.tolist()):
        how.aim = target
        score = _core.QuantisedRows(x, y, how).score(aim, 10.0) * (10.0 / _core.SCORE_STEPS)
        errors.append(np.abs(score - expected).max())
    assert errors[0] > 1e-2
    assert errors[1] < 1e-4


def test_a_map_is_what_rows_are_multiplied_by():
    """Rows are linear in the map, and shortened after it; a zero cell is no special case."""
    x, y = problem()
    x[::3, 1] = 0.0
    how = recipe([0, 1, 2], limits=np.inf, row_limit=3.0)
    change = np.random.default_rng(3).standard_normal((4, 2))
    mapped = recipe([0, 1, 2], limits=np.inf, row_limit=3.0)
    mapped.map = change
    rows = _core.QuantisedRows(x, y, mapped)
    z = np.column_stack([np.ones(len(x)), (x[:, :3] - 0.25) * 0.5]) @ change
    z *= np.minimum(1, 3.0 / np.linalg.norm(z, axis=1))[:, None]
    assert rows.width == 2
    gram = rows.gram() * (3.0 / STEPS) ** 2
    np.testing.assert_allclose(gram, z.T @ z, atol=len(x) * 3.0 * 3.0 / STEPS)
    same = recipe([0, 1, 2], limits=np.inf, row_limit=3.0)
    same.map = np.eye(4)
    theta = [0.1, 0.2, -0.3, 0.4]
    direct = _core.QuantisedRows(x, y, how).score(theta, 2.0).astype(float)
    through = _core.QuantisedRows(x, y, same).score(theta, 2.0).astype(float)
    np.testing.assert_allclose(through, direct, atol=1e-3 * _core.SCORE_STEPS)


def grouped(labels):
    order = np.argsort(labels, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.unique(labels, return_counts=True)[1])])
    return offsets.tolist(), order.tolist()


@pytest.mark.parametrize("score_limit", [0.2, 5.0])
def test_scores_of_units_are_sums_of_those_of_their_rows(score_limit):
    x, y = problem()
    labels = np.random.default_rng(2).integers(0, 90, len(x))
    how = recipe([0, 1, 2])
    rows = _core.QuantisedRows(x, y, how, *grouped(labels))
    q, response, limit = rows_by_definition(x, y, how)
    theta = np.linspace(-1, 1, rows.width)
    scores, _ = scores_by_definition(q, response, limit, theta, score_limit)
    total, products = np.zeros(rows.width), 0
    for label in np.unique(labels):
        score = scores[labels == label].sum(axis=0).astype(float)
        norm = np.linalg.norm(score)
        if norm > _core.score_sensitivity(rows.width):
            score = np.trunc(score * (_core.SCORE_STEPS / norm))
        total += score
        v = np.rint(score * (STEPS / _core.SCORE_STEPS))
        products = products + np.outer(v, v)
    np.testing.assert_allclose(rows.score(theta, score_limit), total, atol=100)
    np.testing.assert_allclose(rows.score_products(theta, score_limit), products, rtol=1e-6)
    assert rows.score_norms(theta).sum() == len(np.unique(labels))
    shuffled = np.random.default_rng(5).permutation(len(x))
    again = _core.QuantisedRows(x[shuffled], y[shuffled], how, *grouped(labels[shuffled]))
    np.testing.assert_array_equal(again.score(theta, score_limit), rows.score(theta, score_limit))
    np.testing.assert_array_equal(again.score_norms(theta), rows.score_norms(theta))


def test_a_unit_of_any_rows_moves_scores_by_no_more_than_one_row_may():
    x, y = problem(30, 2)
    how = recipe([0, 1])
    labels = np.arange(30)
    theta = [0.5, -0.5, 0.25]
    before = _core.QuantisedRows(x, y, how, *grouped(labels))
    score, products = before.score(theta, 0.7), before.score_products(theta, 0.7)
    norms = before.score_norms(theta)
    width, largest = before.width, 0.0
    for cells in itertools.product([0.0, 3.7, -4.0, 1e9, np.nan], repeat=3):
        for size in (1, 2, 5):
            more = np.tile(cells[:2], (size, 1))
            after = _core.QuantisedRows(
                np.vstack([x, more]), np.append(y, [cells[2]] * size), how,
                *grouped(np.append(labels, [99] * size)),
            )  # fmt: skip
            moved = np.linalg.norm((after.score(theta, 0.7) - score).astype(float))
            largest = max(largest, moved)
            assert moved <= _core.score_sensitivity(width)
            change = weighted_norm(after.score_products(theta, 0.7) - products)
            assert change <= _core.score_products_sensitivity(width)
            assert np.abs(after.score_norms(theta) - norms).sum() == 1
    assert largest > 0.99 * _core.score_sensitivity(width)


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
    score, products = before.score(theta, 0.8), before.score_products(theta, 0.8)
    norms = before.score_norms(theta)
    moves = dict.fromkeys(("gram", "gradient", "squares", "score", "products", "norms"), 0.0)
    for a, b, c in itertools.product(CELLS, CELLS, CELLS):
        after = _core.QuantisedRows(np.vstack([x, [a, b]]), np.append(y, c), how)
        g, s = after.round(theta, 0.8)
        changes = {
            "gram": weighted_norm(after.gram() - gram),
            "gradient": np.linalg.norm((g - gradient).astype(float)),
            "squares": abs(s - squares),
            "score": np.linalg.norm((after.score(theta, 0.8) - score).astype(float)),
            "products": weighted_norm(after.score_products(theta, 0.8) - products),
            "norms": np.linalg.norm(after.score_norms(theta) - norms),
        }
        moves = {name: max(move, changes[name]) for name, move in moves.items()}
    bounds = {
        "gram": _core.gram_sensitivity(width),
        "gradient": _core.gradient_sensitivity(width),
        "squares": _core.SQUARES_SENSITIVITY,
        "score": _core.score_sensitivity(width),
        "products": _core.score_products_sensitivity(width),
        "norms": _core.SCORE_NORMS_SENSITIVITY,
    }
    for name, bound in bounds.items():
        assert moves[name] <= bound
    # Rounding takes a part in a thousand of what is attained; short rows take more.
    if how.row_limit <= 2.0 and not options.get("response_limit"):
        names = ("gram", "gradient", "score", "products")
        assert min(moves[name] / bounds[name] for name in names) > 0.998
    assert moves["squares"] == bounds["squares"]


LOSSES = [
    RowLoss("squared"),
    RowLoss("logistic", (0.0, 1.0), (-40.0, 40.0)),
    RowLoss("poisson", (0.0, 9.0), (-20.0, 2.5)),
    RowLoss("quantile", (-50.0, 50.0), (-50.0, 50.0), 0.3, 0.2),
]


@pytest.mark.parametrize("most_weight", [2.0, 1e300])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.kind)
def test_no_weight_moves_sums_by_more_than_a_row_without_one_may(loss, most_weight):
    """Rows with and without, any cells as regressor, weight and response."""
    x, y = problem(10, 2)
    how = recipe([0], weight=1, inverse_weight=0.5, most_weight=most_weight)
    how.loss = loss.loss()
    before = _core.QuantisedRows(x, y, how)
    theta, width = [0.5, -0.25], before.width
    bounds = {
        "gram": _core.gram_sensitivity(width),
        "curvature": _core.curvature_sensitivity(width),
        "score": _core.score_sensitivity(width),
        "score_products": _core.score_products_sensitivity(width),
        "score_norms": _core.SCORE_NORMS_SENSITIVITY,
    }
    given = {"gram": (), "score_norms": (theta,)}
    moves = dict.fromkeys(bounds, 0.0)
    for a, b, c in itertools.product(CELLS, CELLS, CELLS):
        after = _core.QuantisedRows(np.vstack([x, [a, b]]), np.append(y, c), how)
        for name in bounds:
            asked = given.get(name, (theta, 0.3))
            change = getattr(after, name)(*asked) - getattr(before, name)(*asked)
            moves[name] = max(moves[name], weighted_norm(change))
    for name, bound in bounds.items():
        assert moves[name] <= bound
    assert moves["gram"] > 0.998 * bounds["gram"]


def test_a_row_of_weight_four_is_four_rows():
    """Where none is shortened, and but for the rounding of rows to integers."""
    x, y = problem()
    x = np.column_stack([np.clip(x[:, :2], -2, 2), np.where(np.arange(len(x)) % 3, 1.0, 4.0)])
    four, y = np.repeat(np.arange(len(x)), x[:, 2].astype(int)), np.clip(y, -5, 5)
    theta = [0.1, 0.4, -0.3]
    for loss in LOSSES:
        weighed = recipe([0, 1], row_limit=9.0, weight=2, most_weight=10.0)
        plain = recipe([0, 1], row_limit=9.0)
        weighed.loss = plain.loss = loss.loss()
        one = _core.QuantisedRows(x, y, weighed)
        many = _core.QuantisedRows(x[four], y[four], plain)
        for name, arguments in [("gram", ()), ("score", (theta, 99.0)), ("curvature", (theta, 9))]:
            a, b = (getattr(rows, name)(*arguments).astype(float) for rows in (one, many))
            np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-3 * np.abs(b).max())


@pytest.mark.parametrize("theta", [np.inf, -np.inf, np.nan, 1e308])
def test_sums_stay_within_bounds_for_odd_coefficients(theta):
    """A row with a 0 beside an infinite coefficient has no residual: it counts as clipped."""
    rows = _core.QuantisedRows(np.zeros((1, 2)), np.zeros(1), recipe([0, 1]))
    gradient, squares = rows.round([theta] * rows.width, 1.0)
    score = rows.score([theta] * rows.width, 1.0).astype(float)
    products = rows.score_products([theta] * rows.width, 1.0)
    assert np.linalg.norm(gradient.astype(float)) <= _core.gradient_sensitivity(rows.width)
    assert abs(squares) <= _core.SQUARES_SENSITIVITY
    assert np.linalg.norm(score) <= _core.score_sensitivity(rows.width)
    assert weighted_norm(products) <= _core.score_products_sensitivity(rows.width)
    assert rows.score_norms([theta] * rows.width).sum() == 1


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
    for units in ((), ([0, 2, 3, 5], [0, 1, 2, 3, 4])):
        nothing = _core.QuantisedRows(
            np.ones((5, 2)), np.ones(5), recipe([], intercept=False), *units
        )
        assert nothing.score([], 1.0).tolist() == []
        assert nothing.score_products([], 1.0).shape == (0, 0)
        assert nothing.score_norms([]).sum() == (3 if units else 5)


@pytest.mark.parametrize(
    "how", [recipe([5]), recipe([0], row_limit=0.0), recipe([0], row_limit=np.nan)]
)
def test_public_preconditions(how):
    with pytest.raises(ValueError, match=r"column|row_limit"):
        _core.QuantisedRows(np.ones((3, 1)), np.ones(3), how)


def test_scores_of_any_size_are_counted():
    """Norms beyond all bins, infinite ones too, are in the last of them."""
    how = recipe([0], limits=np.inf, row_limit=5.0)
    for y, last in ((1e280, True), (1.0, False)):
        rows = _core.QuantisedRows(np.ones((1, 1)), np.array([y]), how)
        assert (rows.score_norms([0.0, 0.0])[-1] == 1) == last
