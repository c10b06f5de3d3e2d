"""Closed forms of Gaussian composition: against integration and against dp-accounting."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from dpreg.privacy.gdp import gdp_delta, gdp_epsilon, gdp_mu
from dpreg.privacy.pld import noise_multiplier, sampled_epsilon


@pytest.mark.parametrize("mu", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_delta_is_the_hockey_stick_divergence(mu, epsilon):
    def excess(x):
        return max(stats.norm.pdf(x - mu) - math.exp(epsilon) * stats.norm.pdf(x), 0.0)

    exact, _ = integrate.quad(excess, -10, 12, points=[epsilon / mu + mu / 2], limit=500)
    assert gdp_delta(mu, epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, math.log(3), 10.0, 300.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_mu_is_the_largest_and_rounded_down(epsilon, delta):
    mu = gdp_mu(epsilon, delta)
    assert gdp_delta(mu, epsilon) <= delta
    assert gdp_delta(mu * (1 + 1e-7), epsilon) > delta
    assert gdp_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-5)


def test_delta_is_never_too_low():
    """Against 60 digits, where the two terms all but cancel."""
    rng = np.random.default_rng(20260101)
    with mpmath.workdps(60):
        for epsilon, delta in 10.0 ** rng.uniform([-9.5, -14], [1, -3], (200, 2)):
            mu = gdp_mu(epsilon, delta)
            a, b = mpmath.mpf(epsilon) / mu, mpmath.mpf(mu) / 2
            exact = mpmath.ncdf(b - a) - mpmath.exp(mpmath.mpf(epsilon)) * mpmath.ncdf(-a - b)
            assert exact <= delta, (epsilon, delta)
            assert exact >= delta * (1 - 1e-3)


@pytest.mark.parametrize("epsilon", [1e-15, 1e-12, 1e-9])
@pytest.mark.parametrize("delta", [1e-18, 1e-5])
def test_tiny_parts_of_a_budget_have_a_mu(epsilon, delta):
    mu = gdp_mu(epsilon, delta)
    assert 0.8 * delta < gdp_delta(mu, epsilon) <= delta


@pytest.mark.parametrize("mu", [1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("delta", [1e-15, 1e-5, 0.5])
def test_epsilon_is_rounded_up(mu, delta):
    assert gdp_delta(mu, gdp_epsilon(mu, delta)) <= delta


def test_rounding_of_both_logarithms_is_paid_for():
    """exp(epsilon) times a tail: both are far larger than what their product leaves."""
    assert gdp_delta(1e10, 5e19) >= 1e-3


def test_against_privacy_loss_distributions():
    mus = [0.1, 0.2, 0.05]
    together = math.sqrt(sum(m**2 for m in mus))
    assert sampled_epsilon(1 / mus[0], 1.0, 1, math.hypot(*mus[1:]), 1e-5) == pytest.approx(
        gdp_epsilon(together, 1e-5), rel=1e-3
    )


def test_sampling_helps_and_more_steps_cost_more():
    epsilons = [sampled_epsilon(5.0, rate, 100, 0.1, 1e-5) for rate in (0.05, 0.1, 0.5, 1.0)]
    assert epsilons == sorted(epsilons)
    assert sampled_epsilon(5.0, 0.1, 200, 0.1, 1e-5) > epsilons[1]


def test_noise_multiplier_is_the_least():
    z = noise_multiplier(1.0, 1e-5, 0.1, 50, 0.1)
    assert sampled_epsilon(z, 0.1, 50, 0.1, 1e-5) <= 1.0
    assert sampled_epsilon(z / (1 + 2e-4), 0.1, 50, 0.1, 1e-5) > 1.0


def test_mu_grows_with_epsilon_and_delta():
    grid = [[gdp_mu(e, d) for e in (0.1, 1.0, 5.0)] for d in (1e-9, 1e-5, 1e-2)]
    assert (np.diff(grid, axis=0) > 0).all()
    assert (np.diff(grid, axis=1) > 0).all()
