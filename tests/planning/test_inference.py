"""What default fits give: the table, what is made of it, and fits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from tables import inference as made

import dpreg
from dpreg.estimation.planning.auto import _falling, infer, inference_table
from dpreg.estimation.planning.power import exact_error, power_of

ALPHA = 1e-6
# Widths of plans are right to this factor.
CLOSE = 1.15


def test_the_table_has_every_cell_of_the_script():
    axes = [np.exp(axis) for axis in inference_table().axes]
    for axis, expected in zip(axes, (made.ROWS, made.DIMENSIONS, made.RESOLUTIONS), strict=True):
        np.testing.assert_allclose(axis, expected)
    with made.TABLE.open() as file:
        header, *rows = file.read().splitlines()
    assert header == ",".join(made.COLUMNS)
    assert len(rows) == len(set(rows)) == math.prod(map(len, axes))


def test_cells_are_summed_up():
    runs = [np.array([1.0, np.nan]), None, np.array([3.0, 5.0]), np.array([np.nan, np.nan])]
    assert made.summary(runs) == (3.0, 3 / 8, 1 / 4)
    width, blank, declined = made.summary([None, None])
    assert (math.isnan(width), blank, declined) == (True, 0.0, 1.0)


def test_values_that_fall_stay_and_others_are_made_to():
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((4, 3, 5))
    n, d, r = np.indices(noise.shape)
    falling = -1.0 * n + 2 * d - r
    np.testing.assert_array_equal(_falling(falling), falling)
    found = _falling(falling + noise)
    assert np.all(np.diff(found, axis=0) <= 0)
    assert np.all(np.diff(found, axis=1) >= 0)
    assert np.all(np.diff(found, axis=2) <= 0)
    # By definition: between the greatest of all that is better, and the least of what is worse.
    places = list(np.ndindex(noise.shape))
    for at in places:
        better = [p for p in places if p[0] >= at[0] and p[1] <= at[1] and p[2] >= at[2]]
        worse = [p for p in places if p[0] <= at[0] and p[1] >= at[1] and p[2] <= at[2]]
        values = falling + noise
        middle = (max(values[p] for p in better) + min(values[p] for p in worse)) / 2
        assert found[at] == pytest.approx(middle, abs=1e-12)


@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_widths_fall_with_units_and_eps(delta):
    def checked(found):
        widths, released = [f.width for f in found], [f.released for f in found]
        assert np.all(np.diff(released) >= -1e-12)
        assert all(a >= b - 1e-12 for a, b in itertools.pairwise(widths))
        assert all(0 <= f.declined <= 1 - f.released + 1e-9 for f in found)
        assert all(f.width > 1 for f in found)

    for d in (1, 3, 60, 200):
        for eps in (0.01, 1.0, 30.0):
            checked([infer(n, d, eps, delta) for n in (2, 100, 299, 300, 700, 4_000, 10**5, 10**9)])
        for n in (200, 2_000, 10**6):
            checked([infer(n, d, eps, delta) for eps in (1e-6, 0.1, 0.3, 1.0, 5.0, 40.0)])


def test_beyond_the_table_noise_follows_its_law():
    near, far = infer(10**6, 4, 1.0, 1e-6), infer(4 * 10**6, 4, 1.0, 1e-6)
    assert (near.width**2 - 1) / (far.width**2 - 1) == pytest.approx(4, rel=1e-6)
    wide, wider = infer(10**7, 100, 1.0, 1e-6), infer(10**7, 400, 1.0, 1e-6)
    assert (wider.width**2 - 1) / (wide.width**2 - 1) == pytest.approx(4, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "d", "eps", "delta", "power"),
    [(1_000, 3, 1.0, 1e-5, 0.6), (4_000, 8, 1.0, 1e-6, 0.8), (700, 2, 2.0, 1e-4, 0.4)],
)
def test_slopes_are_detected_as_often_as_planned(n, d, eps, delta, power):
    """Between the settings of the table, with other delta and less that is explained."""
    plan = dpreg.dp_plan(n, d, eps, delta, power=power)
    runs = 160 // d
    found = 0
    for seed in range(runs):
        data, _ = made.design(n, d, plan.effect, 1000 + seed)
        fit = dpreg.dp_lm(made.formula(d), data, eps, delta, rng=seed)
        found += int((np.asarray(fit.pvalues)[1:] < 0.05).sum()) if fit.released else 0
    error = plan.width * exact_error(n, d)
    least = power_of(plan.effect, CLOSE * error, plan.released)
    most = power_of(plan.effect, error / CLOSE)
    assert stats.binom.ppf(ALPHA / 2, runs * d, least) <= found
    assert found <= stats.binom.isf(ALPHA / 2, runs * d, most)
