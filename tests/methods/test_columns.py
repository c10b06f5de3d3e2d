"""Coordinates of all columns found in noise, and the second moments that are released in them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from unsealed import arrays_of

from dpreg import _core
from dpreg.data.design import Design, Terms
from dpreg.estimation.base import Allowance
from dpreg.estimation.newton.columns import column_moments
from dpreg.estimation.newton.whitening import whiten_columns
from dpreg.estimation.releases.spectrum import without_spread
from dpreg.estimation.standardised import scaled


def begin(X, epsilon=2.0, seed=1, *, intercept=True):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    y = np.random.default_rng(seed).standard_normal(len(X))
    design = Design.of(np.ascontiguousarray(X), y, Terms("y", names, intercept=intercept))
    return scaled(design, Allowance(epsilon, 1e-6, _core.TestBits(seed)), 1, 1)


def standard(begun, X):
    """Rows in standard units."""
    units = begun.telling_units
    Z = (X[:, units.columns] - units.centre) / units.scale
    return np.column_stack([np.ones(len(X)), Z]) if units.intercept else Z


def moments(begun, X, change):
    """Second moments along the coordinates, without noise and limits."""
    Z = standard(begun, X) @ change
    return Z.T @ Z / len(X)


def correlated(n, rng):
    """Correlation .999 of two columns, a dummy of 12%, a heavy tail, a third power."""
    u = rng.standard_normal(n)
    return np.column_stack([
        u, u + 0.05 * rng.standard_normal(n), rng.random(n) < 0.12,
        rng.standard_t(3, n), rng.uniform(0, 3, n), rng.uniform(0, 3, n) ** 3,
    ]).astype(float)  # fmt: skip


def rare(n, rng):
    """A dummy of 1% beside three columns, one of them far from 0."""
    age, half = rng.integers(18, 80, n), rng.random(n) < 0.5
    return np.column_stack([rng.integers(1990, 2021, n), age, half, rng.random(n) < 0.01]) * 1.0


def whitened(begun):
    return whiten_columns(replace(begun, units=begun.telling_units))


def test_along_the_coordinates_rows_have_about_unit_moments():
    """Columns with eigenvalues a thousand times apart come out within a factor of 2.5."""
    X = correlated(100_000, np.random.default_rng(1))
    before = np.linalg.eigvalsh(np.corrcoef(X.T))
    assert before[-1] / before[0] > 1000
    begun = begin(X)
    found = column_moments(begun, begun.telling_units, 0.0)
    after = np.linalg.eigvalsh(moments(begun, X, np.linalg.inv(found.basis)))
    assert after.min() > 0.4
    assert after.max() < 2.5
    assert len(begun.noise.parts) <= 12


def test_a_combination_without_spread_is_not_seen_and_spoils_no_other():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50_000, 3))
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    begun = begin(X)
    found = whitened(begun)
    assert found.width == 4
    assert np.linalg.eigvalsh(moments(begun, X, found.change)).min() > 0.5
    # The direction that is not seen is that of no spread: it loads on these three columns only.
    unseen = found.unseen.ravel()
    assert abs(unseen[3]) < 0.05 * np.abs(unseen).max()
    assert np.abs(found.change).max() < 0.2 * np.abs(unseen).max()
    assert (found.theta == 0).all()


@pytest.mark.parametrize(("n", "longest"), [(20_000, 12), (200_000, 3)])
def test_a_rare_level_is_not_stretched_for_being_clipped(n, longest):
    """Its rows are ten times as long as others, and lose most of their length in the first look."""
    X = rare(n, np.random.default_rng(1))
    begun = begin(X, epsilon=1.0)
    found = column_moments(begun, begun.telling_units, 0.0)
    assert np.linalg.norm(np.linalg.inv(found.basis)[4]) < longest
    assert np.linalg.eigvalsh(moments(begun, X, np.linalg.inv(found.basis))).max() < 2.5


def test_many_independent_columns_are_seen():
    X = np.random.default_rng(3).standard_normal((40_000, 150))
    assert whitened(begin(X, epsilon=1.0)).width == 151


def test_a_share_is_kept_for_later():
    X = np.random.default_rng(4).standard_normal((5_000, 3))
    begun = begin(X)
    column_moments(begun, begun.telling_units, 0.25)
    spent = math.fsum(part.mu**2 for part in begun.noise.parts) / begun.noise.mu**2
    assert spent == pytest.approx(0.75, rel=1e-3)
    assert begun.left >= 0.25 * (1 - 1e-6)


def test_the_response_is_one_more_column():
    X = np.random.default_rng(4).standard_normal((50_000, 2))
    begun = begin(X)
    every = begun.telling_units.with_response(begun.design.columns)
    assert every.width == begun.telling_units.width + 1
    found = column_moments(begun, every, 0.0)
    back = np.linalg.inv(found.basis)
    Z = np.column_stack(
        [
            standard(begun, X),
            (arrays_of(begun.design)[1] - begun.units.y_centre) / begun.units.y_scale,
        ]
    )
    np.testing.assert_allclose(back.T @ Z.T @ Z @ back / len(X), np.eye(4), atol=0.3)


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
    begun = begin(np.empty((1000, 0)), intercept=False)
    found = column_moments(begun, begun.telling_units, 0.0)
    assert found.basis.shape == (0, 0)
