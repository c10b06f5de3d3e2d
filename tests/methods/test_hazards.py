"""How `dp_survival` comes to its coordinates: sums over events, and where scores start."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from unsealed import arrays_of, opened

import dpreg
from dpreg import _core
from dpreg.data.periods import Periods, RowsOfPeriods
from dpreg.estimation.methods import hazards
from dpreg.estimation.newton.at_root import followed
from dpreg.estimation.newton.tilted import tilted_start
from dpreg.estimation.newton.working_model import CONSTANT_LOSS
from dpreg.estimation.releases.exits import ExitCounts, ExitTable
from dpreg.estimation.releases.quantised import Recipe, ScoresByCell
from dpreg.privacy.gdp import gdp_mu

EDGES = (0.0, 1.0, 2.0, 4.0)
TIMES = (-1.0, 0.0, 0.5, 1.5, 2.0, 4.0, 9.0)
DELTA = 1e-6


def recipe(width):
    return Recipe(
        columns=np.arange(width), low=np.full(width, -np.inf), high=np.full(width, np.inf),
        centre=np.zeros(width), scale=np.ones(width), y_centre=0.0, y_scale=1.0, intercept=False,
        row_limit=50.0, loss=CONSTANT_LOSS,
    )  # fmt: skip


@pytest.mark.parametrize("entry", [False, True])
def test_rows_of_events_are_the_rows_with_an_event_and_say_in_which_cell(entry):
    starts = TIMES if entry else (-np.inf,)
    records = list(itertools.product(starts, TIMES, (0.0, 1.0, 2.0), (0.0, 1.0)))
    start, stop, event, site = np.array(records).T
    X = np.column_stack([*([start] if entry else []), event, np.arange(len(stop)), site])
    periods = Periods(edges=EDGES, covariates=("x",), strata=("s",))
    of = RowsOfPeriods(periods, entry, (1 + entry,), (2 + entry,))
    rows, response, counts = of(X, stop)
    events, cells, number = of.events(X, stop)
    np.testing.assert_array_equal(events, rows[response == 1])
    ends = np.concatenate([[0], np.cumsum(counts)])
    wanted = [response[a:b].sum() for a, b in itertools.pairwise(ends)]
    np.testing.assert_array_equal(number, wanted)
    interval = events[:, 1:3] @ [1, 2]
    np.testing.assert_array_equal(cells, interval + 3 * events[:, 3])
    assert set(cells) == set(range(6))


ODD = (0.0, -0.0, 0.5, 1.0, 2.0, 4.0, 9.0, -1.0, 5e-324, 1e308, np.inf, -np.inf, np.nan)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("entry", [False, True])
def test_what_a_record_adds_is_the_same_whichever_others_there_are(entry, weighted):
    """Bit by bit, with odd cells: the row of its event, its sums by cell and its place."""
    rng, own = np.random.default_rng(6), 1 + entry
    periods = Periods(edges=EDGES, covariates=("x",), strata=("s", "t"), varying=("x",))
    events = RowsOfPeriods(periods, entry, (own,), (own + 1, own + 2), weighted).events
    codes = np.array([0.0, 1.0, 2.0, 0.0])
    table = ExitTable(ExitCounts(np.array(EDGES), 3, codes, entry))
    width = 1 + len(periods.names)
    weight = width if weighted else None
    how = replace(
        recipe(width - 1), intercept=True, given=(width - 1,), weight=weight, most_weight=3.0
    )
    sums = ScoresByCell(how, 3.0, 9)
    for size in (1, 2, 7, 30) * 15:
        X, y = rng.choice(ODD, (size, own + 4)), rng.choice(ODD, size)
        rows, cells, counts = events(X, y)
        alone = [(X[[i]], y[[i]]) for i in range(size)]
        made = [events(*one) for one in alone]
        assert rows.tobytes() == np.concatenate([one[0] for one in made]).tobytes()
        assert cells.tolist() == [cell for one in made for cell in one[1]]
        assert counts.tolist() == [len(one[1]) for one in made]
        assert max(counts) <= 1
        for statistic, records in ((sums, [one[:2] for one in made]), (table, alone)):
            every = statistic(*((rows, cells) if statistic is sums else (X, y)))
            each = [statistic(*record) for record in records]
            np.testing.assert_array_equal(every, np.sum(each, axis=0))
            most = statistic.seal(every).sensitivity
            assert max(float(np.linalg.norm(one)) for one in each) <= most


def test_a_unit_moves_the_table_by_its_sensitivity_at_most():
    counts = ExitCounts(np.array(EDGES), 2, np.array([0.0, 1.0]), entry=True)
    statistic, largest = ExitTable(counts), 0.0
    for start, stop, event, site in itertools.product(TIMES, TIMES, (0.0, 1.0, 2.0), (0.0, 1.0)):
        X = np.array([[0.5, 1.0, 7.0, 1.0], [start, event, 1e308, site]])
        y = np.array([3.0, stop])
        both, alone = (statistic.seal(statistic(X[:k], y[:k])) for k in (2, 1))
        moved = float(np.linalg.norm((opened(both) - opened(alone)).ravel()))
        assert moved <= both.sensitivity
        largest = max(largest, moved)
    assert largest == both.sensitivity == math.sqrt(2)


def test_a_row_moves_one_of_the_sums_by_cell_by_no_more_than_a_score():
    rng = np.random.default_rng(4)
    statistic = ScoresByCell(recipe(3), 1.0, 4)
    others, cells = rng.normal(size=(5, 3)), rng.integers(0, 4, 5).astype(float)
    alone = statistic(others, cells)
    largest = 0.0
    sizes, places = (0.0, 1e-3, 0.5, 3.0, 1e9, np.nan), (-1.0, 0.0, 3.0, 3.5, 4.0, np.nan)
    for size, cell in itertools.product(sizes, places):
        row = size * rng.normal(size=3)
        both = statistic(np.vstack([row, others]), np.append(cell, cells))
        moved = both - alone
        where = np.flatnonzero(moved.any(axis=1))
        assert set(where) <= {int(cell)} if cell in range(4) else not len(where)
        largest = max(largest, float(np.linalg.norm(moved)))
    sealed = statistic.seal(alone)
    assert 0.99 * sealed.sensitivity < largest <= sealed.sensitivity
    assert not sealed.of_units


def test_the_sums_by_cell_are_half_of_the_rows():
    rng = np.random.default_rng(2)
    X, cells = rng.normal(size=(400, 2)), rng.integers(0, 3, 400).astype(float)
    sums = ScoresByCell(recipe(2), 40.0, 3)(X, cells) * 40.0 / _core.SCORE_STEPS
    wanted = np.array([X[cells == c].sum(axis=0) for c in range(3)])
    np.testing.assert_allclose(2 * sums, wanted, atol=0.2)


@pytest.mark.parametrize("slopes", [(0.0, 0.0), (0.5, -0.3), (-0.6, 0.6)])
def test_a_start_from_normal_covariates_is_near_the_truth(slopes):
    rng, n = np.random.default_rng(1), 200_000
    x = rng.normal(size=(n, 2))
    time = rng.exponential(1 / (0.4 * np.exp(x @ slopes)))
    end = rng.uniform(0.5, 4, n)
    edges, stop, event = np.arange(0.0, 4.0), np.minimum(time, end), time <= end
    counts = ExitCounts(edges, 1, np.zeros(0), entry=False)
    table = counts(event[:, None].astype(float), stop).reshape(1, 3, 3).astype(float)
    inside = event & (stop <= 3)
    place = np.ceil(stop[inside]).astype(int) - 1
    means = np.array([x[inside][place == k].mean(axis=0) for k in range(3)])
    found, log_hazards = tilted_start(table, means, np.zeros(3))
    np.testing.assert_allclose(found, slopes, atol=0.15)
    np.testing.assert_allclose(log_hazards, np.log(0.4), atol=0.1)


def cohort(n, seed):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), (rng.random(n) < 0.4).astype(float)
    time = rng.exponential(1 / (0.4 * np.exp(0.5 * x - 0.7 * z + 0.8)))
    end = rng.uniform(0.5, 4, n)
    return pd.DataFrame({"time": np.minimum(time, end), "event": (time <= end) * 1, "x": x, "z": z})


def arguments_of(name, monkeypatch):
    """What a function of `hazards` is called with from here on."""
    seen, real = [], getattr(hazards, name)

    def spy(*arguments):
        seen.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(hazards, name, spy)
    return seen


def test_moments_over_events_are_the_curvature_at_the_root(monkeypatch):
    """In the coordinates of the model the curvature of the exact fit is 1, and the root is near."""
    seen = arguments_of("scored", monkeypatch)
    dpreg.dp_survival("Surv(time, event) ~ x + z", cohort(30_000, 3), 30.0, DELTA,
                      cuts=[0.5, 1, 2, 3], time_varying="x", rng=1)  # fmt: skip
    ((begun, model, _),) = seen
    X, y = arrays_of(begun.design)
    units, given = begun.telling_units, list(begun.design.terms.given)
    standard = (X[:, units.columns] - units.centre) / units.scale
    rows = np.column_stack([np.ones(len(y)), standard]) @ model.found.change
    exact = sm.GLM(y, rows, family=sm.families.Poisson(), offset=X[:, given].sum(axis=1)).fit()
    curvature = (rows * exact.fittedvalues[:, None]).T @ rows / begun.scales.units
    np.testing.assert_allclose(curvature, np.eye(len(curvature)), atol=0.06)
    assert np.abs(exact.params - model.found.theta).max() < 0.3


def test_the_curvature_of_few_events_is_not_overestimated(monkeypatch):
    """Noise in the mean of events is in their second moments: it was thought to be their spread."""
    seen = arguments_of("scored", monkeypatch)
    rng, found = np.random.default_rng(7), []
    for seed in range(24):
        x, n = rng.normal(size=(2_000, 2)), 2_000
        time, end = rng.exponential(18 / np.exp(x @ [0.5, -0.3])), rng.uniform(0.5, 4, n)
        data = {"t": np.minimum(time, end), "e": time <= end, "x": x[:, 0], "z": x[:, 1]}
        seen.clear()
        dpreg.dp_survival("Surv(t, e) ~ x + z", data, 1.0, DELTA,
                          cuts=np.linspace(0, 3.2, 7)[1:], rng=seed)  # fmt: skip
        for begun, model, _ in seen:
            rows = x / begun.telling_units.scale[:2] @ model.found.change[1:3, :2]
            spread = np.cov(rows[data["e"] & (data["t"] <= 3.2)].T)
            found.append(np.diag(spread))
    # Over what it is: 1.3 where the noise was left in.
    assert 0.75 < np.mean(1 / np.array(found)) < 1.12


def test_scores_that_stop_have_the_curvature_of_their_second_moments(monkeypatch):
    """By differences of exact scores: long rows of x stop first, and those of z hardly do."""
    seen = arguments_of("newton_errors", monkeypatch)
    dpreg.dp_survival("Surv(time, event) ~ x + z", cohort(20_000, 3), 1.0, DELTA,
                      cuts=[0.5, 1, 2, 3], rng=1)  # fmt: skip
    ((fit, begun),) = seen
    sizes, limit, n = fit.model.found.sizes, 1.7 * fit.model.usual, begun.scales.units

    def score(theta):
        return opened(fit.rows.score(theta / sizes, limit)) * limit / _core.SCORE_STEPS / n

    root = fit.path.theta
    for _ in range(6):
        root = root + score(root) / sizes
    assert np.abs(score(root)).max() < 1e-3
    steps = 0.2 * np.eye(len(root))[:2]
    fallen = [(score(root - step) - score(root + step))[j] / 0.4 for j, step in enumerate(steps)]
    products = np.zeros((len(root),) * 2)
    products[np.triu_indices(len(root))] = opened(fit.rows.score_products(root / sizes, limit))
    products = (products + np.triu(products, 1).T) * (limit / _core.ROW_STEPS) ** 2
    known = followed(replace(fit, products=products, deviation=0.0), n)
    found = np.diag(known @ known)[:2]
    np.testing.assert_allclose(found, fallen, atol=0.04)
    assert found[0] < 0.95 < 0.97 < found[1]
    unknown = followed(replace(fit, products=products, deviation=math.inf), n)
    np.testing.assert_allclose(unknown, np.eye(len(root)), atol=1e-12)


def test_nothing_is_spent_twice_and_intervals_cost_nothing_by_themselves():
    for n, eps, cuts in ((2_000, 1.0, 4), (20_000, 1.0, 8), (20_000, 5.0, 40)):
        fit = dpreg.dp_survival("Surv(time, event) ~ x + z", cohort(n, 5), eps, DELTA,
                                cuts=np.linspace(0, 3.2, cuts + 1)[1:], rng=2)  # fmt: skip
        parts, whole = fit.privacy.parts, gdp_mu(eps, DELTA) ** 2
        spent = math.fsum(part.mu**2 for part in parts)
        assert 0.97 * whole <= spent <= whole
        counted = [part for part in parts if not part.label.startswith(("s", "m", "c"))]
        assert counted
        assert all(part.sensitivity <= 2 for part in counted)


def test_two_thousand_persons_have_intervals_that_hold():
    truth, held, wide = np.array([0.5, -0.7]), [], []
    for seed in range(30):
        fit = dpreg.dp_survival("Surv(time, event) ~ x + z", cohort(2_000, seed), 1.0, DELTA,
                                cuts=[0.5, 1, 1.5, 2, 3], rng=seed)  # fmt: skip
        error = fit.bse[["x", "z"]].to_numpy()
        held.extend(np.abs(fit.params[["x", "z"]].to_numpy() - truth) < 1.96 * error)
        wide.extend(error / [0.028, 0.055])
    assert np.isfinite(wide).all()
    assert np.median(wide) < 1.6
    assert np.mean(held) > 0.87


@pytest.mark.parametrize(("n", "rare", "ratio", "hazard", "least"), [
    (3_920, 0.02, -2.0, 0.3, 8), (20_000, 0.1, -3.0, 0.02, 0)])  # fmt: skip
def test_errors_of_persons_with_few_events_are_not_those_of_many(n, rare, ratio, hazard, least):
    """As of many, .55 and .75 of them covered; `least` of 30 have an error, and others none."""
    held, beside = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        few, x = (rng.random(n) < rare).astype(float), rng.standard_normal(n)
        died = rng.exponential(1 / (hazard * np.exp(ratio * few + 0.3 * x)))
        end = rng.uniform(0.5, 4, n)
        data = {"time": np.minimum(died, end), "event": died <= end, "few": few, "x": x}
        fit = dpreg.dp_survival("Surv(time, event) ~ few + x", data, 1.0, DELTA,
                                cuts=[1, 2, 3, 4], rng=seed)  # fmt: skip
        beside.append(fit.bse["x"])
        if np.isfinite(fit.bse["few"]):
            held.append(abs(fit.params["few"] - ratio) < 1.96 * fit.bse["few"])
    assert np.isnan(beside).sum() <= 1  # What hides the few may hide a part of x.
    assert len(held) >= least
    assert stats.binom.cdf(sum(held), len(held), 0.95) > 1e-6


def test_few_events_are_told_from_what_other_covariates_make_of_them():
    """A tenth has a hazard ratio of e^-3, and of another covariate so much more that many die."""
    n, wide = 20_000, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        tenth = (rng.random(n) < 0.1).astype(float)
        x = rng.standard_normal(n) + 3 * tenth
        died = rng.exponential(1 / (0.06 * np.exp(x - 3 * tenth)))
        end = rng.uniform(0.5, 4, n)
        data = {"time": np.minimum(died, end), "event": died <= end, "tenth": tenth, "x": x}
        fit = dpreg.dp_survival("Surv(time, event) ~ tenth + x", data, 1.0, DELTA,
                                cuts=[1, 2, 3, 4], rng=seed)  # fmt: skip
        wide.append(fit.bse["tenth"])
    assert np.median(wide) < 0.2


def test_persons_with_more_events_than_others_have_an_error():
    """As if they had as many as others, .96 of such fits had none."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        many, x = (rng.random(8_000) < 0.02).astype(float), rng.standard_normal(8_000)
        died = rng.exponential(1 / (0.1 * np.exp(2.0 * many + 0.3 * x)))
        end = rng.uniform(0.5, 4, len(x))
        data = {"time": np.minimum(died, end), "event": died <= end, "many": many, "x": x}
        fit = dpreg.dp_survival("Surv(time, event) ~ many + x", data, 1.0, DELTA,
                                cuts=[1, 2, 3, 4], rng=seed)  # fmt: skip
        assert abs(fit.params["many"] - 2.0) < 4 * fit.bse["many"]
