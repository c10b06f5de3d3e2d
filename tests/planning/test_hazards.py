"""Plans of survival: arguments, what is solved for, the table, and fits."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats
from tables import survival as made

import dpreg
from dpreg.base.errors import ArgumentError
from dpreg.estimation.planning.power import exact_error, power_of
from dpreg.estimation.planning.tabulated import HazardModel, table

ALPHA = 1e-6


def plan(**given):
    return dpreg.dp_plan(**{"d": 3, "eps": 1.0, "family": "survival", **given})


def test_the_table_has_every_cell_of_the_script():
    with made.TABLE.open() as file:
        header, *rows = file.read().splitlines()
    assert header == ",".join(made.COLUMNS)
    cells = [tuple(map(float, row.split(",")[:2])) for row in rows]
    each = [events / (made.INTERVALS + made.COVARIATES) for events in made.EVENTS]
    assert cells == list(itertools.product(each, made.RATES))
    grid = table("survival", ("rate",))
    excess, released = grid.excess, grid.released
    assert excess.shape == released.shape == tuple(map(len, grid.axes))
    assert np.isfinite(excess).all()
    assert np.all(np.diff(excess, axis=0) <= 0)
    assert np.all(np.diff(released, axis=0) >= 0)


def test_events_decide_and_persons_are_those_at_the_rate():
    found = plan(events=4_000, event_rate=0.4)
    assert (found.n, found.solved) == (10_000, "effect")
    assert plan(n=10_000, event_rate=0.4) == found
    assert plan(events=4_000).event_rate == 0.5
    ratio = math.log(found.effect)
    assert power_of(ratio, found.width * exact_error(4_000, 3), found.released) == pytest.approx(
        0.8, rel=1e-9
    )
    for effect in (found.effect, 1 / found.effect):
        again = plan(events=4_000, event_rate=0.4, effect=effect)
        assert again.solved == "power"
        assert again.power == pytest.approx(0.8, rel=1e-6)
        assert again.effect == pytest.approx(found.effect)
    assert 1 < found.exact_effect < found.effect


def test_the_fewest_events_and_the_least_eps_are_enough():
    asked = {"effect": 1.15, "power": 0.8, "event_rate": 0.4}
    enough = plan(**asked)
    assert enough.solved == "n"
    assert plan(events=enough.events, effect=1.15, event_rate=0.4).power >= 0.8
    assert plan(events=enough.events - 1, effect=1.15, event_rate=0.4).power < 0.8
    least = plan(**asked, events=2 * enough.events, eps=None)
    assert least.solved == "eps"
    assert least.eps < 1
    assert plan(events=2 * enough.events, effect=1.15, event_rate=0.4, eps=least.eps).power >= 0.8


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.33, 0.95])
def test_widths_fall_with_events_and_eps(rate):
    of = HazardModel(rate=rate)
    for d in (1, 3, 40):
        for found in (
            [of.forecast(n, d, 1.0, 1e-6) for n in (3, 50, 300, 999, 5_000, 10**5, 10**9)],
            [of.forecast(2_000, d, eps, 1e-6) for eps in (0.01, 0.3, 1.0, 4.0, 50.0)],
        ):
            assert np.all(np.diff([f.width for f in found if f.width < math.inf]) <= 1e-12)
            assert np.all(np.diff([f.released for f in found]) >= -1e-12)
            assert all(f.width > 1 for f in found)


def test_beyond_the_table_noise_follows_its_law():
    of = HazardModel(rate=0.4)
    near, far = (of.forecast(n, 2, 1.0, 1e-5).width ** 2 - 1 for n in (10**5, 4 * 10**5))
    assert near / far == pytest.approx(4, rel=1e-6)


def test_a_plan_says_what_it_finds_and_is_plain_data():
    found = plan(events=4_000, event_rate=0.4)
    text = str(found)
    assert text.startswith(f"Hazard ratios of {found.effect:.3g} (or {1 / found.effect:.3g}) and")
    assert "4,000 events among 10,000 persons" in text
    assert max(map(len, text.splitlines())) <= 80
    data = json.loads(found.to_json())
    assert (data["events"], data["works"], data["family"]) == (4_000, found.works, "survival")
    assert "<pre>" in found._repr_html_()
    few = plan(events=5)
    assert few.effect is None
    assert json.loads(few.to_json())["width"] is None
    assert "No hazard ratio is detected" in str(few)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"events": 100, "n": 1000, "event_rate": 0.1}, "events"),
        ({"n": 1000}, "event_rate"),
        ({"events": 0}, "events"),
        ({"events": 100, "event_rate": 1.0}, "event_rate"),
        ({"events": 100, "effect": 1.0}, "effect"),
        ({"events": 100, "effect": -2.0}, "effect"),
        ({"effect": 1.2}, "power"),
        ({"power": 0.8}, "effect"),
        ({"eps": None, "effect": 1.2, "power": 0.8}, "eps"),
        ({"events": 100, "effect": 1.2, "power": 0.8}, "power"),
        ({"events": 100, "method": "tukey"}, "method"),
        ({"events": 100, "link": "logit"}, "link"),
        ({"events": 100, "family": "gaussian"}, "events"),
        ({"n": 100, "event_rate": 0.4, "family": "poisson"}, "event_rate"),
        ({"events": 50, "effect": 1.01, "power": 0.8, "eps": None}, "effect"),
    ],
)
def test_wrong_questions_are_refused(given, named):
    with pytest.raises(ArgumentError) as refused:
        plan(**given)
    assert refused.value.argument == named


def test_the_ratio_that_is_detected_without_privacy_is_a_ratio():
    with pytest.raises(ArgumentError, match=r"a fit without privacy detects 1\.51"):
        plan(events=50, effect=1.01, power=0.8, eps=None)
    assert math.log(1.51) == pytest.approx(2.80 * exact_error(50, 3), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "rate", "d", "intervals", "eps"), [(2_000, 0.4, 4, 6, 1.0), (1_500, 0.25, 2, 6, 3.0)]
)
def test_hazard_ratios_are_detected_as_often_as_planned(events, rate, d, intervals, eps):
    """Between the settings of the table, at widths that are right to a quarter."""
    found = plan(events=events, event_rate=rate, d=d, eps=eps, delta=made.DELTA, power=0.6)
    effects, runs, detected = np.full(d, math.log(found.effect)), 40 // d, 0
    for seed in range(100, 100 + runs):
        values, errors, _ = made.simulate(events, rate, effects, intervals, eps, seed)
        detected += int(np.nansum(np.abs(values) > 1.96 * errors))
    error = found.width * exact_error(events, d)
    ratio = math.log(found.effect)
    least = power_of(ratio, 1.25 * error, found.released)
    most = power_of(ratio, error / 1.25)
    assert stats.binom.ppf(ALPHA / 2, runs * d, least) <= detected
    assert detected <= stats.binom.isf(ALPHA / 2, runs * d, most)
