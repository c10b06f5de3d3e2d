"""`dp_curve`: Kaplan and Meier's curve without noise, and limits that hold with it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from methods.tables import trial
from scipy import integrate, stats
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

import dpreg
from dpreg.base.errors import BudgetError
from dpreg.estimation.inference.life_table import _increment, _slopes, monotone

LEVELS = {"arm": ["a", "b"]}
# So large that noise is 0, but for a probability of 1e-170.
EXACT = 400.0


@pytest.mark.parametrize("entry", [False, True])
def test_without_noise_it_is_kaplan_meier_where_cuts_are_all_times(entry):
    data = trial(600, whole=True)
    data = data[data["start"] < data["time"]]
    surv = "Surv(start, time, event)" if entry else "Surv(time, event)"
    table = dpreg.dp_curve(f"{surv} ~ arm", data, EXACT, cuts=range(1, 13), levels=LEVELS).tidy()
    for arm in "ab":
        part, mine = data[data["arm"] == arm], table[table["group"] == f"arm={arm}"]
        known = SurvfuncRight(part["time"], part["event"],
                              entry=part["start"] if entry else None)  # fmt: skip
        at = np.isin(np.arange(1, 13), known.surv_times)
        known_at = np.isin(known.surv_times, mine["time"][mine["survival"].notna()])
        mine = mine[at & mine["survival"].notna()]
        assert known_at.sum() >= 8
        np.testing.assert_array_equal(mine["events"], known.n_events[known_at])
        np.testing.assert_array_equal(mine["at_risk"], known.n_risk[known_at])
        np.testing.assert_allclose(mine["survival"], known.surv_prob[known_at], rtol=1e-9)
        np.testing.assert_allclose(mine["std err"], known.surv_prob_se[known_at], rtol=1e-6)


@pytest.mark.parametrize("ratio", [1.0, 1.3])
def test_without_noise_the_log_rank_test_is_that_of_statsmodels(ratio):
    data = trial(400, seed=3, ratio=ratio, whole=True)
    curve = dpreg.dp_curve("Surv(time, event) ~ arm", data, EXACT, cuts=range(1, 13), levels=LEVELS)
    statistic, pvalue = survdiff(data["time"], data["event"], data["arm"])
    found = curve.logrank()
    assert (found.statistic, found.pvalue) == pytest.approx((statistic, pvalue), rel=1e-6)
    assert found.df == 1


def test_three_groups_are_tested_together():
    data = trial(900, whole=True).assign(arm=lambda d: np.array(list("abc"))[np.arange(900) % 3])
    curve = dpreg.dp_curve("Surv(time, event) ~ arm", data, EXACT, cuts=range(1, 13),
                           levels={"arm": ["a", "b", "c"]})  # fmt: skip
    statistic, pvalue = survdiff(data["time"], data["event"], data["arm"])
    found = curve.logrank()
    assert (found.statistic, found.pvalue, found.df) == pytest.approx((statistic, pvalue, 2))


def test_persons_censored_inside_an_interval_count_about_half():
    data = {"t": np.r_[np.full(40, 0.5), np.full(30, 0.7), np.full(30, 5.0)],
            "e": np.r_[np.ones(40), np.zeros(60)]}  # fmt: skip
    row = dpreg.dp_curve("Surv(t, e) ~ 1", data, EXACT, cuts=[1.0]).tidy().iloc[0]
    assert row["survival"] == pytest.approx(1 - 40 / (100 - 15), abs=0.03)
    assert (row["at_risk"], row["events"], row["censored"]) == (100, 40, 60)


@pytest.mark.parametrize("hazard", [0.01, 0.5, 2.0])
@pytest.mark.parametrize("share", [0.01, 0.6, 1.0])
def test_the_increment_of_the_hazard_is_that_of_even_censoring(hazard, share):
    """Against integrals: events at a constant hazard, a share of persons to be censored evenly."""
    d, _ = integrate.quad(lambda s: hazard * np.exp(-hazard * s) * (1 - share * s), 0, 1)
    c, _ = integrate.quad(lambda s: share * np.exp(-hazard * s), 0, 1)
    found = _increment(np.array([d]), np.array([c]))
    assert found[0] == pytest.approx(hazard, rel=1e-9)
    by_event, by_censored = _slopes(found, np.array([c]))
    for k, slope in enumerate((by_event, by_censored)):
        h = np.eye(2)[k] * 1e-6
        up, down = (_increment(np.array([d + s * h[0]]), np.array([c + s * h[1]])) for s in (1, -1))
        assert slope[0] == pytest.approx((up - down)[0] / 2e-6, rel=1e-4)


def test_means_and_quantiles_are_those_of_constant_hazards_between_the_cuts():
    curve = dpreg.dp_curve("Surv(time, event) ~ arm", trial(4000), EXACT, levels=LEVELS,
                           cuts=[2, 3, 5, 8, 10])  # fmt: skip
    table = curve.tidy()
    for group in curve.groups:
        hazard = -np.log(np.r_[1.0, table[table["group"] == group]["survival"]])
        edges = np.array([0.0, 2, 3, 5, 8, 10])
        line = lambda t, s=hazard, e=edges: np.exp(-np.interp(t, e, s))  # noqa: E731
        for until in (1.5, 3.0, 6.0, 10.0):
            wanted, _ = integrate.quad(line, 0, until, points=edges[1:-1], limit=200)
            assert curve.rmst(until)["rmst"][group] == pytest.approx(wanted, rel=1e-6)
        assert line(curve.quantile(0.3)["time"][group]) == pytest.approx(0.7)
    assert np.isnan(curve.quantile(0.99)["time"]["arm=a"])


def test_the_standard_error_of_a_mean_is_that_of_its_runs():
    """400 curves: within 5 standard errors of a standard deviation, 1 / sqrt(800)."""
    means, errors = [], []
    for seed in range(200):
        curve = dpreg.dp_curve("Surv(time, event) ~ 1", trial(300, seed), 0.5, rng=seed,
                               cuts=[1, 2, 4, 6, 8])  # fmt: skip
        found = curve.rmst(6.0).iloc[0]
        means.append(found["rmst"])
        errors.append(found["std err"])
    assert np.mean(errors) == pytest.approx(np.std(means), rel=5 / np.sqrt(400))


def test_noise_widens_limits_by_its_part():
    """At eps = 0.05 the noise of 1,000 persons is more than their sampling error."""
    widths = {}
    for eps in (0.05, EXACT):
        table = dpreg.dp_curve("Surv(time, event) ~ 1", trial(1000), eps, cuts=[2.0, 4.0], rng=2
                               ).tidy()  # fmt: skip
        widths[eps] = table["std err"].iloc[0]
    d, m, v = 300, 950, 2 / 0.05**2
    assert widths[0.05] > 1.5 * widths[EXACT]
    assert widths[0.05] < 3 * np.sqrt(widths[EXACT] ** 2 + v / m**2 * (1 + (d / m) ** 2))


def test_curves_fall_whatever_the_noise():
    for seed in range(20):
        curve = dpreg.dp_curve("Surv(time, event) ~ 1", trial(200), 0.3, cuts=range(1, 13),
                               rng=seed)  # fmt: skip
        table = curve.tidy()
        for column in ("survival", "lower", "upper"):
            values = table[column].dropna().to_numpy()
            assert (np.diff(np.r_[1.0, values]) <= 1e-12).all()
            assert (values >= 0).all()
        known = table.dropna()
        assert (known["lower"] <= known["survival"]).all()
        assert (known["survival"] <= known["upper"]).all()


def test_an_interval_that_the_last_person_does_not_outlive_changes_none_before():
    """It was taken for an increment below 0: survival of 686 persons was .42, for .32."""
    data = {"time": np.repeat([0.5, 1.5, 2.5], [10, 9, 1]), "event": np.repeat([1, 0, 1, 0], 5)}
    data["event"][-1] = 0
    short, long = (dpreg.dp_curve("Surv(time, event) ~ 1", data, 400.0, cuts=cuts, rng=1).tidy()
                   for cuts in ([1.0, 2.0], [1.0, 2.0, 3.0]))  # fmt: skip
    np.testing.assert_allclose(long["survival"], [*short["survival"], short["survival"].iloc[1]])


def test_the_nearest_rising_values():
    """Against the definition: no rising sequence is nearer."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        values = rng.standard_normal(6)
        found = monotone(values)
        assert (np.diff(found) >= 0).all()
        assert (found >= 0).all()
        for _ in range(20):
            other = np.sort(np.abs(rng.standard_normal(6)))
            assert ((found - values) ** 2).sum() <= ((other - values) ** 2).sum() + 1e-12
    assert monotone(np.array([1.0, 0.5, np.nan]))[:2].tolist() == [0.75, 0.75]


