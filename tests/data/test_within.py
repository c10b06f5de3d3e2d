"""Effects of the protected unit: deviations from its means, and no other unit sees them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from unsealed import arrays_of

import dpreg
from dpreg.base.errors import ArgumentError, FormulaError, SchemaError
from dpreg.data.bounds import checked_bounds, column_bounds
from dpreg.data.observations import default_memory
from dpreg.data.problem import pose

WHOLE = default_memory()


def panel(persons=300, seed=1):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons), rng.integers(1, 8, persons))
    effect = rng.standard_normal(persons)[person]
    n = len(person)
    g = pd.Categorical(rng.choice(["a", "b", "c"], n), ["a", "b", "c"])
    x = rng.standard_normal(n) + effect
    y = 5 * effect + x + 0.5 * (g == "b") + rng.standard_normal(n)
    frame = pd.DataFrame({"y": y, "x": x, "g": g, "person": person, "team": person % 7})
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def design(frame, formula="y ~ x + g | person"):
    return pose(formula, frame, None, "person").design(WHOLE)


def test_least_squares_on_the_rows_are_those_of_dummies_for_all_units():
    frame = panel(40)
    found = design(frame)
    assert (found.terms.intercept, found.terms.within) == (False, True)
    slopes = np.linalg.lstsq(*arrays_of(found), rcond=None)[0]
    theirs = smf.ols("y ~ x + g + C(person)", frame).fit().params[list(found.terms.names)]
    np.testing.assert_allclose(slopes, theirs, rtol=1e-8)


@pytest.mark.parametrize("behind", ["person", "person + g", "g + person"])
def test_the_summary_names_the_unit_of_the_effects(behind):
    fit = dpreg.dp_lm(f"y ~ x | {behind}", panel(), 4.0, 1e-6, unit="person", rng=1)
    assert "Fixed Effects: person" in " ".join(str(fit.summary()).split())
    assert "<td>person</td>" in fit._repr_html_().replace(" ", "")
    without = dpreg.dp_lm("y ~ x + g", panel(), 4.0, 1e-6, unit="person", rng=1)
    assert "Fixed Effects" not in str(without.summary())


@pytest.mark.parametrize("right", ["x", "0 + x", "x + g", "."])
@pytest.mark.parametrize("behind", ["person + g + `the team`", "`the team` + g + person"])
def test_declared_groups_beside_the_unit_have_dummies(right, behind):
    """Least squares on the rows are those of dummies of both, also where a panel has gaps."""
    frame = panel(60).rename(columns={"team": "the team"})
    levels = {"the team": range(7)}
    problem = pose(f"y ~ {right} | {behind}", frame, levels, "person")
    found = problem.design(WHOLE)
    assert found.terms.within
    assert set(found.terms.names) == {
        "x", "g[T.b]", "g[T.c]", *(f"the team[T.{level}]" for level in range(1, 7))
    }  # fmt: skip
    # A team is of one person here: only x and g vary within persons.
    assert not np.any(
        arrays_of(found)[0][:, [name.startswith("the") for name in found.terms.names]]
    )
    slopes = np.linalg.lstsq(*arrays_of(found), rcond=None)[0]
    theirs = smf.ols("y ~ x + g + C(person)", frame).fit().params
    for name, slope in zip(found.terms.names, slopes, strict=True):
        if not name.startswith("the"):
            assert slope == pytest.approx(theirs[name], rel=1e-8)


def test_two_way_effects_are_those_of_all_dummies():
    rng = np.random.default_rng(3)
    frame = panel(200).assign(period=lambda d: rng.integers(2001, 2009, len(d)))
    frame["y"] += frame["period"] % 3
    levels = {"period": range(2001, 2009)}
    found = pose("y ~ x | person + period", frame, levels, "person").design(WHOLE)
    slopes = np.linalg.lstsq(*arrays_of(found), rcond=None)[0]
    theirs = smf.ols("y ~ x + C(period) + C(person)", frame).fit().params
    for name, slope in zip(found.terms.names, slopes, strict=True):
        assert slope == pytest.approx(theirs[name.replace("period", "C(period)")], rel=1e-8)
    assert found.terms.ranges["period[T.2002]"] == (-1.0, 1.0)


def test_rows_of_a_unit_add_up_to_0_and_other_units_do_not_matter():
    frame = panel()
    found = design(frame)
    # Rows lie by unit, in the order in which units first come.
    kept = pd.factorize(frame["person"])[0]
    order = np.argsort(kept, kind="stable")
    kept, person = kept[order], frame["person"].to_numpy()[order]
    X, y = arrays_of(found)
    for column in (*X.T, y):
        sums = np.bincount(kept, column)
        assert np.abs(sums).max() < 1e-12
    more = pd.concat([frame, frame.head(5).assign(person=-1, x=[1e300, -1e300, 1e308, 1e308, 0])])
    again = arrays_of(design(more))
    np.testing.assert_array_equal(again[0][:-5], X)
    np.testing.assert_array_equal(again[1][:-5], y)
    assert np.isfinite(again[0]).all()
    gone, _ = arrays_of(design(frame[frame["person"] != 3]))
    np.testing.assert_array_equal(gone, X[person != 3])


def test_limits_of_dummies_are_those_of_their_differences():
    terms = pose("y ~ x + g | person", panel(), None, "person").terms
    assert dict(terms.ranges) == {"g[T.b]": (-1.0, 1.0), "g[T.c]": (-1.0, 1.0)}


def test_bounds_are_those_of_the_columns_and_not_of_their_deviations():
    """Deviations are on both sides of 0."""
    bounds = {"x": (0.0, 9.0), "y": (2, 9.0)}
    terms = pose("y ~ x + g | person", panel(9), None, "person").terms
    expected = [(-9, 9), (-1, 1), (-1, 1), (-7, 7)]
    terms = replace(terms, bounds=checked_bounds(bounds, terms))
    np.testing.assert_array_equal(column_bounds(terms), expected)
    plain = pose("y ~ x + g", panel(9), None, "person").terms
    expected = [(0, 9), (0, 1), (0, 1), (2, 9)]
    plain = replace(plain, bounds=checked_bounds(bounds, plain))
    np.testing.assert_array_equal(column_bounds(plain), expected)


@pytest.mark.parametrize("family", ["binomial", "poisson", "quantile"])
def test_effects_are_those_of_a_linear_model(family):
    with pytest.raises(FormulaError, match="in linear models only"):
        dpreg.dp_glm("y ~ x | person", panel(40), 1.0, family=family, unit="person")


def test_moments_have_no_effects():
    with pytest.raises(FormulaError, match="effects of 'person' cannot be computed"):
        dpreg.dp_moments("~ y + x | person", panel(40), 1.0, unit="person")


@pytest.mark.parametrize("method", ["auto", "boosted_adassp", "adassp", dpreg.AdaSSP(max_rows=5)])
def test_a_fit_finds_what_effects_would_hide(method):
    frame = panel(6000)
    fit = dpreg.dp_lm("y ~ x + g | person", frame, 4.0, 1e-6, unit="person", method=method, rng=1)
    assert fit.names == ("x", "g[T.b]", "g[T.c]")
    assert (np.abs(fit.params - [1.0, 0.5, 0.0]) < 4.5 * fit.bse).all()
    plain = dpreg.dp_lm("y ~ x + g", frame, 4.0, 1e-6, unit="person", method="adassp", rng=1)
    assert plain.params["x"] - 1 > 20 * plain.bse["x"]
    assert fit.anova().index.tolist() == ["x", "g"]
    again = dpreg.DPResults.from_json(fit.to_json())
    assert again.anova().equals(fit.anova())
    with pytest.raises(ArgumentError, match="effects of each 'person'"):
        again.predict(frame.head())


@pytest.mark.parametrize(
    ("formula", "unit", "says"),
    [
        ("y ~ x | team", "person", "fixed effects of 'team' are not supported"),
        ("y ~ x | person", None, "add unit='person'"),
        ("y ~ x | person + team", None, "add unit='person'"),
        ("y ~ x | person + team", "person", "add levels={'team': [1, 2, ...]}"),
        ("y ~ x | person + era", "person", "there is no column 'era'"),
        ("y ~ x | person + (1 + x | g)", "person", "random effects"),
        ("y ~ x | person + g^team", "person", "random effects"),
        ("y ~ x | person | team", "team", "random effects"),
        ("y ~ x + (1 | person)", None, "random effects"),
        ("y ~ 1 | person", "person", "only unit effects"),
        ("y ~ person | person", "person", "protected unit"),
    ],
)
def test_other_effects_are_refused(formula, unit, says):
    budget = dpreg.Budget(1.0, 1e-5)
    with pytest.raises((FormulaError, SchemaError)) as refusal:
        dpreg.dp_lm(formula, panel(), 1.0, unit=unit, budget=budget)
    assert says in str(refusal.value)
    assert budget.charges == ()


@pytest.mark.parametrize("method", ["tukey", "frank_wolfe", dpreg.Auto(candidates=("tukey",))])
def test_methods_that_take_one_mean_of_each_unit_refuse(method):
    with pytest.raises(ArgumentError, match="averages the rows of each unit"):
        dpreg.dp_lm("y ~ x | person", panel(), 1.0, unit="person", method=method)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_rows(rows):
    fit = dpreg.dp_lm("y ~ x | person", panel().head(rows), 1.0, unit="person", rng=1)
    assert isinstance(fit, (dpreg.DPResults, dpreg.NotReleased))


def test_a_name_in_backticks_and_selection():
    frame = panel(2000).rename(columns={"person": "the person"})
    fit = dpreg.dp_lm("y ~ x + g | `the person`", frame, 4.0, unit="the person", select="kendall",
                      k=1, rng=1)  # fmt: skip
    assert fit.selected == ("x",)
