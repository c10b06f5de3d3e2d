"""Costs add up to no less than the truth: by definition, on small worlds, and against PLDs."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import dpreg
from dpreg.privacy.cost import Basic, Concentrated, Cost, Gaussian, sums
from dpreg.privacy.gdp import bounded_range_mu, gdp_delta, gdp_epsilon, gdp_mu, pure_mu
from dpreg.privacy.zcdp import bounded_range_rho, pure_rho, zcdp_delta, zcdp_epsilon

EPSILONS = st.floats(1e-6, 20.0)


def gaussian_trade_off(level, mu):
    return stats.norm.cdf(stats.norm.isf(level) - mu)


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@given(EPSILONS)
def test_pure_mu_is_the_least_that_covers_randomised_response(epsilon):
    """At the corner of its trade-off function, where the Gaussian one comes nearest."""
    corner = special.expit(-epsilon)
    mu = pure_mu(epsilon)
    assert gaussian_trade_off(corner, mu) <= corner * (1 + 1e-12)
    assert gaussian_trade_off(corner, mu * (1 - 1e-4)) > corner


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-4, 0.3, 1.0, 10.0, 100.0, 500.0])
def test_pure_mu_against_sixty_digits(epsilon):
    with mpmath.workdps(60):
        tail = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        log_tail = lambda x: mpmath.log(mpmath.erfc(x / mpmath.sqrt(2)) / 2)  # noqa: E731
        exact = 2 * mpmath.findroot(lambda x: log_tail(x) - mpmath.log(tail), pure_mu(epsilon) / 2)
        assert exact < pure_mu(epsilon) < exact * (1 + mpmath.mpf("1e-8"))


@given(EPSILONS, st.floats(-30.0, 10.0))
def test_bounded_range_mu_covers_every_pair_of_that_range(epsilon, start):
    """The two-point laws (p, 1 - p) and (q, 1 - q) whose logits are epsilon apart."""
    quantiles = special.ndtri_exp(special.log_expit([start + epsilon, start]))
    assert quantiles[0] - quantiles[1] <= bounded_range_mu(epsilon) + 1e-9


def test_bounded_range_mu_is_attained_in_the_middle():
    epsilon = 1.5
    p = special.expit(epsilon / 2)
    needed = stats.norm.ppf(p) - stats.norm.ppf(1 - p)
    assert bounded_range_mu(epsilon) == pytest.approx(needed, rel=1e-8)


@given(EPSILONS)
def test_squares_of_mu_are_at_most_pi_rho(epsilon):
    assert pure_mu(epsilon) ** 2 <= math.pi * pure_rho(epsilon) * (1 + 1e-8)
    assert bounded_range_mu(epsilon) ** 2 <= math.pi * bounded_range_rho(epsilon) * (1 + 1e-8)


@settings(deadline=None)
@given(st.floats(1e-6, 20.0), st.floats(1e-12, 0.1))
def test_zcdp_epsilon_is_the_least(rho, delta):
    epsilon = zcdp_epsilon(rho, delta)
    assert zcdp_delta(rho, epsilon) <= delta
    assert epsilon == 0 or zcdp_delta(rho, epsilon * (1 - 1e-6)) > delta * (1 - 1e-9)


# What an adversary can do who looks at each outcome before he chooses the next mechanism: every
# mechanism of the list below is a pair of laws, and its cost is what a budget charges.


def response(epsilon, failure=0.0):
    """The pair that gives away with `failure` and else is randomised response."""
    p = (1 - failure) * special.expit(epsilon)
    q = (1 - failure) * special.expit(-epsilon)
    return np.array([failure, p, q, 0.0]), np.array([0.0, q, p, failure])


def binomial(epsilon, trials):
    """Many small randomised responses at once: nearly a Gaussian pair."""
    p = special.expit(epsilon)
    return stats.binom.pmf(range(trials + 1), trials, p), stats.binom.pmf(
        range(trials + 1), trials, 1 - p
    )


WORLD = [
    (*response(0.5), Cost.pure(0.5)),
    (*response(0.2), Cost.pure(0.2)),
    (*response(0.3, 0.02), Cost.approximate(0.3, 0.02)),
    (*response(1e-9, 0.02), Cost.approximate(1e-9, 0.02)),
    (*binomial(0.15, 6), functools.reduce(Cost.__add__, [Cost.pure(0.15)] * 6)),
]


def worst(accounting, steps):
    """The largest delta at its epsilon over all adaptive strategies that it lets through."""
    names = list(accounting.limits)
    limits = [float(accounting.limits[name]) * (1 + 1e-12) for name in names]
    amounts = [[float(accounting.amounts(cost)[name]) for name in names] for *_, cost in WORLD]

    @functools.cache
    def value(log_ratio, used):
        best = max(0.0, -math.expm1(min(accounting.epsilon - log_ratio, 50.0)))
        if sum(used) == steps:
            return best
        for place, (p, q, _) in enumerate(WORLD):
            more = tuple(times + (place == i) for i, times in enumerate(used))
            spent = np.array(more) @ amounts
            if (spent > limits).any():
                continue
            total = 0.0
            for a, b in zip(p, q, strict=True):
                if a > 0:
                    step = math.inf if b == 0 else math.log(a / b)
                    total += a * value(round(log_ratio + step, 12), more)
            best = max(best, total)
        return best

    return value(0.0, (0,) * len(WORLD))


@pytest.mark.parametrize("accounting", [
    Basic.of(1.0, 0.05), Gaussian.of(1.0, 0.1), Gaussian.of(0.6, 0.3), Gaussian.of_mu(0.7, 0.08),
    Concentrated.of(1.0, 0.1), Concentrated.of(0.6, 0.3), Concentrated.of_rho(0.3, 0.08),
], ids=lambda a: f"{a.name}-{a.epsilon:.2g}")  # fmt: skip
def test_no_adaptive_strategy_beats_the_total(accounting):
    """Every strategy of up to six mechanisms, exactly; and the total is of use."""
    found = worst(accounting, 6)
    assert found <= accounting.delta * (1 + 1e-9)
    assert found > accounting.delta / 20


def test_without_fixed_limits_an_adversary_could_do_more():
    """Limits on mu *or* failures, whichever is left, would be optimistic: why both are fixed.

    A first small step shows him the log ratio; high, he goes on with Gaussian noise, low, with a
    failure.  Either path by itself keeps the total.
    """
    epsilon, delta, first = 0.5, 0.1, 0.3
    mu = gdp_mu(epsilon, delta)
    rest = math.sqrt(mu**2 - first**2)
    grid = np.linspace(-8, 8, 4001)
    log_ratio = first * grid + first**2 / 2
    weight = stats.norm.pdf(grid) * (grid[1] - grid[0])
    goes_on = np.array([gdp_delta(rest, epsilon - x) for x in log_ratio])
    failure = delta - gdp_delta(first, epsilon)
    stops = np.array([gdp_delta(0.0, e) if e > 0 else -math.expm1(e) for e in epsilon - log_ratio])
    fails = failure + (1 - failure) * stops
    assert (weight * goes_on).sum() == pytest.approx(delta, rel=1e-3)
    assert (weight * fails).sum() <= delta
    assert (weight * np.maximum(goes_on, fails)).sum() > 1.05 * delta


# Losses are rounded up to multiples of it.
STEP = 2e-4


def composed(gaussians, pures, approximate):
    """The same releases as privacy loss distributions of dp-accounting."""
    parts = [pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=STEP)
             for mu in gaussians]  # fmt: skip
    parts += [pld.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, delta),
                                          value_discretization_interval=STEP)
              for epsilon, delta in [*((e, 0.0) for e in pures), *approximate]]  # fmt: skip
    return functools.reduce(lambda a, b: a.compose(b), parts)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.floats(0.02, 0.5), min_size=1, max_size=6),
    st.lists(st.floats(0.01, 0.4), max_size=4),
    st.lists(st.tuples(st.floats(0.01, 0.4), st.floats(1e-9, 5e-7)), max_size=3),
)
def test_spent_is_never_below_the_composed_privacy_loss(gaussians, pures, approximate):
    delta = 1e-5
    costs = [Cost(gdp_epsilon(mu, delta), delta, mu, mu * mu / 2) for mu in gaussians]
    costs += [Cost.pure(epsilon) for epsilon in pures]
    costs += [Cost.approximate(epsilon, d) for epsilon, d in approximate]
    true = composed(gaussians, pures, approximate).get_epsilon_for_delta(delta)
    for accounting in (Gaussian.of(30.0, delta), Concentrated.of(30.0, delta)):
        epsilon, at = accounting.spent(sums(accounting, costs))
        assert at == delta
        # Theirs is an upper bound itself, by its discretisation.
        assert epsilon >= true - 2 * STEP * len(costs)
    assert Gaussian.of(30.0, delta).spent(sums(Gaussian.of(30.0, delta), costs[: len(gaussians)]))[
        0
    ] == pytest.approx(
        composed(gaussians, [], []).get_epsilon_for_delta(delta), abs=STEP * (1 + len(gaussians))
    )


@pytest.fixture(scope="module")
def small():
    generator = np.random.default_rng(1)
    x = generator.normal(size=(5000, 3))
    y = x @ [1.0, -1.0, 0.0] + generator.normal(size=5000)
    return {"y": y, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}


BOUNDS = {"a": (-3, 3), "b": (-3, 3), "c": (-3, 3), "y": (-5, 5)}
METHODS = [
    (dpreg.AdaSSP(), None), (dpreg.AdaSSP(cov_type="nonrobust"), None),
    (dpreg.BoostedAdaSSP(), None), (dpreg.BoostedAdaSSP(), BOUNDS), (dpreg.FrankWolfe(), None),
    (dpreg.FrankWolfe(steps=7), BOUNDS),
]  # fmt: skip


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize(("method", "bounds"), METHODS, ids=lambda m: getattr(m, "name", ""))
def test_no_release_costs_more_than_was_charged(small, method, bounds, inference):
    """What the certificate lists, part by part, stays within what was said beforehand."""
    budget = dpreg.Budget(3.0, 1e-5, accounting="gdp")
    fit = dpreg.dp_lm("y ~ a + b + c", small, 0.4, 1e-6, method=method, bounds=bounds,
                      budget=budget, inference=inference)  # fmt: skip
    (charge,) = budget.charges
    parts = fit.privacy.parts
    assert parts
    if method.name == "frank_wolfe":
        assert math.fsum(part.rho for part in parts) <= charge.paid.rho
    else:
        squares = [part.mu**2 for part in parts]
        assert math.fsum(squares) <= charge.paid.mu**2
        assert math.fsum(squares) <= 2 * charge.paid.rho
    assert charge.paid.failure <= 1e-6
    assert (charge.epsilon, charge.delta) == (0.4, 1e-6)


@pytest.mark.parametrize(("selector", "k"), [
    (dpreg.DPKendall(), 2), (dpreg.TwoStage(), 2), (dpreg.SubLasso(), 1),
    (dpreg.DPSIS(), 2), (dpreg.DPSIS(top_k="peel"), 2),
], ids=lambda s: getattr(s, "name", ""))  # fmt: skip
def test_selections_are_charged_by_their_choices(small, selector, k):
    basic = Cost.pure(0.4)
    budget = dpreg.Budget(3.0, 1e-5, accounting="zcdp")
    bounds = BOUNDS if selector.name == "sis" else None
    dpreg.dp_select("y ~ a + b + c", small, k, 0.4, method=selector, bounds=bounds, budget=budget)
    (charge,) = budget.charges
    assert charge.status == "released"
    assert charge.paid.rho <= basic.rho
    assert charge.paid.mu <= basic.mu
    assert (charge.epsilon, charge.delta) == (0.4, 0.0)
    if selector.name == "kendall":
        # k choices of bounded range eps / k: eps^2 / (8 k).
        assert charge.paid.rho == pytest.approx(0.4**2 / (8 * k))


def test_ten_fits_cost_nine_tenths(small):
    budget = dpreg.Budget(3.0, 1e-5, accounting="gdp")
    for _ in range(10):
        dpreg.dp_lm("y ~ a", small, 0.3, 1e-6, method="boosted_adassp", budget=budget)
    epsilon, delta = budget.spent
    assert epsilon == pytest.approx(0.8995, abs=1e-3)
    assert delta == 1e-5
    basic = dpreg.Budget(3.0, 1e-5)
    for charge in budget.charges:
        basic.spend(charge.label, charge.epsilon, charge.delta)
    assert basic.spent == (3.0, 1e-5)


def test_an_automatic_choice_is_settled_at_what_it_chose(small):
    """Charged for TukeyEM and its fallback, which it may have to take; then for what it took."""
    budget = dpreg.Budget(3.0, 1e-5, accounting="gdp")
    fit = dpreg.dp_lm("y ~ a", small, 0.5, 1e-6, budget=budget, inference=False, rng=1)
    (charge,) = budget.charges
    assert fit.method != "tukey"
    assert charge.most.mu > pure_mu(0.46)
    assert charge.paid.mu < 0.4 * charge.most.mu
    assert charge.status == "released"
    gaussians = [part for part in fit.privacy.parts if part.mu is not None]
    count = pure_mu(0.005)
    assert math.fsum([count**2, *(part.mu**2 for part in gaussians)]) <= charge.paid.mu**2


def test_a_basic_budget_is_never_settled_at_less(small):
    budget = dpreg.Budget(3.0, 1e-5)
    dpreg.dp_lm("y ~ a", small, 0.5, 1e-6, budget=budget)
    assert budget.remaining == (2.5, 9e-6)


@pytest.mark.parametrize("accounting", ["gdp", "zcdp"])
def test_what_remains_can_be_spent_and_no_more(small, accounting):
    budget = dpreg.Budget(1.0, 1e-5, accounting=accounting)
    dpreg.dp_lm("y ~ a", small, 0.6, 1e-6, method="adassp", budget=budget)
    left, delta = budget.remaining
    with pytest.raises(dpreg.BudgetError, match="but only"):
        dpreg.dp_lm("y ~ a", small, 1.01 * left, delta, method="adassp", budget=budget)
    dpreg.dp_lm("y ~ a", small, left, delta, method="adassp", budget=budget)
    assert budget.remaining[0] < 1e-2 * left
    # The total was stated with half of delta for failures, and none was used.
    assert 0.9 < budget.spent[0] < 1.0


def test_parts_of_a_split_are_not_added(small):
    budgets = [dpreg.Budget(3.0, 1e-5, accounting="gdp") for _ in range(2)]
    for budget, split in zip(budgets, (None, 0.5), strict=True):
        dpreg.dp_lm("y ~ a + b + c", small, 0.5, 1e-6, method="adassp", select="kendall", k=2,
                    split=split, budget=budget)  # fmt: skip
    one, two = (budget.charges[0].paid for budget in budgets)
    fit = dpreg.AdaSSP().cost(0.5, 1e-6)
    select = dpreg.DPKendall().cost(2, 0.5, 0.0)
    assert two.mu == max(fit.mu, select.mu)
    assert one.mu > dpreg.AdaSSP().cost(0.475, 1e-6).mu


def test_all_sums_are_exact():
    """A tenth ten times is one, in every currency."""
    for accounting, cost in [
        (Basic.of(1.0, 1e-5), Cost.approximate(0.1, 1e-6)),
        (Gaussian.of_mu(1.0, 1e-5), Cost(0.1, 0.0, 0.1, 0.0, 0.0)),
        (Concentrated.of_rho(1.0, 1e-5), Cost(0.1, 0.0, 0.0, 0.1)),
    ]:
        times = 100 if accounting.name == "gdp" else 10
        name = next(iter(accounting.limits))
        assert times * accounting.amounts(cost)[name] == accounting.limits[name]


def test_costs_are_a_lattice():
    costs = [Cost.pure(0.2), Cost.approximate(0.1, 1e-3), Cost(0.3, 0.0, 0.01, 0.01)]
    for a, b in itertools.product(costs, repeat=2):
        assert a.within(a.or_else(b))
        assert a.within(a + b)


def test_a_certificate_as_plain_data_is_what_dataclasses_make_of_it():
    data = {"x": np.linspace(0, 1, 50), "y": np.linspace(0, 1, 50)}
    privacy = dpreg.dp_lm("y ~ x", data, 1.0, bounds={"x": (0, 1), "y": (0, 1)}, rng=1).privacy
    found = privacy.to_dict()
    assert found == {"claim": privacy.claim, **dataclasses.asdict(privacy)}
    found["request"]["bounds"]["x"] = None  # A copy.
    assert privacy.request["bounds"]["x"] is not None
