"""Concordance of groups and cuts between events, of what dp_curve released."""

from __future__ import annotations

import numpy as np
import pytest
from methods.tables import trial

import dpreg
from dpreg.estimation.inference.noisy_tests import concordance

LEVELS = {"arm": ["a", "b"]}
# So large that noise is 0, but for a probability of 1e-170.
EXACT = 400.0


def test_without_noise_concordance_is_that_of_all_pairs():
    data = trial(300, ratio=1.7)
    curve = dpreg.dp_curve("Surv(time, event) ~ arm", data, EXACT, cuts=range(1, 13),
                           levels=LEVELS)  # fmt: skip
    time = data["time"].to_numpy()
    late = time > 12
    event = (data["event"].to_numpy() == 1) & ~late
    place = np.minimum(np.ceil(time), 12)
    at_end = late | (~event & (time == place))
    pair = event[:, None] & ((place > place[:, None]) | ((place == place[:, None]) & at_end))
    risk = (data["arm"] == "b").to_numpy().astype(int)
    order = (np.sign(risk[:, None] - risk) + 1) / 2
    found = curve.concordance()
    assert found.estimate == pytest.approx(order[pair].mean(), abs=1e-12)
    assert found.lower < found.estimate < found.upper


def test_derivatives_of_concordance_are_those_by_differences():
    exits = np.random.default_rng(1).integers(200, 900, (3, 4, 3))
    variance = 2.0
    value, error = concordance(exits, variance)
    total = 0.0
    for at in np.ndindex(exits.shape):
        more, less = exits.copy(), exits.copy()
        more[at] += 1
        less[at] -= 1
        slope = (concordance(more, variance)[0] - concordance(less, variance)[0]) / 2
        total += slope**2 * (exits[at] + variance)
    assert 0 < value < 1
    assert error == pytest.approx(np.sqrt(total), rel=1e-4)
    assert np.isnan(concordance(exits // 900, 1e6)).all()


def test_concordance_limits_hold_sampling_and_noise():
    truth, held = 0.5, 0
    for seed in range(60):
        data = trial(1500, seed=100 + seed, ratio=1.0)
        curve = dpreg.dp_curve("Surv(time, event) ~ arm", data, 1.0, cuts=range(1, 13),
                               levels=LEVELS, rng=seed)  # fmt: skip
        found = curve.concordance()
        held += found.lower < truth < found.upper
    assert held >= 52


def test_event_cuts_divide_events_evenly_and_without_events_the_grid():
    grid = np.arange(1, 13)
    events = np.repeat(grid, np.where(grid % 3 == 0, 97, 2))
    data = {"time": [*events, 12.0], "event": np.append(np.ones(len(events)), 0.0)}
    curve = dpreg.dp_curve("Surv(time, event) ~ 1", data, EXACT, cuts=grid)
    assert curve.event_cuts(4) == [3, 6, 9, 12]
    assert curve.event_cuts(1) == [12]
    assert curve.event_cuts(10**12)[-1] == 12
    assert dpreg.DPCurve.from_json(curve.to_json()).event_cuts(2) == curve.event_cuts(2)
    none = {"time": np.full(50, 12.0), "event": np.zeros(50)}
    curve = dpreg.dp_curve("Surv(time, event) ~ 1", none, EXACT, cuts=grid)
    assert curve.event_cuts(3) == [4, 8, 12]
    one = {"time": np.full(500, 2.5), "event": np.ones(500)}
    curve = dpreg.dp_curve("Surv(time, event) ~ 1", one, EXACT, cuts=grid)
    assert curve.event_cuts(4) == [3, 12]


def test_event_cuts_of_a_share_of_the_budget_are_cuts_of_a_fit():
    budget, data = dpreg.Budget(1.0, 1e-6), trial(4000)
    curve = dpreg.dp_curve("Surv(time, event) ~ 1", data, 0.1, cuts=range(1, 13), budget=budget)
    cuts = curve.event_cuts(4)
    dpreg.dp_survival("Surv(time, event) ~ 1", data, 0.9, 1e-6, cuts=cuts, budget=budget)
    assert budget.spent == pytest.approx((1.0, 1e-6))
