"""`dp_select` and `dp_lm(select=...)`: one budget, every method, wrong input."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpreg

pytestmark = pytest.mark.usefixtures("coarse_losses")

DATA = Path(__file__).parents[2] / "shared" / "data"
NAMES = ["a", "b", "c", "d", "e", "f"]
BOUNDS = {**dict.fromkeys(NAMES, (-4.0, 4.0)), "y": (-20.0, 20.0)}
SELECTORS = {
    "kendall": dpreg.DPKendall(),
    "kendall, published": dpreg.DPKendall(ranges="published"),
    "two_stage": dpreg.TwoStage(),
    "two_stage, independent": dpreg.TwoStage(partition="independent"),
    "sub_lasso": dpreg.SubLasso(),
    "sis": dpreg.DPSIS(),
    "sis, gumbel": dpreg.DPSIS(noise="gumbel", gamma=0.0),
    "sis, peel": dpreg.DPSIS(top_k="peel"),
}
METHODS = ["tukey", "adassp", "boosted_adassp", "dpsgd"]
every_selector = pytest.mark.parametrize("selector", list(SELECTORS.values()), ids=list(SELECTORS))


def bounds_for(selector):
    """Those of all columns, if it uses any."""
    return BOUNDS if selector.uses_bounds else None


def frame(n=30_000, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 6))
    y = 3 * x[:, 0] - 2 * x[:, 1] + rng.standard_normal(n)
    return pd.DataFrame(x, columns=NAMES).assign(y=y)


# -- dp_select ---------------------------------------------------------------------------


def test_one_budget_is_charged_and_can_refuse():
    budget = dpreg.Budget(eps=1.0, delta=1e-5)
    dpreg.dp_select("y ~ .", frame(100), 2, 0.75, budget=budget)
    assert budget.remaining == (0.25, 1e-5)
    with pytest.raises(dpreg.BudgetError):
        dpreg.dp_select("y ~ .", frame(100), 2, 0.75, budget=budget)
    with pytest.raises(dpreg.BudgetError):
        dpreg.dp_lm("y ~ .", frame(100), 0.3, 1e-6, select="kendall", k=2, budget=budget)
    assert budget.remaining == (0.25, 1e-5)


@every_selector
def test_seeded_choices_repeat_and_say_so(selector):
    how = {"method": selector, "bounds": bounds_for(selector)}
    a, b = (dpreg.dp_select("y ~ .", frame(300), 3, 0.5, **how, rng=5) for _ in range(2))
    assert a == b
    assert "NOT PRIVATE" in str(a)
    fresh = dpreg.dp_select("y ~ .", frame(300), 3, 0.5, **how)
    assert "0.5-differentially private" in str(fresh)
    assert sum(p.epsilon for p in fresh.privacy.parts) == pytest.approx(0.5, rel=1e-12)


def odd_frames():
    rng = np.random.default_rng(1)
    good = frame(60)
    yield "empty", good.iloc[:0]
    yield "one row", good.iloc[:1]
    yield "two rows", good.iloc[:2]
    yield "constant columns", good.assign(a=1.0, b=0.0, c=-0.0, d=1e308, e=5e-324, f=-7)
    yield "constant response", good.assign(y=3.0)
    yield "a column of NaN", good.assign(a=np.nan)
    yield "all NaN", good * np.nan
    yield "some NaN", good.mask(rng.random(good.shape) < 0.2)
    yield "infinite", good.assign(a=np.inf, b=-np.inf)
    yield "huge", good * 1e308
    yield "tiny", good * 5e-324
    yield "copies", good.assign(**dict.fromkeys(NAMES[1:], good["a"]))


@every_selector
@pytest.mark.parametrize(
    ("name", "data"), list(odd_frames()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_odd_data_end_in_a_valid_choice(selector, name, data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (1, 3, 6):
            found = dpreg.dp_select("y ~ .", data, k, 0.5, method=selector,
                                    bounds=bounds_for(selector))  # fmt: skip
            assert len(set(found.selected)) == k
            assert set(found.selected) <= set(NAMES)
            assert dpreg.SelectionResult.from_json(found.to_json()) == found


@every_selector
def test_one_candidate(selector):
    bounds = bounds_for(selector)
    if bounds is not None:
        with pytest.raises(ValueError, match="bounds: 'b' is not a column of the model"):
            dpreg.dp_select("y ~ a", frame(100), 1, 0.5, method=selector, bounds=bounds)
        bounds = {name: bounds[name] for name in "ay"}
    found = dpreg.dp_select("y ~ a", frame(100), 1, 0.5, method=selector, bounds=bounds)
    assert found.selected == ("a",)


@pytest.mark.parametrize("arguments", [
    {"k": 0}, {"k": 7}, {"k": -1}, {"k": 1.5}, {"k": "2"}, {"k": True}, {"k": None},
    {"eps": 0}, {"eps": -1.0}, {"eps": math.nan}, {"eps": math.inf}, {"eps": "1"},
    {"delta": 1.0}, {"delta": -1e-9}, {"delta": math.nan},
    {"method": "lasso"}, {"method": 3}, {"method": dpreg.DPKendall}, {"method": dpreg.DPSIS()},
    {"unit": "nope"}, {"formula": "y ~ nope"}, {"rng": -1}, {"levels": {"a": ["x"]}},
    {"eps": 1e-13},
])  # fmt: skip
def test_wrong_use_names_the_argument_before_a_record_is_read(arguments, monkeypatch):
    monkeypatch.setattr(
        "dpreg.data.problem.read_design", lambda *a: pytest.fail("a record was read")
    )
    call = {"formula": "y ~ .", "data": frame(50), "k": 2, "eps": 1.0, **arguments}
    name = next(iter(arguments))
    says = {"formula": "formula|column", "levels": "'a'", "method": "method|bounds"}.get(name, name)
    with pytest.raises(ValueError, match=says):
        dpreg.dp_select(**call)


def test_nothing_to_choose_from():
    with pytest.raises(ValueError, match="k: there is nothing to choose from"):
        dpreg.dp_select("y ~ 1", frame(50), 1, 1.0)


# -- dp_lm(select=...) -------------------------------------------------------------------


@every_selector
@pytest.mark.parametrize("method", METHODS)
def test_every_selector_with_every_method(selector, method):
    fit = dpreg.dp_lm("y ~ .", frame(), 3.0, 1e-5, method=method, select=selector, k=2,
                      bounds=bounds_for(selector), rng=1)  # fmt: skip
    assert fit.released
    assert set(fit.names) == {"Intercept", *fit.selected}
    assert len(fit.selected) == 2
    assert fit.privacy.mechanism == f"{selector.name}, then {method}"
    if "gamma=0.0" not in repr(selector):
        assert set(fit.selected) == {"a", "b"}
        assert abs(fit.params["a"] - 3) < 0.5
    assert dpreg.DPResults.from_json(fit.to_json()).selected == fit.selected


@pytest.mark.parametrize("method", METHODS)
def test_the_shares_add_up_to_one_budget(method):
    budget = dpreg.Budget(eps=2.0, delta=1e-5)
    fit = dpreg.dp_lm("y ~ .", frame(), 2.0, 1e-5, method=method, select="kendall", k=3,
                      budget=budget)  # fmt: skip
    assert budget.remaining == (0, 0)
    chosen = [p for p in fit.privacy.parts if "Kendall" in p.label or "mean corr" in p.label]
    assert sum(p.epsilon for p in chosen) == pytest.approx(0.05 * 2.0)
    if method == "tukey":
        assert sum(p.epsilon for p in fit.privacy.parts) == pytest.approx(2.0, rel=1e-12)
        assert fit.privacy.composition == "basic"
    else:
        assert fit.privacy.composition.startswith("basic and ")


@pytest.mark.parametrize("method", METHODS)
def test_the_fit_is_the_fit_of_the_chosen_columns(method):
    """With the same bits it is the fit of the shorter formula with the smaller budget."""
    from dpreg import _core
    from dpreg.estimation.methods import method_from

    data = frame(5000)
    bits = _core.TestBits(9)
    fit = dpreg.dp_lm("y ~ .", data, 2.0, 1e-5, method=method, select="kendall", k=2, rng=bits)
    bits = _core.TestBits(9)
    found = dpreg.dp_select("y ~ .", data, 2, 0.1, rng=bits)
    terms = " + ".join(sorted(found.selected))
    alone = dpreg.dp_lm(f"y ~ {terms}", data, 1.9, 1e-5, method=method_from(method), rng=bits)
    assert fit.selected == found.selected
    assert fit.released == alone.released
    if fit.released:
        np.testing.assert_allclose(fit.params, alone.params, rtol=1e-12)


def test_summary_says_that_intervals_ignore_the_selection():
    fit = dpreg.dp_lm("y ~ .", frame(), 2.0, select="kendall", k=2)
    text = " ".join(str(fit.summary()).split())
    assert "intervals do not account for the selection" in text
    assert "do not account for" in fit.summary().as_html()
    plain = dpreg.dp_lm("y ~ a", frame(), 2.0)
    assert "conditional" not in str(plain.summary())


@pytest.mark.parametrize("method", METHODS)
def test_split_gives_both_stages_the_whole_epsilon(method):
    budget = dpreg.Budget(eps=2.0, delta=1e-5)
    fit = dpreg.dp_lm("y ~ .", frame(20_000), 2.0, 1e-5, method=method, select="kendall", k=2,
                      split=0.25, budget=budget, rng=1)  # fmt: skip
    assert budget.remaining == (0, 0)
    assert fit.privacy.composition.startswith("selection and fit on different units")
    chosen = [p for p in fit.privacy.parts if "Kendall" in p.label or "mean corr" in p.label]
    assert sum(p.epsilon for p in chosen) == pytest.approx(2.0)
    assert fit.nobs == pytest.approx(15_000, rel=0.05)
    assert "from 25% of the units" in " ".join(str(fit.summary()).split())


def test_intervals_after_a_split_are_honest():
    """Of 40 columns that mean nothing the best looks good, but not to other units."""
    covered = {None: 0, 0.5: 0}
    rng = np.random.default_rng(20260101)
    formula = "y ~ " + " + ".join(f"x{j}" for j in range(40))
    for seed in range(40):
        data = {f"x{j}": rng.standard_normal(2000) for j in range(40)}
        data["y"] = rng.standard_normal(2000)
        for split in covered:
            fit = dpreg.dp_lm(formula, data, 100.0, 1e-6, method="adassp", select="kendall", k=1,
                              split=split, rng=seed)  # fmt: skip
            low, high = fit.conf_int().loc[fit.selected[0]]
            covered[split] += low <= 0 <= high
    assert covered[None] <= 20
    assert covered[0.5] >= 30  # of 40; below that with probability 2e-6 if 95% are covered


@pytest.mark.parametrize(("options", "says"), [
    ({"split": 0.5}, "split"), ({"split": 0.0, "select": "kendall", "k": 1}, "split must"),
    ({"split": 1.0, "select": "kendall", "k": 1}, "split must"),
    ({"split": "half", "select": "kendall", "k": 1}, "split must"),
])  # fmt: skip
def test_wrong_splits(options, says):
    with pytest.raises(ValueError, match=says):
        dpreg.dp_lm("y ~ .", frame(100), 1.0, **options)


def test_declined_fits_still_have_what_was_selected():
    declined = dpreg.dp_lm("y ~ .", frame(80), 0.1, select="kendall", k=2, method="tukey")
    assert not declined.released
    assert len(declined.selected) == 2
    assert "Selected: " in str(declined)
    assert declined.to_json().count("selected") == 1


def test_predict_wants_the_chosen_columns_only():
    fit = dpreg.dp_lm("y ~ .", frame(), 3.0, select="kendall", k=2, rng=1)
    new = frame(10, seed=2)
    short = new[list(fit.selected)]
    np.testing.assert_array_equal(fit.predict(short), fit.predict(new))
    gaps = new.assign(f=np.nan)
    assert fit.predict(gaps).notna().all()
    expected = fit.params["Intercept"] + new["a"] * fit.params["a"] + new["b"] * fit.params["b"]
    np.testing.assert_allclose(fit.predict(new), expected)


@pytest.mark.parametrize("method", METHODS)
def test_levels_and_bounds_of_columns_that_were_not_chosen(method, diamonds):
    bounds = None if method == "tukey" else {"carat": (0, 6), "depth": (40, 80), "cut": (0, 1)}
    formula = "price ~ carat + cut + depth"
    for seed in range(3):
        fit = dpreg.dp_lm(formula, diamonds, 9.0, 1e-6, method=method, select="kendall", k=2,
                          bounds=bounds, rng=seed)  # fmt: skip
        assert fit.released
        assert fit.predict(diamonds.head(20)).notna().all()


@pytest.mark.parametrize("arguments", [
    {"k": None}, {"k": 0}, {"k": 7}, {"select": None}, {"select": "lasso"}, {"select": 3},
    {"select": dpreg.TwoStage}, {"select": "sis"},
])  # fmt: skip
def test_wrong_use_of_selection(arguments, monkeypatch):
    monkeypatch.setattr(
        "dpreg.data.problem.read_design", lambda *a: pytest.fail("a record was read")
    )
    call = {"select": "kendall", "k": 2, **arguments}
    with pytest.raises(ValueError, match=r"k|select|bounds"):
        dpreg.dp_lm("y ~ .", frame(50), 1.0, **call)


def test_options_for_columns_that_do_not_exist_are_refused_before(monkeypatch):
    monkeypatch.setattr(
        "dpreg.data.problem.read_design", lambda *a: pytest.fail("a record was read")
    )
    with pytest.raises(ValueError, match="bounds"):
        dpreg.dp_lm("y ~ .", frame(50), 1.0, bounds={"z": (0, 1)}, select="kendall", k=2)


@pytest.mark.parametrize("method", METHODS)
def test_units_of_several_rows(method):
    data = frame(40_000).assign(person=np.arange(40_000) // 2)
    formula = "y ~ a + b + c + d"
    fit = dpreg.dp_lm(
        formula, data, 3.0, method=method, select="two_stage", k=2, unit="person", rng=1
    )
    assert fit.released
    assert set(fit.selected) == {"a", "b"}
    assert abs(fit.params["a"] - 3) < 0.5
    one = dpreg.dp_lm(
        formula, data, 3.0, method=method, select="kendall", k=2, unit="person", rng=1
    )
    assert set(one.selected) == {"a", "b"}


@pytest.mark.skipif(not DATA.exists(), reason="the shared data sets are not beside the checkout")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least"),
    [("diamonds", 0.84), ("brazilian_houses", 0.93), ("bike_sharing", 0.2), ("elevators", 0.35)],
)
def test_k_tukey_without_bounds(name, least):
    """Dick et al. (2023), section 4, at (ln 3, 1e-5) and k = 5; medians of ten splits spread.

    The figures themselves are in vignettes/reproductions/dick2023.py.
    """
    data = pd.read_parquet(DATA / f"{name}.parquet")
    formula = "target ~ " + " + ".join(f"`{c}`" for c in data.columns if c != "target")
    scores = []
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(data))
        cut = len(data) // 10
        train, test = data.iloc[order[cut:]], data.iloc[order[:cut]]
        fit = dpreg.dp_lm(formula, train, math.log(3), 1e-5, select="kendall", k=5,
                          method="tukey", inference=False, rng=seed)  # fmt: skip
        error = test["target"].to_numpy() - fit.predict(test).to_numpy()
        scores.append(1 - (error**2).mean() / test["target"].var(ddof=0))
    assert np.median(scores) >= least
