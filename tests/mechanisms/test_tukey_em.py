"""Propose-test-release of a deep model: is its law private, and does it follow its law?"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from laws import ALPHA, assert_follows, hockey_stick
from oracles import grid_depths, restricted_draw
from scipy import stats

from dpreg import _core


def regions(models):
    return _core.DepthRegions(np.asarray(models, dtype=float), 0)


def exact_law(models, values, t, epsilon_test, epsilon_sample, delta):
    """Law of `_core.tukey_em` over the grid points and, last, "not released".

    The distance is the code's own; all probabilities are from the definitions.
    """
    distance = _core.distance_to_unsafety(regions(models), epsilon_sample, t, delta)
    threshold = _core.release_threshold(epsilon_test, delta)
    passes = stats.dlaplace(epsilon_test).sf(threshold - distance)
    depths = grid_depths(models, values)
    if t > (len(models) + 1) // 2:
        return np.append(np.zeros(len(depths)), 1.0)
    return np.append(passes * restricted_draw(depths, epsilon_sample, t), 1 - passes)


def worst_excess(worlds, replacements, values, t, epsilon_test, epsilon_sample, delta):
    """Largest hockey-stick divergence over all neighbours, both ways."""
    laws = {}

    def law(models):
        key = tuple(sorted(map(tuple, models)))
        if key not in laws:
            laws[key] = exact_law(np.array(key), values, t, epsilon_test, epsilon_sample, delta)
        return laws[key]

    worst = 0.0
    for models in worlds:
        here = law(models)
        for k, new in itertools.product(range(len(models)), replacements):
            there = law([*models[:k], new, *models[k + 1 :]])
            worst = max(worst, hockey_stick(here, there, epsilon_test + epsilon_sample))
    return worst


SETTINGS = [(0.5, 0.5, 0.05), (1.0, 1.0, 0.1), (2.0, 2.0, 0.02), (0.3, 3.0, 0.3), (3.0, 0.3, 0.3),
            (1.0, 4.0, 1e-3)]  # fmt: skip


@pytest.mark.parametrize(("epsilon_test", "epsilon_sample", "delta"), SETTINGS)
@pytest.mark.parametrize(("m", "values"), [(4, 4), (5, 4), (6, 3), (7, 3), (11, 2)])
def test_law_is_private_in_one_dimension(m, values, epsilon_test, epsilon_sample, delta):
    points = [(v,) for v in range(values)]
    worlds = list(itertools.combinations_with_replacement(points, m))
    for t in range(1, (m + 1) // 2 + 2):
        worst = worst_excess(worlds, points, range(values), t, epsilon_test, epsilon_sample, delta)
        assert worst <= delta * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon_test", "epsilon_sample", "delta"), SETTINGS)
def test_law_is_private_in_two_dimensions(epsilon_test, epsilon_sample, delta):
    points = list(itertools.product(range(2), repeat=2))
    for m in (3, 4, 5, 6):
        worlds = list(itertools.combinations_with_replacement(points, m))
        for t in (1, 2, 3):
            worst = worst_excess(worlds, points, range(2), t, epsilon_test, epsilon_sample, delta)
            assert worst <= delta * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 2])
def test_law_is_private_on_random_and_adversarial_models(p):
    """Larger sets, where the test passes by itself and not by luck."""
    rng = np.random.default_rng(20260101 + p)
    size = 40 if p == 1 else 9
    epsilon_test, epsilon_sample = 2.0, 3.0
    passed_safely = 0
    for trial in range(200):
        m = int(rng.integers(12, 30))
        delta = float(rng.choice([0.2, 0.02, 1e-3]))
        t = int(rng.integers(1, m // 2 + 1))
        if trial % 3 == 0:
            models = rng.integers(0, size, (m, p))
        elif trial % 3 == 1:  # nearly all agree
            models = np.full((m, p), size // 2)
            models[: m // 5] = rng.integers(0, size, (m // 5, p))
        else:  # two clusters and a gap
            models = np.where(rng.random((m, 1)) < 0.5, 0, size - 1) + np.zeros((m, p), dtype=int)
        arguments = (range(size), t, epsilon_test, epsilon_sample, delta)
        here = exact_law(models, *arguments)
        passed_safely += here[-1] < 0.5
        for _ in range(4):
            other = models.copy()
            other[int(rng.integers(m))] = rng.choice([0, size - 1, size // 2], p)
            there = exact_law(other, *arguments)
            for a, b in ((here, there), (there, here)):
                assert hockey_stick(a, b, epsilon_test + epsilon_sample) <= delta * (1 + 1e-9)
    assert passed_safely > 20


def test_the_two_failure_events_do_not_add():
    """delta is nearly attained by the unsafe side alone, so there is no slack to hide in."""
    models = [(0,), (0,), (2,), (2,)]
    law = exact_law(np.array(models), range(3), 2, 1.0, 1.0, 0.1)
    assert 0.03 < 1 - law[-1] <= 0.1


@pytest.mark.parametrize("m", [8, 9])
def test_draw_follows_its_law(bits, m):
    rng = np.random.default_rng(20260101)
    models = rng.integers(0, 4, (m, 2))
    depths = grid_depths(models, range(4))
    for t in (1, 2):
        law = restricted_draw(depths, 1.5, t)
        draws = [
            _core.testing.draw_deep_point(regions(models), 1.5, t, bits) for _ in range(20_000)
        ]
        cells = np.array(draws).astype(int) @ [4, 1]
        assert_follows(np.bincount(cells, minlength=16), law)


def test_draw_with_ties_and_with_all_models_equal(bits):
    tied = np.array([[0, 0], [0, 0], [0, 3], [3, 0], [3, 3], [3, 3]])
    law = restricted_draw(grid_depths(tied, range(4)), 2.0, 2)
    draws = [_core.testing.draw_deep_point(regions(tied), 2.0, 2, bits) for _ in range(20_000)]
    assert_follows(np.bincount(np.array(draws).astype(int) @ [4, 1], minlength=16), law)
    equal = regions(np.full((301, 3), 7.0))
    assert _core.testing.draw_deep_point(equal, 1.0, 5, bits).tolist() == [7.0, 7.0, 7.0]


def test_release_passes_as_often_as_its_test(bits):
    parameters = {"depth": 24, "epsilon_test": 0.5, "epsilon_sample": 0.6, "delta": 1e-2}
    threshold = _core.release_threshold(0.5, 1e-2)
    draws, undecided = 5_000, 0
    for m in range(140, 200, 4):
        r = regions(np.random.default_rng(1).standard_normal((m, 2)).round(2) * 100)
        distance = _core.distance_to_unsafety(r, 0.6, 24, 1e-2)
        passes = stats.dlaplace(0.5).sf(threshold - distance)
        undecided += 0.05 < passes < 0.95
        found = sum(_core.tukey_em(r, **parameters, bits=bits) is not None for _ in range(draws))
        assert stats.binomtest(found, draws, passes).pvalue > ALPHA
    assert undecided


def test_threshold_is_exact():
    for epsilon, delta in itertools.product([0.05, 0.5, 1.0, 4.0], [0.5, 0.1, 1e-5, 1e-12]):
        threshold = _core.release_threshold(epsilon, delta)
        law = stats.dlaplace(epsilon)
        assert law.sf(threshold + 1) <= delta  # Pr[-1 + X > T]
        assert threshold == -1 or law.sf(threshold) > delta * (1 - 1e-6)


def test_choose_index_follows_its_law(bits):
    log_weights = np.array([0.0, -2.0, 1.5, -np.inf, -700.0, 1.5])
    law = np.exp(log_weights - np.logaddexp.reduce(log_weights))
    draws = [_core.choose_index(log_weights + 500, bits) for _ in range(50_000)]
    assert_follows(np.bincount(draws, minlength=6), law)


@pytest.mark.parametrize("weights", [*itertools.permutations([0.0, math.nan, -math.inf, 1.0])])
def test_what_is_no_number_is_never_chosen(weights, bits):
    """Wherever it stands: the largest one of a list that begins with NaN would be NaN."""
    drawn = {_core.choose_index(np.array(weights), bits) for _ in range(200)}
    assert drawn == {weights.index(0.0), weights.index(1.0)}


def test_without_a_number_all_are_alike(bits):
    drawn = {_core.choose_index(np.array([math.nan, -math.inf]), bits) for _ in range(100)}
    assert drawn == {0, 1}


def test_outputs_are_on_the_grid(bits):
    models = np.random.default_rng(1).standard_normal((600, 2))
    r = _core.DepthRegions(models, -20)
    for _ in range(100):
        point = _core.testing.draw_deep_point(r, 1.0, 60, bits)
        assert all(math.ldexp(v, 20).is_integer() for v in point)


def test_an_epsilon_beyond_what_doubles_can_weigh_is_refused(bits):
    """At 1500, one model replaced, the box of 0 has a weight that underflows: a point of
    probability 1 would have probability 0 and not e^-750."""
    for models in ([0, 0, 0, 0, 5, 5, 5], [0, 0, 0, 5, 5, 5, 5]):
        with pytest.raises(ValueError, match="at most 500"):
            _core.tukey_em(regions(np.array(models)[:, None]), depth=3, epsilon_test=20.0,
                           epsilon_sample=1500.0, delta=1e-5, bits=bits)  # fmt: skip
