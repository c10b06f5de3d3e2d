"""`dp_ordinal` and `dp_multinomial`: rows by definition, exact fits, predictions, and wrong use."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

import dpreg
from dpreg.base.errors import ArgumentError, FormulaError, SchemaError
from dpreg.calls.notes import about_gain

LEVELS = {"y": ["low", "mid", "top"], "g": ["a", "b"]}
CALLS = {"ordinal": dpreg.dp_ordinal, "multinomial": dpreg.dp_multinomial}
RESULTS = {"ordinal": dpreg.DPOrdinal, "multinomial": dpreg.DPMultinomial}
both = pytest.mark.parametrize("model", ["ordinal", "multinomial"])


def people(n, model="ordinal", seed=1):
    rng = np.random.default_rng(seed)
    x, g = rng.normal(50, 2, n), rng.integers(0, 2, n)
    if model == "multinomial":
        scores = np.column_stack([0 * x, 0.3 * (x - 50) - 0.4 * g, -0.2 - 0.2 * (x - 50) + 0.5 * g])
        y = (scores + rng.gumbel(size=(n, 3))).argmax(axis=1)
    else:
        noise = rng.normal(size=n) if model == "probit" else rng.logistic(size=n)
        y = np.searchsorted([-0.8, 0.9], 0.35 * (x - 50) - 0.7 * g + noise)
    return pd.DataFrame({
        "y": np.array(LEVELS["y"])[y], "x": x, "g": np.array(["a", "b"])[g], "code": y,
        "w": rng.uniform(0.5, 2, n), "shift": rng.normal(size=n), "who": np.arange(n) // 2,
    })  # fmt: skip


def exact(data, model, link="logit"):
    X = np.column_stack([data["x"], data["g"] == "b"]).astype(float)
    if model == "multinomial":
        fit = sm.MNLogit(data["code"], sm.add_constant(X)).fit(disp=0)
        return fit, np.asarray(fit.params).T.ravel(), np.asarray(fit.bse).T.ravel()
    fit = OrderedModel(data["code"], X, distr=link).fit(method="bfgs", disp=0, maxiter=200)
    thresholds = fit.model.transform_threshold_params(fit.params.to_numpy())[1:-1]
    return fit, np.append(fit.params.to_numpy()[:2], thresholds), fit.bse.to_numpy()[:2]


@pytest.mark.parametrize(("model", "link"), [
    ("ordinal", "logit"), ("ordinal", "probit"), ("multinomial", None),
])  # fmt: skip
def test_with_little_noise_it_is_near_the_exact_fit(model, link):
    data = people(20000, "probit" if link == "probit" else model)
    options = {} if link is None else {"link": link}
    fit = CALLS[model]("y ~ x + C(g)", data, 60.0, levels=LEVELS, rng=1, **options)
    _, params, errors = exact(data, model, link)
    gap = (fit.estimates - params) / fit.bse.to_numpy()
    assert np.abs(gap).max() < 0.8
    size = len(errors)
    np.testing.assert_allclose(fit.bse.to_numpy()[:size], errors, rtol=0.12)
    assert fit.nobs == pytest.approx(20000, rel=0.01)


@pytest.mark.parametrize(
    ("call", "levels", "slope"),
    [(dpreg.dp_ordinal, 2, 0.54), (dpreg.dp_ordinal, 3, 1.0), (dpreg.dp_multinomial, 2, 0.54)],
)
def test_slopes_of_few_classes_are_not_too_steep(call, levels, slope):
    rng = np.random.default_rng(1)
    x = rng.normal(size=20_000)
    latent = slope * x + rng.logistic(size=len(x))
    code = np.digitize(latent, np.quantile(latent, np.arange(1, levels) / levels))
    exact = OrderedModel(code, x[:, None], distr="logit").fit(method="bfgs", disp=0).params[0]
    given = {"y": np.array(["a", "b", "c"])[code], "x": x}
    name = "x" if call is dpreg.dp_ordinal else "b:x"  # of two classes both are the same model
    far = []
    for seed in range(6):
        fit = call("y ~ x", given, 1.0, levels={"y": list("abc")[:levels]}, rng=seed)
        far.append((fit.params[name] - exact) / fit.bse[name])
    # Where scores far from the centre were clipped, 2 and more.
    assert abs(np.mean(far)) < 0.75


@both
def test_a_level_of_one_record_in_eighty_costs_others_nothing(model):
    """Errors of all slopes were 2 to 130 times the exact ones, and a third had none."""
    rng = np.random.default_rng(4)
    n = 22_000
    x, g = rng.normal(size=n), rng.choice(4, n, p=[0.33, 0.33, 0.3275, 0.0125])
    of_g = np.array([0.0, 0.3, -0.3, 0.5])[g]
    if model == "multinomial":
        scores = np.column_stack([0 * x, 0.2 + 0.5 * x + of_g, -0.4 - 0.3 * x - 0.5 * of_g])
        code = (scores + rng.gumbel(size=(n, 3))).argmax(axis=1)
    else:
        code = np.searchsorted([-1.0, 0.5], 0.5 * x + of_g + rng.logistic(size=n))
    data = pd.DataFrame({"y": code, "x": x, "g": np.array(list("abcd"))[g]})
    levels = {"y": [0, 1, 2], "g": list("abcd")}
    fit = CALLS[model]("y ~ x + C(g)", data, 1.0, levels=levels, rng=1)
    X = np.column_stack([x, *(g == k for k in (1, 2, 3))]).astype(float)
    if model == "multinomial":
        exact = sm.MNLogit(code, sm.add_constant(X)).fit(disp=0)
        params, errors = (np.asarray(of).T.ravel() for of in (exact.params, exact.bse))
    else:
        exact = OrderedModel(code, X, distr="logit").fit(method="bfgs", disp=0)
        params, errors = exact.params[:4], exact.bse[:4]
    bse = fit.bse.to_numpy()[: len(errors)]
    rare = np.array([name.endswith("T.d]") for name in fit.names[: len(errors)]])
    assert (bse / errors < np.where(rare, 3.0, 1.6)).all()
    assert (np.abs(fit.estimates[: len(errors)] - params) < 3.5 * bse).all()


def test_names_are_those_of_polr_and_multinom():
    data = people(3000)
    ordinal = dpreg.dp_ordinal("y ~ x + C(g)", data, 20.0, levels=LEVELS, rng=1)
    assert ordinal.names == ("x", "C(g)[T.b]", "low|mid", "mid|top")
    assert ordinal.thresholds.index.tolist() == ["low|mid", "mid|top"]
    assert "Private Ordered Logit Regression Results" in str(ordinal)
    several = dpreg.dp_multinomial("y ~ x", data, 20.0, levels=LEVELS, rng=1)
    assert several.names == ("mid:Intercept", "mid:x", "top:Intercept", "top:x")
    assert several.coefficients.loc["x", "top"] == several.params["top:x"]
    assert "Private Multinomial Logit Regression Results" in str(several)
    assert ordinal.levels == several.levels == ("low", "mid", "top")


@pytest.fixture(scope="module")
def fitted():
    options = {"levels": LEVELS, "weights": "w", "weight_limit": 2.0, "rng": 1}
    return {
        model: call("y ~ x + C(g)", people(20000, model), 5.0, **options)
        for model, call in CALLS.items()
    }


@both
def test_probabilities_and_effects_are_those_of_statsmodels(model, fitted):
    fit, data = fitted[model], people(300, model, seed=5)
    known, _, _ = exact(people(2000, model), model)
    X = np.column_stack([data["x"], data["g"] == "b"]).astype(float)
    found = fit.predict(data, winsorise=False)
    assert found.columns.tolist() == LEVELS["y"]
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    if model == "multinomial":
        params = fit.estimates.reshape(2, 3).T
        wanted = known.model.predict(params, sm.add_constant(X))
    else:
        steps = np.append(fit.estimates[2], np.log(np.diff(fit.estimates[2:])))
        wanted = known.model.predict(np.append(fit.estimates[:2], steps), exog=X)
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
    assert fit.predict(data, which="class", winsorise=False).tolist() == [
        LEVELS["y"][k] for k in np.asarray(wanted).argmax(axis=1)
    ]
    # By the definition, with steps of the covariate and of the coefficients.
    effects = fit.marginal_effects(data).set_index(["class", "term"])
    moved = [fit.predict(data.assign(x=data["x"] + h), winsorise=False) for h in (1e-4, -1e-4)]
    slope = ((moved[0] - moved[1]) / 2e-4).mean()
    for level in LEVELS["y"]:
        assert effects.loc[(level, "x"), "dy/dx"] == pytest.approx(slope[level], rel=1e-5)
    assert effects["dy/dx"].groupby("term").sum().abs().max() < 1e-12
    assert (effects["std err"] > 0).all()


@both
def test_errors_of_probabilities_are_those_of_the_delta_method(model, fitted):
    fit, data = fitted[model], people(20, model, seed=6)
    table = fit.predict(data, interval="confidence", alpha=0.1)
    assert table.columns.tolist() == ["row", "class", "mean", "std err", "lower", "upper"]
    gradients = []
    for j in range(len(fit.names)):
        step = np.zeros(len(fit.names))
        step[j] = 1e-6
        ends = [replace(fit, estimates=fit.estimates + s * step).predict(data) for s in (1, -1)]
        gradients.append(((ends[0] - ends[1]) / 2e-6).to_numpy().ravel())
    G = np.array(gradients)
    error = np.sqrt(np.einsum("ij,ik,kj->j", G, fit.covariance, G))
    np.testing.assert_allclose(table["std err"], error, rtol=1e-4)
    p, margin = table["mean"], fit.law.critical_value(0.1) * table["std err"]
    np.testing.assert_allclose(
        np.log(table["upper"] / (1 - table["upper"])), np.log(p / (1 - p)) + margin / (p * (1 - p))
    )
    assert ((table["lower"] < p) & (p < table["upper"])).all()


@both
def test_incomplete_rows_of_new_data_are_blank(model, fitted):
    new = pd.DataFrame({"x": [50.0, np.nan], "g": ["a", "b"]}, index=["p", "q"])
    found = fitted[model].predict(new)
    assert found.index.tolist() == ["p", "q"]
    assert found.loc["q"].isna().all()
    assert found.loc["p"].notna().all()
    table = fitted[model].predict(new, interval="confidence")
    assert table[table["row"] == "q"][["mean", "lower", "upper"]].isna().all().all()
    assert fitted[model].predict(new, which="class")["q"] is None
    far = (
        fitted[model].predict({"x": [1e6], "g": ["a"]}),
        fitted[model].predict({"x": [1e7], "g": ["a"]}),
    )
    pd.testing.assert_frame_equal(*far)


def test_thresholds_out_of_order_are_said_and_taken_in_order(fitted):
    fit = fitted["ordinal"]
    swapped = fit.estimates.copy()
    swapped[2:] = swapped[[3, 2]]
    covariance = fit.covariance[np.ix_([0, 1, 3, 2], [0, 1, 3, 2])]
    other, new = replace(fit, estimates=swapped, covariance=covariance), people(5)
    pd.testing.assert_frame_equal(other.predict(new), fit.predict(new))
    pd.testing.assert_frame_equal(*(f.predict(new, interval="confidence") for f in (other, fit)))
    assert "thresholds are not in increasing order" in str(other)
    assert "increasing" not in str(fit)


@both
def test_tests_of_terms_take_all_their_coefficients(model, fitted):
    table = fitted[model].anova()
    assert list(table.index) == ["x", "C(g)"]
    assert table["df"].tolist() == ([1, 1] if model == "ordinal" else [2, 2])
    assert table.loc["x", "P>chi2"] < 1e-6


@both
def test_slopes_are_drawn_and_intercepts_are_not(model, fitted):
    pytest.importorskip("matplotlib").use("Agg")
    slopes = [name for name in fitted[model].names if "x" in name or "C(g)" in name]
    shown = [label.get_text() for label in fitted[model].plot().get_yticklabels()]
    assert shown == slopes
    assert len(shown) == (2 if model == "ordinal" else 4)
    alone = CALLS[model]("y ~ 1", people(2000, model), 20.0, levels=LEVELS, rng=1)
    assert len(alone.plot().get_yticklabels()) == 2


@both
def test_a_fit_goes_to_json_and_back(model, fitted):
    fit, kind = fitted[model], RESULTS[model]
    again = kind.from_json(fit.to_json())
    assert again.to_json() == fit.to_json()
    assert str(again) == str(fit)
    shown = {"ordinal": "Ordered Logit", "multinomial": "Multinomial Logit"}[model]
    assert re.search(rf"^Model: +{shown} +Epsilon:", str(again.summary()), re.M)
    assert f"Private {shown} Regression Results" in str(fit.summary())
    new = people(5)
    pd.testing.assert_frame_equal(again.predict(new), fit.predict(new))
    other = RESULTS["multinomial" if model == "ordinal" else "ordinal"]
    text = fit.to_json()
    swapped = json.loads(text)
    swapped["classes"]["levels"] = ["low", "mid", "other"]
    wrong = ["{}", "3", text[:-9], json.dumps(swapped)]
    for each, reader in [*((one, kind) for one in wrong), (text, other)]:
        with pytest.raises(ValueError, match="this is not a fit of"):
            reader.from_json(each)


@both
def test_where_rows_are_and_what_holds_them_changes_nothing(model, tmp_path):
    data, path = people(4000, model)[["y", "x", "who"]], tmp_path / "d.parquet"
    data.to_parquet(path)
    kinds = [(data, {}), (str(path), {}), (pl.from_pandas(data), {}), (data, {"memory": 1e6})]
    if find_spec("dask"):
        import dask.dataframe as dd

        kinds.append((dd.from_pandas(data, npartitions=3), {}))
    for unit in ({}, {"unit": "who", "max_rows": 2}):
        found = {
            CALLS[model](
                "y ~ x", kind, 3.0, levels={"y": LEVELS["y"]}, rng=2, **unit, **more
            ).to_json()
            for kind, more in kinds
        }
        assert len(found) == 1


@both
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_records_are_an_outcome(model, rows):
    for formula in ("y ~ x", "y ~ 1"):
        found = CALLS[model](formula, people(9)[:rows], 1.0, levels=LEVELS, rng=1)
        assert isinstance(found, (dpreg.NotReleased, RESULTS[model]))


def persons(count, rows):
    rng = np.random.default_rng(2)
    x = rng.normal(size=count * rows)
    y = np.searchsorted([-1.0, 0.5], 0.5 * x + rng.logistic(size=len(x)))
    return {"y": y, "x": x, "who": np.repeat(np.arange(count), rows)}


def test_a_generous_limit_of_rows_leaves_something_to_tell():
    """Four loud steps had errors four to seven times as large; one slope in six is not told."""
    asked = {"levels": {"y": [0, 1, 2]}, "unit": "who", "max_rows": 60}
    data, errors, away = persons(20_000, 5), [], []
    for seed in range(8):
        fit = dpreg.dp_ordinal("y ~ x", data, 1.0, 1e-6, rng=seed, **asked)
        errors.append(fit.bse.to_numpy())
        away.append((fit.estimates - [0.5, -1.0, 0.5]) / fit.bse.to_numpy())
    assert np.nanmedian(errors, axis=0).max() < 0.02
    assert np.isnan(errors).mean() < 0.25
    assert np.nanmax(np.abs(away)) < 4


def test_few_steps_reach_the_root_of_steep_slopes():
    """Two from a model without slopes did not."""
    rng = np.random.default_rng(5)
    for seed in range(4):
        x = rng.normal(size=3000)
        y = np.searchsorted([0.0, 0.7, 1.3], 0.8 * x + rng.normal(size=3000))
        asked = {"link": "probit", "levels": {"y": [0, 1, 2, 3]}, "rng": seed}
        fit = dpreg.dp_ordinal("y ~ x", {"y": y, "x": x}, 1.0, 1e-6, **asked)
        gap = (fit.estimates - [0.8, 0.0, 0.7, 1.3]) / fit.bse.to_numpy()
        assert np.abs(gap).max() < 4.5


def test_steps_go_on_until_slopes_of_well_separated_classes_are_reached():
    """Four steps from a model without slopes left them 7 to 11 errors short."""
    truth = np.array([1, 3.4, 0.6, 1.5, -1, 1.6])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.choice([-1.0, 1.0], 20_000) + 0.4 * rng.normal(size=20_000)
        scores = np.column_stack([0 * x, 1 + 3.4 * x, 0.6 + 1.5 * x, 1.6 * x - 1])
        y = (scores + rng.gumbel(size=(20_000, 4))).argmax(axis=1)
        asked = {"levels": {"y": [0, 1, 2, 3]}, "rng": seed}
        fit = dpreg.dp_multinomial("y ~ x", {"y": y, "x": x}, 1.0, 1e-6, **asked)
        assert np.abs((fit.estimates - truth) / fit.bse.to_numpy()).max() < 4.5
        assert (fit.bse < 0.4).all()


@both
def test_where_nothing_is_told_of_units_with_many_rows_that_limit_is_named(model):
    asked = {"levels": {"y": [0, 1, 2]}, "unit": "who", "max_rows": 60}
    found = CALLS[model]("y ~ x", persons(300, 5), 1.0, 1e-6, rng=1, **asked)
    assert isinstance(found, dpreg.NotReleased)
    assert "with 60 rows per unit, eps is too small" in str(found)
    assert "smaller max_rows" in str(found)


@both
def test_classes_without_covariates_have_their_shares(model):
    data = people(20000, model)
    fit = CALLS[model]("y ~ 1", data, 20.0, levels=LEVELS, rng=1)
    share = data["y"].value_counts(normalize=True)[LEVELS["y"]]
    np.testing.assert_allclose(fit.predict({"any": [1.0]}).loc[0], share, atol=0.01)


def test_an_offset_is_added_as_it_is():
    data = people(20000)
    data["y"] = np.array(LEVELS["y"])[
        np.searchsorted([-0.8, 0.9], data["shift"] + np.random.default_rng(3).logistic(size=20000))
    ]
    fit = dpreg.dp_ordinal("y ~ offset(shift)", data, 30.0, levels=LEVELS, rng=1)
    assert fit.estimates[fit.names.index("offset(shift)")] == 1.0
    np.testing.assert_allclose(fit.thresholds, [-0.8, 0.9], atol=0.06)


@pytest.mark.parametrize("given", [
    [1, 2, 3], ["it's", 'say "b"', "a + b"], [-1, 0.5, 7], [False, True],
])  # fmt: skip
def test_levels_may_be_numbers_and_text_with_quotes(given):
    data = people(3000)
    codes = np.minimum(data["code"], len(given) - 1)
    data["y"] = pd.Series(given, dtype=object)[codes].to_numpy() if isinstance(given[0], str) else (
        np.array(given)[codes])  # fmt: skip
    fit = dpreg.dp_ordinal("y ~ x", data, 30.0, levels={"y": given}, rng=1)
    share = np.bincount(codes) / len(codes)
    np.testing.assert_allclose(fit.predict(data).mean(), share, atol=0.03)


def test_declared_categories_need_no_levels_and_a_dot_is_all_other_columns():
    data = people(3000)[["y", "x"]]
    data["y"] = pd.Categorical(data["y"], LEVELS["y"], ordered=True)
    found = [dpreg.dp_ordinal(f, data, 5.0, rng=1).names for f in ("y ~ x", "y ~ .")]
    assert found[0] == found[1] == ("x", "low|mid", "mid|top")


def test_a_record_of_another_class_is_incomplete():
    data = people(3000)
    more = pd.concat([data, data.assign(y="none", x=1e9)[:50]])
    found = {dpreg.dp_ordinal("y ~ x", d, 2.0, levels=LEVELS, rng=1).to_json()
             for d in (data, more)}  # fmt: skip
    assert len(found) == 1


def test_a_budget_is_charged_once_and_the_ledger_says_what_for():
    budget = dpreg.Budget(1.0, 1e-5)
    dpreg.dp_ordinal(
        "y ~ x", people(300), 0.5, levels=LEVELS, unit="who", max_rows=2, budget=budget
    )
    (charge,) = budget.charges
    assert charge.epsilon == 0.5
    assert "max_rows=2" in charge.unit


WRONG = [
    ({"formula": "x"}, FormulaError, "must have one response"),
    ({"formula": 3}, FormulaError, "must be a string"),
    ({"formula": "nope ~ x"}, FormulaError, "no column 'nope'"),
    ({"formula": "C(y) ~ x"}, FormulaError, "must be a column"),
    ({"levels": {"g": ["a", "b"]}}, SchemaError, "add levels={'y':"),
    ({"levels": {"y": ["a|b", "c"]}}, SchemaError, "rename it"),
    ({"levels": {"y": ["low"]}}, SchemaError, "levels"),
    ({"formula": "y ~ 0 + x"}, FormulaError, "leave out the 0"),
    ({"formula": "y ~ x | who", "unit": "who"}, FormulaError, "linear models only"),
    ({"formula": "y ~ x + y"}, FormulaError, "on the right too"),
    ({"max_rows": 2}, ArgumentError, "needs unit"),
    ({"unit": "who", "max_rows": 10**5}, ArgumentError, "with 3 classes"),
    ({"bounds": {"y": (0, 1)}}, ArgumentError, "not a column of the model"),
    ({"family": "ordinal"}, TypeError, "no such argument"),
]  # fmt: skip


@both
@pytest.mark.parametrize(("given", "kind", "says"), WRONG, ids=lambda v: str(v)[:40])
def test_wrong_use_is_refused_before_the_charge(model, given, kind, says):
    budget = dpreg.Budget(1.0, 1e-5)
    asked = {"formula": "y ~ x", "levels": LEVELS, **given}
    with pytest.raises(kind) as refusal:
        CALLS[model](data=people(50), eps=1.0, budget=budget, **asked)
    assert says in str(refusal.value)
    assert not budget.charges


def test_what_one_model_has_and_the_other_has_not_is_refused():
    data = people(50)
    with pytest.raises(FormulaError, match="the same for all classes"):
        dpreg.dp_multinomial("y ~ x + offset(shift)", data, 1.0, levels=LEVELS)
    with pytest.raises(ArgumentError, match="must be 'logit', 'probit'"):
        dpreg.dp_ordinal("y ~ x", data, 1.0, levels=LEVELS, link="cloglog")


@both
def test_wrong_questions_are_refused(model, fitted):
    fit = fitted[model]
    for wrong, says in (({}, "must be given"), ({"data": {"z": [1.0]}}, "no column"),
                        ({"data": {"x": [1.0], "g": ["a"]}, "which": "odds"}, "which"),
                        ({"data": {"x": [1.0], "g": ["a"]}, "interval": "prediction"}, "interval"),
                        ):  # fmt: skip
        with pytest.raises(ValueError, match=says):
            fit.predict(**wrong)
    with pytest.raises(ArgumentError, match="no complete row"):
        fit.marginal_effects({"x": [np.nan], "g": ["a"]})


@pytest.mark.parametrize("slope", [0.0, 0.6])
@pytest.mark.parametrize("model", ["ordinal", "multinomial"])
def test_a_fit_that_may_be_worse_than_shares_says_so_first(model, slope):
    """Where all else of covariates is noise; one of an effect does not."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(6_000, 3))
    y = np.digitize(x @ np.full(3, slope) + rng.logistic(size=len(x)), [-1.0, 1.0])
    data = {"y": y, **dict(zip("abc", x.T, strict=True))}
    call = getattr(dpreg, f"dp_{model}")
    fit = call("y ~ a + b + c", data, 1.0, 1e-6, levels={"y": [0, 1, 2]}, rng=3)
    said = ["no better than the shares of the classes" in note for note in fit.notes]
    assert said == [slope == 0, *[False] * (len(said) - 1)]


def test_nothing_is_gained_where_no_slope_is_known():
    slopes, errors = np.array([5.0, 0.0, 3.0]), np.diag([0.01, np.nan, 1.0])
    assert about_gain(slopes, errors, [0]) == ()
    assert about_gain(slopes, errors, [0, 2]) == ()
    assert about_gain(slopes, 20 * errors, [2])
    assert about_gain(slopes, errors, [1])
    assert about_gain(slopes, errors, []) == ()
