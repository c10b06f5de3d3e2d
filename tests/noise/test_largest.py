"""The largest of many draws of noise, and random subsets."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from laws import ALPHA, assert_follows
from scipy import stats

from dpreg import _core

EXPONENTIAL, GUMBEL = _core.NoiseLaw.EXPONENTIAL, _core.NoiseLaw.GUMBEL


@pytest.mark.parametrize(
    "log_q",
    [-700.0, -100.0, -37.5, -37.0, -36.9, -20.0, -1.0, -0.36651292, 0.0, 0.69, 1.0, 3.0, 6.5],
)
def test_noise_is_right_to_the_last_places(log_q):
    """-log(1 - e^-q) in 60 digits, q = e^(log_q) as a decimal."""
    with localcontext() as context:
        context.prec = 60 + int(abs(log_q))
        q = Decimal(log_q).exp()
        expected = float(-(1 - (-q).exp()).ln())
    found = _core.testing.noise_from_log_hazard(log_q, EXPONENTIAL)
    assert found == pytest.approx(expected, rel=2e-13)
    assert _core.testing.noise_from_log_hazard(log_q, GUMBEL) == -log_q


@pytest.mark.parametrize("log_q", [-math.inf, math.inf, 1e300, -1e300])
def test_noise_is_total(log_q):
    for law in (EXPONENTIAL, GUMBEL):
        assert not math.isnan(_core.testing.noise_from_log_hazard(log_q, law))


@pytest.mark.parametrize("m", [1, 2, 17, 10**6, 10**15])
def test_largest_of_m_draws_has_its_law(m, bits):
    draws = _core.testing.largest_of(math.log(m), EXPONENTIAL, bits, 20_000)
    law = stats.ks_1samp(draws, lambda z: np.exp(m * np.log1p(-np.exp(-z))))
    assert law.pvalue > ALPHA
    draws = _core.testing.largest_of(math.log(m), GUMBEL, bits, 20_000)
    assert stats.ks_1samp(draws - math.log(m), stats.gumbel_r.cdf).pvalue > ALPHA


@pytest.mark.parametrize("m", [1, 2, 10, 1000, 10**8])
def test_its_mean_is_a_harmonic_number(m, bits):
    """Swope et al. (2024), Theorem A.3; the standard error of 40,000 draws is below 0.0065."""
    harmonic = sum(1 / i for i in range(1, m + 1)) if m < 10**4 else (
        math.log(m) + np.euler_gamma + 1 / (2 * m)
    )  # fmt: skip
    draws = _core.testing.largest_of(math.log(m), EXPONENTIAL, bits, 40_000)
    assert draws.mean() == pytest.approx(harmonic, abs=5 * 0.0065)


@pytest.mark.parametrize(("size", "count"), [(1, 0), (1, 1), (5, 2), (6, 3), (6, 6), (7, 1)])
def test_subsets_are_uniform(size, count, bits):
    subsets = list(itertools.combinations(range(size), count))
    counts = dict.fromkeys(subsets, 0)
    for _ in range(100 * len(subsets)):
        counts[tuple(int(v) for v in _core.random_subset(size, count, bits))] += 1
    if len(subsets) > 1:
        assert_follows(list(counts.values()), np.full(len(subsets), 1 / len(subsets)))


def test_a_subset_of_a_huge_set(bits):
    subset = _core.random_subset(2**40, 1000, bits)
    assert len(set(subset.tolist())) == 1000
    assert (np.diff(subset.astype(float)) > 0).all()
    with pytest.raises(ValueError, match="larger than its set"):
        _core.random_subset(3, 4, bits)
