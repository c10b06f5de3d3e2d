"""Depth regions on the grid: against enumeration of all grid points."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from oracles import axis_depth, grid_depths, safety_by_definition, volumes

from dpreg import _core

UNIT_GRID = 0  # grid points are the integers


def regions(models, exponent=UNIT_GRID):
    return _core.DepthRegions(np.asarray(models, dtype=float), exponent)


def all_models(m, p, values):
    points = list(itertools.product(range(values), repeat=p))
    return [np.array(c) for c in itertools.combinations_with_replacement(points, m)]


WORLDS = [(1, 1, 4), (2, 1, 4), (3, 1, 4), (4, 1, 4), (5, 1, 3), (6, 1, 3), (3, 2, 2), (4, 2, 2)]


@pytest.mark.parametrize(("m", "p", "values"), WORLDS)
def test_sides_and_volumes_by_enumeration(m, p, values):
    for models in all_models(m, p, values):
        depths = grid_depths(models, range(-1, values + 1))
        v = volumes(depths, m)
        r = regions(models)
        assert r.max_depth == (m + 1) // 2
        for i in range(1, r.max_depth + 1):
            assert v[i] >= 1
            assert r.log_volume(i) == pytest.approx(math.log(v[i] / v[1]), abs=1e-12)
            sides = [r.side(i, j) for j in range(p)]
            assert math.prod(b - a + 1 for a, b in sides) == v[i]
            middle = np.array([a for a, _ in sides])
            assert axis_depth(middle, models) >= i


@pytest.mark.parametrize(("m", "p", "values"), [(3, 1, 4), (4, 1, 4), (5, 1, 3), (3, 2, 2)])
def test_replacing_one_model_moves_every_depth_by_at_most_one(m, p, values):
    points = list(itertools.product(range(values), repeat=p))
    largest = 0
    for models in all_models(m, p, values):
        before = grid_depths(models, range(-1, values + 1))
        for new in points:
            after = models.copy()
            after[0] = new
            change = np.abs(grid_depths(after, range(-1, values + 1)) - before).max()
            largest = max(largest, int(change))
    assert largest == _core.DEPTH_SENSITIVITY


@pytest.mark.parametrize("p", [1, 3, 20])
def test_log_volumes_against_exact_fractions(p):
    rng = np.random.default_rng(20260101)
    models = np.round(rng.standard_normal((41, p)) * 2.0**20)
    models[:, 0] = models[0, 0]  # a coordinate on which all agree costs nothing
    r = regions(models)
    columns = np.sort(models, axis=0).astype(object)
    sizes = [math.prod(int(columns[40 - i, j] - columns[i, j]) + 1 for j in range(p))
             for i in range(21)]  # fmt: skip
    bound = _core.DepthRegions.rounding_error(41, p, 1.0)
    for i in range(21):
        ratio = Fraction(sizes[i], sizes[0])
        exact = math.log(ratio.numerator) - math.log(ratio.denominator)
        assert abs(r.log_volume(i + 1) - exact) <= bound + 1e-13 * abs(exact)


def test_values_beyond_the_grid_saturate():
    r = regions([[1e300], [-np.inf], [np.nan]], -60)
    assert r.side(1, 0) == (-(2.0**65), 2.0**65)
    assert r.side(2, 0) == (0.0, 0.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.7, 0.2), (2.0, 0.05), (4.0, 0.4)])
@pytest.mark.parametrize(("m", "p", "values"), [(4, 1, 4), (7, 1, 3), (9, 1, 2), (4, 2, 2)])
def test_safety_by_definition(m, p, values, epsilon, delta):
    seen = set()
    for models in all_models(m, p, values):
        depths = grid_depths(models, range(values))
        for t in range(1, (m + 1) // 2 + 2):
            expected = safety_by_definition(depths, m, epsilon, t, delta)
            assert _core.distance_to_unsafety(regions(models), epsilon, t, delta) == expected
            seen.add(expected)
    assert -1 in seen


@pytest.mark.parametrize("p", [1, 2, 5])
def test_safety_moves_by_at_most_one(p):
    """Random and adversarial replacements of one model among many."""
    rng = np.random.default_rng(20260101)
    moves = set()
    for trial in range(300):
        m = int(rng.integers(20, 80))
        models = np.round(rng.standard_t(2, (m, p)) * 3 ** rng.integers(0, 8))
        if trial % 3 == 0:
            models = np.round(models / 5)  # many ties
        other = models.copy()
        where = int(rng.integers(m))
        kind = trial % 4
        other[where] = (
            models[int(rng.integers(m))] if kind == 0
            else 1e9 if kind == 1
            else -1e9 if kind == 2
            else np.round(rng.standard_normal(p))
        )  # fmt: skip
        for epsilon, t, delta in [(0.5, m // 4, 0.1), (1.0, m // 5, 1e-2), (3.0, m // 3, 1e-4)]:
            a = _core.distance_to_unsafety(regions(models), epsilon, max(t, 1), delta)
            b = _core.distance_to_unsafety(regions(other), epsilon, max(t, 1), delta)
            moves.add(abs(a - b))
    assert max(moves) == _core.testing.SAFETY_SENSITIVITY


def test_region_weights_by_definition():
    rng = np.random.default_rng(20260101)
    models = rng.integers(0, 5, (9, 2))
    depths = grid_depths(models, range(5))
    weights = _core.testing.log_region_weights(regions(models), 0.8)
    exact = [np.log(np.exp(0.4 * depths[depths >= i]).sum()) for i in range(1, 6)]
    found = np.array(weights[1:])
    np.testing.assert_allclose(found - found[0], np.array(exact) - exact[0], atol=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "t", "delta"),
    [(0, 1, 0.1), (-1, 1, 0.1), (np.nan, 1, 0.1), (1, 0, 0.1), (1, 1, 0), (1, 1, 1)],
)
def test_public_domain_is_checked(epsilon, t, delta):
    with pytest.raises(ValueError, match="must be"):
        _core.distance_to_unsafety(regions([[1.0], [2.0]]), epsilon, t, delta)
