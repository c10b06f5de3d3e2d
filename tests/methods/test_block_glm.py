"""Firth fits to blocks: against the equations they solve, odd blocks, and whole releases."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from methods.sums import odd_frames
from scipy import optimize, special

import dpreg
from dpreg import _core
from dpreg.base.families import BINOMIAL, POISSON
from dpreg.data.design import Design, Terms, Units
from dpreg.estimation.blocks.block_glm import fit_glm_blocks

FAMILIES = [BINOMIAL, POISSON]


def rows(family, n, d=2, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 5
    mean = family.mean((X - 5) @ np.array([0.8, -0.5, 0.3])[:d])
    y = rng.random(n) < mean if family is BINOMIAL else rng.poisson(mean)
    return X, y.astype(float)


def fitted(X, y, family, members, offsets, *, intercept=True, spreads=False, units=None):
    terms = Terms("y", tuple(f"x{j}" for j in range(X.shape[1])), intercept, family=family)
    assignment = _core.fixed_assignment(list(members), list(offsets))
    design = Design.of(X, y, terms, units)
    return fit_glm_blocks(design, assignment, family, log_spreads=spreads)


def firth(X, y, family):
    """The root of Firth's score, by a general solver."""
    Z = np.column_stack([np.ones(len(X)), X - X.mean(axis=0)])

    def score(theta):
        mean = family.mean(Z @ theta)
        weight = family.slope(Z @ theta)
        root = np.sqrt(weight)[:, None] * Z
        h = np.einsum("ij,jk,ik->i", root, np.linalg.inv(root.T @ root), root)
        bias = h * (0.5 - mean) if family is BINOMIAL else h / 2
        return Z.T @ (y - mean + bias)

    theta = optimize.root(score, np.zeros(Z.shape[1]), tol=1e-12).x
    return theta[1:], theta[0] - theta[1:] @ X.mean(axis=0)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
@pytest.mark.parametrize(("n", "close"), [(30, 1e-2), (60, 1e-4)])
def test_a_block_solves_firths_equations(family, n, close):
    """In 20 steps; leverages lag behind by one, which is slow where they are large."""
    X, y = rows(family, 3 * n)
    found = fitted(X, y, family, range(3 * n), [0, n, 2 * n, 3 * n])
    for g in range(3):
        part = slice(g * n, (g + 1) * n)
        slopes, intercept = firth(X[part], y[part], family)
        np.testing.assert_allclose(found[g, :2], slopes, rtol=close)
        mean = found[g, 2] - found[g, :2] @ found[g, 3:]
        assert mean == pytest.approx(intercept, abs=10 * close)


def test_a_separated_block_has_finite_coefficients():
    X = np.arange(10.0)[:, None]
    found = fitted(X, (X[:, 0] > 4.5).astype(float), BINOMIAL, range(10), [0, 10])
    assert np.isfinite(found).all()
    assert 0.3 < found[0, 0] < 10


@pytest.mark.parametrize("spreads", [False, True])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_a_block_depends_on_its_own_rows_alone(family, spreads):
    """To the last bit: others may be absent, longer, in another place or full of odd cells."""
    X, y = rows(family, 60)
    alone = fitted(X, y, family, range(20), [0, 20], spreads=spreads)
    for others in (np.arange(20, 60), np.arange(20, 21), np.array([], dtype=int)):
        odd = X.copy()
        odd[20:] *= 1e300
        odd[21] = np.nan
        members = [*range(20), *others, *range(20)]
        ends = [0, 20, 20 + len(others), 40 + len(others)]
        found = fitted(odd, y, family, members, ends, spreads=spreads)
        np.testing.assert_array_equal(found[0], alone[0])
        np.testing.assert_array_equal(found[2], alone[0])


@pytest.mark.parametrize("spreads", [False, True])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
@pytest.mark.parametrize("intercept", [True, False])
def test_no_block_gives_nan(family, spreads, intercept):
    rng = np.random.default_rng(4)
    values = [0.0, 1.0, -1.0, 1e9, 1e200, -1e300, 5e-324, 7.0]
    for size in (0, 1, 2, 3, 8):
        X, y = rng.choice(values, (40, 3)), rng.choice(values, 40)
        ends = [min(size * g, 40) for g in range(5)]
        found = fitted(X, y, family, range(ends[-1]), ends, spreads=spreads, intercept=intercept)
        assert found.shape[0] == 4
        assert not np.isnan(found).any()


def test_a_column_that_a_block_cannot_tell_says_nothing_about_the_middle():
    X, y = rows(BINOMIAL, 80)
    X[:40, 1] = 3.0
    X[40:, 1] = 2 * X[40:, 0] + 1
    found = fitted(X, y, BINOMIAL, range(80), [0, 40, 80], spreads=True)
    assert found[0, 1] == np.inf
    assert (found[1, :2] == -np.inf).all()
    assert (found[:, 6] == 745).all()
    assert np.isfinite(found[0, [0, 2, 3, 4, 5, 7]]).all()
    plain = fitted(X, y, BINOMIAL, range(80), [0, 40, 80])
    assert plain[0, 1] == 0


