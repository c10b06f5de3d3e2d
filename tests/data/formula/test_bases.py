"""Polynomials and splines of a column on public bounds: as defined, each row by itself."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pandas as pd
import patsy
import pytest
from sources import evaluated, schema

import dpreg
from dpreg.base.errors import ArgumentError, FormulaError
from dpreg.data.formula import FormulaSpec
from dpreg.data.formula.basis_terms import BASES, equal_knots, natural_splines, polynomials
from dpreg.faces.cli.commands import main

LOW, HIGH = 0.5, 6.5
BOUNDS = {"x": (LOW, HIGH)}
INSIDE = np.linspace(LOW, HIGH, 401)


def frame(n=3000, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(LOW, HIGH, n)
    return pd.DataFrame({"x": x, "z": rng.standard_normal(n),
                         "y": np.sin(x) + rng.standard_normal(n)})  # fmt: skip


def spec(formula, data=None, bounds=BOUNDS):
    return FormulaSpec(formula, schema(frame(5) if data is None else data).with_bounds(bounds))


def fitted(X, y):
    """Return what least squares with an intercept fits."""
    X = np.column_stack([np.ones(len(y)), X])
    return X @ np.linalg.lstsq(X, y, rcond=None)[0]


def test_polynomials_have_mean_0_and_variance_1_on_the_interval():
    nodes, weights = np.polynomial.legendre.leggauss(40)
    x = (LOW + HIGH) / 2 + nodes * (HIGH - LOW) / 2
    P = np.column_stack([np.ones(40), *polynomials(x, LOW, HIGH, 6)])
    np.testing.assert_allclose(P.T @ (weights[:, None] / 2 * P), np.eye(7), atol=1e-13)


def b_splines(x, degree):
    found = BASES["bs"](x, [2, 4], LOW, HIGH, degree, include_intercept=True)
    return np.column_stack(list(found.values()))


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_b_splines_are_those_of_patsy(degree):
    x = INSIDE[:-1]  # patsy's last spline is 0 at the upper bound without this
    expected = patsy.dmatrix(
        f"bs(x, knots=[2, 4], lower_bound={LOW}, upper_bound={HIGH}, degree={degree}, "
        "include_intercept=True) - 1", {"x": x})  # fmt: skip
    found = b_splines(x, degree)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    ends = b_splines(np.array([LOW, HIGH, np.nan]), degree)
    assert ends[0].tolist() == [1.0] + [0.0] * (degree + 2)
    assert ends[1].tolist() == [0.0] * (degree + 2) + [1.0]
    assert np.isnan(ends[2]).all()


def test_natural_splines_are_straight_at_the_ends():
    h = 1e-3
    for end in (LOW, HIGH - 2 * h):
        N = np.column_stack(natural_splines(end + h * np.arange(3), [2, 4], LOW, HIGH))
        second = np.diff(N, 2, axis=0)[0] / h**2
        # Linear from 0 at the end.
        assert np.abs(second).max() < 20 * h


@pytest.mark.parametrize(
    ("term", "same"),
    [
        ("poly(x, 3)", "x + I(x**2) + I(x**3)"),
        ("bs(x, 5)", f"bs(x, knots=[2.5, 4.5], lower_bound={LOW}, upper_bound={HIGH})"),
        ("bs(x, df=4, degree=2)", f"bs(x, knots=[2.5, 4.5], lower_bound={LOW}, "
                                  f"upper_bound={HIGH}, degree=2)"),
        ("bs(x, knots=[1, 2])", f"bs(x, knots=[1, 2], lower_bound={LOW}, upper_bound={HIGH})"),
        ("ns(x, 3)", f"cr(x, knots=[2.5, 4.5], lower_bound={LOW}, upper_bound={HIGH})"),
        ("ns(x, knots=[1, 3])", f"cr(x, knots=[1, 3], lower_bound={LOW}, upper_bound={HIGH})"),
        ("ns(x, 1)", "x"),
    ],
)  # fmt: skip
def test_fitted_values_are_those_of_least_squares_in_patsy(term, same):
    """The same knots, and so the same span, whatever the basis."""
    data = frame()
    X = evaluated(spec(f"y ~ {term}"), data, response=True).X
    expected = np.asarray(patsy.dmatrix(f"{same} - 1", data))
    y = data["y"].to_numpy()
    np.testing.assert_allclose(fitted(X, y), fitted(expected, y), atol=1e-9)
    assert np.linalg.matrix_rank(np.column_stack([np.ones(len(y)), X])) == X.shape[1] + 1


def test_knots_divide_the_bounds():
    assert equal_knots(0.0, 6.0, 2) == [2.0, 4.0]
    assert equal_knots(0.0, 6.0, 0) == []


def test_the_interval_of_a_transform_is_that_of_the_bounds():
    data = frame()
    found = evaluated(spec("y ~ poly(log(x), 2)"), data, response=True).X
    expected = np.column_stack(polynomials(np.log(data["x"]), np.log(LOW), np.log(HIGH), 2))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("term", ["poly(x, 4)", "ns(x, 4)", "bs(x, 6)", "ns(x, knots=[1, 1.2])"])
def test_values_lie_within_the_limits_that_are_public(term):
    formula = spec(f"y ~ {term}")
    assert formula.ranges.keys() == set(formula.names)
    far = pd.DataFrame({"x": [-1e9, *INSIDE, 1e9], "y": 0.0})
    X = evaluated(formula, far, response=True).X
    low, high = np.array([formula.ranges[name] for name in formula.names]).T
    np.testing.assert_array_equal(np.clip(X, low, high), X)
    # Cells beyond the bounds are moved to them.
    np.testing.assert_array_equal(X[[0, -1]], X[[1, -2]])


def test_limits_of_columns_in_backticks_and_of_products_are_searched_for():
    data = frame(5).rename(columns={"x": "my x"})
    formula = spec("y ~ poly(`my x`, 2) + poly(`my x`, 2):z", data, {"my x": (0, 7)})
    assert formula.ranges == {}
    assert len(formula.names) == 4


@pytest.mark.parametrize("term", ["poly(x, 3)", "ns(x, 3)", "bs(x, 5)", "poly(x,2):z"])
def test_a_row_is_what_it_is_whatever_the_others_are(term):
    data = frame(50)
    data.loc[3, "x"] = np.nan
    formula = spec(f"y ~ {term}")
    whole = evaluated(formula, data, response=True)
    assert 3 not in whole.kept
    for keep in ([7], [11, 2, 30], [3], list(range(49, -1, -1))):
        part = evaluated(formula, data.iloc[keep].reset_index(drop=True), response=True)
        at = [list(whole.kept).index(i) for i in keep if i in whole.kept]
        np.testing.assert_array_equal(part.X, whole.X[at])


@pytest.mark.parametrize("term", ["poly(x, 2)", "ns(x, 3)", "bs(x, df=5)", "bs(x, knots=[1, 2])"])
def test_without_bounds_it_is_refused_with_the_bounds_to_write(term):
    with pytest.raises(FormulaError) as refused:
        dpreg.dp_lm(f"y ~ z + {term}", frame(5), 1.0, 1e-6, bounds={"z": (0, 1)})
    assert "depends on the other rows" in str(refused.value)
    assert "write bounds={'x': (low, high)} with public limits" in str(refused.value)


@pytest.mark.parametrize(
    ("term", "bounds", "says"),
    [
        ("poly(x * z, 2)", {"x": (0, 1), "z": (0, 1)}, "has several columns"),
        ("poly(log(x), 2)", {"x": (0, 1)}, "finite number wherever its column is"),
        ("ns(I(x > 9), 2)", {"x": (0, 1)}, "more than one number within the bounds"),
        ("ns(x, knots=[3])", {"x": (0, 1)}, "knots must lie between 0 and 1"),
        ("bs(x, 2)", {"x": (0, 1)}, "df must be at least 3"),
        ("bs(x)", {"x": (0, 1)}, "write bs(x, df=5)"),
        ("ns(x, 3, df=3)", {"x": (0, 1)}, "write ns(x, df=3)"),
        ("ns(x, 3, lower_bound=0)", {"x": (0, 1)}, "write ns(x, df=3)"),
        ("poly(x, 2, upper_bound=0)", {"x": (0, 1)}, "write poly(x, 3)"),
        ("ns(x, z)", {"x": (0, 1)}, "must be numbers"),
    ],
)
def test_wrong_calls_say_what_to_write(term, bounds, says):
    with pytest.raises(FormulaError) as refused:
        spec(f"y ~ {term}", bounds=bounds)
    assert says in str(refused.value)


def test_wrong_bounds_are_refused_as_any_are():
    with pytest.raises(ArgumentError, match=r"^bounds: 'x' needs low < high"):
        dpreg.dp_lm("y ~ poly(x, 2)", frame(5), 1.0, 1e-6, bounds={"x": (1, 0)})
    with pytest.raises(ArgumentError, match=r"^bounds: 'w' is not a column of the model"):
        dpreg.dp_lm("y ~ poly(x, 2)", frame(5), 1.0, 1e-6, bounds={**BOUNDS, "w": (0, 1)})


def test_an_interval_in_the_formula_needs_no_bounds():
    data = frame()
    for term in ("poly(x, 2{})", "ns(x, 3{})", "bs(x, df=5{})"):
        given = term.format(f", lower_bound={LOW}, upper_bound={HIGH}")
        here = evaluated(spec(f"y ~ {given}", bounds={}), data, response=True).X
        there = evaluated(spec(f"y ~ {term.format('')}"), data, response=True).X
        np.testing.assert_array_equal(here, there)


CALLS = {
    "lm": lambda data, **named: dpreg.dp_lm("y ~ ns(x, 3) + z", data, 2.0, 1e-6, **named),
    "tukey": lambda data, **named: dpreg.dp_lm("y ~ poly(x, 2)", data, 9.0, 1e-4,
                                               method="tukey", **named),
    "glm": lambda data, **named: dpreg.dp_glm("I(y > 0) ~ poly(x, 2)", data, 2.0, 1e-6, **named),
    "moments": lambda data, **named: dpreg.dp_moments(
        "~ y + ns(x, 3) + z", data, 2.0, 1e-6, **named).lm("y ~ ns(x, 3)"),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_every_release_takes_them(call):
    """Predictions use the basis of the fit, after JSON too; bounds are said to be public."""
    fit = call(frame(), bounds=BOUNDS, rng=1)
    assert fit.released
    assert "bounds of x: 0.5 to 6.5" in fit.privacy.public
    again = dpreg.DPResults.from_json(fit.to_json())
    few = frame().head(3)
    together = fit.predict(frame(40, seed=3)).head(2)
    np.testing.assert_array_equal(fit.predict(frame(40, seed=3).head(2)), together)
    np.testing.assert_array_equal(again.predict(few), fit.predict(few))
    X = evaluated(spec(f"y ~ {fit.formula.partition('~')[2]}"), few, response=True).X
    by_hand = fit.params.iloc[0] + X @ fit.params.to_numpy()[1:]
    if fit.family.name == "gaussian":
        np.testing.assert_allclose(fit.predict(few, winsorise=False), by_hand)


def test_columns_of_a_basis_cost_no_search():
    parts = dpreg.dp_lm("y ~ ns(x, 3)", frame(), 2.0, 1e-6, method="adassp",
                        bounds={**BOUNDS, "y": (-6, 6)}).privacy.parts  # fmt: skip
    (response,) = [part for part in parts if "magnitude" in part.label]
    assert response.sensitivity == 1.0


def test_much_budget_gives_what_least_squares_gives():
    data = frame(20_000)
    fit = dpreg.dp_lm("y ~ ns(x, 4)", data, 500, 1e-6, bounds={**BOUNDS, "y": (-9, 9)}, rng=1)
    X = evaluated(spec("y ~ ns(x, 4)"), data, response=True).X
    exact = fitted(X, data["y"].to_numpy())
    np.testing.assert_allclose(fit.predict(data), exact, atol=0.02)


def test_a_document_with_odd_bounds_is_refused():
    fit = dpreg.dp_lm("y ~ poly(x, 2)", frame(), 2.0, 1e-6, bounds=BOUNDS, rng=1)
    document = json.loads(fit.to_json())
    for odd in ([1.0], [2.0, 1.0], [1.0, 1.0], "ab", [None, 1.0]):
        document["schema"]["x"]["bounds"] = odd
        with pytest.raises(ValueError, match="schema"):
            dpreg.DPResults.from_json(json.dumps(document))


def test_the_shell_takes_them(tmp_path, capsys):
    path = str(tmp_path / "d.parquet")
    frame().to_parquet(path)
    typed = ["fit", "y ~ poly(x, 2)", path, "--eps", "2", "--delta", "1e-6", "--rng", "7"]
    assert main([*typed, "--json", "-", "--bounds=x=0.5,6.5"]) == 0
    found = capsys.readouterr().out
    expected = dpreg.dp_lm("y ~ poly(x, 2)", path, 2.0, 1e-6, bounds=BOUNDS, rng=7)
    assert json.loads(found) == json.loads(expected.to_json())
    assert main(typed) == 2
    assert "--bounds x=LOW,HIGH with public limits" in capsys.readouterr().err


def test_natural_splines_are_those_of_r():
    code = (
        "N <- splines::ns(seq(0.5, 6.5, length.out = 401), knots = c(2, 4), "
        "Boundary.knots = c(0.5, 6.5)); cat(format(t(unclass(N)), digits = 17))"
    )
    try:
        ran = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("R is not installed")
    expected = np.array(ran.stdout.split(), dtype=float).reshape(401, 3)
    found = np.column_stack(natural_splines(INSIDE, [2, 4], LOW, HIGH))
    np.testing.assert_allclose(found, expected, atol=1e-13)
