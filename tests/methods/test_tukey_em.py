"""TukeyEM end to end: accuracy without bounds, coverage, and input that is wrong on purpose."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.estimation.blocks.tukey_report import _with_intercept

DATA = Path(__file__).parents[3] / "shared" / "data"


def gaussian(n, d, seed, slope=1.0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) + 2
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(d)])
    return frame.assign(y=3 + slope * x.sum(axis=1) + rng.standard_normal(n))


def test_diamonds_without_bounds(diamonds):
    """Raw diamonds, numeric columns only: close to least squares on half the data."""
    numeric = diamonds.assign(**{c: diamonds[c].cat.codes for c in ("cut", "color", "clarity")})
    formula = "price ~ carat + cut + color + clarity + depth + table + x + y + z"
    scores = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(numeric))
        train, test = numeric.iloc[order[5394:]], numeric.iloc[order[:5394]]
        fit = dpreg.dp_lm(
            formula, train, math.log(3), 1e-5, inference=False, rng=seed, method="tukey"
        )
        error = test["price"].to_numpy() - fit.predict(test).to_numpy()
        scores.append(1 - (error**2).mean() / test["price"].var(ddof=0))
    assert np.median(scores) >= 0.89


@pytest.mark.slow
def test_intervals_cover():
    """100 fits of 3 slopes and an intercept, at eps = 1.

    Squared errors over those of the intervals: 4 standard deviations of the mean of 300 are .33.
    Errors that are 1.3 times too small are beyond it in .998 of cases; of 600 intervals too few
    cover as often.
    """
    errors = []
    for seed in range(100):
        fit = dpreg.dp_lm(
            "y ~ x0 + x1 + x2", gaussian(20_000, 3, seed), 1.0, rng=seed, method="tukey"
        )
        low, high = fit.conf_int().to_numpy().T
        errors.append(((low + high) / 2 - [3, 1, 1, 1]) / ((high - low) / 2 / 1.96))
    square = np.mean(np.square(errors), axis=0)
    assert abs(square[1:].mean() - 1) < 4 * math.sqrt(2 / 300)
    assert square[0] < 1 + 4 * math.sqrt(2 / 100)


def test_seeded_results_repeat_and_say_so(diamonds):
    a, b = (dpreg.dp_lm("price ~ carat", diamonds, 1.0, rng=5, method="tukey") for _ in range(2))
    assert a.to_json() == b.to_json()
    assert "NOT PRIVATE" in str(a.summary())
    assert "seeded: not private" in a.privacy.claim
    fresh = [dpreg.dp_lm("price ~ carat", diamonds, 1.0, method="tukey") for _ in range(2)]
    assert (fresh[0].params != fresh[1].params).all()
    assert "NOT PRIVATE" not in str(fresh[0].summary())


def test_one_source_does_not_repeat_itself(diamonds):
    from dpreg import _core

    source = _core.TestBits(5)
    a, b = (
        dpreg.dp_lm("price ~ carat", diamonds, 1.0, rng=source, method="tukey") for _ in range(2)
    )
    assert (a.params != b.params).all()


def test_certificate_adds_up(diamonds):
    fit = dpreg.dp_lm("price ~ carat", diamonds, 0.8, 1e-7, method="tukey")
    assert sum(p.epsilon for p in fit.privacy.parts) == pytest.approx(0.8, rel=1e-12)
    assert sum(p.delta for p in fit.privacy.parts) == 1e-7
    assert (fit.privacy.epsilon, fit.privacy.delta) == (0.8, 1e-7)


def test_units_of_many_rows_are_counted_and_move_together():
    data = gaussian(40_000, 2, 1)
    data["person"] = np.random.default_rng(1).integers(0, 10_000, len(data))
    fit = dpreg.dp_lm("y ~ x0 + x1", data, 2.0, unit="person", rng=1, method="tukey")
    assert fit.released
    assert abs(fit.nobs - 10_000) < 1000
    assert fit.privacy.unit == "all rows of one 'person'"
    assert abs(fit.params["x0"] - 1) < 6 * fit.bse["x0"]


@pytest.mark.parametrize("formula", ["y ~ 0 + x0 + x1", "y ~ 1", "y ~ x0"])
@pytest.mark.parametrize("inference", [True, False])
def test_with_and_without_intercept_and_inference(formula, inference):
    data = gaussian(30_000, 2, 3)
    fit = dpreg.dp_lm(formula, data, 2.0, inference=inference, rng=3, method="tukey")
    assert fit.released
    assert ("Intercept" in fit.names) == ("0" not in formula.split())
    assert fit.bse.isna().all() != inference
    assert fit.params.abs().max() < 20
    str(fit.summary())


@pytest.mark.parametrize("partition", ["slots", "independent"])
def test_options(partition):
    method = dpreg.TukeyEM(models=500, partition=partition, ridge=0.0, refinements=0)
    fit = dpreg.dp_lm("y ~ x0 + x1", gaussian(30_000, 2, 3), 2.0, method=method, rng=3)
    assert fit.estimand.name == "Tukey median of 500 fits"
    assert "Tukey median of 500 fits" in str(fit.summary())
    assert abs(fit.params["x0"] - 1) < 0.2


@pytest.mark.parametrize("options", [
    {"models": 1}, {"ridge": -1.0}, {"ridge": math.nan}, {"partition": "equal"},
    {"count_share": 0.0}, {"count_share": 1.0}, {"limits_share": 1e-9}, {"limits_share": math.nan},
    {"grid_exponent": 10_000}, {"refinements": -1},
])  # fmt: skip
def test_wrong_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        dpreg.TukeyEM(**options)


@pytest.mark.parametrize("arguments", [
    {"eps": 0}, {"eps": -1}, {"eps": math.nan}, {"eps": math.inf}, {"eps": "1"},
    {"delta": 0.0}, {"delta": 1.0}, {"delta": -1e-6}, {"delta": 1e-15, "method": "auto"},
    {"delta": math.nan},
    {"formula": "y ~ nope"}, {"formula": "y ~ word"}, {"formula": "y ~ scale(x0)"},
    {"method": "ols"}, {"method": 3}, {"unit": "nope"}, {"rng": -1}, {"levels": {"word": ["a"]}},
    {"data": [1, 2, 3]},
])  # fmt: skip
def test_wrong_use_names_the_argument_before_a_record_is_read(arguments, monkeypatch):
    monkeypatch.setattr(
        "dpreg.data.problem.read_design", lambda *a: pytest.fail("a record was read")
    )
    data = gaussian(50, 2, 1).assign(word="a")
    call = {"formula": "y ~ x0", "data": data, "eps": 1.0, "method": "tukey", **arguments}
    name = next(iter(arguments))
    name = "formula|column" if name == "formula" else name
    with pytest.raises(ValueError, match=name):
        dpreg.dp_lm(**call)


def odd_frames():
    n = 400
    good = gaussian(n, 2, 1)
    yield "empty", good.iloc[:0]
    yield "one row", good.iloc[:1]
    yield "two rows", good.iloc[:2]
    yield "constant", good.assign(x0=7.0)
    yield "duplicated", good.assign(x1=good["x0"])
    yield "all missing", good.assign(x0=np.nan)
    yield "response missing", good.assign(y=np.nan)
    yield "huge", good.assign(x0=1e300, y=-1e300)
    yield "huge and varied", good.assign(x0=good["x0"] * 1e300, y=good["y"] * 1e300)
    yield "infinite", good.assign(x0=np.inf)
    yield "tiny", good.assign(x0=5e-324)
    yield "zero", good * 0.0


@pytest.mark.parametrize(
    ("name", "data"), list(odd_frames()), ids=lambda v: v if isinstance(v, str) else ""
)
@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("eps", [0.5, 50.0])
def test_odd_data_end_in_a_release_or_not_released(name, data, inference, eps):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(3):
            fit = dpreg.dp_lm(
                "y ~ x0 + x1", data, eps, 1e-3, inference=inference, rng=seed, method="tukey"
            )
            assert isinstance(fit, (dpreg.DPResults, dpreg.NotReleased))
            assert np.isfinite(fit.nobs)
            str(fit.summary())
            fit.to_json()
            if fit.released:
                assert fit.params.index.tolist() == ["Intercept", "x0", "x1"]
                assert not fit.params.isna().any()


def test_declined_outcomes_explain_themselves(diamonds):
    small = dpreg.dp_lm("price ~ carat", diamonds.iloc[:100], 0.1, method="tukey")
    assert not small
    assert small.reason.startswith("about")
    assert "needs about" in small.advice
    assert small.privacy.epsilon == 0.1
    with pytest.raises(AttributeError, match="did not release"):
        _ = small.params
    with pytest.raises(dpreg.NotReleased):
        raise small
    assert str(dpreg.NotReleased.from_json(small.to_json())) == str(small)
    for text in ("{}", small.to_json().replace('"advice"', '"advise"'), small.privacy.to_json()):
        with pytest.raises(ValueError, match="does not say that a mechanism declined"):
            dpreg.NotReleased.from_json(text)
    with pytest.raises(ValueError, match="start: was not released"):
        dpreg.dp_lm("price ~ carat", diamonds, 1.0, start=small)


@pytest.mark.parametrize("share", [0.001, 0.03, 0.1])
def test_a_rare_column_gets_an_honest_interval_or_none(share):
    """In how many batches a column varies decides what can be said about its slope."""
    missed = told = 0
    for seed in range(20):
        data = gaussian(40_000, 2, seed)
        rare = np.random.default_rng(1000 + seed).random(len(data)) < share
        data = data.assign(x1=rare.astype(float), y=data["y"] + 3 * rare)
        fit = dpreg.dp_lm("y ~ x0 + x1", data, 1.0, rng=seed, method="tukey")
        if fit.released and not np.isnan(fit.bse["x1"]):
            told += 1
            low, high = fit.conf_int().loc["x1"]
            missed += not low <= 3 <= high
        elif fit.released:
            assert fit.params["x1"] == 0
            assert "at this eps: Intercept, x1;" in " ".join(fit.notes)
    assert missed <= 5  # of at most 20 at 95%: more has probability 3e-4
    assert (told == 0) if share == 0.001 else (told == 20 or share < 0.1)


def test_covariance_is_positive_semidefinite():
    rng = np.random.default_rng(1)
    for _ in range(50):
        d = int(rng.integers(1, 5))
        covariance = _with_intercept(rng.random(d), rng.standard_normal(d) * 10, rng.random())
        assert np.linalg.eigvalsh(covariance).min() > -1e-9 * np.abs(covariance).max()


@pytest.mark.skipif(not DATA.exists(), reason="the shared data sets are not beside the checkout")
@pytest.mark.parametrize(
    ("name", "columns", "least"),
    [
        ("visualizing_soil", None, 0.81),
        ("nycflights13", ["dep_delay", "distance", "air_time"], 0.85),
    ],
)
def test_accuracy_without_bounds(name, columns, least):
    data = pd.read_parquet(DATA / f"{name}.parquet")
    names = columns or [c for c in data.columns if c != "target"]
    formula = "target ~ " + " + ".join(f"`{c}`" for c in names)
    scores = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(data))
        cut = len(data) // 10
        train, test = data.iloc[order[cut:]], data.iloc[order[:cut]]
        fit = dpreg.dp_lm(
            formula, train, math.log(3), 1e-5, inference=False, rng=seed, method="tukey"
        )
        error = test["target"].to_numpy() - fit.predict(test).to_numpy()
        scores.append(1 - (error**2).mean() / test["target"].var(ddof=0))
    assert np.median(scores) >= least


@pytest.mark.parametrize(("models", "reason"), [(30_000, "with 30,000 models"),
                                                (4, "did not agree")])  # fmt: skip
def test_advice_after_too_many_or_too_few_models_is_to_leave_them_out(models, reason, diamonds):
    method = dpreg.TukeyEM(models=models)
    fit = dpreg.dp_lm("price ~ carat", diamonds, 0.5, method=method, rng=1)
    assert not fit.released
    assert reason in fit.reason
    assert fit.advice.startswith(f"leave models out, which was {models:,}: ")


def test_a_count_that_is_mostly_noise_asks_for_little_memory():
    """At this eps the noise of the count is some 10^9, and slots are made for all of it."""
    data = {"x": np.arange(10.0), "y": np.arange(10.0)}
    fit = dpreg.dp_lm("y ~ x", data, 1e-7, 1e-6, method=dpreg.TukeyEM(models=2000), rng=1)
    assert not fit.released
    assert fit.nobs == 2**20


@pytest.mark.parametrize("models", [10**9, 300_000])
def test_models_whose_draw_could_not_be_rounded_are_refused_before(models, unread, diamonds):
    """It was refused after the charge, or not, by the noisy count."""
    budget = dpreg.Budget(1.0, 1e-5)
    method = dpreg.TukeyEM(models=models)
    with pytest.raises(dpreg.BudgetError, match=f"^eps: .*models={models}"):
        dpreg.dp_lm("price ~ carat * cut", diamonds, 1e-6, method=method, budget=budget)
    assert budget.charges == ()


@pytest.mark.parametrize("rows", [0, 10])
@pytest.mark.parametrize("seed", range(8))
def test_very_small_eps_ends_in_a_result_soon(rows, seed):
    data = {"x": np.arange(float(rows)), "y": np.arange(float(rows))}
    for eps in (1e-9, 1e-8, 1e-6, 1e-4):
        assert not dpreg.dp_lm("y ~ x", data, eps, 1e-5, method="tukey", rng=seed).released


def collinear(kind, rng):
    """Designs whose columns go together, with the truth."""
    if kind == "raw cubic":
        x = rng.uniform(0, 3, 50_000)
        y = 1 + x - x**2 + 0.3 * x**3 + rng.standard_normal(len(x))
        return {"x": x, "y": y}, "y ~ poly(x, 3, raw=True)", [1, 1, -1, 0.3]
    a, b = rng.standard_normal((2, 30_000))
    b = 0.99 * a + math.sqrt(1 - 0.99**2) * b
    return {"a": a, "b": b, "y": a - b + rng.standard_normal(len(a))}, "y ~ a + b", [0, 1, -1]


@pytest.mark.parametrize("kind", ["raw cubic", "correlation .99"])
def test_columns_that_go_together_are_covered(kind):
    """With a ridge of .03 none of these was ever covered."""
    z = []
    for seed in range(4):
        data, formula, truth = collinear(kind, np.random.default_rng(seed))
        fit = dpreg.dp_lm(formula, data, 2.0, 1e-6, method="tukey", rng=seed)
        z.append((fit.params - truth) / fit.bse)
    assert np.isfinite(z).all()
    # Student's t at its widest here: beyond 6 in 1 of 10,000.
    assert np.abs(z).max() < 6
    assert 0.2 < np.median(np.abs(z)) < 1.5


def test_levels_that_parts_do_not_have_are_not_told_and_nothing_else_is_narrow():
    """Of 23 rows half have no row of a reference level of 3%: their dummies add up to 1."""
    shares, effects = [0.03, 0.09, 0.22, 0.26, 0.40], np.array([0, 0.14, 0.21, 0.20, 0.28])
    released = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        cut, x = rng.choice(5, 54_000, p=shares), rng.standard_normal(54_000)
        data = {"x": x, "cut": np.array(list("abcde"))[cut],
                "y": x + effects[cut] + 0.5 * rng.standard_normal(54_000)}  # fmt: skip
        fit = dpreg.dp_lm(
            "y ~ x + cut", data, 1.0, 1e-6, method="tukey", levels={"cut": list("abcde")}, rng=seed
        )
        if not fit.released:
            continue
        released += 1
        truth = np.array([0, 1, *effects[1:]])[
            [["Intercept", "x", *(f"cut[T.{c}]" for c in "bcde")].index(n) for n in fit.names]
        ]
        told = np.isfinite(fit.bse)
        assert (np.abs(fit.params - truth)[told] < 5 * fit.bse[told]).all()
        assert (fit.bse[told] < 1).all()
    assert released > 0


def test_predictions_are_covered_though_no_covariances_are_released():
    """Slopes with a correlation of -.9: as if they had none, sums would be covered .86."""
    hits = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        a, e = rng.standard_normal((2, 20_000))
        b = -0.9 * a + math.sqrt(0.19) * e
        data = {"a": a + 3, "b": b, "y": a + b + rng.standard_normal(len(a))}
        fit = dpreg.dp_lm("y ~ a + b", data, 1.0, 1e-6, method="tukey", rng=seed)
        assert np.isnan(fit.cov_params().loc["a", "b"])
        new = {"a": np.array([3.0, 4.0, 4.0]), "b": np.array([0.0, -0.9, 1.0])}
        found = fit.predict(new, winsorise=False, interval="confidence")
        truth = new["a"] - 3 + new["b"]
        hits.append((found["lower"] <= truth) & (truth <= found["upper"]))
        assert fit.t_test("a + b = 2").pvalue > 1e-6
    # Of 90 at most 10 fall outside but once in a million, when each does with .05 at most.
    assert np.sum(hits) >= 80
