"""What follows from fits of classes: probabilities, effects, tests, pictures."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from methods.classes import CALLS, LEVELS, RESULTS, both, exact, people

from dpreg.base.errors import ArgumentError


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
