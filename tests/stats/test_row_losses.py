"""Residuals and curvatures of losses over quantised rows: definitions, bounds, neighbours."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from scipy import special

from dpreg import _core
from dpreg.estimation.releases.quantised import RowLoss

STEPS = _core.ROW_STEPS
LOSSES = {
    "logistic": RowLoss("logistic", (0.0, 1.0), (-40.0, 40.0)),
    "probit": RowLoss("probit", (0.0, 1.0), (-8.0, 8.0)),
    "cloglog": RowLoss("cloglog", (0.0, 1.0), (-40.0, 40.0)),
    "poisson": RowLoss("poisson", (0.0, 9.0), (-20.0, 2.5)),
    "counting": RowLoss("counting", (0.0, 9.0), (-20.0, 2.5)),
    "gamma": RowLoss("gamma", (0.0, 9.0), (-20.0, 2.5)),
    "negative_binomial": RowLoss("negative_binomial", (0.0, 9.0), (-20.0, 2.5), dispersion=0.6),
    "quantile": RowLoss("quantile", (-50.0, 50.0), (-50.0, 50.0), 0.3, 0.2),
}


def recipe(loss, columns=(0, 1), *, given=(), row_limit=2.0):
    how = _core.Standardisation()
    d = len(columns)
    how.columns = list(columns)
    how.low, how.high, how.centre = [-np.inf] * d, [np.inf] * d, [0.25] * d
    how.inverse_scale, how.row_limit = [0.5] * d, row_limit
    how.loss, how.given = loss.loss(), list(given)
    return how


def problem(n=300, seed=20261122):
    rng = np.random.default_rng(seed)
    x = rng.standard_t(3, (n, 3))
    return x, rng.poisson(1.5, n) * rng.choice([1.0, 0.3, -0.5], n)


def derivatives(loss, eta, y):
    """Residual and curvature as the header defines them."""
    eta, y = np.clip(eta, *loss.predictor), np.clip(y, *loss.response)
    if loss.kind in ("poisson", "counting"):
        return y - np.exp(eta), np.exp(eta)
    if loss.kind == "gamma":
        return y / np.exp(eta) - 1, y / np.exp(eta)
    if loss.kind == "negative_binomial":
        mean, alpha = np.exp(eta), loss.dispersion
        total = 1 + alpha * mean
        return (y - mean) / total, mean * (1 + alpha * y) / total**2
    if loss.kind == "logistic":
        mean = special.expit(eta)
        return y - mean, mean * (1 - mean)
    if loss.kind == "probit":
        return y - special.ndtr(eta), np.exp(-(eta**2) / 2) / np.sqrt(2 * np.pi)
    if loss.kind == "cloglog":
        rate = np.exp(eta)
        with np.errstate(over="ignore", under="ignore"):
            return y + np.expm1(-rate), rate * np.exp(-rate)
    below = special.expit((eta - y) / loss.bandwidth)
    return loss.level - below, below * (1 - below) / loss.bandwidth


def by_definition(x, y, loss, theta, given, row_limit):
    """Integer rows q, the weights by which they were shrunk, residuals and curvatures."""
    z = np.column_stack([np.ones(len(x)), (x[:, :2] - 0.25) * 0.5])
    w = np.minimum(1, row_limit / np.linalg.norm(z, axis=1))
    q = np.rint(z * w[:, None] * (STEPS / row_limit))
    eta = q @ theta * (row_limit / STEPS) / w + x[:, list(given)].sum(axis=1)
    residual, curvature = derivatives(loss, eta, y)
    return q, w, residual, curvature


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("given", [(), (2,)])
@pytest.mark.parametrize("threads", [1, 3])
def test_scores_and_curvatures_are_those_of_the_definition(name, given, threads, use_threads):
    """Up to the rounding of the exponential: one step of the integers of each row."""
    use_threads(threads)
    loss, (x, y), theta = LOSSES[name], problem(), np.array([0.3, -0.8, 0.5])
    rows = _core.QuantisedRows(x, y, recipe(loss, given=given))
    q, w, residual, curvature = by_definition(x, y, loss, theta, given, 2.0)
    limit = 1.5
    longest = _core.SCORE_STEPS / np.maximum(np.linalg.norm(q, axis=1), 1)
    p = np.rint(
        np.clip(w * residual * (_core.SCORE_STEPS * 2.0 / STEPS / limit), -longest, longest)
    )
    difference = rows.score(theta, limit) - (p[:, None] * q).sum(axis=0)
    assert np.abs(difference).max() <= 4 * STEPS  # p of four rows may be rounded the other way
    factor = np.minimum(
        np.sqrt(curvature) * (2.0 / limit), STEPS / np.maximum(np.linalg.norm(q, axis=1), 1)
    )
    u = np.rint(factor[:, None] * q)
    np.testing.assert_allclose(rows.curvature(theta, limit), u.T @ u, atol=4 * STEPS)
    norms = np.linalg.norm(q, axis=1) * (2.0 / STEPS) * np.abs(w * residual)
    bins = np.floor(2 * np.log2(np.maximum(norms, 1e-300))).astype(int) - _core.LEAST_SCORE_BIN
    expected = np.bincount(np.clip(bins, 0, 120), minlength=121)
    np.testing.assert_array_equal(rows.score_norms(theta), expected)


@pytest.mark.parametrize("name", LOSSES)
def test_curvature_is_minus_the_derivative_of_the_score(name):
    loss, (x, y) = LOSSES[name], problem(2000)
    x = np.clip(x, -3, 3)  # so that nothing is shortened, nor a linear predictor clipped
    rows = _core.QuantisedRows(x, y, recipe(loss, row_limit=4.0))
    theta, limit, step = np.array([0.2, 0.1, -0.3]), 20.0, 0.03
    curvature = rows.curvature(theta, limit) * (limit / STEPS) ** 2
    for j, unit in enumerate(np.eye(3) * step):
        high, low = (rows.score(theta + s * unit, limit) for s in (1, -1))
        slope = (high - low) * (limit / _core.SCORE_STEPS) / (2 * step)
        np.testing.assert_allclose(-slope, curvature[j], rtol=0.02, atol=0.02 * len(x) ** 0.5)


@pytest.mark.parametrize("eta", [-600.0, -20.3, -1.0, -1e-9, 0.0, 0.3466, 0.7, 1.0, 30.1, 650.0])
def test_exponentials_are_right_to_the_last_bits(eta):
    """With a response of 0 a row is minus the mean: where its integer changes tells which it is."""
    loss = RowLoss("poisson", (0.0, 0.0), (-700.0, 700.0))
    how = recipe(loss, (), given=(0,), row_limit=1.0)
    row = _core.QuantisedRows(np.array([[eta]]), np.zeros(1), how)
    mean = np.exp(eta)
    low, high = 1.99 * mean, 2.01 * mean
    for _ in range(60):  # p = round(STEPS mean / limit) falls to STEPS / 2 - 1 at a limit between
        middle = (low + high) / 2
        p = -row.score([0.0], middle)[0] // STEPS
        low, high = (middle, high) if p >= STEPS // 2 else (low, middle)
    assert high * (STEPS // 2 - 0.5) / STEPS == pytest.approx(mean, rel=1e-14)


@pytest.mark.parametrize("name", LOSSES)
def test_a_row_adds_the_same_wherever_it_is(name):
    """Alone, in any order, in any company: sums of scores are sums of those of single rows."""
    loss, (x, y), theta = LOSSES[name], problem(67), [0.3, -0.8, 0.5]
    whole = _core.QuantisedRows(x, y, recipe(loss))
    alone = [_core.QuantisedRows(x[i : i + 1], y[i : i + 1], recipe(loss)) for i in range(67)]
    for of in (
        lambda rows: rows.score(theta, 0.7),
        lambda rows: rows.curvature(theta, 0.7),
        lambda rows: rows.score_products(theta, 0.7),
        lambda rows: rows.score_norms(theta),
        lambda rows: np.append(*rows.round(theta, 0.7)),
    ):
        np.testing.assert_array_equal(of(whole), sum(of(row) for row in alone))
    turned = _core.QuantisedRows(x[::-1].copy(), y[::-1].copy(), recipe(loss))
    np.testing.assert_array_equal(turned.score(theta, 0.7), whole.score(theta, 0.7))


def test_scores_of_units_are_sums_of_those_of_their_rows():
    loss, (x, y), theta = LOSSES["logistic"], problem(60), [0.3, -0.8, 0.5]
    each = _core.QuantisedRows(x, y, recipe(loss)).score(theta, 50.0)
    units = _core.QuantisedRows(
        x, y, recipe(loss), list(range(0, 61, 5)), np.random.default_rng(1).permutation(60)
    )
    np.testing.assert_array_equal(units.score(theta, 50.0), each)


CELLS = [0.0, 1.0, -3.7, 1e9, -1e300, 5e-324, np.nan, np.inf]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("theta", [[0.5, 0.5, 0.5], [0.0, 30.0, -9.0], [np.inf, 1.0, 0.0]])
def test_sensitivities_are_never_exceeded(name, theta):
    """All neighbours with one row more, its cells as odd as cells can be."""
    loss, (x, y) = LOSSES[name], problem(10)
    how, width = recipe(loss, given=(2,)), 3
    before = _core.QuantisedRows(x, y, how)
    sums = {
        "curvature": lambda rows: rows.curvature(theta, 0.8).astype(float),
        "score": lambda rows: rows.score(theta, 0.8).astype(float),
        "products": lambda rows: rows.score_products(theta, 0.8).astype(float),
        "norms": lambda rows: rows.score_norms(theta).astype(float),
        "gradient": lambda rows: rows.round(theta, 0.8)[0].astype(float),
    }
    bounds = {
        "curvature": _core.curvature_sensitivity(width),
        "score": _core.score_sensitivity(width),
        "products": _core.score_products_sensitivity(width),
        "norms": _core.SCORE_NORMS_SENSITIVITY,
        "gradient": _core.gradient_sensitivity(width),
    }
    start = {name: of(before) for name, of in sums.items()}
    largest = dict.fromkeys(sums, 0.0)
    for a, b, c in itertools.product(CELLS, CELLS, CELLS):
        row = np.array([[a, b, c]])
        for response in (c, 1.0):
            after = _core.QuantisedRows(np.vstack([x, row]), np.append(y, response), how)
            for key, of in sums.items():
                # What counts of a matrix is the root of all its squares.
                moved = float(np.sqrt(((of(after) - start[key]) ** 2).sum()))
                largest[key] = max(largest[key], moved)
    for key, bound in bounds.items():
        assert largest[key] <= bound, key
    if theta[0] == 0.5 and name not in ("logistic", "probit"):
        assert largest["curvature"] > 0.99 * bounds["curvature"]


def test_a_given_cell_that_is_not_finite_is_no_more_than_a_row():
    loss, (x, y) = LOSSES["poisson"], problem(5)
    x[:, 2] = [np.nan, np.inf, -np.inf, 1e308, 0.0]
    rows = _core.QuantisedRows(x, y, recipe(loss, given=(2,)))
    score = np.abs(rows.score([0.1] * 3, 1.0).astype(float))
    assert (score <= 5 * _core.score_sensitivity(3)).all()


@pytest.mark.parametrize("name", LOSSES)
def test_rows_are_the_same_from_a_pickle(name):
    loss, (x, y), theta = LOSSES[name], problem(40), [0.3, -0.8, 0.5]
    rows = _core.QuantisedRows(x, y, recipe(loss, given=(2,)))
    again = pickle.loads(pickle.dumps(rows))
    assert again.bytes == rows.bytes > 40 * 8 * 3
    np.testing.assert_array_equal(again.score(theta, 0.7), rows.score(theta, 0.7))
    np.testing.assert_array_equal(again.curvature(theta, 0.7), rows.curvature(theta, 0.7))


@pytest.mark.parametrize(
    "change",
    [
        {"response": (1.0, 0.0)},
        {"response": (0.0, np.nan)},
        {"predictor": (-1.0, 701.0)},
        {"predictor": (1.0, -1.0)},
        {"level": 1.0},
        {"bandwidth": 0.0},
        {"dispersion": 0.0},
        {"dispersion": np.inf},
        {"kind": "gamma", "response": (-1.0, 1.0)},
        {"kind": "negative_binomial", "response": (-1.0, 1.0)},
    ],
)
def test_numbers_of_a_loss_are_checked(change):
    loss = RowLoss(**{"kind": "quantile", "response": (0.0, 1.0), **change})
    with pytest.raises(ValueError, match="must"):
        _core.QuantisedRows(np.zeros((1, 2)), np.zeros(1), recipe(loss))


def test_the_squared_loss_has_no_given_columns():
    with pytest.raises(ValueError, match="given"):
        _core.QuantisedRows(np.zeros((1, 3)), np.zeros(1), recipe(RowLoss("squared"), given=(2,)))
