"""TukeyEM as printed: what is printed, and the slips of its reference code."""

from __future__ import annotations

import math

import numpy as np
import pytest
from laws import assert_follows
from scipy import stats

from dpreg import reference
from dpreg.reference import tukey as module

SEED = 20260101


def models(m=200, d=3, seed=SEED):
    return np.random.default_rng(seed).standard_normal((m, d))


def depth(points, y):
    return int(np.min([(points <= y).sum(axis=0), (points >= y).sum(axis=0)]))


def volume(points, i):
    """Of the region of depth i at least; infinite for i = 0, 0 where there is none."""
    ordered = np.sort(points, axis=0)
    if i < 1:
        return math.inf
    sides = ordered[len(points) - i] - ordered[i - 1]
    return float(np.prod(sides)) if (sides > 0).all() else 0.0


def distance(points, eps, delta):
    regions, found = len(points) // 2, -1
    t = regions // 2
    for k in range(t):
        ratios = [
            volume(points, t - k - 1) / volume(points, t + k + g + 1) * math.exp(-eps * g / 2)
            for g in range(1, regions - t - k)
        ]
        if min(ratios, default=math.inf) <= delta / (8 * math.exp(eps)):
            found = k
    return found


@pytest.mark.parametrize("m", [40, 101, 300])
@pytest.mark.parametrize("eps", [0.5, 2.0])
def test_distance_is_that_of_lemma_3_6(m, eps):
    for seed in range(3):
        points = models(m, 2, seed)
        assert reference.tukey_distance(points, eps, 1e-3) == distance(points, eps, 1e-3)


def test_fits_are_least_squares_of_parts_of_the_rows():
    rng = np.random.default_rng(SEED)
    X, y = rng.standard_normal((103, 2)), rng.standard_normal(103)
    everything = np.linalg.lstsq(X, y, rcond=None)[0]
    fits = reference.model_fits(X, y, 2, rng=1)
    assert fits.shape == (2, 2)
    assert (fits.min(axis=0) < everything).all()
    exact = reference.model_fits(X, X @ [1.0, -2.0], 10, rng=1)
    np.testing.assert_allclose(exact, np.tile([1.0, -2.0], (10, 1)))
    with pytest.raises(ValueError, match="at most n / d"):
        reference.model_fits(X, y, 60)


@pytest.mark.parametrize(("form", "rate"), [("text", 1.0), ("algorithm", 0.5)])
def test_depths_follow_their_weights(form, rate, bits):
    points, eps, draws = models(12, 2), 1.4, 4000
    volumes = np.array([volume(points, i) for i in range(3, 8)])
    weights = (volumes[:-1] - volumes[1:]) * np.exp(rate * eps * np.arange(3, 7))
    sides = module._sides(points)
    found = [depth(points, module._draw(sides, eps, form, bits)) for _ in range(draws)]
    assert_follows(np.bincount(found, minlength=7)[3:], weights / weights.sum())


def test_points_of_a_shell_are_uniform_but_in_the_code(bits):
    """In the shell of depth 1 of two coordinates: the share outside in the first one."""
    points = np.array([[0.0, 0.0], [1.0, 4.0], [2.0, 5.0], [9.0, 9.0]])
    sides, draws = module._sides(points), 4000
    truth = (81 - 1 * 9) / (81 - 1 * 1)
    for right_inner in (False, True):
        drawn = np.array([
            module._shell_point(sides, 0, bits, right_inner=right_inner) for _ in range(draws)
        ])  # fmt: skip
        assert all(depth(points, y) == 1 for y in drawn)
        first = int(((drawn[:, 0] < 1) | (drawn[:, 0] > 2)).sum())
        pvalue = stats.binomtest(first, draws, truth).pvalue
        assert (pvalue < 1e-6) == right_inner


def test_the_code_takes_the_next_shell(bits):
    points = models(40, 2)
    sides = module._sides(points)
    found = [depth(points, module._draw(sides, 1e3, "algorithm", bits)) for _ in range(20)]
    assert min(found) == 20
    deeper = [module._draw(sides, 1e3, "code", bits) for _ in range(20)]
    assert np.isnan(deeper).all()


def test_the_test_refuses_unsafe_models_but_in_the_code():
    """Heavy tails are at distance -1: the code lets them pass at a large eps."""
    points = np.random.default_rng(SEED).standard_cauchy((40, 3))
    eps, delta, runs = 10.0, 1e-5, 300
    passed = {
        form: sum(
            reference.tukey_em_of_models(points, eps, delta, form=form, rng=seed).params is not None
            for seed in range(runs)
        )
        for form in ("text", "code")
    }
    assert passed["text"] == 0
    # Pr[Laplace(eps / 2) > threshold + 1], which should be at most delta.
    law = stats.laplace(scale=eps / 2).sf(math.log(1 / (2 * delta)) / (eps / 2) + 1)
    assert stats.binomtest(passed["code"], runs, law).pvalue > 1e-6
    assert passed["code"] > 10


@pytest.mark.parametrize("form", ["text", "algorithm", "code"])
def test_close_to_least_squares_with_many_rows(form):
    rng = np.random.default_rng(SEED)
    X = np.column_stack([rng.standard_normal((20_000, 2)), np.ones(20_000)])
    y = X @ [1.0, -1.0, 3.0] + rng.standard_normal(20_000)
    fit = reference.tukey_em(X, y, 1000, 2.0, 1e-5, form=form, rng=1)
    np.testing.assert_allclose(fit.params, [1.0, -1.0, 3.0], atol=0.2)
    assert "not private" in str(fit)
    again = reference.tukey_em(X, y, 1000, 2.0, 1e-5, form=form, rng=1)
    np.testing.assert_array_equal(fit.params, again.params)


def test_few_models_are_not_released_and_wrong_use_is_refused():
    fit = reference.tukey_em_of_models(models(20), 1.0, 1e-5, rng=1)
    assert fit.params is None
    assert "not released" in str(fit)
    with pytest.raises(ValueError, match="form"):
        reference.tukey_em_of_models(models(20), 1.0, 1e-5, form="other")
    with pytest.raises(ValueError, match="4 rows"):
        reference.tukey_em_of_models(models(3), 1.0, 1e-5)
    with pytest.raises(ValueError, match="eps"):
        reference.tukey_em_of_models(models(20), 0.0, 1e-5)