def test_limits_hold_at_small_numbers_of_events():
    """100 data sets of 2,000 persons with about 4% events: 1,000 limits, at 95%."""
    cuts, held = np.arange(1, 6), []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        days, lost = rng.exponential(80, 2000), rng.uniform(2, 8, 2000)
        data = {"t": np.minimum(days, lost), "e": days <= lost}
        table = dpreg.dp_curve("Surv(t, e) ~ 1", data, 1.0, cuts=cuts, rng=seed).tidy()
        true = np.exp(-cuts / 80)
        held += ((table["lower"] <= true) & (true <= table["upper"])).tolist()
    # Limits of one data set are correlated: as if there were 150.
    assert stats.binom.cdf(np.mean(held) * 150, 150, 0.95) > 1e-3
    assert np.mean(held) < 0.995


def test_few_persons_or_none_are_a_result_too():
    for n in (0, 1, 12):
        curve = dpreg.dp_curve("Surv(time, event) ~ arm", trial(600).head(n), 1.0, cuts=[1, 5],
                               levels=LEVELS, rng=1)  # fmt: skip
        table = curve.tidy(simultaneous=True)
        assert table["survival"].isna().all()
        assert (table["lower"] == 0).all()
        assert (table["upper"] == 1).all()
        assert np.isnan(curve.logrank().pvalue)
        assert curve.rmst()["rmst"].isna().all()
        assert "n/a" in str(curve)


