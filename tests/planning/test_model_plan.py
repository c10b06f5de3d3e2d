"""Plans of classes and of treatment effects: arguments, exact errors, tables, and fits."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats
from tables import classes, effect
from tables.survival import DELTA

import dpreg
from dpreg.base.errors import ArgumentError
from dpreg.estimation.planning.planned import power_curve, width_curve
from dpreg.estimation.planning.power import power_of
from dpreg.estimation.planning.tabulated import (
    EffectModel,
    MultinomialModel,
    OrdinalModel,
    table,
)

ALPHA = 1e-6
MODELS = [OrdinalModel(classes=4), MultinomialModel(classes=3), EffectModel(treated=0.3)]
OWN = {"ordinal": {"classes": 4}, "multinomial": {"classes": 3}, "effect": {"treated": 0.3}}
GRIDS = {
    "ordinal": (classes.COLUMNS, classes.EACH, classes.CLASSES),
    "multinomial": (classes.COLUMNS, classes.EACH, classes.CLASSES),
    "effect": (effect.COLUMNS, effect.EACH, effect.COVARIATES, effect.TREATED),
}


def plan(family, **given):
    return dpreg.dp_plan(**{"d": 3, "eps": 1.0, "family": family, **OWN[family], **given})


def planned(family, **given):
    """Return a plan of survival too."""
    if family == "survival":
        return dpreg.dp_plan(events=5_000, event_rate=0.4, d=3, eps=1.0, family=family, **given)
    return plan(family, n=20_000, **given)


@pytest.mark.parametrize("model", MODELS, ids=lambda of: of.name)
def test_the_tables_have_every_cell_of_their_scripts(model):
    columns, *axes = GRIDS[model.name]
    header, *rows = (effect.FOLDER / f"{model.name}_table.csv").read_text().splitlines()
    assert header == ",".join(columns)
    cells = [tuple(map(float, row.split(",")[: len(axes)])) for row in rows]
    assert cells == list(itertools.product(*axes))
    grid = table(model.name, model.axes)
    assert grid.excess.shape == grid.released.shape == tuple(map(len, grid.axes))
    assert np.isfinite(grid.excess).all()


@pytest.mark.parametrize("k", [2, 3, 5])
def test_exact_errors_are_those_of_maximum_likelihood(k):
    """Where slopes are 0; the reference is statsmodels'."""
    rng, n, errors = np.random.default_rng(k), 40_000, {}
    for family in classes.FAMILIES:
        x, y = classes.records(family, n, k, np.zeros(2), rng)
        errors[family] = classes.exact_errors(family, x, y)
    assert errors["ordinal"] == pytest.approx(OrdinalModel(classes=k).exact_error(n, 2), rel=0.03)
    assert errors["multinomial"] == pytest.approx(
        MultinomialModel(classes=k).exact_error(n, 2), rel=0.03
    )


@pytest.mark.parametrize("share", [0.1, 0.5, 0.7])
def test_exact_errors_of_effects_are_those_of_least_squares(share):
    import statsmodels.api as sm

    rng, n = np.random.default_rng(1), 20_000
    x, t = rng.standard_normal((n, 2)), rng.random(n) < share
    X = np.column_stack([np.ones(n), t, x])
    found = sm.OLS(x.sum(axis=1) + rng.standard_normal(n), X).fit().bse[1]
    assert found == pytest.approx(EffectModel(treated=share).exact_error(n, 2), rel=0.03)


@pytest.mark.parametrize("model", MODELS, ids=lambda of: of.name)
def test_power_effect_n_and_eps_are_each_found_from_the_others(model):
    found = plan(model.name, n=20_000)
    assert found.solved == "effect"
    error = found.width * model.exact_error(20_000, 3)
    assert power_of(found.effect, error, found.released) == pytest.approx(0.8, rel=1e-9)
    assert 0 < found.exact_effect < found.effect
    asked = {"effect": found.effect, "n": 20_000}
    assert plan(model.name, **asked).power == pytest.approx(0.8, rel=1e-6)
    enough = plan(model.name, effect=found.effect, power=0.79)
    assert enough.solved == "n"
    assert enough.n <= 20_000
    assert plan(model.name, effect=found.effect, n=enough.n - 1).power < 0.79
    least = plan(model.name, **asked, power=0.79, eps=None)
    assert least.solved == "eps"
    assert least.eps <= 1
    assert plan(model.name, **asked, eps=least.eps).power >= 0.79


@pytest.mark.parametrize("model", MODELS, ids=lambda of: of.name)
def test_widths_fall_with_units_and_eps_and_follow_the_law_beyond_the_table(model):
    for d in (1, 3, 40):
        for found in (
            [model.forecast(n, d, 1.0, 1e-6) for n in (3, 300, 5_000, 10**5, 10**7, 10**9)],
            [model.forecast(20_000, d, eps, 1e-6) for eps in (0.01, 0.3, 1.0, 4.0, 50.0)],
        ):
            assert np.all(np.diff([f.width for f in found if f.width < math.inf]) <= 1e-12)
            assert np.all(np.diff([f.released for f in found]) >= -1e-12)
            assert all(f.width > 1 for f in found)
    near, far = (model.forecast(n, 2, 1.0, 1e-5).width ** 2 - 1 for n in (10**6, 4 * 10**6))
    assert near / far == pytest.approx(4, rel=1e-6)


def test_groups_are_as_large_as_the_smaller_one():
    most, least = (EffectModel(treated=s).forecast(9_000, 4, 1.0, 1e-5) for s in (0.8, 0.2))
    assert (most.width, most.released) == pytest.approx((least.width, least.released))
    assert plan("effect", n=9_000, treated=None).treated == 0.5


