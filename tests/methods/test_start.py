"""Fits that start where a release or public data end: near the limit, and right where it moved."""

from __future__ import annotations

import json
import math
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from methods.sums import formula

import dpreg
from dpreg.privacy.gdp import gdp_mu

DELTA = 1e-6


def table(n, d, seed, noise=1.0, shift=0.0, scale=1.0):
    """Rows of the same line, whatever the columns are."""
    rng = np.random.default_rng(seed)
    X = scale * (rng.standard_normal((n, d)) + np.arange(d) + shift)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
    frame["y"] = 1 + X.sum(axis=1) + noise * rng.standard_normal(n)
    frame["t"] = rng.uniform(0, 1, n)
    frame["w"] = rng.uniform(0.5, 2, n)
    frame["person"] = np.arange(n) // 2
    frame["g"] = pd.Categorical(rng.choice(["a", "b", "c"], n), categories=["a", "b", "c"])
    return frame


def fitted(data, text, seed, epsilon=1.0, **options):
    return dpreg.dp_lm(text, data, epsilon, DELTA, rng=seed, **options)


def exact(data, d):
    X = np.column_stack([np.ones(len(data)), data[[f"x{j}" for j in range(d)]]])
    theta, square, *_ = np.linalg.lstsq(X, data["y"].to_numpy(), rcond=None)
    return theta, np.sqrt(square[0] / (len(X) - d - 1) * np.diag(np.linalg.inv(X.T @ X)))


