"""Names of other packages, asked of results of each kind."""

import pytest

import dpreg
from dpreg.results.described import why_absent


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        (dpreg.DPEffect, "ate", "write effect"),
        (dpreg.DPEffect, "att", "average over all rows, not over the treated rows"),
        (dpreg.DPEffect, "params", "write tidy()"),
        (dpreg.DPEffect, "bse", "write se"),
        (dpreg.DPResults, "coef", "write params"),
        (dpreg.DPSurvival, "concordance_index_", "dp_curve(...).concordance()"),
        (dpreg.DPSurvival, "predict_survival_function", "write predict_survival(data)"),
        (dpreg.DPCurve, "median_survival_time_", "write quantile(0.5)"),
        (dpreg.DPCurve, "survival_function_", "write tidy()"),
        (dpreg.DPMoments, "params", "write lm(formula)"),
    ],
)
def test_a_name_of_another_package_is_explained(kind, name, says):
    assert says in why_absent(name, kind)


def test_predict_of_classes_and_of_times_says_what_to_write():
    with pytest.raises(TypeError, match=r"predict\(data\)\.idxmax\(axis=1\)"):
        dpreg.DPOrdinal.predict(object(), {}, type="class")
    with pytest.raises(TypeError, match=r"write predict_survival\(data\)"):
        dpreg.DPSurvival.predict(object(), {}, times=[1.0])
