"""Plans and the automatic choice: from public numbers, close to what simulation gives."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tables import families
from tables.auto import simulate

import dpreg
from dpreg.base.text import share_lost
from dpreg.estimation.planning.auto import OTHERS, TABULATED, best_method, expect


def test_a_plan_is_what_was_asked_for():
    plan = dpreg.dp_plan(50_000, 10, 1.0)
    assert plan.works
    assert plan.method in TABULATED
    assert plan.released > 0.99
    assert 1 < plan.width < 2
    assert plan.least_n < 50_000
    assert plan.least_eps < 1.0
    assert "50,000 units" in str(plan)


@pytest.mark.parametrize("method", ["tukey", "adassp", "boosted_adassp"])
@pytest.mark.parametrize("n", [1, 20_000])
def test_a_plan_tells_what_may_not_come(method, n):
    """TukeyEM releases all standard errors or none; the others may release some."""
    plan = dpreg.dp_plan(n, 1, 0.3, method=method)
    assert [type(v) for v in (plan.released, plan.width, plan.loss)] == [float] * 3
    assert plan.declined <= 1 - plan.released + 1e-9
    text = " ".join(str(plan).split())
    assert "1 regressor," in text
    often = f"with probability {1 - plan.declined:.3g}"
    assert f"released {'almost always' if plan.declined < 0.01 else often}" in text
    if method != "tukey" and math.isfinite(plan.width):
        assert f"for {100 * plan.released:.0f}% of coefficients" in text


@pytest.mark.parametrize(("share", "text"), [(0.0, "0%"), (0.0123, "1.2%"), (0.98, "98%"),
                                             (0.996, "nearly all"), (1.0, "all")])  # fmt: skip
def test_shares_that_are_lost(share, text):
    assert share_lost(share) == text


@pytest.mark.parametrize("method", ["auto", "tukey", "adassp", "boosted_adassp"])
def test_the_least_n_and_eps_are_the_least(method):
    plan = dpreg.dp_plan(20_000, 4, 0.5, method=method)
    assert dpreg.dp_plan(plan.least_n, 4, 0.5, method=method).works
    assert not dpreg.dp_plan(int(0.85 * plan.least_n), 4, 0.5, method=method).works
    assert dpreg.dp_plan(20_000, 4, plan.least_eps, method=method).works
    assert not dpreg.dp_plan(20_000, 4, 0.85 * plan.least_eps, method=method).works


@pytest.mark.parametrize("method", ["auto", "tukey", "adassp", "boosted_adassp"])
def test_more_units_and_more_eps_are_better(method):
    widths = [dpreg.dp_plan(n, 4, 1.0, method=method).width for n in (10**4, 10**5, 10**6, 10**8)]
    assert widths == sorted(widths, reverse=True)
    losses = [dpreg.dp_plan(30_000, 4, e, method=method).loss for e in (0.1, 0.5, 2.0)]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("n", [1, 10**9])
@pytest.mark.parametrize("d", [1, 1000])
@pytest.mark.parametrize("eps", [1e-9, 500.0])
@pytest.mark.parametrize("delta", [1e-15, 0.5])
@pytest.mark.parametrize("method", ["auto", *TABULATED])
def test_total_at_the_ends(n, d, eps, delta, method):
    plan = dpreg.dp_plan(n, d, eps, delta, method=method)
    assert 0 <= plan.released <= 1
    assert plan.width > 0
    assert 0 <= plan.loss <= 1
    str(plan)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"n": 0}, "n must"),
        ({"n": 1.5}, "n must"),
        ({"d": 0}, "d must"),
        ({"eps": 0}, "eps"),
        ({"delta": 0.0}, "delta"),
        ({"method": "dpsgd"}, "method"),
        ({"method": "tukey", "family": "binomial"}, "for linear models only"),
        ({"method": "moments", "family": "poisson"}, "for linear models only"),
        ({"family": "probit"}, "family must be one of"),
        ({"family": "binomial", "link": "log"}, "link must be"),
        ({"link": "cloglog"}, "link must be"),
    ],
)
def test_wrong_use(arguments, name):
    with pytest.raises(ValueError, match=name):
        dpreg.dp_plan(**{"n": 1000, "d": 2, "eps": 1.0, **arguments})


def settings(count):
    rng = np.random.default_rng(20260101)
    for _ in range(count):
        yield (
            int(np.exp(rng.uniform(math.log(5_000), math.log(100_000)))),
            int(rng.choice([1, 2, 3, 5, 8, 12])),
            float(np.exp(rng.uniform(math.log(0.3), math.log(4.0)))),
            str(rng.choice(["tukey", "adassp"])),
        )


@pytest.mark.slow
def test_plans_agree_with_simulation_off_the_grid():
    """Nine settings between those of the table: widths within 10%, and who is released.

    AdaSSP, between 8 and 16 regressors where eps is little, may be off by 11%, in 60 runs too: the
    grid is coarse there.  Means of widths, not medians: of AdaSSP with 12 regressors at eps =
    0.3 they have two values, .76 and 1.14 of the plan, each in about half of the runs.

    Those of default fits are in `test_inference.py`.
    """
    off = []
    for n, d, eps, method in settings(9):
        plan = dpreg.dp_plan(n, d, eps, method=method)
        if plan.works:
            runs = np.array([simulate(n, d, eps, method, "gaussian", s) for s in range(100, 110)])
            assert runs[:, 2].mean() >= 0.85, (n, d, eps, method)
            off.append((abs(np.nanmean(runs[:, 1]) / plan.width - 1), n, d, eps, method))
    assert len(off) >= 7
    assert [entry for entry in off if entry[0] > (0.12 if entry[4] == "adassp" else 0.10)] == []
    assert sum(entry[0] > 0.10 for entry in off) <= 1


def asked(what):
    """How a plan is asked for what the table of families has."""
    return {"method": "moments"} if what == "moments" else {"family": what}


@pytest.mark.parametrize("what", OTHERS)
def test_plans_of_families_get_better_with_units_and_eps(what):
    widths = [dpreg.dp_plan(n, 4, 1.0, **asked(what)).width for n in (10**4, 10**5, 10**6, 10**8)]
    assert widths == sorted(widths, reverse=True)
    plan = dpreg.dp_plan(20_000, 4, 1.0, **asked(what))
    assert plan.works
    assert dpreg.dp_plan(plan.least_n, 4, 1.0, **asked(what)).works
    assert not dpreg.dp_plan(int(0.85 * plan.least_n), 4, 1.0, **asked(what)).works
    assert not dpreg.dp_plan(20_000, 4, 0.85 * plan.least_eps, **asked(what)).works
    for n, d, eps in itertools.product((1, 10**9), (1, 1000), (1e-9, 500.0)):
        end = dpreg.dp_plan(n, d, eps, **asked(what))
        assert 0 <= end.released <= 1
        assert 0 <= end.loss <= 1
        str(end)


def test_plans_say_what_they_are_relative_to():
    said = {name: " ".join(str(dpreg.dp_plan(10**5, 3, 1.0, family=name)).split())
            for name in ("gaussian", "binomial", "poisson", "quantile")}  # fmt: skip
    assert "times those of least squares" in said["gaussian"]
    assert "times those of maximum likelihood" in said["binomial"]
    assert "of the explained deviance" in said["poisson"]
    assert "times those of quantile regression" in said["quantile"]
    assert dpreg.dp_plan(10**5, 3, 1.0, family=dpreg.Quantile(0.9)).to_dict()["family"] == (
        "quantile 0.9"
    )


# Single runs differ by more: of Poisson fits one in ten is 30% wider than half of them.
CLOSE = {"binomial": 0.12, "quantile": 0.12, "poisson": 0.25, "moments": 0.25}


@pytest.mark.slow
@pytest.mark.parametrize("what", OTHERS)
def test_plans_of_families_agree_with_simulation_off_the_grid(what):
    """Two settings each between those of the table."""
    rng = np.random.default_rng(20260101)
    for _ in range(2):
        n = int(np.exp(rng.uniform(math.log(10_000), math.log(60_000))))
        d, eps = int(rng.choice([2, 3, 5, 10])), float(np.exp(rng.uniform(math.log(0.5), 1.2)))
        plan = dpreg.dp_plan(n, d, eps, **asked(what))
        runs = [families.simulate(n, d, eps, what, "gaussian", s) for s in range(100, 108)]
        found = np.array(runs)
        assert plan.works
        assert found[:, 2].mean() >= 0.85
        width = np.nanmedian(found[:, 1])
        assert width == pytest.approx(plan.width, rel=CLOSE[what]), (n, d, eps)


def test_a_far_quantile_has_more_noise_beside_its_error():
    """Scores are up to .9 and usually .3 where those of the median are .5 and .5."""
    plan = dpreg.dp_plan(30_000, 3, 1.0, family=dpreg.Quantile(0.9))
    ratios = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x, noise = rng.standard_normal((30_000, 3)), rng.standard_normal(30_000)
        data = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": x.sum(axis=1) + noise}
        fit = dpreg.dp_glm("y ~ a + b + c", data, 1.0, family=dpreg.Quantile(0.9), rng=seed)
        ratios.append((fit.bse.to_numpy() / fit.sampling)[1:])
    # One of the eight fits has blanks.
    assert np.isfinite(ratios).mean() > 0.85
    assert np.nanmedian(ratios) == pytest.approx(plan.width, rel=0.25)


def test_auto_takes_the_first_candidate_with_about_the_least_loss():
    for n, d, eps in [(2_000, 3, 0.5), (50_000, 20, 1.0), (10**6, 5, 3.0)]:
        losses = {m: expect(m, n, d, eps, 1e-5).loss for m in TABULATED}
        chosen = best_method(TABULATED, n, d, eps, 1e-5)
        assert losses[chosen] <= min(losses.values()) + 1e-3
        # None before it is as good.
        before = TABULATED[: TABULATED.index(chosen)]
        assert all(losses[method] > min(losses.values()) + 1e-3 for method in before)


def test_another_delta_counts_as_another_epsilon():
    near = expect("boosted_adassp", 10_000, 5, 1.0, 1e-5)
    far = expect("boosted_adassp", 10_000, 5, 1.0, 1e-9)
    assert far.width > near.width


def test_gamma_and_negative_binomial_are_planned_as_poisson_and_say_so():
    poisson = dpreg.dp_plan(10**5, 3, 1.0, family="poisson")
    assert "NegativeBinomial\n" in str(dpreg.dp_plan(10**5, 3, 1.0, family="negativebinomial"))
    for family in ("gamma", dpreg.NegativeBinomial(0.5)):
        plan = dpreg.dp_plan(10**5, 3, 1.0, family=family)
        assert (plan.width, plan.least_n) == (poisson.width, poisson.least_n)
        assert "Poisson responses" in str(plan)
        assert "maximum likelihood" in str(plan)


def test_a_probit_is_planned_as_a_logit_and_says_so():
    logit, probit = (
        dpreg.dp_plan(10**5, 3, 1.0, family="binomial", link=link) for link in ("logit", "probit")
    )
    assert (probit.width, probit.least_n) == (logit.width, logit.least_n)
    assert "Binomial, link probit" in str(probit)
    assert "link" not in str(logit)


def test_a_long_value_continues_below_itself():
    lines = str(dpreg.dp_plan(20_000, 10, 0.5, 1e-6)).splitlines()
    place = lines.index(f"{'':20}squares")
    assert lines[place - 1].startswith("  standard errors   for 100% of coefficients")
