"""Gaussian releases: scales, weights, accounting, and the law that is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from laws import ALPHA
from scipy import stats

from dpreg import _core
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.privacy.gdp import gdp_delta, gdp_epsilon
from dpreg.privacy.pld import sampled_epsilon
from dpreg.privacy.sealed import ExactSums


def sums_of(values, sensitivity=1.0, weights=None):
    return ExactSums(np.asarray(values, np.int64), sensitivity, of_units=True, weights=weights)


def releases(epsilon=1.0, delta=1e-5, seed=20260101):
    return GaussianReleases(epsilon, delta, _core.TestBits(seed))


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 1.0, 20.0, 500.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-5, 0.1])
def test_everything_spent_is_the_claim_within_one_percent(epsilon, delta):
    """From the scales actually drawn: the composed guarantee is the claim, and not above it."""
    noise = releases(epsilon, delta)
    for share in (0.05, 0.15, 0.8):
        noise.release("x", sums_of(np.zeros(500), 3.7), noise.share(share))
    mus = [part.sensitivity / part.scale for part in noise.parts]
    assert gdp_delta(math.hypot(*mus), epsilon) <= delta
    if epsilon >= 0.01:
        spent = gdp_epsilon(math.hypot(*mus), delta)
        assert 0.99 * epsilon < spent <= epsilon
    assert sum(m**2 for m in mus) <= noise.mu**2


def test_claim_against_privacy_loss_distributions():
    noise = releases(1.0, 1e-6)
    for share in (0.3, 0.3, 0.4):
        noise.release("x", sums_of(np.zeros(3)), noise.share(share))
    mus = [part.mu for part in noise.parts]
    composed = sampled_epsilon(1 / mus[0], 1.0, 1, math.hypot(*mus[1:]), 1e-6)
    assert composed == pytest.approx(1.0, rel=0.01)


def test_law_of_a_release():
    noise = releases()
    sums = np.array([5, -3] * 20_000, dtype=np.int64)
    weights = np.array([1.0, 2.0] * 20_000)
    mu = noise.share(1.0)
    noisy, _ = noise.release("x", sums_of(sums, 2.0, weights), mu)
    error = (noisy - sums).reshape(-1, 2)
    for column, weight in ((0, 1.0), (1, 2.0)):
        scaled = error[:, column] * weight * mu / 2.0
        assert stats.kstest(scaled, "norm").pvalue > ALPHA


def test_shape_is_kept_and_nothing_is_nothing():
    noise = releases()
    for shape in ((3, 4), (0, 0)):
        out = noise.release("x", sums_of(np.ones(shape)), noise.share(0.5))
        assert out.values.shape == shape


def test_overspending_is_an_error():
    noise = releases()
    noise.release("x", sums_of(np.zeros(3)), noise.share(0.6))
    with pytest.raises(AssertionError, match="spent more"):
        noise.release("y", sums_of(np.zeros(3)), noise.share(0.6))


def test_two_releases_do_not_share_noise():
    noise = releases()
    zero = sums_of(np.zeros(50))
    a, _ = noise.release("a", zero, noise.share(0.5))
    b, _ = noise.release("b", zero, noise.share(0.5))
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.7
    assert (a != b).all()


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3, 500.0])
@pytest.mark.parametrize("weight", [0.2, 1.0, 7.0])
def test_any_epsilon_has_a_grid(epsilon, weight):
    noise = GaussianReleases(epsilon, 1e-15, _core.TestBits(1))
    sums = np.array([3, -(1 << 40), 1 << 30])
    mu = noise.share(0.3)
    weights = np.array([1.0, 1.0, weight])
    released, _ = noise.release("x", sums_of(sums, 2.0**26, weights), mu)
    (part,) = noise.parts
    assert part.mu <= mu
    assert part.mu > 0.99 * mu
    assert (np.abs(released - sums) < 10 * part.scale / np.minimum(weights, 1)).all()


def test_a_unit_of_several_rows_has_as_many_times_the_noise_of_one():
    noise = GaussianReleases(1.0, 1e-5, _core.TestBits(1), rows=3)
    zeros = np.zeros(2, dtype=np.int64)
    by_row = noise.release("x", ExactSums(zeros, 2.0), noise.share(0.3)).scale
    by_unit = noise.release("x", sums_of(zeros, 2.0), noise.share(0.3)).scale
    assert by_row == pytest.approx(3 * by_unit, rel=1e-4)
    assert noise.parts[0].sensitivity == 3 * noise.parts[1].sensitivity == 6.0


def test_coarse_steps_pay_for_their_rounding():
    """In steps of 2^k, neighbours that differ by the sensitivity may differ by a step more."""
    noise = GaussianReleases(1e-9, 1e-15, _core.TestBits(1))
    noise.release("x", sums_of(np.zeros(2), 2.0**26), noise.share(0.3))
    (part,) = noise.parts
    step = 2.0 ** (np.floor(np.log2(part.scale)) - 44)
    assert part.sensitivity >= 2.0**26 + math.sqrt(2) * step / 2
