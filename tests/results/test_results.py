"""Results: one table, formats, round trips."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpreg
from dpreg.base.errors import ArgumentError
from dpreg.estimation.inference.law import NORMAL, TailLaw

pytestmark = pytest.mark.usefixtures("coarse_losses")


@pytest.fixture(scope="module")
def fit(diamonds):
    return dpreg.dp_lm("log(price) ~ log(carat) + depth", diamonds, 1.0, rng=1)


def test_labels_and_shapes(fit):
    terms = ["Intercept", "log(carat)", "depth"]
    for series in (fit.params, fit.bse, fit.tvalues, fit.pvalues):
        assert series.index.tolist() == terms
    assert fit.conf_int().index.tolist() == terms
    assert list(fit.conf_int().columns) == [0, 1]
    assert fit.cov_params().shape == (3, 3)


def test_numbers_agree_with_one_another(fit):
    table = fit.tidy()
    np.testing.assert_allclose(np.diag(fit.cov_params()), fit.bse**2)
    np.testing.assert_allclose(table["sampling"] ** 2 + table["privacy"] ** 2, fit.bse**2)
    np.testing.assert_allclose(fit.tvalues, fit.params / fit.bse)
    wide, narrow = fit.conf_int(0.01), fit.conf_int(0.1)
    assert (wide[0] < narrow[0]).all()
    assert (wide[1] > narrow[1]).all()
    excludes_zero = (fit.conf_int()[0] > 0) | (fit.conf_int()[1] < 0)
    assert ((fit.pvalues < 0.05) == excludes_zero).all()


@pytest.mark.parametrize("alpha", [0, 1, -1, 2, np.nan, "a", None, True, [0.1]])
def test_wrong_alpha(fit, alpha, diamonds):
    for use in (
        fit.conf_int,
        fit.tidy,
        fit.summary,
        lambda a: fit.predict(diamonds.head(), interval="confidence", alpha=a),
        lambda a: fit.predict(diamonds.head(), alpha=a),
    ):
        with pytest.raises(ValueError, match=r"^alpha must be"):
            use(alpha)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("rsquared", "fit_stats=True"),
        ("aic", "residuals"),
        ("llf", "residuals"),
        ("resid", "per record"),
        ("fittedvalues", r"per record.*predict"),
        ("get_prediction", r"write predict\(data, interval='confidence'\)"),
        ("df_resid", "nobs"),
        ("deviance", "residuals"),
        ("get_margeff", r"marginal_effects\(data\)"),
        ("nothing", "no attribute 'nothing'"),
    ],
)
def test_what_is_private_is_not_there_and_says_why(fit, name, says):
    assert not hasattr(fit, name)
    with pytest.raises(AttributeError, match=says):
        getattr(fit, name)


@pytest.mark.parametrize("text", [None, 3, ["a"], {}])
def test_only_text_is_read(text):
    with pytest.raises(ValueError, match="not a dpreg result"):
        dpreg.DPResults.from_json(text)


def test_a_part_that_takes_the_rest_does_not_look_free(diamonds):
    fit = dpreg.dp_lm("price ~ carat", diamonds, 1.0, method="dpsgd")
    text = " ".join(str(fit.privacy).split())
    assert "eps=0" not in text
    assert fit.privacy.to_frame()["share"].iloc[-1] == ("the rest of eps and delta")


def test_json_pickle_and_copy_round_trips(fit, diamonds):
    others = [dpreg.DPResults.from_json(fit.to_json()), pickle.loads(pickle.dumps(fit)),
              copy.deepcopy(fit)]  # fmt: skip
    for other in others:
        assert other.to_json() == fit.to_json()
        assert str(other.summary()) == str(fit.summary())
        np.testing.assert_array_equal(other.predict(diamonds), fit.predict(diamonds))


def test_not_released_round_trips(diamonds):
    declined = dpreg.dp_lm("price ~ carat", diamonds.iloc[:50], 0.1, rng=1)
    assert str(pickle.loads(pickle.dumps(declined))) == str(declined)
    assert json.loads(declined.to_json())["privacy"]["epsilon"] == 0.1


@pytest.mark.parametrize("text", ["{}", "[1]", '{"dpreg_results": 99}', "3"])
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match="not a dpreg result"):
        dpreg.DPResults.from_json(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"dpreg_results": 7}', "it is of format 7, of another version of dpreg"),
        ('{"dpreg_moments": 3}', "it has no dpreg_results, but 'dpreg_moments'"),
        ("{}", "it has no dpreg_results$"),
    ],
)
def test_what_another_document_is_is_said(text, says):
    with pytest.raises(ValueError, match=says):
        dpreg.DPResults.from_json(text)


def test_result_is_frozen(fit):
    with pytest.raises(AttributeError):
        fit.units = 3


def test_predict(fit, diamonds):
    new = diamonds.head(4).copy()
    new.loc[1, "carat"] = np.nan
    new.loc[2, "carat"] = -1.0
    predicted = fit.predict(new.drop(columns="price"))
    assert predicted.isna().tolist() == [False, True, True, False]
    row = new.iloc[3]
    by_hand = fit.params @ [1, np.log(row["carat"]), row["depth"]]
    assert predicted[3] == pytest.approx(by_hand)
    with pytest.raises(ValueError, match="no column 'depth'"):
        fit.predict(new[["carat"]])
    with pytest.raises(ValueError, match="numeric in the fit"):
        fit.predict(pd.DataFrame({"carat": ["a"], "depth": [1.0]}))


def test_predict_with_levels(diamonds):
    fit = dpreg.dp_lm("price ~ cut", diamonds, 8.0, inference=False, rng=1)
    text = pd.DataFrame({"cut": ["Ideal", "Fair", "unheard of"]})
    predicted = fit.predict(text)
    assert predicted[0] == pytest.approx(fit.params["Intercept"] + fit.params["cut[T.Ideal]"])
    assert predicted[1] == pytest.approx(fit.params["Intercept"])
    assert np.isnan(predicted[2])


def test_without_inference_nothing_is_made_up(diamonds):
    fit = dpreg.dp_lm("price ~ carat", diamonds, 1.0, inference=False, rng=1)
    assert fit.conf_int().isna().all(axis=None)
    assert fit.pvalues.isna().all()
    assert "not requested" in str(fit.summary())
    assert "std err" not in str(fit.summary())


def test_normal_law():
    assert NORMAL.critical_value(0.05) == pytest.approx(1.959964, abs=1e-6)
    np.testing.assert_allclose(NORMAL.p_values(np.array([0, -1.0])), 2 * stats.norm.sf([0, 1]))


def test_tabulated_law_goes_through_its_table_and_on():
    tail = (0.5, 0.1, 0.05, 0.01, 0.001)
    law = TailLaw(tail, tuple(stats.norm.isf(np.array(tail) / 2)))
    for alpha in tail:
        assert law.critical_value(alpha) == pytest.approx(stats.norm.isf(alpha / 2))
    ratio = np.array([0.0, 0.3, 1.0, 2.0, 2.9, 5.0, 50.0, 1e9])
    p = law.p_values(ratio)
    assert p[0] == 1
    assert (np.diff(p) <= 0).all()
    np.testing.assert_allclose(p[1:5], 2 * stats.norm.sf(ratio[1:5]), rtol=0.1)
    assert 0 < p[5] < 1e-4


def test_predictions_have_the_index_of_new_data(diamonds):
    fit = dpreg.dp_lm("price ~ carat", diamonds, 1.0, rng=1)
    new = diamonds.iloc[[7, 3, 3]].set_axis(["a", "b", "b"])
    assert fit.predict(new).index.tolist() == ["a", "b", "b"]
    assert fit.predict({"carat": [1.0, 2.0]}).index.tolist() == [0, 1]


def test_intervals_of_predictions(diamonds):
    fit = dpreg.dp_lm("price ~ carat + depth", diamonds, 1.0, rng=1)
    table = fit.predict(diamonds.head(3), winsorise=False, interval="confidence")
    row = np.array([1.0, *diamonds.loc[0, ["carat", "depth"]]], dtype=float)
    error = np.sqrt(row @ fit.cov_params().to_numpy() @ row)
    assert table["std err"].iloc[0] == pytest.approx(error)
    assert table["mean"].iloc[0] == pytest.approx(row @ fit.params.to_numpy())
    margin = fit.law.critical_value(0.05) * error
    assert table["upper"].iloc[0] - table["mean"].iloc[0] == pytest.approx(margin)
    # A prediction is no price below the least; an interval is one for the line, wherever that is.
    assert table["mean"].min() < 0 <= fit.limits[-1, 0]
    inside = np.maximum(table["mean"], fit.limits[-1, 0])
    np.testing.assert_array_equal(fit.predict(diamonds.head(3)), inside)
    default = fit.predict(diamonds.head(3), interval="confidence")
    np.testing.assert_array_equal(default["mean"], fit.predict(diamonds.head(3)))
    np.testing.assert_array_equal(default["lower"], table["lower"])
    assert (default["upper"] >= default["mean"]).all()
    with pytest.raises(ValueError, match="interval"):
        fit.predict(diamonds.head(), interval="prediction")


def test_plots_draw_what_was_released(diamonds):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    fit = dpreg.dp_lm("log(price) ~ log(carat) + depth + table", diamonds, 0.1, rng=1)
    ax = fit.plot()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["log(carat)", "depth", "table"]
    z = fit.tvalues.iloc[1:]
    near = np.abs(z) < 25
    assert near.tolist() == [False, True, True]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), z[near])
    intervals = ax.collections[0].get_segments()
    table = fit.tidy().loc[["depth", "table"]]
    np.testing.assert_allclose([segment[:, 0] for segment in intervals],
                               table[["lower", "upper"]].div(table["std err"], axis=0))  # fmt: skip
    texts = [t.get_text() for t in ax.texts]
    assert f"{z['log(carat)']:.0f}" in texts  # an arrow to what is far out
    assert f"{fit.params['depth']:.4f} ± {fit.bse['depth']:.4f}" in texts
    clear = dpreg.dp_lm("log(price) ~ log(carat)", diamonds, 10.0, rng=1)
    assert (clear.tvalues.abs() > 25).all()
    around = clear.plot()
    np.testing.assert_allclose(around.lines[0].get_xdata(), 0)
    ends = np.array([s[1, 0] for s in around.collections[0].get_segments()])
    np.testing.assert_allclose(ends, stats.norm.ppf(0.975))
    assert around.get_xlabel().startswith("standard errors from the estimate")
    bare = dpreg.dp_lm("price ~ carat + depth", diamonds, 1.0, rng=1, inference=False)
    np.testing.assert_array_equal(bare.plot().lines[0].get_xdata(), bare.params.iloc[1:])
    budget = dpreg.Budget(2.0, 1e-5)
    budget.spend("first", 0.5)
    assert budget.plot().patches[0].get_width() == 0.25
    plan = dpreg.dp_plan(20_000, 5, 1.0)
    curve = plan.plot().lines[0]
    near = np.argmin(np.abs(np.log(curve.get_xdata())))
    assert curve.get_ydata()[near] == pytest.approx(plan.width, rel=0.1)
    plt.close("all")


@pytest.mark.parametrize(("path", "value", "match"), [
    (("units",), "many", "units"), (("units",), 10**400, "units"), (("names",), "a", "names"),
    (("estimates",), [[1.0]], "estimates"), (("estimates",), [1.0], "estimates"),
    (("covariance",), [[1.0]], "covariance"), (("covariance", 0, 0), -1.0, "below 0"),
    (("limits",), [[1.0]], "limits"), (("limits",), [], "limits"),
    (("limits",), [[0.0, 1.0]], "limits"), (("limits", 0), [2.0, 1.0], "limits"),
    (("law", "tail"), [0.5], "law"),
    (("privacy", "seeded"), 0, "privacy.seeded"), (("privacy", "parts", 0, "noise"), None, "noise"),
    (("schema", "carat", "levels"), 3, "schema.carat.levels"), (("dpreg_results",), 1, "format"),
])  # fmt: skip
def test_json_of_wrong_content_is_refused_when_it_is_read(diamonds, path, value, match):
    document = json.loads(dpreg.dp_lm("price ~ carat", diamonds, 1.0, method="adassp").to_json())
    dpreg.DPResults.from_json(json.dumps(document))
    *most, last = path
    place = document
    for key in most:
        place = place[key]
    place[last] = value
    with pytest.raises(ValueError, match=match):
        dpreg.DPResults.from_json(json.dumps(document))


def test_a_fit_that_is_private_is_not_called_otherwise(fit):
    private = dataclasses.replace(fit, privacy=dataclasses.replace(fit.privacy, seeded=False))
    assert private.model.endog_names == "log(price)"
    with pytest.raises(AttributeError, match=r"no 'model\.exog': the records are not kept"):
        _ = private.model.exog
    assert copy.copy(fit.model) == pickle.loads(pickle.dumps(fit.model)) == fit.model


def test_predictions_of_the_records_are_refused(fit):
    with pytest.raises(ArgumentError, match=r"^data must be given: .*; write predict\(data\) for"):
        fit.predict()
