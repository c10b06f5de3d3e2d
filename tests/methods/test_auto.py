"""method="auto": its choice, its account, and the fallback when TukeyEM declines."""

from __future__ import annotations

import numpy as np
import pytest
from methods.sums import check_accuracy, check_total, check_wrong_use, gaussian

import dpreg
from dpreg.base.errors import ArgumentError


def test_accuracy_without_bounds():
    check_accuracy("auto", 0.85)


def test_total_on_odd_data():
    check_total("auto")


def test_wrong_use():
    check_wrong_use("auto")


def test_it_is_the_default_and_says_what_it_chose():
    data = gaussian(20_000, 3, 1)
    fit = dpreg.dp_lm("y ~ x0 + x1 + x2", data, 1.0, rng=1)
    named = dpreg.dp_lm("y ~ x0 + x1 + x2", data, 1.0, rng=1, method="auto")
    assert (fit.params == named.params).all()
    assert fit.method in ("boosted_adassp", "adassp", "tukey")
    # With inference nothing is to be chosen.
    assert fit.privacy.parts[0].label == "number of rows"
    chosen = dpreg.dp_lm("y ~ x0", data, 1.0, rng=1, inference=False)
    assert chosen.privacy.parts[0].label == "number of units, to choose the method"
    # A choice that costs nothing is no news; one that costs a lot is.
    assert "was chosen for about" not in str(fit.summary())
    ten = " + ".join(f"x{j}" for j in range(10))
    poor = dpreg.dp_lm(f"y ~ {ten}", gaussian(2000, 10, 1), 1.0, rng=1, inference=False)
    assert poor.released
    text = " ".join(str(poor.summary()).split())
    assert f"method {poor.method!r} was chosen for about" in text


def test_a_default_fit_reserves_no_more_than_it_can_spend():
    """By Gaussian composition: twelve fits of .3 cost 1 together."""
    budget, data = dpreg.Budget(1.0, 2e-5, accounting="gdp"), gaussian(500, 1, 1)
    for seed in range(12):
        dpreg.dp_lm("y ~ x0", data, 0.3, 1e-6, budget=budget, rng=seed)
    with pytest.raises(dpreg.BudgetError):
        dpreg.dp_lm("y ~ x0", data, 0.3, 1e-6, budget=budget)


def test_the_parts_add_up_to_the_claim():
    from dpreg.privacy.gdp import gdp_epsilon

    fit = dpreg.dp_lm("y ~ x0", gaussian(5000, 1, 1), 0.8, 1e-6, rng=1, inference=False)
    count, *rest = fit.privacy.parts
    mu = np.sqrt(sum(part.mu**2 for part in rest))
    total = count.epsilon + gdp_epsilon(mu, 1e-6)
    assert 0.79 < total <= 0.8


@pytest.mark.parametrize(("n", "why"), [(400, "too few"), (3000, "test")])
def test_fallback_uses_what_tukey_did_not_spend(n, why):
    """Few units, or models that disagree: the rest of the budget goes to Boosted AdaSSP."""
    from dpreg.privacy.gdp import gdp_epsilon

    data = gaussian(n, 2, 1)
    if why == "test":
        data["y"] = np.random.default_rng(1).standard_cauchy(n) ** 9
        data["x0"] = (np.arange(n) % 97 == 0) * 1.0
    fit = dpreg.dp_lm(
        "y ~ x0 + x1", data, 2.0, 1e-6, method=dpreg.Auto(candidates=("tukey",)), rng=1
    )
    assert fit.method == "boosted_adassp"
    assert "TukeyEM declined" in " ".join(fit.notes)
    pure = [part.epsilon for part in fit.privacy.parts if part.mu is None]
    assert len(pure) == (2 if why == "too few" else 3)
    mu = np.sqrt(sum(part.mu**2 for part in fit.privacy.parts if part.mu is not None))
    # The other half of delta is TukeyEM's.
    total = sum(pure) + gdp_epsilon(mu, 0.5e-6)
    assert 0.98 * 2.0 < total <= 2.0 * (1 + 1e-9)


def test_tukey_as_only_candidate_is_used_when_it_passes():
    data = gaussian(60_000, 1, 1)
    fit = dpreg.dp_lm("y ~ x0", data, 3.0, method=dpreg.Auto(candidates=("tukey",)), rng=1)
    assert fit.method == "tukey"
    assert sum(part.delta for part in fit.privacy.parts) == 0.5e-5


@pytest.mark.parametrize("options", [{"candidates": ()}, {"candidates": ("ols",)},
                                     {"count_share": 0.0}])  # fmt: skip
def test_wrong_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        dpreg.Auto(**options)


def test_a_declined_fallback_says_that_tukey_declined_first():
    data = gaussian(300, 1, 1)
    data["y"] = np.random.default_rng(1).standard_cauchy(300)
    method = dpreg.Auto(candidates=("tukey",))
    fits = [dpreg.dp_lm("y ~ x0", data, 0.3, 1e-6, method=method, rng=s) for s in range(5)]
    declined = [fit for fit in fits if not fit.released]
    assert declined
    for fit in declined:
        assert fit.reason.startswith("TukeyEM declined, then Boosted AdaSSP declined: ")
        assert [part.label for part in fit.privacy.parts][1].startswith("TukeyEM: number of units")


@pytest.mark.parametrize("options", [{"count_share": 1e-12}, {"count_share": 0.9}])
def test_a_count_that_could_not_be_drawn_is_refused(options):
    with pytest.raises(ValueError, match="count_share"):
        dpreg.Auto(**options)
    with pytest.raises(ValueError, match="count_share"):
        dpreg.TukeyEM(count_share=1e-12)


def test_what_no_candidate_can_use_is_refused_before_the_charge():
    budget = dpreg.Budget(1.0, 1e-5)
    data = {"x": np.zeros(9), "y": np.zeros(9), "w": np.ones(9)}
    method = dpreg.Auto(candidates=("tukey", "tukey"))
    with pytest.raises(ArgumentError, match="does not support row weights"):
        dpreg.dp_lm("y ~ x", data, 1.0, method=method, weights="w", budget=budget)
    assert budget.charges == ()
