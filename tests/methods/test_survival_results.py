"""What follows from a fit of proportional hazards: hazards, curves, bands, pictures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from methods.tables import survivors as cohort

import dpreg
from dpreg.base.errors import ArgumentError
from dpreg.results.survival import FittedPeriods

CUTS = [0.5, 1.0, 1.5, 2.0]


LEVELS = {"arm": ["a", "b"], "site": ["u", "v"]}


@pytest.fixture(scope="module")
def fitted():
    return dpreg.dp_survival("Surv(time, event) ~ x + C(arm)", cohort(20000), 5.0, cuts=CUTS,
                             levels=LEVELS, weights="w", weight_limit=2.0, rng=1)  # fmt: skip


def test_curves_hazards_and_ratios_are_those_of_the_coefficients(fitted):
    new = pd.DataFrame({"x": [0.0, 1.0, np.nan], "arm": ["a", "b", "a"]}, index=["p", "q", "r"])
    table = fitted.predict_survival(new)
    assert table.columns.tolist() == ["row", "time", "survival", "lower", "upper"]
    assert table[table["row"] == "r"][["survival", "lower", "upper"]].isna().all().all()
    b = fitted.params
    later = b["Intercept"] + b[["interval[T.1]", "interval[T.1.5]", "interval[T.2]"]].to_numpy()
    hazards = 0.5 * np.exp(np.append(b["Intercept"], later))
    ratio = np.exp(b["x"] + b["C(arm)[T.b]"])
    for row, times in (("p", 1.0), ("q", ratio)):
        mine = table[table["row"] == row]
        np.testing.assert_allclose(mine["survival"], np.exp(-np.cumsum(hazards) * times))
        assert ((mine["lower"] < mine["survival"]) & (mine["survival"] < mine["upper"])).all()
    baseline = fitted.baseline_hazard()
    np.testing.assert_allclose(baseline["hazard"], hazards / 0.5)
    np.testing.assert_allclose(baseline["cumulative"], np.cumsum(hazards))
    # In one interval the cumulative hazard is one exponential.
    gap = np.log(-np.log(table["lower"][0])) - np.log(-np.log(table["survival"][0]))
    assert gap == pytest.approx(np.log(baseline["upper"][0] / baseline["hazard"][0]))
    np.testing.assert_allclose(fitted.tidy(exp=True)["coef"], np.exp(b))
    wide = fitted.predict_survival(new, simultaneous=True)
    known = table["survival"].notna()
    assert (wide["lower"] < table["lower"])[known].all()
    assert (wide["upper"] > table["upper"])[known].all()
    assert "exp(coef)" in str(fitted.summary(exp=True))
    assert "Private Proportional Hazards Regression Results" in str(fitted)
    assert fitted.estimand.name == "early-censored maximum likelihood"
    assert f"No. Records: {fitted.units:>12,.0f} (private)".replace(" ", "") in str(fitted).replace(
        " ", ""
    )
    assert f"No.Events:{fitted.events:,.0f}(private)" in str(fitted).replace(" ", "")


@pytest.mark.parametrize("strata", [None, "site"])
def test_the_intercept_is_the_log_hazard_that_the_baseline_has(strata):
    """It was that of a hundredth of the first interval: -6.2 where the hazard is 0.2."""
    data = cohort(5000)
    fit = dpreg.dp_survival("Surv(time, event) ~ x", data, 20.0, cuts=[0.3, 1.0, 1.4, 2.0],
                            strata=strata, levels=LEVELS, rng=2)  # fmt: skip
    ratios, table = fit.tidy(exp=True), fit.baseline_hazard()
    shown = ratios.loc["Intercept", ["coef", "lower", "upper"]].to_numpy(dtype=float)
    np.testing.assert_allclose(shown, table.loc[0, ["hazard", "lower", "upper"]], rtol=1e-12)
    others = ratios.loc[[f"interval[T.{end}]" for end in ("1", "1.4", "2")], "coef"]
    np.testing.assert_allclose(others, table["hazard"][1:] / table["hazard"][0], rtol=1e-12)
    note = "the intercept is the log hazard per unit of time in (0, 0.3] where covariates are 0"
    assert note in " ".join(str(fit).split())
    assert ("in the first of the strata" in " ".join(str(fit).split())) == (strata is not None)
    assert "the intercept is the hazard per" in " ".join(str(fit.summary(exp=True)).split())


def test_a_coefficient_of_which_nothing_is_known_stays_0():
    periods = FittedPeriods(edges=(0.0, 2.0, 3.0), covariates=("x",), exits=(0.0,) * 6)
    covariance = np.diag([1.0, 1.0, np.nan, np.nan])
    found = periods.per_unit_of_time(np.array([-1.0, 2.0, 0.0, 1.0]), covariance)
    np.testing.assert_allclose(found, [-1 + np.log(100 / 2), 2, 0, 1])


@pytest.mark.parametrize("entry", [False, True])
def test_events_and_numbers_at_risk_are_those_of_the_records(entry):
    data = cohort(20000)
    surv = "Surv(start, time, event)" if entry else "Surv(time, event)"
    fit = dpreg.dp_survival(f"{surv} ~ x", data, 60.0, cuts=CUTS, strata="site", levels=LEVELS,
                            rng=2)  # fmt: skip
    assert fit.events == pytest.approx(((data.event == 1) & (data.time <= 2)).sum(), abs=20)
    start = data["start"] if entry else 0 * data["time"]
    wanted = [((start <= t) & (data["time"] > t)).sum() for t in (0.0, *CUTS[:-1])]
    np.testing.assert_allclose(fit.periods.at_risk, wanted, atol=30)


def test_bands_hold_at_all_cuts_together(fitted):
    """Coefficients drawn from their own law: bands at the estimate hold those that were drawn."""
    rng, rows = np.random.default_rng(8), fitted._rows(np.array([[1.0, 1.0]]))[0]
    drawn = rng.multivariate_normal(fitted.estimates, np.nan_to_num(fitted.covariance), 20000)
    truth = np.exp(-np.cumsum(np.exp(drawn @ rows.T), axis=1))
    new = pd.DataFrame({"x": [1.0], "arm": ["b"]})
    shares = []
    for simultaneous in (False, True):
        table = fitted.predict_survival(new, 0.1, simultaneous=simultaneous)
        inside = (table["lower"].to_numpy() <= truth) & (truth <= table["upper"].to_numpy())
        shares.append((inside.mean(), inside.all(axis=1).mean()))
    assert shares[0][0] == pytest.approx(0.9, abs=0.01)
    assert shares[0][1] < 0.89
    assert shares[1][1] == pytest.approx(0.9, abs=0.01)


def test_a_fit_goes_to_json_and_back(fitted):
    again = dpreg.DPSurvival.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()
    assert str(again) == str(fitted)
    new = {"x": [0.5], "arm": ["b"]}
    pd.testing.assert_frame_equal(again.predict_survival(new), fitted.predict_survival(new))
    text = fitted.to_json()
    other = text.replace('"varying": []', '"varying": ["z"]')
    for wrong in ("{}", "3", other, text.replace('"Intercept"', '"x"', 1), text[:-9]):
        with pytest.raises(ValueError, match="not a survival fit"):
            dpreg.DPSurvival.from_json(wrong)
    assert fitted.privacy.request["method"]["cuts"] == CUTS
    with pytest.raises(ArgumentError, match="predict_survival"):
        fitted.predict(new)
    with pytest.raises(ArgumentError, match="hazard ratios"):
        fitted.marginal_effects(new)
    with pytest.raises(ArgumentError, match="time_varying"):
        fitted.ph_test()


def test_curves_are_drawn(fitted):
    pytest.importorskip("matplotlib")
    axes = fitted.plot_survival({"x": [0.0, 1.0], "arm": ["a", "b"]})
    assert len(axes.lines) == 2
    assert "NOT PRIVATE" in axes.get_title(loc="left")
    assert "simultaneous 95% bands" in axes.get_xlabel()
    axes = fitted.plot_survival({"x": [0.0], "arm": ["a"]}, simultaneous=False)
    assert "pointwise 95% bands" in axes.get_xlabel()