def test_spreads_are_about_as_large_as_errors():
    """Of a sum with random signs: the root mean square over blocks is the standard error."""
    X, y = rows(BINOMIAL, 30_000)
    found = fitted(X, y, BINOMIAL, range(30_000), range(0, 30_001, 100), spreads=True)
    spread = np.exp(found[:, 5:7])
    np.testing.assert_allclose(
        np.sqrt((spread**2).mean(axis=0)), found[:, :2].std(axis=0), rtol=0.2
    )
    # As if means of x and linear predictors there were drawn each by itself.
    apart = np.hypot(found[:, 2].std(), np.linalg.norm(found[:, 3:5].std(axis=0) * [0.8, -0.5]))
    of_slopes = np.linalg.norm(5 * found[:, :2].std(axis=0))
    error = np.sqrt((np.exp(found[:, 7]) ** 2).mean())
    assert error == pytest.approx(np.hypot(apart, of_slopes), rel=0.2)


def test_rows_of_a_unit_are_in_one_block_and_share_a_sign():
    X, y = rows(BINOMIAL, 200)
    labels = np.repeat(np.arange(50), 4)
    units = Units.from_labels(labels)
    found = fitted(X, y, BINOMIAL, range(50), [0, 25, 50], spreads=True, units=units)
    flat = fitted(X, y, BINOMIAL, range(200), [0, 100, 200], spreads=True)
    np.testing.assert_array_equal(found[:, :5], flat[:, :5])
    assert (found[:, 5:] != flat[:, 5:]).any()


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_releases_cover(family):
    """Of 12 fits with 3 coefficients, 36 intervals; 26 and fewer have a chance below 1e-5."""
    covered, ratio, truth = 0, [], np.array([0, 0.8, -0.5])
    kind = {"binomial": BINOMIAL, "poisson": POISSON}[family]
    for seed in range(12):
        X, y = rows(kind, 30_000, seed=seed)
        data = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
        fit = dpreg.dp_glm("y ~ I(a - 5) + I(b - 5)", data, 3.0, 1e-5, family=family,
                           method="tukey", rng=seed)  # fmt: skip
        assert fit.released
        low, high = fit.conf_int().to_numpy().T
        covered += int(((low <= truth) & (truth <= high)).sum())
        ratio.append(fit.bse.to_numpy() / fit.sampling)
    assert covered > 26
    assert np.median(ratio) < 5


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_any_table_gives_a_result(family, inference):
    for frame in odd_frames().values():
        fit = dpreg.dp_glm("y ~ x0 + x1", frame, 1.0, 1e-4, family=family, inference=inference,
                           method=dpreg.TukeyEM(models=3), rng=1)  # fmt: skip
        assert "dpreg" in fit.to_json()
        str(fit.summary())


def test_without_inference_predictions_are_those_of_the_model():
    X, y = rows(BINOMIAL, 30_000)
    data = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    fit = dpreg.dp_glm("y ~ a + b", data, 3.0, method="tukey", inference=False, rng=1)
    exact = special.expit((X - 5) @ [0.8, -0.5])
    assert np.sqrt(np.mean((fit.predict(data) - exact) ** 2)) < 0.05


def test_a_unit_of_many_rows_takes_room_for_these_alone():
    """A table of blocks times the longest would not fit where the rows do."""
    blocks, many = 4000, 400
    X, y = rows(BINOMIAL, many + blocks)
    units = Units.from_labels(np.r_[np.zeros(many, dtype=int), 1 + np.arange(blocks)])
    members, offsets = range(blocks + 1), np.r_[0, 2 + np.arange(blocks)]
    tracemalloc.start()
    found = fitted(X, y, BINOMIAL, members, offsets, units=units)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.isfinite(found[0]).all()
    assert peak < blocks * many * 8 / 2


def test_advice_asks_for_more_units_than_were_too_few():
    """A response of 0 or 1 tells less than that of a linear model."""
    rng = np.random.default_rng(1)
    data = {"x": rng.standard_normal(8_000), "y": (rng.random(8_000) < 0.5).astype(float)}
    few = dpreg.dp_glm("y ~ x", data, 1.0, method="tukey", rng=1)
    wanted = int(few.advice.split("needs about ")[1].split()[0].replace(",", ""))
    assert wanted > 8_000
    enough = {name: np.resize(column, wanted) for name, column in data.items()}
    assert dpreg.dp_glm("y ~ x", enough, 1.0, method="tukey", rng=1).released
