"""Directions found in noise: what rows look like along them, and what is said not to be seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from unsealed import arrays_of, count_of, symmetric_of

from dpreg import _core
from dpreg.data.design import Design, Terms
from dpreg.estimation.newton.narrowing import without_spread
from dpreg.estimation.newton.preconditioning import Directions, Preconditioning, precondition
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.rows import mapped_rows, standard_units
from dpreg.estimation.releases.standardisation import Standardisation

PLAN = Preconditioning(narrow=(0.1,) * 5, wide=(0.1, 0.1))


def a_design(X, rng):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    y = X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(len(X))
    return Design.of(np.ascontiguousarray(X), y, Terms("y", names, intercept=True))


def found(X, epsilon=2.0, seed=1, plan=PLAN):
    design = a_design(X, np.random.default_rng(seed))
    noise = GaussianReleases(epsilon, 1e-6, _core.TestBits(seed))
    unknown = np.full((X.shape[1] + 1, 2), np.nan)
    scales = Standardisation().release(design, noise, unknown)
    units = standard_units(scales, intercept=True)
    directions = precondition(design, scales, units, plan, noise)
    return design, scales, units, directions, noise


def moments(design, scales, units, directions: Directions, longer=1):
    """Second moments of the rows along the directions, without noise."""
    change, turn, limit = directions.change, directions.turn, longer * directions.limit
    rows = mapped_rows(design, scales, units, change, turn, limit, kept=False)
    return symmetric_of(rows.gram()) * (limit / _core.ROW_STEPS) ** 2 / count_of(design)


def correlated(n, rng):
    """Correlation .999 of two columns, a dummy of 2%, a heavy tail, a third power."""
    u = rng.standard_normal(n)
    return np.column_stack([
        u, u + 0.05 * rng.standard_normal(n), rng.random(n) < 0.02,
        rng.standard_t(3, n), rng.uniform(0, 3, n), rng.uniform(0, 3, n) ** 3,
    ]).astype(float)  # fmt: skip


def test_along_the_directions_rows_have_about_unit_moments():
    """Columns with eigenvalues a thousand times apart come out within a factor of 2.5."""
    rng = np.random.default_rng(1)
    design, scales, units, directions, _ = found(correlated(100_000, rng))
    before = np.linalg.eigvalsh(np.corrcoef(arrays_of(design)[0].T))
    assert before[-1] / before[0] > 1000
    assert directions.seen.all()
    after = np.linalg.eigvalsh(moments(design, scales, units, directions))
    assert after.min() > 0.5
    assert after.max() < 2.5


def test_rows_that_are_not_shortened_have_about_unit_moments_too():
    """Rows were shortened when directions were found: by that alone the mean would be 1.11."""
    means = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        design, scales, units, directions, _ = found(rng.standard_normal((20_000, 2)), seed=seed)
        means.append(np.trace(moments(design, scales, units, directions, longer=8)) / 3)
    assert np.mean(means) == pytest.approx(1, abs=0.05)


def test_a_direction_without_spread_is_not_seen_and_spoils_no_other():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50_000, 3))
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    design, scales, units, directions, _ = found(X)
    assert directions.seen.sum() == 4
    after = moments(design, scales, units, directions)
    assert np.linalg.eigvalsh(after[np.ix_(directions.seen, directions.seen)]).min() > 0.5
    # The direction that is not seen is that of no spread: it loads on these three columns only.
    unseen = directions.map[:, ~directions.seen].ravel()
    assert abs(unseen[3]) < 0.05 * np.abs(unseen).max()
    assert np.abs(directions.map[:, directions.seen]).max() < 0.2 * np.abs(unseen).max()


def rare(n, rng):
    """A dummy of 1% beside three columns, one of them far from 0."""
    age, half = rng.integers(18, 80, n), rng.random(n) < 0.5
    return np.column_stack([rng.integers(1990, 2021, n), age, half, rng.random(n) < 0.01]) * 1.0


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_are_turned_after_they_were_shortened_are_not_lost(seed):
    """They were, in three runs of eight: what turned others longer made them too long."""
    X = rare(20_000, np.random.default_rng(seed))
    _, scales, units, directions, _ = found(X, epsilon=1.0, seed=seed)
    assert np.linalg.norm(directions.turn, 2) < 1 + 1e-12
    few = a_design(X[X[:, 3] == 1], np.random.default_rng(seed))
    of_few = moments(few, scales, units, directions)
    assert np.trace(of_few) > 30


def test_a_rare_level_is_not_stretched_for_being_shortened():
    """A column of its own, whose rows are ten times as long as others.

    Stretched round after round, as it was, it ended a hundred times as long.
    """
    stretched = []
    for n in (20_000, 200_000):
        X = rare(n, np.random.default_rng(1))
        *_, directions, _ = found(X, epsilon=1.0)
        stretched.append(np.linalg.norm(directions.map[4]))
    assert stretched[0] < 10
    assert stretched[1] < 2


def test_many_independent_columns_are_seen_below_the_edge_of_the_noise():
    """At the share of a round, the largest eigenvalue of the noise is above the number of rows."""
    rng = np.random.default_rng(3)
    n, d = 40_000, 150
    _, _, _, directions, noise = found(rng.standard_normal((n, d)), epsilon=1.0)
    scale = next(part.scale for part in noise.parts if part.label == "sums of products")
    unit = 1.44 * (d + 1) / _core.ROW_STEPS**2
    assert scale * unit * math.sqrt(2 * (d + 1)) > n
    assert directions.seen.all()


def test_shares_add_up_to_those_of_the_plan():
    rng = np.random.default_rng(4)
    *_, noise = found(rng.standard_normal((400, 3)))
    mine = [part.mu**2 for part in noise.parts if part.label == "sums of products"]
    assert len(mine) == 7
    assert sum(mine) <= PLAN.share * noise.mu**2
    assert sum(mine) == pytest.approx(PLAN.share * noise.mu**2, rel=1e-3)


def test_rounds_end_when_nothing_is_hidden():
    rng = np.random.default_rng(4)
    design, scales, units, directions, noise = found(rng.standard_normal((100_000, 3)))
    rounds = [part for part in noise.parts if part.label == "sums of products"]
    assert len(rounds) < 5
    assert directions.seen.all()
    after = np.linalg.eigvalsh(moments(design, scales, units, directions))
    np.testing.assert_allclose(after, 1, atol=0.1)


def test_rows_as_long_as_narrow_rounds_had_are_not_made_again():
    """Where noise is little the first wide round would find unit moments, and nothing else."""
    rng = np.random.default_rng(4)
    few, many = rng.standard_normal((100_000, 3)), rng.standard_normal((1_000_000, 3))
    rounds = []
    for X, epsilon in ((few, 2.0), (many, 2.0), (many, 50.0)):
        design, scales, units, directions, noise = found(X, epsilon)
        rounds.append(len([part for part in noise.parts if part.label == "sums of products"]))
        after = np.linalg.eigvalsh(moments(design, scales, units, directions))
        np.testing.assert_allclose(after, 1, atol=0.1)
        assert directions.limit >= 2 * 10 * math.sqrt(4) or X is few
    assert rounds == [3, 2, 1]


@pytest.mark.parametrize("size", [5, 40, 200])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_moments_along_noisy_eigenvectors_are_those_without_noise(size, spread):
    """On average over eigenvectors, within a fraction of what noise does to eigenvalues."""
    rng = np.random.default_rng(5)
    errors, naive = [], []
    deviation = 1.0
    for _ in range(200 // size + 2):
        scale = math.sqrt(2 * size) * deviation
        truth = np.diag(scale * (2 + spread * rng.random(size)))
        noise = np.triu(rng.normal(0, deviation / math.sqrt(2), (size, size)), 1)
        values, vectors = np.linalg.eigh(
            truth + noise + noise.T + np.diag(rng.normal(0, deviation, size))
        )
        along = np.diag(vectors.T @ truth @ vectors)
        errors.append(without_spread(values, deviation) - along)
        naive.append(values - along)
    assert np.sqrt(np.mean(np.square(errors))) < 0.7 * np.sqrt(np.mean(np.square(naive)))


def test_no_columns():
    rng = np.random.default_rng(6)
    design = a_design(np.empty((1000, 0)), rng)
    noise = GaussianReleases(2.0, 1e-6, _core.TestBits(1))
    scales = Standardisation().release(design, noise, np.full((1, 2), np.nan))
    units = standard_units(scales, intercept=False)
    directions = precondition(design, scales, units, PLAN, noise)
    assert directions.map.shape == (0, 0)
