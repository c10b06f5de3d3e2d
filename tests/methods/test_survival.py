"""`dp_survival`: its rows by definition, exact fits, what follows from a fit, and wrong use."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from types import MethodType

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from methods.tables import rows_by_hand as by_hand
from methods.tables import survivors as cohort
from unsealed import arrays_of

import dpreg
from dpreg.base.errors import ArgumentError, FormulaError
from dpreg.data.design import Design, Units
from dpreg.estimation.methods import hazards

CUTS = [0.5, 1.0, 1.5, 2.0]
LEVELS = {"arm": ["a", "b"], "site": ["u", "v"]}


def test_it_is_the_fit_of_the_table_made_by_hand(monkeypatch):
    data = cohort(3000)

    def fit():
        return dpreg.dp_survival("Surv(start, time, event) ~ x", data, 2.0, cuts=CUTS, rng=3)

    lazy, made = fit(), hazards.expanded

    def table(design, expansion, periods, rows, terms, order=None):
        edges = [0.0, *CUTS]
        records = enumerate(data[["start", "time", "event", "x"]].to_numpy())
        found = [(i, x, *row) for i, (*record, x) in records for row in by_hand(*record, edges)]
        i, x, k, exposure, y = np.array(found).T
        X = np.column_stack([x, k[:, None] == [1, 2, 3], np.log(exposure)])
        if isinstance(expansion, MethodType):
            i, k, X, y = i[y == 1], k[y == 1], X[y == 1], k[y == 1]
        units = replace(Units.from_labels(i.astype(np.int64)), most=periods * rows)
        same = arrays_of(made(design, expansion, periods, rows, terms))
        np.testing.assert_allclose(same[0], X, rtol=1e-13)
        np.testing.assert_array_equal(same[1], y)
        return Design.of(*same, terms, units)

    monkeypatch.setattr(hazards, "expanded", table)
    assert fit().to_json() == lazy.to_json()


@pytest.mark.parametrize("options", [{}, {"memory": 1e6}], ids=["held", "spilled"])
def test_where_rows_are_changes_nothing(options):
    data = cohort(20000)
    found = [dpreg.dp_survival("Surv(time, event) ~ x + C(arm)", data, 1.0, cuts=CUTS, unit="who",
                               max_rows=2, levels=LEVELS, rng=5, **each)
             for each in ({}, options)]  # fmt: skip
    assert found[0].to_json() == found[1].to_json()


@pytest.mark.parametrize("unit", [{}, {"unit": "who", "max_rows": 2}], ids=["row", "person"])
def test_containers_and_workers_change_nothing(unit, tmp_path):
    data, path = cohort(4000)[["time", "event", "x", "who"]], tmp_path / "d.parquet"
    data.to_parquet(path)
    kinds = [data, str(path), pl.from_pandas(data)]
    if find_spec("dask"):
        import dask.dataframe as dd

        kinds.append(dd.from_pandas(data, npartitions=3))
    found = {
        dpreg.dp_survival("Surv(time, event) ~ x", kind, 3.0, cuts=CUTS, rng=2, **unit).to_json()
        for kind in kinds
    }
    assert len(found) == 1


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_records_are_an_outcome(rows):
    for formula in ("Surv(time, event) ~ x", "Surv(time, event) ~ 1"):
        found = dpreg.dp_survival(formula, cohort(9)[:rows], 1.0, cuts=CUTS, rng=1)
        assert not found.released


@pytest.mark.parametrize("seed", [0, 1])
def test_many_columns_far_from_0_leave_something_for_scores(seed):
    """With bounds and without: all that scales may cost, and two matrices of few persons."""
    rng = np.random.default_rng(seed)
    columns = {f"{kind}{j}": 300 + rng.random(300) for j in range(6) for kind in "bu"}
    times = {"time": rng.exponential(1, 300), "event": np.ones(300)}
    bounds = {f"b{j}": (0.0, 1000.0) for j in range(6)}
    formula = "Surv(time, event) ~ " + " + ".join(columns)
    data = pd.DataFrame({**columns, **times})
    fit = dpreg.dp_survival(formula, data, 2.0, cuts=[0.5, 1.0], bounds=bounds, rng=seed)
    assert fit.released


def test_a_baseline_alone_has_one_curve():
    fit = dpreg.dp_survival("Surv(time, event) ~ 1", cohort(20000), 30.0, cuts=[1, 2], rng=2)
    curve = fit.predict_survival({"any": [1.0]})
    hazard = fit.baseline_hazard()["cumulative"]
    np.testing.assert_allclose(curve["survival"], np.exp(-hazard))


def exact(data, columns, cuts, start=None):
    """Return the Poisson fit of statsmodels to the rows made by hand, with times as offset."""
    records = zip(start if start is not None else [-np.inf] * len(data), data["time"],
                  data["event"], strict=True)  # fmt: skip
    edges = np.array([0.0, *cuts])
    rows = [(i, *row) for i, r in enumerate(records) for row in by_hand(*r, edges)]
    i, k, exposure, y = np.array(rows).T
    i = i.astype(int)
    exposure = exposure / 100 * np.diff(edges)[k.astype(int)]
    X = np.column_stack([np.ones(len(i)), *(c[i] for c in columns), k[:, None] == [1, 2, 3]])
    return sm.GLM(y, X, family=sm.families.Poisson(), offset=np.log(exposure)).fit()


@pytest.mark.parametrize("entry", [False, True])
def test_with_little_noise_it_is_the_exact_fit_and_near_cox(entry):
    data, cuts = cohort(8000), [0.3, 1.0, 1.4, 2.0]
    surv = "Surv(start, time, event)" if entry else "Surv(time, event)"
    fit = dpreg.dp_survival(f"{surv} ~ x + C(arm)", data, 100.0, cuts=cuts, levels=LEVELS, rng=2)
    arm = (data["arm"] == "b").to_numpy(dtype=float)
    start = data["start"].to_numpy() if entry else None
    known = exact(data, [data["x"].to_numpy(), arm], cuts, start)
    gap = (fit.estimates[:-1] - known.params) / known.bse
    assert np.abs(gap).max() < 0.5
    np.testing.assert_allclose(fit.bse.iloc[1:3], known.bse[1:3], rtol=0.15)
    cox = sm.PHReg(data["time"], np.column_stack([data["x"], arm]), data["event"],
                   entry=start).fit()  # fmt: skip
    np.testing.assert_allclose(fit.estimates[1:3], cox.params, atol=3 * cox.bse.max())


def test_strata_have_baselines_of_their_own_and_time_an_effect():
    data = cohort(30000)
    fit = dpreg.dp_survival("Surv(time, event) ~ x", data, 60.0, cuts=CUTS, strata="site",
                            time_varying=["x"], levels=LEVELS, rng=1)  # fmt: skip
    assert fit.names[:3] == ("Intercept", "x", "x:log(time)")
    assert "site[T.v]:interval[T.2]" in fit.names
    assert fit.ph_test().pvalue > 1e-3
    assert fit.ph_test().df_num == 1
    assert "Test of proportional hazards: chi2 = " in str(fit)
    new = pd.DataFrame({"x": [0.0, 0.0], "site": ["u", "v"]})
    curves = fit.predict_survival(new).pivot_table("survival", "time", "row")
    for site, level in enumerate("uv"):
        part = data[(data["site"] == level) & (data["x"].abs() < 0.2) & (data["arm"] == "a")]
        assert len(part) > 500
        truth = np.exp(-0.6 * np.exp(0.4 * site) * curves.index.to_numpy())
        mixed = (truth + truth ** np.exp(-0.7)) / 2
        np.testing.assert_allclose(curves[site], mixed, atol=0.04)
    assert list(fit.anova().index) == ["x"]


def test_an_effect_that_changes_is_found():
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, 30000)
    # The hazard ratio is 4 before 1 and 1/4 after it.
    first = rng.exponential(1 / np.where(x, 0.8, 0.2))
    later = 1 + rng.exponential(1 / np.where(x, 0.2, 0.8))
    time = np.where(first < 1, first, later)
    data = {"time": np.minimum(time, 3), "event": time < 3, "x": x.astype(float)}
    fit = dpreg.dp_survival("Surv(time, event) ~ x", data, 5.0, cuts=[0.5, 1, 2, 3],
                            time_varying="x", rng=2)  # fmt: skip
    assert fit.ph_test().pvalue < 1e-6
    assert fit.params["x:log(time)"] < -1


def test_a_budget_is_charged_once_and_the_ledger_says_what_for():
    budget = dpreg.Budget(1.0, 1e-5)
    dpreg.dp_survival("Surv(time, event) ~ x", cohort(300), 0.5, cuts=CUTS, unit="who", max_rows=2,
                      budget=budget)  # fmt: skip
    (charge,) = budget.charges
    assert charge.epsilon == 0.5
    assert "max_rows=2" in charge.unit


WRONG = [
    ({"formula": "time ~ x"}, FormulaError, "must have Surv()"),
    ({"formula": "Surv(time, event) ~ x + strata(site)"}, FormulaError, "write strata='site'"),
    ({"formula": "Surv(time, event) ~ x + frailty(who)"}, FormulaError, "write unit='person'"),
    ({"formula": "Surv(time, event) ~ x + cluster(who)"}, FormulaError, "write unit='person'"),
    ({"formula": "Surv(time, event) ~ tt(x)"}, FormulaError, "write time_varying="),
    ({"formula": "Surv(time, event) ~ ."}, FormulaError, "must name the covariates"),
    ({"formula": "Surv(time, event) ~ x | who"}, FormulaError, "effects of units are for dp_lm"),
    ({"formula": "Surv(time, event) ~ 0 + x"}, FormulaError, "baseline hazard"),
    ({"formula": "Surv(time, time) ~ x"}, FormulaError, "one column twice"),
    # It was left out, and nothing said so.
    ({"formula": "Surv(time, event) ~ x + I(event)"}, FormulaError, "in Surv() and on the right"),
    ({"formula": "Surv(time, event) ~ x + time"}, FormulaError, "in Surv() and on the right"),
    ({"cuts": [2, 1]}, ArgumentError, "increasing finite numbers"),
    ({"cuts": range(1, 500)}, ArgumentError, "at most 200"),
    ({"start": 3.0}, ArgumentError, "below the first cut"),
    ({"cuts": [0, 1]}, ArgumentError, "leave out cuts that are not above it"),
    ({"strata": "x"}, ArgumentError, "no public levels"),
    ({"strata": 3}, ArgumentError, "the name of one column"),
    ({"time_varying": ["z"]}, ArgumentError, "which has x"),
    ({"time_varying": 3}, ArgumentError, "terms of the formula"),
    # Its coefficient was -5e305, without an error.
    ({"time_varying": ["x"], "cuts": [1.0]}, ArgumentError, "one interval; give two cuts"),
    ({"max_rows": 2}, ArgumentError, "needs unit"),
    ({"unit": "who", "max_rows": 10**5}, ArgumentError, "with 4 intervals"),
    ({"bounds": {"I(time)": (0, 1)}}, ArgumentError, "not a covariate"),
    ({"bounds": {"time": (0, 1)}}, ArgumentError, "'time' is not a covariate; leave bounds out"),
    ({"frailty": "who"}, TypeError, "no such argument"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kind", "says"), WRONG, ids=lambda v: str(v)[:40])
def test_wrong_use_is_refused_before_the_charge(given, kind, says):
    budget = dpreg.Budget(1.0, 1e-5)
    asked = {"formula": "Surv(time, event) ~ x", "cuts": CUTS, "levels": LEVELS, **given}
    with pytest.raises(kind) as refusal:
        dpreg.dp_survival(data=cohort(50), eps=1.0, budget=budget, **asked)
    assert says in str(refusal.value)
    assert not budget.charges


def test_persons_of_a_rare_level_keep_their_events():
    """Their rows were longer than any limit of scores: the slope was 2 to 4 errors off."""
    off, errors = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, rare = rng.normal(size=20_000), rng.random(20_000) < 0.02
        time = rng.exponential(1 / (0.9 * np.exp(0.5 * x + 0.6 * rare)))
        end = rng.uniform(0.5, 4, 20_000)
        data = {"time": np.minimum(time, end), "event": time <= end, "x": x,
                "site": np.where(rare, "v", "u")}  # fmt: skip
        fit = dpreg.dp_survival(
            "Surv(time, event) ~ x + C(site)", data, 1.0, 1e-6, cuts=[0.5, 1.0, 1.5, 2.0, 3.0],
            levels={"site": ["u", "v"]}, rng=seed,
        )  # fmt: skip
        name = "C(site)[T.v]"
        off.append((fit.params[name] - 0.6) / fit.bse[name])
        errors.append(fit.bse[name])
    assert np.median(errors) < 0.2
    assert np.sqrt(np.mean(np.square(off))) < 1.6


def test_a_number_that_few_persons_have_is_told_or_has_no_error():
    """Noise in its score is more than all of its events: slopes of -59 had errors of 7."""
    rng = np.random.default_rng(2)
    for seed in range(6):
        x, rare = rng.normal(size=4_000), (rng.random(4_000) < 0.02).astype(float)
        time = rng.exponential(1 / (0.1 * np.exp(0.5 * x + 1.2 * rare)))
        data = {"time": time, "event": time <= 1.5, "x": x, "rare": rare}
        fit = dpreg.dp_survival(
            "Surv(time, event) ~ x + rare", data, 1.0, 1e-6, cuts=[0.3, 0.6, 1.0, 1.5], rng=seed
        )
        assert np.isnan(fit.bse["rare"]) or abs(fit.params["rare"] - 1.2) < 3 * fit.bse["rare"]
        assert abs(fit.params["x"] - 0.5) < 4 * fit.bse["x"]


def test_a_status_of_one_and_two_is_pointed_out():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(5_000)
    time, end = rng.exponential(np.exp(-0.5 * x)), rng.exponential(1, len(x))
    data = pd.DataFrame({"time": np.minimum(time, end), "status": 1 + (time <= end), "x": x})
    note = "if 2 is the event, write Surv(time, status == 2)"
    wrong, right = (
        dpreg.dp_survival(f"Surv(time, {event}) ~ x", data, 1.0, 1e-6, cuts=[0.5, 1, 2], rng=1)
        for event in ("status", "status == 2")
    )
    assert any(note in text for text in wrong.notes)
    assert not any(note in text for text in right.notes)


def test_less_depends_on_the_model_where_noise_is_cheap(monkeypatch):
    """A hazard of 1 + x is not loglinear: the slope was 7 errors above that of all follow-up."""
    rng, cuts = np.random.default_rng(0), [0.3, 1.0, 1.4, 2.0]
    x = rng.exponential(size=60_000)
    time = rng.exponential(1 / (0.3 * (1 + x)))
    data = pd.DataFrame({"time": np.minimum(time, 3), "event": (time < 3).astype(int), "x": x})
    known, off = exact(data, [x], cuts).params[1], []
    for cheap in (0.0, hazards._CHEAP):
        monkeypatch.setattr(hazards, "_CHEAP", cheap)
        fit = dpreg.dp_survival("Surv(time, event) ~ x", data, 1.0, 1e-6, cuts=cuts, rng=0)
        off.append((fit.params["x"] - known) / fit.bse["x"])
    assert off[0] > 4
    assert abs(off[1]) < off[0] / 2


def stays(n, seed):
    """Persons whose z changes at two times, a row for each value that they live to see."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), (rng.random((n, 3)) < 0.4) * 1.0
    ends = np.column_stack([np.sort(rng.uniform(0, 3, (n, 2)), axis=1), np.full(n, 9.0)])
    begins = np.column_stack([np.zeros(n), ends[:, :-1]])
    hazard = 0.9 * np.exp(0.5 * x[:, None] - 0.7 * z)
    time = begins + rng.exponential(1 / hazard)
    alive = np.cumprod(np.column_stack([np.ones(n), (time > ends)[:, :-1]]), axis=1)
    stop = np.minimum(np.minimum(time, ends), 3.2)
    person, k = np.nonzero((alive > 0) & (begins < 3.2))
    event = (time <= np.minimum(ends, 3.2))[person, k]
    return {"who": person, "start": begins[person, k], "stop": stop[person, k],
            "event": event, "x": x[person], "z": z[person, k]}  # fmt: skip


