"""FrankWolfe end to end: units, bounds, zeros, the choice of steps, and input wrong on purpose."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from unsealed import opened

import dpreg
from dpreg.data.design import Design, Terms, Units
from dpreg.data.sampling import one_row_a_unit
from dpreg.estimation.methods.frank_wolfe import _unit_rows
from dpreg.estimation.planning.frank_wolfe import default_steps
from dpreg.estimation.releases.scaling import scaling_from_bounds
from dpreg.estimation.releases.standardisation import Standardisation
from dpreg.privacy.zcdp import zcdp_delta

BOUNDS = {"y": (-10.0, 30.0), "x0": (0.0, 10.0), "x1": (-5.0, 5.0), "x2": (100.0, 300.0)}
FORMULA = "y ~ x0 + x1 + x2"


def frame(n, seed=1, noise=1.0):
    rng = np.random.default_rng(seed)
    x0, x1, x2 = rng.uniform(0, 10, n), rng.uniform(-5, 5, n), rng.uniform(100, 300, n)
    return pd.DataFrame(
        {"x0": x0, "x1": x1, "x2": x2, "y": 3 + 1.5 * x0 - x1 + noise * rng.standard_normal(n)}
    )


def method(**options):
    return dpreg.FrankWolfe(**{"l1": 1.5, **options})


def fitted(data, eps, delta=None, *, formula=FORMULA, bounds=BOUNDS, **call):
    """Fit with bounds of all columns, if not told otherwise."""
    return dpreg.dp_lm(formula, data, eps, delta, bounds=bounds, **{"method": method(), **call})


def test_coefficients_are_in_the_users_units():
    """Many rows and a large eps: least squares within the l1 ball, which holds the truth."""
    data = frame(200_000)
    fit = fitted(data, 20.0, 1e-6, method=method(steps=3000), rng=1)
    assert fit.params["x0"] == pytest.approx(1.5, abs=0.05)
    assert fit.params["x1"] == pytest.approx(-1.0, abs=0.05)
    assert fit.params["x2"] == pytest.approx(0.0, abs=0.005)
    truth = 3 + 1.5 * data["x0"] - data["x1"]
    assert np.abs(fit.predict(data) - truth).mean() < 0.3
    assert fit.method == "frank_wolfe"
    assert abs(fit.nobs - 200_000) < 100


def test_zeros_are_exact_and_the_summary_shows_the_support():
    fit = fitted(frame(100_000), 5.0, 1e-6, method=method(steps=12), rng=1)
    assert fit.params["x2"] == 0.0
    assert (fit.params[["x0", "x1"]] != 0).all()
    text = " ".join(str(fit.summary()).split())
    assert "2 of 3 coefficients are nonzero: x0, x1" in text
    assert any("12 steps in the l1 ball of radius 1.5" in note for note in fit.notes)
    assert "Standard errors: none, because the sampling distribution of a sparse" in text
    assert "the intercept absorbs the column centres" in text
    assert fit.bse.isna().all()
    assert dpreg.DPResults.from_json(fit.to_json()).params.equals(fit.params)


@pytest.mark.parametrize("l1", [0.7, 1.0, 1.5])
def test_default_steps_need_no_tuning(l1):
    """R2 within 0.04 of that of the best number of steps on a grid."""
    data = frame(20_000)

    def mean_r2(steps):
        scores = []
        for seed in range(8):
            chosen = method(steps=steps, l1=l1)
            fit = fitted(data, 1.0, 1e-6, method=chosen, rng=seed)
            scores.append(1 - np.mean((data["y"] - fit.predict(data)) ** 2) / data["y"].var())
        return np.mean(scores)

    assert mean_r2(None) > max(mean_r2(steps) for steps in (3, 10, 30, 100, 300, 1000)) - 0.04


@pytest.mark.parametrize(("formula", "least"), [
    ("price ~ carat", 0.75),
    ("price ~ carat + depth + table + x + y + z", 0.75),
    ("price ~ carat + cut + color + clarity + depth + table + x + y + z", 0.75),
])  # fmt: skip
def test_diamonds_without_any_option(formula, least):
    """R2 on new rows at eps = 1, where least squares without privacy has 0.84 to 0.92."""
    diamonds = dpreg.load_diamonds()
    scores = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(diamonds))
        train, test = diamonds.iloc[order[5394:]], diamonds.iloc[order[:5394]]
        fit = dpreg.dp_lm(formula, train, 1.0, method="frank_wolfe", rng=seed)
        error = test["price"].to_numpy() - fit.predict(test).to_numpy()
        scores.append(1 - np.mean(error**2) / test["price"].var())
        assert abs(fit.nobs - len(train)) < 1000
    assert np.median(scores) > least


def test_a_column_that_cannot_be_seen_has_coefficient_0():
    data = frame(20_000).assign(constant=7.0)
    fit = dpreg.dp_lm(FORMULA + " + constant", data, 1.0, method="frank_wolfe", rng=1)
    assert fit.params["constant"] == 0.0
    assert fit.params["x0"] != 0.0
    assert "coefficients not estimable at this eps: constant" in " ".join(
        str(fit.summary()).split()
    )


def test_bounds_save_what_standardisation_costs():
    def spent_before(bounds):
        fit = fitted(frame(500), 1.0, bounds=bounds)
        return [p.rho for p in fit.privacy.parts if "Gaussian" in p.noise]

    every, some, none = map(spent_before, (BOUNDS, {"x1": (-5, 5)}, None))
    total = every[0] / dpreg.FrankWolfe().count_share
    assert sum(some) == pytest.approx(sum(none))
    assert sum(none) == pytest.approx(Standardisation().share * total, rel=1e-4)


def test_new_rows_are_clipped_as_the_old_ones():
    fit = fitted(frame(20_000), 5.0, rng=1)
    far = pd.DataFrame({"x0": [10.0, 1e6], "x1": [0.0, 0.0], "x2": [200.0, 200.0]})
    assert np.ptp(fit.predict(far)) == 0
    assert np.ptp(fit.predict(far, winsorise=False)) > 1e6


def test_default_steps_grow_with_public_numbers_only():
    assert default_steps(0, 5, 0.03) == 1
    assert default_steps(-1e9, 5, 0.03) == 1
    assert default_steps(1e4, 5, 0.03) < default_steps(1e6, 5, 0.03) < default_steps(1e6, 5, 1.0)
    assert default_steps(1e6, 5000, 0.03) < default_steps(1e6, 5, 0.03)
    assert default_steps(1e300, 5, 10.0) == 32_000


@pytest.mark.parametrize("options", [{}, {"bounds": None}, {"bounds": {"x1": (-5.0, 5.0)}}])
@pytest.mark.parametrize("screen", [None, "rnm"])
def test_what_was_spent_is_the_claim(options, screen):
    """From the scales that were drawn with: their zCDP adds up to the claim, and not above."""
    fit = fitted(frame(5000), 0.8, 1e-7, method=method(screen=screen), **options)
    gaussian = [p for p in fit.privacy.parts if "Gaussian" in p.noise]
    chosen = [p for p in fit.privacy.parts if "Gumbel" in p.noise]
    assert len(gaussian) == (1 if not options else 5)
    assert len(gaussian) + len(chosen) == len(fit.privacy.parts)
    rho = math.fsum((p.sensitivity / p.scale) ** 2 / 2 for p in gaussian)
    for part, times in zip(chosen, (int(chosen[0].label.split()[0]), 4), strict=False):
        times = int(part.label.split()[2]) if "screening" in part.label else times
        rho += times * (part.sensitivity / part.scale) ** 2 / 8
    assert zcdp_delta(rho, 0.8) <= 1e-7
    assert zcdp_delta(1.01 * rho, 0.8) > 1e-7
    assert sum(p.rho for p in fit.privacy.parts) == pytest.approx(rho, rel=1e-9)
    assert fit.privacy.composition == "zCDP"
    assert "rho=" in str(fit.privacy)


def test_units_of_many_rows_count_once():
    """A person with a thousand rows is averaged to one."""
    data = frame(30_000)
    data["person"] = np.arange(len(data)) // 3
    heavy = pd.concat([data, pd.DataFrame({**BOUNDS_TOP, "person": np.full(30_000, -1)})])
    fits = [
        fitted(d, 20.0, 1e-6, method=method(steps=600), unit="person", rng=1) for d in (data, heavy)
    ]
    assert abs(fits[0].nobs - 10_000) < 200
    # Counted as rows, the heavy person would be half of the data, at y = 30.
    assert np.abs(fits[0].predict(data) - fits[1].predict(data)).mean() < 0.7
    rows = fitted(heavy, 20.0, 1e-6, method=method(steps=600), rng=1)
    assert np.abs(fits[0].predict(data) - rows.predict(data)).mean() > 3


BOUNDS_TOP = {k: np.full(30_000, v[1]) for k, v in BOUNDS.items()}


def test_units_are_averaged_after_clipping(monkeypatch):
    terms = Terms("y", ("x",), True)
    units = Units.from_labels(np.array([7, 3, 7, 7]))
    design = Design.of(
        np.array([[2.0], [0.5], [0.0], [-1.0]]), np.array([9.0, 1, 0, 0]), terms, units
    )
    bounds = np.array([[-1.0, 1.0], [-1.0, 1.0]])
    rows = opened(one_row_a_unit(design, bounds).arrays())
    monkeypatch.setattr("dpreg._core.DenseUnitDesign", np.array)
    X, y = _unit_rows(rows, scaling_from_bounds(bounds, intercept=True), intercept=True)
    assert X.tolist() == [[0.5, 1.0], [0.0, 1.0]]
    assert y.tolist() == pytest.approx([1.0, 1 / 3])


def test_indicators_need_no_bounds():
    data = frame(2000).assign(kind=pd.Categorical(["a", "b"] * 1000))
    bounds = {"y": BOUNDS["y"], "x0": BOUNDS["x0"]}
    fit = fitted(data, 2.0, 1e-5, formula="y ~ x0 + kind", bounds=bounds, rng=1)
    assert "kind[T.b]" in fit.names
    assert fit.limits.tolist() == [[0.0, 10.0], [0.0, 1.0], [-10.0, 30.0]]


@pytest.mark.parametrize("formula", ["y ~ x0", "y ~ 0 + x0", "y ~ 1", "y ~ x0:x1"])
@pytest.mark.parametrize("bounded", [True, False])
def test_other_formulas(formula, bounded):
    known = {**BOUNDS, "x0:x1": (-50.0, 50.0)}
    here = {k: v for k, v in known.items() if k == "y" or k == formula.split()[-1]}
    bounds = here if bounded else None
    fit = fitted(frame(3000), 2.0, 1e-5, formula=formula, bounds=bounds, rng=1)
    assert np.isfinite(fit.params).all()


@pytest.mark.parametrize(("options", "match"), [
    ({"l1": 0.0}, "l1"), ({"l1": -2}, "l1"), ({"l1": math.nan}, "l1"), ({"steps": 0}, "steps"),
    ({"steps": 2.0}, "steps"), ({"screen": "all"}, "screen"), ({"count_share": 0.0}, "count_share"),
    ({"count_share": 1.0}, "count_share"), ({"reach": 0.0}, "reach"),
    ({"reach": math.inf}, "reach"),
])  # fmt: skip
def test_wrong_options(options, match):
    with pytest.raises(ValueError, match=match):
        method(**options)


@pytest.mark.parametrize(("call", "match"), [
    ({"delta": 0.0}, "delta"), ({"eps": 1e-9, "delta": 1e-15}, "eps"), ({"eps": 0.0}, "eps"),
    ({"bounds": {"x0": (1, 1)}}, "bounds"), ({"bounds": {"x0": (2, 1)}}, "bounds"),
    ({"bounds": {"x0": (0, math.inf)}}, "bounds"), ({"bounds": {"x0": "ab"}}, "bounds"),
    ({"bounds": {"x0": 3}}, "bounds"), ({"bounds": {"x0": (0, math.nan)}}, "bounds"),
    ({"bounds": {"x0": (0, 1, 2)}}, "bounds"), ({"bounds": {"x9": (0, 1)}}, "bounds.*x9"),
    ({"bounds": {"x0": (0, 1e-200)}}, "bounds"), ({"bounds": {"x0": (0, 1e200)}}, "bounds"),
])  # fmt: skip
def test_wrong_use_is_refused_before_a_record_is_read(call, match, monkeypatch):
    monkeypatch.setattr(
        "dpreg.data.problem.read_design", lambda *a: pytest.fail("a record was read")
    )
    with pytest.raises(ValueError, match=match):
        fitted(frame(10), **{"eps": 1.0, "delta": 1e-5, **call})


def odd_frames():
    good = frame(200)
    yield "empty", good.iloc[:0]
    yield "one row", good.iloc[:1]
    yield "constant", good.assign(x0=7.0)
    yield "missing", good.assign(x0=np.nan)
    yield "huge", good.assign(x0=1e300, y=-1e300)
    yield "infinite", good.assign(y=np.inf)
    yield "out of bounds", good * 1e6


@pytest.mark.parametrize(("name", "data"), list(odd_frames()), ids=lambda v: v if isinstance(v, str)
                         else "")  # fmt: skip
@pytest.mark.parametrize("eps", [0.01, 1.0, 500.0])
@pytest.mark.parametrize(("screen", "bounds"), [
    (None, BOUNDS), ("rnm", BOUNDS), ("adp", BOUNDS), (None, None), ("rnm", {"x0": (0.0, 10.0)}),
])  # fmt: skip
def test_odd_data_end_in_a_release_or_are_declined(name, data, eps, screen, bounds):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for unit in (None, "person"):
            rows = data.assign(person=np.arange(len(data)) // 2)
            chosen = method(screen=screen)
            fit = fitted(rows, eps, 1e-3, method=chosen, bounds=bounds, unit=unit)
            if not fit.released:
                assert bounds is not BOUNDS
                assert "scale of the response" in fit.reason
                continue
            assert fit.params.index.tolist() == ["Intercept", "x0", "x1", "x2"]
            assert np.isfinite(fit.params).all()
            assert np.isfinite(fit.nobs)
            str(fit.summary())


def test_seeded_results_repeat_and_say_so():
    a, b = (fitted(frame(500), 1.0, rng=5) for _ in range(2))
    assert a.to_json() == b.to_json()
    assert "seeded: not private" in a.privacy.claim


def test_screened_columns_are_named():
    """y = sign(x0): the other coefficients, and the constant, are 0 and can be seen to be."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.uniform(-1, 1, (400_000, 3)), columns=["x0", "x1", "x2"])
    data["y"] = np.sign(data["x0"])
    unit = dict.fromkeys(["x0", "x1", "x2", "y"], (-1.0, 1.0))
    chosen = method(l1=1.0, steps=60, screen="rnm")
    fit = fitted(data, 2.0, 1e-6, method=chosen, bounds=unit, rng=1)
    note = next(n for n in fit.notes if n.startswith("screened"))
    assert set(note.split(": ")[1].split(", ")) == {"x1", "x2", "constant"}