def limit(n, d):
    """Width over that of least squares of all of mu on one sum of scores, 5 of n rows clipped."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.ones(200_000), rng.standard_normal((200_000, d))])
    norms = np.linalg.norm(rows * rng.standard_normal((200_000, 1)), axis=1)
    clip = np.quantile(norms, 1 - 5 / n)
    return math.sqrt(1 + (clip / (gdp_mu(1.0, DELTA) * math.sqrt(n))) ** 2)


@pytest.mark.parametrize(("n", "d", "most"), [(500, 1, 1.25), (2_000, 3, 1.15), (5_000, 8, 1.15)])
def test_next_month_is_within_115_percent_of_the_limit(n, d, most):
    """From 2,000 rows on; 500 have 1.19 times."""
    wider, off = [], []
    for seed in range(20):
        last = fitted(table(n, d, 100 + seed), formula(d), seed)
        assert last.released
        data = table(n, d, seed)
        fit = fitted(data, formula(d), 50 + seed, start=last)
        theta, errors = exact(data, d)
        wider.extend(fit.bse.to_numpy()[1:] / errors[1:])
        off.extend((fit.params.to_numpy() - theta) / fit.bse.to_numpy())
    assert np.nanmedian(wider) < most * limit(n, d)
    assert np.isnan(wider).mean() < 0.02
    assert np.nanmax(np.abs(off)) < 5


def test_nothing_is_spent_on_scales_and_no_more_than_all():
    last = fitted(table(3_000, 3, 1), formula(3), 1)
    data = table(3_000, 3, 2)
    fit, without = (fitted(data, formula(3), 2, start=start) for start in (last, None))
    labels = [part.label for part in fit.privacy.parts]
    assert labels[:2] == ["number of rows", "second moments of rows, as of the start"]
    few = fitted(table(300, 3, 3), formula(3), 3, start=last)
    assert [part.label for part in few.privacy.parts][:2] == [
        "number of rows",
        "number of rows, again",
    ]
    # Their noise together is about 5% of the rows, whatever the start had.
    assert sum(part.scale**-2 for part in few.privacy.parts[:2]) ** -0.5 < 0.065 * 300
    assert not any("column" in label for label in labels)
    assert len(labels) < len(without.privacy.parts)
    spent = math.fsum(part.mu**2 for part in fit.privacy.parts)
    assert 0.97 * gdp_mu(1.0, DELTA) ** 2 <= spent <= gdp_mu(1.0, DELTA) ** 2


MOVED = {
    "means by three deviations": {"shift": 3.0},
    "columns four times as wide": {"scale": 4.0},
    "errors five times as large": {"noise": 5.0},
}


@pytest.mark.parametrize("n", [250, 4_000])
@pytest.mark.parametrize("moved", MOVED)
def test_what_has_moved_is_found_at_little_cost(n, moved):
    wider, off, notes = [], [], []
    for seed in range(4):
        last = fitted(table(n, 2, 100 + seed), formula(2), seed, 3.0)
        data = table(n, 2, seed, **MOVED[moved])
        fit, without = (fitted(data, formula(2), seed, 3.0, start=start) for start in (last, None))
        notes += [note for note in fit.notes if "out of date" in note]
        wider.extend(fit.bse.to_numpy() / without.bse.to_numpy())
        off.extend((fit.params.to_numpy() - exact(data, 2)[0]) / fit.bse.to_numpy())
    # Norms of scores are counted, but for small tables: errors by themselves are no reason.
    assert len(notes) == (4 if n < 500 or not moved.startswith("errors") else 0)
    # Widths of small tables vary by more than that from fit to fit, with or without a start.
    assert n < 500 or np.median(wider) < 1.15
    # Some of these have no error.
    assert np.isfinite(off).mean() > (0.8 if n < 500 else 0.99)
    assert np.nanmax(np.abs(off)) < 5


def test_columns_that_are_collinear_now_are_found():
    """Slopes along what has no spread now were those of the start, up to 600 errors off."""
    for seed in range(3):
        last = fitted(table(2_000, 3, 100 + seed), formula(3), seed)
        data = table(2_000, 3, seed)
        data["x2"] = data["x1"] + 0.01 * data["x2"]
        errors = np.random.default_rng(seed).standard_normal(2_000)
        data["y"] = 1 + 3 * data["x1"] - 2 * data["x2"] + errors
        fit = fitted(data, formula(3), seed, start=last)
        assert any("out of date" in note for note in fit.notes)
        off = (fit.params["x2"] + 2) / fit.bse["x2"]
        assert np.isnan(off) or abs(off) < 5


@pytest.mark.parametrize("shift", [0.3, 0.8])
def test_intervals_cover_when_columns_moved_by_less(shift):
    off = []
    for seed in range(12):
        last = fitted(table(2_000, 2, 100 + seed), formula(2), seed)
        data = table(2_000, 2, seed, shift=shift)
        fit = fitted(data, formula(2), 70 + seed, start=last)
        off.extend((fit.params.to_numpy() - 1) / fit.bse.to_numpy())
    # Of 36, about independent: more than 7 of them in 1 of 10,000.
    assert (np.abs(off) > 1.96).sum() <= 7


def test_a_start_has_the_coefficients_that_were_released():
    data = table(3_000, 3, 1)
    fit = fitted(data, formula(3), 1)
    moments = dpreg.dp_moments(formula(3), data, 1.0, DELTA, rng=2)
    public = dpreg.public_start(formula(3), data)
    theirs = moments.lm(formula(3))
    from_moments = fitted(data, formula(3), 3, start=moments)
    assert from_moments.released
    np.testing.assert_allclose(user_coefficients(fit.start), fit.params)
    np.testing.assert_allclose(user_coefficients(public), exact(data, 3)[0])
    from dpreg.calls.starts import start_of_moments

    start = start_of_moments(moments, moments.model(formula(3)))
    np.testing.assert_allclose(user_coefficients(start), theirs.params)


def user_coefficients(start):
    """By definition: coefficients of standardised rows, put into the units of the columns."""
    standard = start.change @ start.theta
    slopes = standard[1:] * start.scale[-1] / start.scale[:-1]
    return [
        start.centre[-1] + start.scale[-1] * standard[0] - slopes @ start.centre[:-1],
        *slopes,
    ]


@pytest.mark.parametrize("extra", ["", " - 1", " + g"])
def test_public_rows_have_unit_second_moments_along_the_coordinates(extra):
    data = table(800, 2, 1)
    start = dpreg.public_start(formula(2, extra), data)
    X = data[["x0", "x1"]].to_numpy()
    if extra == " + g":
        X = np.column_stack([X, data["g"] == "b", data["g"] == "c"])
    intercept = extra != " - 1"
    centre = start.centre if intercept else 0 * start.centre
    scale = start.scale if intercept else np.hypot(start.scale, start.centre)
    rows = np.column_stack([np.ones((800, int(intercept))), (X - centre[:-1]) / scale[:-1]])
    coordinates = rows @ start.change
    np.testing.assert_allclose(coordinates.T @ coordinates / 800, np.eye(rows.shape[1]), atol=1e-9)
    left = (data["y"] - centre[-1]) / scale[-1] - coordinates @ start.theta
    np.testing.assert_allclose(coordinates.T @ left, 0, atol=1e-9)
    assert start.residual == pytest.approx((left**2).mean())


def test_a_start_survives_json_and_pickle():
    data = table(2_000, 2, 1)
    last = fitted(data, formula(2, " + g"), 1)
    public = dpreg.public_start(formula(2, " + g"), data.head(500))
    expected = fitted(data, formula(2, " + g"), 2, start=last).to_json()
    again = dpreg.DPResults.from_json(last.to_json())
    alone = dpreg.Start.from_json(last.start.to_json())
    for start in (again, again.start, alone, pickle.loads(pickle.dumps(last))):
        assert fitted(data, formula(2, " + g"), 2, start=start).to_json() == expected
    assert dpreg.Start.from_json(public.to_json()).to_json() == public.to_json()
    for text in ("{}", "3", "[]", '{"dpreg_start": 2}', '{"dpreg_start": 1}', last.to_json()):
        with pytest.raises(ValueError, match="not a start"):
            dpreg.Start.from_json(text)


BROKEN = {
    "theta": [1.0], "change": [[1.0]], "scale": [0.0, 1.0, 1.0], "low": [float("inf")] * 3,
    "units": "many", "residual": -1.0, "constant": [True], "unseen": [[1.0]] * 3,
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_start_whose_arrays_do_not_fit_is_refused(name):
    plain = json.loads(dpreg.public_start(formula(2), table(100, 2, 1)).to_json())
    assert dpreg.Start.from_json(json.dumps(plain)).names == ("x0", "x1")
    with pytest.raises(ValueError, match="start"):
        dpreg.Start.from_json(json.dumps({**plain, name: BROKEN[name]}))


OTHERS = {
    "response 't', not 'y'": ("t ~ x0 + g", {}),
    r"1 other column \(has x1\)": ("y ~ x0 + x1 + g", {}),
    r"2 other columns \(lacks g\[T.b\], g\[T.c\]\)": ("y ~ x0", {}),
    "columns in another order": ("y ~ g + x0", {}),
    "its offsets differ": ("y ~ x0 + g + offset(t)", {}),
    r"1 other column \(has weights": ("y ~ x0 + g", {"weights": "w"}),
    "its effects of units differ": ("y ~ x0 + g | person", {"unit": "person"}),
}


@pytest.mark.parametrize("difference", OTHERS)
def test_a_start_of_another_model_is_refused_before_the_charge(difference):
    text, options = OTHERS[difference]
    data = table(400, 2, 1)
    last = fitted(data, text, 1, 5.0, method="boosted_adassp", **options)
    budget = dpreg.Budget(5.0, DELTA)
    with pytest.raises(dpreg.ArgumentError, match="start is of another model") as refusal:
        dpreg.dp_lm("y ~ x0 + g", data, 1.0, DELTA, start=last, budget=budget)
    assert re.search(difference, str(refusal.value)), str(refusal.value)
    assert budget.charges == ()


def test_other_levels_are_refused():
    data = table(400, 1, 1).assign(g=lambda t: t["g"].astype(str))
    public = dpreg.public_start("y ~ x0 + g", data, levels={"g": ["a", "b", "c"]})
    other = {"g": ["b", "a", "c"]}
    with pytest.raises(dpreg.ArgumentError, match="another model"):
        dpreg.dp_lm("y ~ x0 + g", data, 1.0, start=public, levels=other)
    more = data.assign(g=np.where(data.index == 7, "x", data["g"]))
    four = dpreg.public_start("y ~ x0 + g", more, levels={"g": ["x", "a", "b", "c"]})
    three = {"g": ["a", "x", "b", "c"]}
    with pytest.raises(dpreg.ArgumentError, match="start is of another model"):
        dpreg.dp_lm("y ~ x0 + g", more, 1.0, start=four, levels=three)
    truths = data.assign(b=data["x0"] > 0)
    start = dpreg.public_start("y ~ b", truths, levels={"b": [False, True]})
    assert start.names == ("b[T.True]",)


def test_what_cannot_start_is_refused():
    data = table(400, 1, 1)
    last = fitted(data, "y ~ x0", 1, 5.0)
    declined = fitted(data.head(0), "y ~ x0", 1)
    assert not declined.released
    cases = [
        ({"start": 3}, "must be a released fit"),
        ({"start": declined}, "was not released"),
        ({"start": fitted(data, "y ~ x0", 1, 5.0, method="adassp")}, "has no scales"),
        ({"start": fitted(data, "y ~ x0", 1, 5.0, inference=False)}, "has no scales"),
        ({"start": last, "method": "adassp"}, "is used only by"),
        ({"start": last, "inference": False}, "is used only by"),
        ({"start": last, "select": "kendall", "k": 1}, "cannot be used together with select"),
        ({"start": dpreg.dp_moments("~ x0 + t", data, 1.0)}, "'y'"),
    ]
    for options, says in cases:
        with pytest.raises(dpreg.ArgumentError, match=f"start.*{says}"):
            dpreg.dp_lm("y ~ x0", data, 1.0, **options)
    with pytest.raises(dpreg.ArgumentError, match="start is supported for linear models only"):
        dpreg.dp_glm("I(y > 1) ~ x0", data, 1.0, start=last)


def test_the_certificate_says_where_a_fit_started_and_seeds_are_not_forgotten():
    data = table(1_000, 1, 1)
    last = fitted(data, "y ~ x0", 1)
    fit = dpreg.dp_lm("y ~ x0", data, 1.0, DELTA, start=last)
    assert fit.privacy.public[-1] == f"start: {last.start.source}"
    assert "'y ~ x0', certificate " in last.start.source
    assert fit.privacy.seeded
    assert any("had a seed" in note for note in fit.notes)
    public = dpreg.public_start("y ~ x0", data.head(200))
    ledger = dpreg.Budget(1.0, DELTA)
    free = dpreg.dp_lm("y ~ x0", data, 1.0, DELTA, start=public, budget=ledger)
    assert not free.privacy.seeded
    assert ledger.charges[0].certificate["public"][-1].startswith("start: public data of 'y ~ x0'")


WAYS = {
    "plain": ("", {}),
    "origin": (" - 1", {}),
    "bounds": ("", {"bounds": {"x0": (-3.0, 5.0), "y": (-9.0, 9.0)}}),
    "offset": (" + offset(t)", {}),
    "units": ("", {"unit": "person", "max_rows": 2}),
    "effects": (" | person", {"unit": "person", "max_rows": 2}),
}


@pytest.mark.parametrize("way", WAYS)
def test_any_table_may_follow_any_start(way):
    extra, options = WAYS[way]
    unit = {"unit": options["unit"]} if "unit" in options else {}
    start = dpreg.public_start(formula(2, extra), table(600, 2, 9), **unit)
    for n in (0, 1, 5, 60, 1_500):
        for seed in range(3):
            epsilon = (0.1, 1.0, 30.0)[seed]
            data = table(n, 2, seed, shift=(0.0, 1e6, -2.0)[seed], scale=(1.0, 1.0, 1e-9)[seed])
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                fit = fitted(data, formula(2, extra), seed, epsilon, start=start, **options)
            spent = math.fsum(part.mu**2 for part in fit.privacy.parts)
            assert spent <= gdp_mu(epsilon, DELTA) ** 2
            if fit.released:
                assert np.isfinite(fit.params).all()
                str(fit.summary())


def test_weights_and_hidden_columns_carry_over():
    data = table(3_000, 2, 1)
    last = fitted(data, formula(2), 1, weights="w")
    assert fitted(data, formula(2), 2, weights="w", start=last).released
    twice = data.assign(x1=data["x0"])
    last = fitted(twice, formula(2), 1)
    assert last.start.unseen.shape[1] == 1
    # Directions that were not seen are looked for again.
    fit = fitted(data, formula(2), 2, start=last)
    assert np.isfinite(fit.bse).all()


def test_public_data_that_say_too_little_are_refused():
    data = table(200, 2, 1)
    cases = [
        (data.head(5), "has 5 complete rows for 3 coefficients"),
        (data.assign(x1=4.0), "has constant columns: x1"),
        (data.assign(x1=2 * data["x0"]), "has collinear columns: x0, x1"),
    ]
    for public, says in cases:
        with pytest.raises(dpreg.ArgumentError, match=f"data {says}|data: {says}"):
            dpreg.public_start(formula(2), public)


def test_residuals_that_are_hardly_any_have_a_fit_too():
    start = dpreg.public_start(formula(1), table(500, 1, 1))
    line = table(500, 1, 2, noise=0.01)
    for seed in range(4):  # of some the noisy mean square of residuals is negative
        found = fitted(line, formula(1), seed, start=start)
        assert np.isfinite(found.params).all()


def test_a_start_with_unseen_combinations_of_levels_gives_numbers():
    """Levels of a start have no counts: as if these had no noise, coefficients were no numbers."""
    rng = np.random.default_rng(0)
    levels = {"c": ["u", "v", "w"]}
    table = pd.DataFrame({"a": rng.normal(0.28, 0.01, 60), "c": rng.choice(levels["c"], 60)})
    table["y"] = rng.standard_normal(60)
    fits = (
        dpreg.dp_lm("y ~ a + c", table, 3.0, 0.01, levels=levels, rng=seed) for seed in range(40)
    )
    starts = [fit.start for fit in fits if fit.released and fit.start.unseen.shape[1]]
    assert starts
    for seed, start in enumerate(starts * 4):
        fit = dpreg.dp_lm("y ~ a + c", table[:1], 1.0, 0.01, levels=levels, start=start, rng=seed)
        if fit.released:
            assert np.isfinite(fit.params).all()
            fit.to_json()