def test_simultaneous_bands_are_wider_and_contain_the_others():
    curve = dpreg.dp_curve("Surv(time, event) ~ 1", trial(3000), 1.0, cuts=range(1, 11), rng=1)
    point, band = curve.tidy(), curve.tidy(simultaneous=True)
    assert (band["lower"] < point["lower"]).all()
    assert (band["upper"] > point["upper"]).all()


CONTAINERS = {
    "pandas": lambda d: d,
    "polars": pl.from_pandas,
    "lazy": lambda d: pl.from_pandas(d).lazy(),
    "arrow": pa.Table.from_pandas,
    "dict": lambda d: {name: d[name].to_numpy() for name in d.columns},
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_person_more_moves_one_number_by_one_in_every_container(container):
    """Of either arm, of none, incomplete or impossible: and the shape stays."""
    base = trial(50)
    more = [
        {"time": 2.0, "event": 1, "arm": "a"}, {"time": 99.0, "event": 0, "arm": "b"},
        {"time": 2.0, "event": 1, "arm": "c"}, {"time": np.nan, "event": 1, "arm": "a"},
        {"time": -1.0, "event": 0, "arm": "a"}, {"time": 2.0, "event": 7, "arm": "a"},
        {"time": np.inf, "event": 0, "arm": "a"},
    ]  # fmt: skip
    call = {"cuts": [2, 5], "levels": LEVELS, "rng": 4}
    put = CONTAINERS[container]

    def table(data):
        return dpreg.dp_curve("Surv(time, event) ~ arm", put(data), 1.0, **call).exits

    before = table(base)
    moved = [
        np.abs(table(pd.concat([base, pd.DataFrame([row])], ignore_index=True)) - before).sum()
        for row in more
    ]
    assert moved == [1, 1, 0, 0, 0, 0, 0]


def test_files_and_partitions_give_the_same_table(tmp_path):
    data = trial(300)
    data.to_parquet(tmp_path / "d.parquet")
    call = {"cuts": [2, 5], "levels": LEVELS, "rng": 4}
    found = [dpreg.dp_curve("Surv(time, event) ~ arm", d, 1.0, **call).to_json()
             for d in (data, tmp_path / "d.parquet", str(tmp_path / "*.parquet"))]  # fmt: skip
    assert len(set(found)) == 1


def test_a_unit_gives_one_row_and_more_if_asked_for():
    data = trial(200)
    call = {"cuts": [3, 6], "unit": "who"}
    one = dpreg.dp_curve("Surv(time, event) ~ 1", data, EXACT, **call)
    two = dpreg.dp_curve("Surv(time, event) ~ 1", data, EXACT, max_rows=2, **call)
    assert one.nobs == 100
    assert two.nobs == 200
    assert one.privacy.unit == "all rows of one 'who'"
    assert "of each 'who' at most 2 rows are used" in str(two)


def test_groups_are_combinations_of_levels_in_the_order_of_the_formula():
    data = trial(400).assign(sex=np.array(["f", "m", "m", "m"])[np.arange(400) % 4])
    levels = {**LEVELS, "sex": ["m", "f"]}
    curve = dpreg.dp_curve("Surv(time, event) ~ arm + sex", data, EXACT, cuts=[99.0], levels=levels)
    assert curve.groups == ("arm=a, sex=m", "arm=a, sex=f", "arm=b, sex=m", "arm=b, sex=f")
    wanted = [((data["arm"] == a) & (data["sex"] == s)).sum() for a in "ab" for s in "mf"]
    assert curve.exits.sum(axis=(1, 2)).tolist() == wanted
    spelled = "Surv(time, event == 1) ~ C(arm, levels=['a', 'b'])"
    again = dpreg.dp_curve(spelled, data, EXACT, cuts=[2.0])
    assert again.groups == ("arm=a", "arm=b")


def test_a_start_is_that_of_survfit():
    """Conditional on survival up to it, by definition from those who are left."""
    data = trial(800)
    later = dpreg.dp_curve("Surv(time, event) ~ 1", data, EXACT, start=3.0, cuts=[4, 6]).tidy()
    left = data[data["time"] > 3].assign(time=lambda d: d["time"] - 3)
    wanted = dpreg.dp_curve("Surv(time, event) ~ 1", left, EXACT, cuts=[1, 3]).tidy()
    np.testing.assert_allclose(later["survival"], wanted["survival"])


def test_strata_of_a_budget_are_curves_of_their_rows():
    data = trial(400)
    budget = dpreg.Budget(EXACT)
    parts = budget.partition("arm", ["a", "b"])
    for arm in "ab":
        curve = dpreg.dp_curve("Surv(time, event) ~ 1", data, EXACT, cuts=[4.0], budget=parts[arm])
        assert curve.nobs == (data["arm"] == arm).sum()
    assert budget.spent[0] == EXACT


def test_everything_comes_back_from_json():
    for surv in ("Surv(time, event)", "Surv(start, time, event)"):
        data = trial(300)
        data = data[data["start"] < data["time"]]
        curve = dpreg.dp_curve(f"{surv} ~ arm", data, 1.0, cuts=[2, 5], levels=LEVELS, rng=1)
        again = dpreg.DPCurve.from_json(curve.to_json())
        assert again.to_json() == curve.to_json()
        pd.testing.assert_frame_equal(again.tidy(), curve.tidy())
    document = json.loads(curve.to_json())
    wrong = [
        {"edges": [0, 5, 2]}, {"exits": document["exits"][:1]}, {"variances": [1]}, {"groups": []},
        {"dpreg_curve": 9}, {"entries": [[[1]]]}, {"variances": [-1, 0]},
    ]  # fmt: skip
    for change in wrong:
        with pytest.raises(ValueError, match="this is not a curve of format 1"):
            dpreg.DPCurve.from_json(json.dumps({**document, **change}))


def test_the_certificate_and_the_budget_say_what_it_cost():
    budget = dpreg.Budget(1.0)
    curve = dpreg.dp_curve("Surv(time, event) ~ 1", trial(100), 0.4, cuts=[2], budget=budget)
    assert budget.spent == (0.4, 0.0)
    assert (curve.privacy.epsilon, curve.privacy.delta) == (0.4, 0.0)
    assert curve.privacy.claim.startswith("0.4-differentially private for the addition or removal")
    with pytest.raises(BudgetError):
        dpreg.dp_curve("Surv(time, event) ~ 1", trial(100), 0.7, cuts=[2], budget=budget)


def test_an_event_of_2_is_noticed_from_what_was_released():
    data = trial(2000)
    lung = data.assign(status=data["event"] + 1)
    note = "if 2 is the event, write Surv(time, status == 2)"
    wrong = dpreg.dp_curve("Surv(time, status) ~ 1", lung, 1.0, cuts=[3, 6], rng=1)
    assert any(note in text for text in wrong.notes)
    right = dpreg.dp_curve("Surv(time, status == 2) ~ 1", lung, 1.0, cuts=[3, 6], rng=1)
    assert not any(note in text for text in right.notes)
    same = dpreg.dp_curve("Surv(time, event) ~ 1", data, 1.0, cuts=[3, 6], rng=1)
    assert (right.exits == same.exits).all()


def test_it_is_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    curve = dpreg.dp_curve("Surv(time, event) ~ arm", trial(900), 1.0, cuts=range(1, 11),
                           levels=LEVELS, rng=1)  # fmt: skip
    ax = curve.plot()
    assert [line.get_label() for line in ax.lines] == ["arm=a", "arm=b"]
    np.testing.assert_allclose(ax.lines[0].get_ydata()[1:], curve.tidy()["survival"][:10])
    assert "simultaneous 95% bands" in ax.get_xlabel()


def test_a_group_that_is_nowhere_estimable_has_no_band():
    pytest.importorskip("matplotlib").use("Agg")
    data = trial(900)
    data["arm"] = np.where(np.arange(900) < 4, "c", data["arm"])
    levels = {"arm": ["a", "b", "c"]}
    curve = dpreg.dp_curve("Surv(time, event) ~ arm", data, 1.0, cuts=range(1, 11),
                           levels=levels, rng=1)  # fmt: skip
    assert curve.tidy()["survival"][20:].isna().all()
    ax = curve.plot()
    assert ax.lines[2].get_label() == "arm=c: not estimable at this eps"
    assert len(ax.collections) == 2
