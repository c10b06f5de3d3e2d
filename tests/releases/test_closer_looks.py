"""Looks at columns far from 0: what they find, and what noise hides from them."""

from __future__ import annotations

import numpy as np
import pytest
from releases.scales import scales_of

from dpreg import _core
from dpreg.data.observations import InMemory
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.closer_looks import closer_looks
from dpreg.estimation.releases.column_sizes import Size, read_bins

YEARS = [8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]
SHARES = [0.03, 0.03, 0.05, 0.05, 0.38, 0.08, 0.12, 0.04, 0.12, 0.04, 0.06]


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_a_column_of_two_values_far_from_0_is_not_taken_for_one_of_them(share):
    """As 36 and 60 months, which are of one order of magnitude and far from 0."""
    rng = np.random.default_rng(6)
    X = np.where(rng.random((20_000, 1)) < share, 60.0, 36.0)
    scales, _ = scales_of(X, rng.standard_normal(20_000))
    assert scales.low[0] <= 36 < 60 <= scales.high[0]
    assert scales.scale[0] > 1


def test_a_column_that_is_mostly_one_value_keeps_its_other_values():
    """As visibilities, of which four in five are 10 and others anywhere below."""
    rng = np.random.default_rng(7)
    X = np.where(rng.random((20_000, 1)) < 0.8, 10.0, 10 * rng.random((20_000, 1)))
    scales, _ = scales_of(X, rng.standard_normal(20_000))
    assert scales.low[0] < 4
    assert 0.5 < scales.scale[0] < 5


def test_constants_far_from_0_are_told():
    rng = np.random.default_rng(7)
    X = np.column_stack([np.full(3_000, 4.0e6), rng.standard_normal(3_000)])
    scales, _ = scales_of(X, rng.standard_normal(3_000), epsilon=3.0)
    assert scales.constant.tolist() == [True, False, False]
    assert scales.low[0] <= 4.0e6 <= scales.high[0]


def test_noise_that_hides_bins_makes_no_column_narrow():
    """Noise of 30 rows in bins of up to 110: the few that are clear were taken for all of them."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        counts, _ = np.histogram(rng.normal(5.1, 0.44, 1000), 32, (4, 8))
        found = read_bins(counts + rng.normal(0, 30, 32), 30.0, 4.0, 8.0, 1000.0)
        assert found is not None
        assert 0.2 < found.scale < 1.0


@pytest.mark.parametrize(("rows", "epsilon"), [(500, 1.0), (2_000, 0.3)])
def test_a_closer_look_at_few_rows_makes_no_column_narrow(rows, epsilon):
    """Years of school, most often 12: bins of 32 hid the others, and a scale of .1 was found."""
    short = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        years = rng.choice(YEARS, rows, p=SHARES).astype(float)
        wages = rng.normal(6.2, 0.7, rows)
        scales, _ = scales_of(years[:, None], wages, epsilon=epsilon, seed=seed)
        short += bool((scales.scale < np.array([years.std(), wages.std()]) / 2).any())
    assert short <= 6


@pytest.mark.parametrize("sign", [1, -1])
def test_a_range_with_values_beyond_it_is_wider(sign):
    """Orders of magnitude that noise hides were in the last bin, where all rows seemed to be."""
    rng = np.random.default_rng(1)
    wages = sign * rng.lognormal(6.2, 0.6, 5_000)
    low, high = sorted([sign * 64.0, sign * 128.0])
    sizes = {0: Size(low, high, (low + high) / 2, 18.0, 1)}
    noise = GaussianReleases(1.0, 1e-6, _core.TestBits(1), rows=1)
    rows = InMemory(wages[:, None], rng.standard_normal(5_000))
    closer_looks(rows, sizes, [0], 2, 5_000.0, noise, 0.04)
    assert wages.std() / 3 < sizes[0].scale < 3 * wages.std()
    assert len(noise.parts) == 3


@pytest.mark.parametrize(("others", "value"), [(11.0, 10.0), (8.5, 10.0), (450.0, 300.0)])
def test_a_response_of_nearly_one_value_has_the_others_in_its_range(others, value):
    """2% of 2,000 rows, which noise hides; with 300 a first range in which no value is."""
    size = Size(64.0, 128.0, 96.0, 18.0, 1) if value == 300 else Size(8.0, 16.0, 12.0, 2.3, 1)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = np.where(rng.random(2_000) < 0.02, others, value)
        sizes, noise = {1: size}, GaussianReleases(1.0, 1e-6, _core.TestBits(seed), rows=1)
        rows = InMemory(rng.standard_normal((2_000, 1)), y)
        assert closer_looks(rows, sizes, [1], 2, 2_000.0, noise, 0.04) == [1]
        assert sizes[1].low <= min(others, value) < max(others, value) <= sizes[1].high
        assert sizes[1].centre == pytest.approx(value, rel=0.1)
