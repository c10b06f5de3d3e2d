"""Columns that may be nearly always 0, in which no other value was seen."""

from __future__ import annotations

import numpy as np
import pytest

from dpreg import _core
from dpreg.data.observations import InMemory
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.hidden_directions import shortened, unseen
from dpreg.estimation.newton.second_moments import Moments
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.column_scaling import column_scales


def whitening(change, sizes=None):
    width = change.shape[1]
    moments = Moments(np.eye(width), np.full((width, width), 0.01), np.zeros(width, dtype=bool))
    sizes = np.ones(width) if sizes is None else sizes
    nothing = np.zeros((len(change), 0))
    return Whitening(change, nothing, np.zeros(width), 1.0, moments, sizes)


@pytest.mark.parametrize("norm", [0.5, 3.0, 40.0])
def test_no_coordinate_of_a_column_makes_rows_longer(norm):
    change = np.random.default_rng(1).standard_normal((4, 4)) + np.diag([1.0, 1, 1, 20])
    columns = np.array([2, 3])
    far = np.array([1.0, 7.0])
    short = shortened(whitening(change), columns, far, norm)
    assert (np.abs(short.rows[columns]) * far[:, None] <= norm * (1 + 1e-12)).all()
    assert (short.sizes <= 1).all()
    reached = (np.abs(change[columns]) * far[:, None]).max(axis=0) > norm
    assert (short.sizes[~reached] == 1).all()
    again = shortened(short, columns, far, norm)
    assert (again.sizes == short.sizes).all()


def test_without_such_columns_nothing_changes():
    found = whitening(np.diag([1.0, 50.0]), np.array([1.0, 0.2]))
    none = np.array([], dtype=np.int64)
    assert (shortened(found, none, np.zeros(0), 1.0).sizes == found.sizes).all()
    assert not len(unseen(found.moments, found, none, 3.0))


def test_a_column_is_seen_with_so_many_deviations_of_its_own_second_moment():
    found = whitening(np.diag([1.0, 5.0, 5.0]))
    moments = Moments(np.diag([1.0, 0.29, 0.31]), found.moments.variance, found.levels)
    assert unseen(moments, found, np.array([1, 2]), 3.0).tolist() == [1]


def test_coordinates_apart_have_only_their_own_second_moment():
    rng = np.random.default_rng(2)
    matrix, variance = (m + m.T for m in rng.random((2, 4, 4)))
    moments = Moments(matrix, variance, np.zeros(4, dtype=bool))
    apart = moments.apart(np.array([1, 3]))
    expected = matrix.copy()
    expected[[1, 3]] = expected[:, [1, 3]] = 0
    expected[[1, 3], [1, 3]] = matrix[[1, 3], [1, 3]]
    assert (apart.matrix == expected).all()
    assert (apart.variance == variance).all()


def test_of_unrelated_coordinates_only_their_own_second_moment_is_known():
    rng = np.random.default_rng(3)
    variance = rng.random((4, 4))
    variance += variance.T
    moments = Moments(np.eye(4), variance, np.zeros(4, dtype=bool)).unrelated(np.array([2]))
    assert (np.diag(moments.variance) == np.diag(variance)).all()
    others = moments.variance[2, [0, 1, 3]]
    assert np.ptp(others) == 0
    kept = np.ix_([0, 1, 3], [0, 1, 3])
    assert (moments.variance[kept] == variance[kept]).all()


def test_bounds_of_columns_that_were_not_counted_are_believed():
    """Rows are too few to count columns with bounds: nothing says that these are nearly always 0.

    .91 of the coefficients of 40 even columns of 736 rows covered.
    """
    rng = np.random.default_rng(4)
    X, y = rng.uniform(-1, 1, (1_500, 60)), rng.standard_normal(1_500)
    bounds = np.tile([-1.0, 1.0], (61, 1))
    noise = GaussianReleases(1.0, 1e-6, _core.TestBits(1), rows=1)
    scales = column_scales(InMemory(X, y), noise, bounds, wide=np.arange(61))
    assert not any("with bounds" in part.label for part in noise.parts)
    assert scales.rare.untold == ()


def test_columns_that_were_counted_and_not_found_are_told_apart():
    rng = np.random.default_rng(4)
    X, y = np.zeros((3_000, 2)), rng.standard_normal(3_000)
    X[:, 0] = rng.standard_normal(3_000)
    for bounds, wide in (
        (np.full((3, 2), np.nan), []),
        (np.tile([-1.0, 1.0], (3, 1)), [0, 1, 2]),
        (np.array([[np.nan] * 2, [-1, 1], [np.nan] * 2]), [1]),
    ):
        noise = GaussianReleases(5.0, 1e-6, _core.TestBits(1), rows=1)
        scales = column_scales(InMemory(X, y), noise, bounds, wide=np.array(wide, dtype=int))
        assert scales.rare.untold == (1,)


def of_levels(count, doubt):
    """Return what is expected of two coordinates and so many levels, apart from each other."""
    levels = np.arange(2 + count) >= 2
    variance = np.where(levels[:, None] & levels, doubt**2, np.inf)
    return Moments(np.eye(2 + count), variance, levels)


def test_how_large_correlations_of_levels_are_is_seen():
    """As Bayes has it, were the mean square of those correlations known."""
    rng, count, noise, spread = np.random.default_rng(5), 60, 0.1, 0.2
    matrix = np.eye(2 + count)
    matrix[:2, 2:] = rng.normal(0, np.hypot(noise, spread), (2, count))
    matrix[2:, :2] = matrix[:2, 2:].T
    seen = of_levels(count, 1e-6).seen(matrix, np.full(matrix.shape, 2 * noise**2))
    weight = np.linalg.norm(seen.matrix[:2, 2:]) / np.linalg.norm(matrix[:2, 2:])
    np.testing.assert_allclose(weight, spread**2 / (spread**2 + noise**2), atol=0.07)
    np.testing.assert_allclose(np.median(seen.variance[:2, 2:]), 2 * weight * noise**2, rtol=0.1)


def test_doubt_of_what_is_expected_does_not_spread_values():
    known = of_levels(3, 0.5)
    known = Moments(np.eye(5), np.where(np.isinf(known.variance), 0.0, 0.5), known.levels)
    values = np.linspace(0.5, 1.5, 5)
    np.testing.assert_array_equal(known.without_spread(values), values)
    noisy = Moments(known.matrix, known.variance, known.levels, known.variance)
    assert np.ptp(noisy.without_spread(values)) < 1
