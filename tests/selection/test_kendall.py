"""DPKendall as a selector: what it spends, what it finds, and rounds that share a budget."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from laws import hockey_stick
from oracles import exponential_choice

import dpreg
from dpreg import _core
from dpreg.estimation.selection.base import plan_rounds


def frame(n=4000, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 6))
    data = pd.DataFrame(x, columns=list("abcdef"))
    return data.assign(copy=data["a"], y=3 * x[:, 0] + 2 * x[:, 1] + rng.standard_normal(n))


def test_finds_columns_and_passes_over_copies():
    for seed in range(20):
        found = dpreg.dp_select("y ~ .", frame(), 2, 4.0, rng=seed)
        assert found.ordered
        assert found.selected[0] in ("a", "copy")
        assert found.selected[1] == "b"


def test_monotone_transforms_change_nothing():
    data = frame()
    other = data.assign(a=np.exp(data["a"]), y=data["y"] ** 3)
    for seed in range(5):
        chosen = [dpreg.dp_select("y ~ .", d, 3, 0.5, rng=seed).selected for d in (data, other)]
        assert chosen[0] == chosen[1]


@pytest.mark.parametrize(("ranges", "first", "later"), [("tight", 2.5, 5), ("published", 3, 6)])
def test_noise_that_is_reported(ranges, first, later):
    found = dpreg.dp_select("y ~ .", frame(), 2, 0.4, method=dpreg.DPKendall(ranges=ranges))
    one, more = found.privacy.parts
    assert (one.epsilon, one.sensitivity, one.scale) == pytest.approx((0.2, 1.5, first / 0.2))
    assert (more.epsilon, more.sensitivity, more.scale) == pytest.approx((0.2, 2.5, later / 0.2))
    assert f"scale {first / 0.2:.4g}" in one.noise
    assert f"scale {later / 0.2:.4g}" in more.noise
    assert found.clarity.scale == pytest.approx(later / 0.2)


@pytest.mark.parametrize("options", [{"share": 0.0}, {"share": 1.0}, {"ranges": "wide"}])
def test_wrong_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        dpreg.DPKendall(**options)


def test_a_person_of_many_rows_gives_no_more_than_are_paid_for(monkeypatch):
    """Grey box: of 41 rows of one person 3 reach the choice, and its noise is 3 times as large."""
    data = frame()
    data["person"] = np.maximum(np.arange(len(data)) - 40, 0)
    seen = []
    inner = _core.dp_kendall

    def spy(X, y, **options):
        seen.append((len(y), options["first_range"], options["later_range"]))
        return inner(X, y, **options)

    monkeypatch.setattr(_core, "dp_kendall", spy)
    one = dpreg.dp_select("y ~ a + b", data, 2, 1.0)
    found = dpreg.dp_select(
        "y ~ a + b", data, 2, 1.0, unit="person", method=dpreg.DPKendall(max_rows=3)
    )
    assert seen == [(len(data), 2.5, 5.0), (len(data) - 38, 7.5, 15.0)]
    for part, of_rows in zip(found.privacy.parts, one.privacy.parts, strict=True):
        assert part.scale == 3 * of_rows.scale
        assert part.sensitivity == 3 * of_rows.sensitivity
    assert found.privacy.unit == "all rows of one 'person'"


@pytest.mark.parametrize("k", [1, 2, 10, 100, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_rounds_stay_within_the_budget(k, epsilon):
    basic = plan_rounds(epsilon, 0.0, k)
    assert (basic.epsilon, basic.composition, basic.delta) == (epsilon / k, "basic", 0)
    for delta in (1e-9, 1e-5):
        plan = plan_rounds(epsilon, delta, k)
        assert plan.epsilon >= epsilon / k
        if plan.composition != "basic":
            rho = k * plan.epsilon**2 / 8
            alphas = 1 + np.logspace(-6, 6, 100_000)
            log_delta = ((alphas - 1) * (alphas * rho - epsilon) + alphas * np.log1p(-1 / alphas)
                         - np.log(alphas - 1))  # fmt: skip
            assert math.exp(log_delta.min()) <= delta * (1 + 1e-6)
    assert plan_rounds(epsilon, 1e-5, 1000).composition == "zero-concentrated"


def test_composed_choices_keep_epsilon_and_delta():
    """60 rounds on the worst pair of two candidates, by their exact binomial law."""
    from scipy.stats import binom

    k, epsilon, delta = 60, 2.0, 1e-4
    plan = plan_rounds(epsilon, delta, k)
    assert plan.composition == "zero-concentrated"
    for start in np.linspace(-4, 4, 81):
        p, q = (exponential_choice([start + move, 0.0], 1.0, plan.epsilon)[0] for move in (0, 1))
        counts = np.arange(k + 1)
        laws = binom.pmf(counts, k, p), binom.pmf(counts, k, q)
        assert max(hockey_stick(*laws, epsilon), hockey_stick(*laws[::-1], epsilon)) <= delta
