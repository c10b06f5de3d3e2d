"""DP-SGD end to end, and its steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from laws import ALPHA
from methods.sums import check_accuracy, check_total, check_wrong_use, gaussian
from scipy import stats

import dpreg
from dpreg import _core
from dpreg.base.errors import BudgetError
from dpreg.estimation.methods import DPSGD
from dpreg.estimation.releases.accountant import releases_cost
from dpreg.estimation.releases.standardisation import Standardisation
from dpreg.estimation.standardised import VOTE_SHARE
from dpreg.privacy import pld
from dpreg.privacy.pld import noise_multiplier, sampled_epsilon

pytestmark = pytest.mark.usefixtures("coarse_losses")


@pytest.fixture
def fine_losses(coarse_losses, monkeypatch):
    """Have losses added up as precisely as always."""
    monkeypatch.setattr(pld, "_DISCRETISATION", pld._DISCRETISATION / 10)
    noise_multiplier.cache_clear()
    yield
    noise_multiplier.cache_clear()


def test_accuracy_without_bounds():
    check_accuracy("dpsgd", 0.84)


@pytest.mark.slow
def test_total_on_odd_data():
    check_total(DPSGD(steps=20))


def test_wrong_use():
    check_wrong_use("dpsgd")


@pytest.mark.parametrize("bounds", [None, {"y": (-30.0, 60.0)}])
def test_what_was_drawn_composes_to_the_claim(bounds):
    """Standardisation and the vote are paid for beforehand."""
    data = gaussian(2000, 2, 1)
    fit = dpreg.dp_lm("y ~ x0 + x1", data, 0.7, 1e-6, method=DPSGD(), bounds=bounds, rng=1)
    *scaling, steps = fit.privacy.parts
    assert scaling[-1].label.startswith("vote")
    spent = np.sqrt(sum(part.mu**2 for part in scaling))
    beside = releases_cost(0.7, 1e-6).mu * np.sqrt(Standardisation().share + VOTE_SHARE)
    assert spent == pytest.approx(beside, rel=1e-3)
    rate = _core.poisson_rate(DPSGD().rate)
    epsilon = sampled_epsilon(steps.scale / steps.sensitivity, rate, DPSGD().steps, beside, 1e-6)
    assert 0.99 * 0.7 < epsilon <= 0.7


def test_delta_may_be_so_large_that_little_noise_costs_no_epsilon(fine_losses):
    # So this is 0, which has no logarithm; the search comes by it.
    assert sampled_epsilon(8.0, 0.5, 4, 0.0, 0.05) == 0.0
    multiplier = noise_multiplier(0.01, 0.05, 0.5, 4, 0.0)
    assert sampled_epsilon(multiplier, 0.5, 4, 0.0, 0.05) <= 0.01
    assert sampled_epsilon(0.99 * multiplier, 0.5, 4, 0.0, 0.05) > 0.01


def test_a_search_that_cannot_succeed_ends(monkeypatch):
    # What comes beside the step costs more than epsilon by itself.  The search ends where it always
    # does, two doublings away.
    monkeypatch.setattr(pld, "_MOST", 2 * math.log(2))
    with pytest.raises(BudgetError, match="cannot be reached"):
        noise_multiplier(0.1, 0.01, 0.1, 1, 1.0)


def test_a_delta_that_accounting_cannot_see_is_refused():
    # Infinite losses that are set aside for cut-off tails weigh more than this delta.
    assert sampled_epsilon(30.0, 0.1, 400, 0.05, 1e-15) == np.inf
    with pytest.raises(BudgetError, match="delta must be at least"):
        dpreg.dp_lm("y ~ x0", gaussian(10, 1, 1), 1.0, 1e-15, method="dpsgd")


def test_there_are_no_made_up_standard_errors():
    fit = dpreg.dp_lm("y ~ x0", gaussian(2000, 1, 1), 1.0, method="dpsgd", rng=1)
    assert fit.bse.isna().all()
    text = " ".join(str(fit.summary()).split())
    assert (
        "Standard errors: none, because the distribution of the accumulated noise has no simple"
        in text
    )
    data = gaussian(2000, 1, 1)
    quiet = dpreg.dp_lm("y ~ x0", data, 1.0, method="dpsgd", inference=False, rng=1)
    assert "Standard errors: not requested." in str(quiet.summary())


def rows(n, clip_all=False):
    how = _core.Standardisation()
    how.columns, how.low, how.high = [], [], []
    how.centre, how.inverse_scale = [], []
    how.intercept, how.row_limit = True, 1.0
    return _core.QuantisedRows(np.empty((n, 0)), np.full(n, 100.0), how)


def one_step(n, rate, sigma, bits):
    """The first step, for rows that each add the whole clip: sample size and noise."""
    theta = _core.dpsgd(rows(0), [rows(n)], steps=1, rate=rate, expected=1.0, clip=1.0,
                        learning_rate=1.0, sigma=sigma, bits=bits)  # fmt: skip
    return theta[0]


@pytest.mark.parametrize("rate", [0.3, 1 / 400, 3 / 256, 1.0])
def test_samples_are_poisson(rate, bits):
    """Rates whose first byte is 0, and whose other bytes are, among them."""
    sizes = [one_step(41, rate, 1, bits) for _ in range(3000)]
    counts = np.bincount(np.rint(sizes).astype(int), minlength=42)
    law = stats.binom(41, _core.poisson_rate(rate)).pmf(np.arange(42))
    common = law * 3000 > 5
    if common.sum() == 1:
        assert counts[common] == 3000
        return
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(law[common], law[~common].sum()) * 3000
    assert stats.chisquare(observed, expected).pvalue > ALPHA


def test_noise_has_its_scale(bits):
    sigma = 3 * _core.ROW_STEPS**2
    draws = [one_step(0, 1.0, sigma, bits) for _ in range(3000)]
    assert stats.kstest(np.array(draws) / 3, "norm").pvalue > ALPHA


def test_rate_is_rounded_down():
    for rate in (0.1, 1 / 3, 1.0, 1e-6):
        assert rate * (1 - 1e-3) < _core.poisson_rate(rate) <= rate
    with pytest.raises(ValueError, match="rate"):
        _core.poisson_rate(0.0)


@pytest.mark.parametrize("options", [{"steps": 0}, {"rate": 0.0}, {"rate": 1.5}, {"clip": 0.0},
                                     {"learning_rate": -1.0}])  # fmt: skip
def test_wrong_options(options):
    with pytest.raises(ValueError, match=r"must be|rate"):
        DPSGD(**options)


def test_what_cannot_be_reached_is_refused_before_the_charge(monkeypatch):
    """The search for the noise is made there, and finds the same again after it."""
    from dpreg.estimation.methods import dpsgd

    def out_of_reach(*_):
        raise BudgetError("eps", "cannot be reached")

    monkeypatch.setattr(dpsgd, "noise_multiplier", out_of_reach)
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises(BudgetError, match="cannot be reached"):
        dpreg.dp_lm("y ~ x0", gaussian(10, 1, 1), 1.0, 1e-5, budget=budget, method="dpsgd")
    assert tuple(budget.remaining) == (1.0, 1e-5)
