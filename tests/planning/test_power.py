"""Which slopes a plan detects: the test as it is, and plans that are solved for n and eps."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from scipy import stats

import dpreg
from dpreg.estimation.planning.power import exact_error, least_effect, power_of

ALPHA = 1e-6
METHODS = ("auto", "tukey", "adassp", "boosted_adassp", "moments")


def likely(count, trials, probability):
    """Whether a count of successes has a probability of more than ALPHA."""
    low, high = stats.binom.ppf([ALPHA / 2, 1 - ALPHA / 2], trials, probability)
    return low <= count <= high


@pytest.mark.parametrize(("n", "d", "effect"), [(60, 1, 0.3), (200, 3, 0.15), (400, 8, 0.2)])
def test_power_of_least_squares_is_how_often_it_rejects(n, d, effect):
    """An effect is a slope times the deviation of its regressor over that of the errors."""
    rng, runs, found = np.random.default_rng(1), 2000, 0
    x_sd, error_sd = 5.0, 0.3
    for _ in range(runs):
        x = np.column_stack([np.ones(n), x_sd * rng.standard_normal((n, d))])
        slopes = np.full(d, effect * error_sd / x_sd)
        y = 2 + x[:, 1:] @ slopes + error_sd * rng.standard_normal(n)
        inverse = np.linalg.inv(x.T @ x)
        params = inverse @ (x.T @ y)
        variance = np.sum((y - x @ params) ** 2) / (n - d - 1)
        p_value = 2 * stats.norm.sf(abs(params[1]) / math.sqrt(variance * inverse[1, 1]))
        found += p_value < 0.05
    assert likely(found, runs, power_of(effect, exact_error(n, d)))


def test_power_is_the_probability_of_two_tails():
    normal = stats.norm(0.7 / 0.25)
    both = normal.sf(stats.norm.isf(0.025)) + normal.cdf(stats.norm.ppf(0.025))
    assert power_of(0.7, 0.25, 0.9) == pytest.approx(0.9 * both, rel=1e-12)
    assert power_of(0.0, 0.25) == pytest.approx(0.05, rel=1e-12)
    assert power_of(0.1, math.inf) == pytest.approx(0.05, rel=1e-12)


@pytest.mark.parametrize("power", [0.051, 0.3, 0.8, 0.999])
def test_the_least_effect_has_the_power(power):
    effect = least_effect(power, 0.04)
    assert power_of(effect, 0.04) == pytest.approx(power, rel=1e-9)
    assert least_effect(power, 0.08) == pytest.approx(2 * effect, rel=1e-9)
    assert least_effect(0.8, 0.04, 0.8) is None
    assert least_effect(0.8, math.inf) is None


@pytest.mark.parametrize("method", METHODS)
def test_solving_inverts_evaluating(method):
    asked = {"d": 3, "effect": 0.07, "power": 0.8, "method": method}
    by_n = dpreg.dp_plan(eps=1.5, **asked)
    assert by_n.solved == "n"
    given = {key: asked[key] for key in ("d", "effect", "method")}
    assert dpreg.dp_plan(n=by_n.n, eps=1.5, **given).power >= 0.8
    assert dpreg.dp_plan(n=by_n.n - 1, eps=1.5, **given).power < 0.8
    by_eps = dpreg.dp_plan(n=20_000, **asked)
    assert by_eps.solved == "eps"
    assert dpreg.dp_plan(n=20_000, eps=by_eps.eps, **given).power >= 0.8
    assert dpreg.dp_plan(n=20_000, eps=0.985 * by_eps.eps, **given).power < 0.8
    least = dpreg.dp_plan(n=20_000, d=3, eps=1.5, power=0.7, method=method)
    assert least.solved == "effect"
    again = dpreg.dp_plan(n=20_000, d=3, eps=1.5, effect=least.effect, method=method)
    assert again.solved == "power"
    assert again.power == pytest.approx(0.7, rel=1e-9)


def test_without_effect_and_power_it_is_the_least_effect_of_power_point_eight():
    plan = dpreg.dp_plan(5_000, 4, 1.0)
    assert plan == dpreg.dp_plan(5_000, 4, 1.0, power=0.8)
    assert plan.solved == "effect"
    assert {type(plan.effect), type(plan.power), type(plan.exact_effect)} == {float}
    assert plan.exact_effect < plan.effect
    # The root of the width is not exact: a slope is not always released.
    assert plan.effect >= plan.width * plan.exact_effect * (1 - 1e-9)


def test_power_rises_with_units_eps_and_effect_and_falls_with_regressors():
    def power(n=3_000, d=4, eps=1.0, effect=0.08):
        return dpreg.dp_plan(n, d, eps, effect=effect).power

    for name, values in {
        "n": (50, 200, 299, 301, 1_000, 1_400, 1_600, 9_000, 11_000, 10**6),
        "eps": (1e-3, 0.1, 0.3, 0.5, 1.0, 2.0, 7.0, 50.0),
        "effect": (1e-6, 0.01, 0.1, 0.3, 2.0),
        "d": (200, 70, 50, 10, 3, 2, 1),
    }.items():
        powers = [power(**{name: value}) for value in values]
        assert np.all(np.diff(powers) >= -1e-12), name
        assert powers[-1] > powers[0]


def test_a_plan_of_too_little_says_so_and_what_is_enough():
    plan = dpreg.dp_plan(500, 20, 0.1)
    text = " ".join(str(plan).split())
    assert text.startswith("This is too small for inference: a slope has no standard error")
    assert f"Enough would be {plan.least_n:,} units at this eps" in text
    assert plan.effect is None
    assert not plan.works
    enough = dpreg.dp_plan(plan.least_n, 20, 0.1)
    assert enough.works
    assert "Nothing" not in str(enough)


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ({"n": 20_000, "eps": 1.0}, "Slopes of {effect:.3g} or more are detected with power 0.8 "),
        ({"n": 20_000, "eps": 1.0, "effect": 0.02},
         "A slope of 0.02 is detected with power {power:.3g} (5% two-sided test)."),
        ({"n": 20_000, "eps": 1.0, "effect": 1}, "A slope of 1 is detected with power above 0.999"),
        ({"eps": 1.0, "effect": 0.05, "power": 0.9},
         "A slope of 0.05 is detected with power 0.9 (5% two-sided test) from {n:,} units or "),
        ({"n": 20_000, "effect": 0.05, "power": 0.9},
         "A slope of 0.05 is detected with power 0.9 (5% two-sided test) from eps={eps:.4g} or "),
    ],
)  # fmt: skip
def test_the_first_sentence_is_about_inference(arguments, first):
    plan = dpreg.dp_plan(d=3, **arguments)
    text = " ".join(str(plan).split())
    shown = {name: getattr(plan, name) for name in ("n", "eps", "effect", "power")}
    assert text.startswith(first.format(**shown))
    assert "Plan for " in text
    assert plan._repr_html_().startswith(f"<div><p><strong>{first.format(**shown)}")


def test_families_have_no_effects_and_still_speak_of_inference_first():
    plan = dpreg.dp_plan(50_000, 3, 1.0, family="binomial")
    assert (plan.effect, plan.power, plan.solved) == (None, None, None)
    assert (plan.exact_effect, plan.exact_power) == (None, None)
    assert str(plan).startswith(f"Standard errors are about {plan.width:.3g} times those of max")
    with pytest.raises(ValueError, match="which is not planned for this family; write of='width'"):
        plan.plot(of="power")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 100, "eps": 1.0, "effect": 0.2, "power": 0.8}, "power is determined by the others"),
        ({}, "n and eps are both missing; write n=10000, or write eps=1.0"),
        ({"effect": 0.2, "power": 0.8}, "n and eps are both missing"),
        ({"eps": 1.0}, "effect is needed if n is not given; write effect=0.2"),
        ({"eps": 1.0, "effect": 0.2}, "power is needed if n is not given; write power=0.8"),
        ({"n": 100, "power": 0.8}, "effect is needed if eps is not given"),
        ({"n": 100, "eps": 1.0, "effect": 0.0}, "effect must be a number greater than 0, got 0.0"),
        ({"n": 100, "eps": 1.0, "effect": -0.1}, "effect must be"),
        ({"n": 100, "eps": 1.0, "effect": math.inf}, "effect must be"),
        ({"n": 100, "eps": 1.0, "effect": math.nan}, "effect must be"),
        ({"n": 100, "eps": 1.0, "effect": True}, "effect must be"),
        ({"n": 100, "eps": 1.0, "effect": "0.2"}, "effect must be"),
        ({"n": 100, "eps": 1.0, "power": 1.0}, "power must be a number greater than 0.05 and less"),
        ({"n": 100, "eps": 1.0, "power": 0.05}, "power must be"),
        ({"n": 100, "eps": 1.0, "power": 80}, "power must be"),
        ({"n": 100, "eps": 1.0, "effect": 0.1, "family": "poisson"}, "effect is planned for"),
        ({"n": 100, "eps": 1.0, "power": 0.5, "family": "quantile"}, "power is planned for"),
        ({"eps": 1.0, "family": "binomial"}, "n is needed for this family"),
        ({"n": 60, "effect": 0.1, "power": 0.8}, "a fit without privacy detects 0.37"),
        ({"eps": 1e-6, "effect": 1e-4, "power": 0.8}, "is not detected with this power by 10.9"),
        ({"n": 100, "eps": 1.0, "d": None}, "d must be given; write d=10"),
    ],
)  # fmt: skip
def test_wrong_use(arguments, message):
    with pytest.raises(dpreg.ArgumentError, match=message):
        dpreg.dp_plan(**{"d": 3, **arguments})


def test_plans_as_plain_data():
    plan = dpreg.dp_plan(20_000, 3, 1.0, effect=0.05)
    assert json.loads(plan.to_json()) == plan.to_dict()
    assert plan.to_dict()["power"] == plan.power
    assert pickle.loads(pickle.dumps(plan)) == plan
    nothing = dpreg.dp_plan(2, 3, 1.0)
    assert math.isinf(nothing.width)
    assert json.loads(nothing.to_json())["width"] is None


def test_the_picture_of_power_goes_through_the_plan():
    plt = pytest.importorskip("matplotlib.pyplot")
    plan = dpreg.dp_plan(5_000, 4, 0.7, effect=0.06)
    exact, private = plan.plot(of="power").lines[:2]
    at = [float(np.interp(0.06, *line.get_data())) for line in (exact, private)]
    assert at == pytest.approx([plan.exact_power, plan.power], abs=2e-3)
    dpreg.dp_plan(100, 50, 0.1).plot(of="power")
    dpreg.dp_plan(2, 5, 0.1).plot(of="power")
    with pytest.raises(ValueError, match="of must be one of 'width', 'power'"):
        plan.plot(of="n")
    plt.close("all")