def test_a_generous_bound_on_rows_costs_little():
    """All sums but scores had noise for 30 rows a person: 13 of 15 fits had no error."""
    asked = {"cuts": [0.5, 1.0, 2.0, 3.2], "unit": "who", "rng": 1}
    data = stays(6_000, 1)
    near, far = (dpreg.dp_survival("Surv(start, stop, event) ~ x + z", data, 1.0, 1e-6,
                                   max_rows=rows, **asked) for rows in (3, 30))  # fmt: skip
    assert (far.bse[["x", "z"]] < 1.3 * near.bse[["x", "z"]]).all()
    used = "of each 'who' at most 3 rows are used; "
    assert f"{used}few have more, by noisy counts" in far.notes
    assert f"{used}a larger max_rows= costs little where few have so many" in near.notes
    alone = dpreg.dp_survival("Surv(start, stop, event) ~ x + z", data, 1.0, 1e-6, rng=1,
                              cuts=asked["cuts"])  # fmt: skip
    assert not any("rows" in note for note in alone.notes)


def test_the_first_rows_in_time_of_a_person_are_those_that_are_used():
    """Of random ones who stays longer loses more: hazard ratios of .5 and -.7 were .43 and -.61."""
    data = stays(30_000, 2)
    first = {name: cells[data["start"] == 0] for name, cells in data.items()}
    formula, asked = "Surv(start, stop, event) ~ x + z", {"cuts": [0.5, 1.0, 2.0, 3.2], "rng": 1}
    fit = dpreg.dp_survival(formula, data, 20.0, 1e-6, max_rows=1, unit="who", **asked)
    alone = dpreg.dp_survival(formula, first, 20.0, 1e-6, **asked)
    off = (fit.params - alone.params)[["x", "z"]] / alone.bse[["x", "z"]]
    assert off.abs().max() < 0.5


def test_covariates_with_a_long_tail_are_named():
    """A stranger found .55 of the intervals of one covered, and .96 of those of its logarithm."""
    rng, n = np.random.default_rng(1), 8000
    size, age = rng.gamma(2, 0.7, n) ** 1.5, rng.uniform(50, 90, n)
    time = rng.exponential(10 / (1 + np.minimum(size, 3)))
    data = {"time": np.minimum(time, 9), "died": (time < 9) * 1, "size": size, "age": age,
            "sex": rng.integers(0, 2, n)}  # fmt: skip

    def said(right):
        fit = dpreg.dp_survival(f"Surv(time, died) ~ {right}", data, 1.0, cuts=[1, 3, 9], rng=1)
        return " ".join(fit.notes)

    assert "long tails: size; " in said("size + age + sex")
    assert "try log(size)" in said("size + age + sex")
    assert "tail" not in said("np.log(size) + age + sex")