@pytest.mark.parametrize(
    ("family", "size", "first"),
    [
        ("ordinal", "20,000 units in 4 ordered classes", "Slopes of {} (odds ratio "),
        ("multinomial", "20,000 units in 3 classes", "Slopes of {} (odds ratio "),
        ("effect", "20,000 units, 30% of them treated", "Treatment effects of {} and beyond"),
    ],
)
def test_a_plan_says_what_it_finds_and_is_plain_data(family, size, first):
    found = plan(family, n=20_000)
    text = str(found)
    assert text.startswith(first.format(f"{found.effect:.3g}"))
    assert size in text
    assert max(map(len, text.splitlines())) <= 80
    data = json.loads(found.to_json())
    assert data["family"] == family
    assert set(data) >= {"n", "effect", "power", "works", *OWN[family]}
    assert not set(data) & ({"events", "event_rate", "classes", "treated"} - set(OWN[family]))
    assert "<pre>" in found._repr_html_()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"family": "ordinal"}, "classes must be given; write classes=4"),
        ({"family": "multinomial", "classes": 1}, "classes must be an integer of at least 2"),
        ({"classes": 3}, "classes is for ordinal and multinomial"),
        ({"family": ["ordinal"]}, "family must be one of 'gaussian'.*got a list"),
        ({"family": ["ordinal"], "classes": 3}, "classes is for ordinal and multinomial"),
        ({"family": "effect", "classes": 3}, "classes is for ordinal and multinomial"),
        ({"family": "ordinal", "classes": 3, "treated": 0.5}, "treated is for effect"),
        ({"family": "survival", "events": 100, "treated": 0.5}, "treated is for effect"),
        ({"family": "effect", "treated": 1.0}, "treated must be a number greater than 0 and less"),
        ({"family": "effect", "events": 10}, "events is for survival"),
        ({"family": "ordinal", "classes": 3, "link": "probit"}, "link is not for ordinal"),
        ({"family": "effect", "method": "tukey"}, "'tukey' is not planned for effect"),
        ({"family": "effect", "effect": -0.1}, "effect must be a number greater than 0"),
    ],
)
def test_wrong_questions_are_refused(given, message):
    with pytest.raises(ArgumentError, match=message):
        dpreg.dp_plan(n=10_000, d=3, eps=1.0, **given)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "n", "d", "eps", "runs"),
    [
        (OrdinalModel(classes=3), 3_000, 4, 1.0, 10),
        (MultinomialModel(classes=3), 5_000, 4, 1.0, 10),
        (EffectModel(treated=0.4), 2_000, 3, 3.0, 40),
    ],
    ids=["ordinal", "multinomial", "effect"],
)
def test_effects_are_as_many_errors_from_0_as_planned(model, n, d, eps, runs):
    """Between the settings of the tables, at widths that are right to a quarter.

    Mean statistics of so many fits say as much as shares of detected effects of 2.5 times as many.
    """
    own = {name: getattr(model, name) for name in OWN[model.name]}
    found = plan(model.name, n=n, d=d, eps=eps, delta=DELTA, power=0.6, **own)
    results = []
    for seed in range(100, 100 + runs):
        if isinstance(model, EffectModel):
            results.append(effect.simulate(n, model.treated, d, found.effect, eps, seed)[:, None])
        else:
            slopes = np.full(d, found.effect)
            # Classes are as the baseline but for every other one, of which the first comes first.
            results.append(classes.simulate(model.name, n, model.classes, slopes, eps, seed)[:, :d])
    values, errors, _ = np.concatenate(results, axis=1)
    z = (values / errors)[np.isfinite(errors)]
    planned = found.effect / (found.width * model.exact_error(n, d))
    reach = stats.norm.isf(ALPHA / 2) / math.sqrt(z.size)
    assert 0 < planned / 1.25 - reach < z.mean() < 1.25 * planned + reach
    assert z.size >= stats.binom.ppf(ALPHA, values.size, found.released)


@pytest.mark.parametrize("family", ["survival", *OWN])
def test_curves_go_through_the_plan(family):
    found = planned(family)
    epsilons, widths = width_curve(found)
    assert np.interp(0.0, np.log(epsilons), widths) == pytest.approx(found.width, rel=0.02)
    effects, powers, exact = power_curve(found)
    assert effects[0] == (family == "survival")  # a hazard ratio of 1
    assert np.interp(found.effect, effects, powers) == pytest.approx(0.8, abs=0.005)
    assert np.interp(found.exact_effect, effects, exact) == pytest.approx(0.8, abs=0.005)


@pytest.mark.parametrize("family", ["survival", *OWN])
def test_plans_are_drawn(family):
    pytest.importorskip("matplotlib")
    found = planned(family)
    axes = found.plot()
    assert axes.get_title(loc="left") == found.title
    assert found.model.exact in axes.get_ylabel()
    axes = found.plot(of="power")
    point = axes.lines[-1]
    assert point.get_xydata().tolist() == [[found.effect, found.power]]
    assert axes.get_xlabel() == found.model.of_effects
    with pytest.raises(ArgumentError, match="width"):
        found.plot(of="loss")


def test_a_hazard_ratio_below_1_is_drawn_as_its_inverse():
    pytest.importorskip("matplotlib")
    below, above = (planned("survival", effect=effect) for effect in (0.9, 1 / 0.9))
    drawn = [found.plot(of="power").lines[-1].get_xydata() for found in (below, above)]
    np.testing.assert_allclose(*drawn)
