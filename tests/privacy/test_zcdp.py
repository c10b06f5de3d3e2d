"""Closed forms of zCDP against definitions, another library and a grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpreg import BudgetError
from dpreg.privacy.zcdp import (
    bounded_range_epsilon,
    bounded_range_rho,
    zcdp_delta,
    zcdp_rho,
)

EPSILONS = (1e-3, 0.1, 1.0, 4.9, 30.0)
DELTAS = (1e-15, 1e-9, 1e-5, 0.01, 0.5)


def delta_by_grid(rho, epsilon):
    above = np.geomspace(1e-12, 1e12, 400_001)
    order = 1 + above
    log_delta = above * (order * rho - epsilon) - order * np.log1p(1 / above) - np.log(above)
    return math.exp(min(0.0, log_delta.min()))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("rho", [1e-12, 1e-6, 1e-3, 0.1, 5.0, 200.0])
def test_delta_is_the_infimum_over_orders(rho, epsilon):
    assert zcdp_delta(rho, epsilon) == pytest.approx(delta_by_grid(rho, epsilon), rel=1e-6)
    assert zcdp_delta(rho, epsilon) >= delta_by_grid(rho, epsilon) * (1 - 1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_rho_is_the_largest_that_is_allowed(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_delta(rho, epsilon) <= delta
    assert zcdp_delta(rho * (1 + 1e-6), epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-5), (1, 1e-5), (4.9, 1e-5), (20, 1e-9)])
def test_agrees_with_dp_accounting(epsilon, delta):
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    rho = zcdp_rho(epsilon, delta)
    best = epsilon / (2 * rho)
    accountant = RdpAccountant(orders=1 + np.geomspace(best / 20, best * 20, 2001))
    accountant.compose(dp_accounting.ZCDpEvent(rho))
    assert accountant.get_delta(epsilon) == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "steps", "expected"), [
    (0.1, 1000, 0.001861), (1.0, 100, 0.04944), (1.0, 1000, 0.01564), (4.9, 1000, 0.06524),
])  # fmt: skip
def test_per_step_epsilons_of_the_design_notes(epsilon, steps, expected):
    assert bounded_range_epsilon(zcdp_rho(epsilon, 1e-5), steps) == pytest.approx(
        expected, rel=5e-4
    )


def test_bounded_range_costs_an_eighth_of_its_square():
    """The worst law of range epsilon has two outcomes; Renyi divergences are below rho alpha."""
    for epsilon in (0.01, 0.5, 3.0):
        rho, worst = bounded_range_rho(epsilon), 0.0
        for shift in np.linspace(0, epsilon, 101)[1:-1]:
            p = math.expm1(shift) / math.expm1(epsilon)  # both likelihood ratios add up to 1
            q = p * math.exp(epsilon - shift)
            for order in (1.0001, 1.5, 2.0, 10.0, 100.0):
                moment = q**order * p ** (1 - order) + (1 - q) ** order * (1 - p) ** (1 - order)
                worst = max(worst, math.log(moment) / (order - 1) / order / rho)
        assert worst <= 1
        assert worst > 0.9 or epsilon > 1


def test_rounding_is_against_the_user():
    for rho in (1e-9, 0.03, 7.0):
        for times in (1, 7, 1000):
            assert times * bounded_range_rho(bounded_range_epsilon(rho, times)) <= rho * (1 + 1e-15)


def test_ends():
    assert zcdp_delta(0.0, 1.0) == 0.0
    assert zcdp_delta(1e6, 1.0) == 1.0
    with pytest.raises(BudgetError, match="delta"):
        zcdp_rho(1.0, 0.0)


def test_delta_of_rho_dominates_gaussian_noise():
    """A Gaussian mechanism with sensitivity s at scale 1 is s^2/2-zCDP; its delta is known."""
    for s in (0.01, 0.1, 1.0):
        for epsilon in (0.1, 0.5, 2.0):
            exact = norm.cdf(s / 2 - epsilon / s) - np.exp(epsilon) * norm.cdf(-s / 2 - epsilon / s)
            assert exact <= zcdp_delta(s * s / 2, epsilon)
    assert zcdp_delta(0.0, 1.0) == 0
