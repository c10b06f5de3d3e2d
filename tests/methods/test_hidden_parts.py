"""Coefficients that are estimable though those of the rows, of which they are sums, are not."""

from __future__ import annotations

import numpy as np
import pytest

import dpreg

# Of five classes: log odds against the first where covariates are 0, and slopes of four covariates.
LEVEL = np.array([0.0, 0.2, 0.8, 0.2, -0.4])
SLOPES = np.array([
    [0.0, 0.0, 0.0, 0.0], [0.3, 0.2, -0.1, 0.0], [0.7, -0.2, -0.4, 0.3], [1.3, 0.1, -0.5, 0.3],
    [1.5, 0.0, -0.7, 0.6],
])  # fmt: skip
MEANS = np.array([2.0, 2.5, 1.5, 3.0, 2.0])


def test_a_contrast_of_two_classes_is_estimable_where_those_with_the_most_common_class_are_not():
    """It was said to be 0: off by up to 4.9 errors here, and by 15 in a survey of 5,000 rows."""
    truth, away = np.column_stack([LEVEL, SLOPES])[1:].ravel(), []
    for seed in range(3, 6):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(2400, 4))
        y = (LEVEL + x @ SLOPES.T + rng.gumbel(size=(2400, 5))).argmax(axis=1)
        data = {"y": y, **dict(zip("abcd", x.T, strict=True))}
        asked = {"levels": {"y": range(5)}, "rng": seed}
        fit = dpreg.dp_multinomial("y ~ a + b + c + d", data, 1.0, 1e-6, **asked)
        if fit.released:
            away.append((fit.estimates - truth) / fit.bse.to_numpy())
    hidden = np.isnan(away).mean()
    assert 0.3 < hidden < 0.7  # there are some of each
    assert np.nanmax(np.abs(away)) < 3.5


def test_a_level_is_estimable_where_the_constant_that_stands_for_one_is_not():
    """Without an intercept in the formula a level was off by up to 10.4 errors."""
    away = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        g, x = rng.choice(5, 600, p=[0.5, 0.3, 0.15, 0.04, 0.01]), rng.normal(size=600)
        y = MEANS[g] + x / 2 + rng.normal(size=600)
        data = {"y": y, "x": x, "g": np.array(list("abcde"))[g]}
        asked = {"levels": {"g": list("abcde")}, "rng": seed}
        fit = dpreg.dp_lm("y ~ 0 + C(g) + x", data, 1.0, 1e-6, **asked)
        if fit.released:
            away.append((fit.estimates - [*MEANS, 0.5]) / fit.bse.to_numpy())
    assert np.nanmax(np.abs(away)) < 3.5


def test_a_first_level_without_rows_is_said_to_have_the_mean_effect():
    """It is the one that the constant stands for, and was not taken for a level in the note."""
    rng = np.random.default_rng(1)
    g, x = rng.choice(4, 5_000, p=[0.4, 0.3, 0.2, 0.1]), rng.normal(size=5_000)
    data = {"y": MEANS[g] + x / 2 + rng.normal(size=5_000), "x": x, "g": np.array(list("abcd"))[g]}
    for levels in ("eabcd", "abcde"):
        asked = {"levels": {"g": list(levels)}, "rng": 3}
        fit = dpreg.dp_lm("y ~ 0 + C(g) + x", data, 1.0, 1e-6, **asked)
        assert np.isnan(fit.bse["C(g)[e]"])
        assert np.isnan(fit.bse.to_numpy()).sum() == 1
        assert any("is assigned the mean effect of its factor" in note for note in fit.notes)


def blank_where(formula, slope, of_b):
    """Assert that nothing is known of fits in which a column of years seems to be constant."""
    lost = shown = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        years, b = rng.normal(2017, 1.5, 800).round(), rng.random(800) < 0.5
        y = 5 + (0.08 + of_b * b) * (years - 2004) + rng.normal(0, 0.5, 800)
        data = {"years": years, "y": y, "g": np.where(b, "b", "a")}
        asked = {"levels": {"g": ["a", "b"]}} if "g" in formula else {}
        fit = dpreg.dp_lm(formula, data, 0.3, 1e-6, rng=seed, **asked)
        if fit.released and fit.params[slope] == 0:
            lost += 1
            assert fit.bse.isna().all()
        shown += fit.released and bool(fit.bse.notna().any())
    assert lost > 0
    assert shown > 0


@pytest.mark.parametrize("formula", ["y ~ years", "y ~ 0 + C(g) + years"])
def test_an_intercept_is_hidden_by_a_column_that_looks_constant(formula):
    """It was the mean of the response, 6, for a true 5, with an error of 0.04."""
    blank_where(formula, "years", 0.0)


def test_a_level_is_hidden_by_its_product_with_a_column_that_looks_constant():
    """It was 13 times the slope of the product beside, with an error of 0.1."""
    blank_where("y ~ years * g", "years:g[T.b]", 0.05)


def test_only_the_intercept_is_hidden_by_a_constant_column():
    """In moments too; the effect of another column is known."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    data = {"y": 5 + 0.5 * x + rng.normal(size=3000), "x": x, "year": np.full(3000, 2019.0)}
    fit = dpreg.dp_lm("y ~ x + year", data, 3.0, 1e-6, rng=1)
    moments = dpreg.dp_moments("~ y + x + year", data, 3.0, 1e-6, rng=1)
    for found in (fit, moments.lm("y ~ x + year")):
        assert found.bse.isna().to_dict() == {"Intercept": True, "x": False, "year": True}
    assert moments.lm("y ~ x").bse.notna().all()


def test_a_column_far_from_0_is_said_to_be_so():
    """Of numbers near 1e12 it was said that fewer columns would help."""
    rng = np.random.default_rng(1)
    x, far = rng.normal(size=3000), 1e12 + rng.integers(0, 1000, size=3000)
    data = {"x": x, "far": far, "y": x + rng.normal(size=3000), "near": far - 1e12}
    says = (
        "far varies too little relative to its size: subtract a public number close to its values"
    )
    for formula, told in (
        ("y ~ far", f"the standard errors are not estimable at this eps; {says}"),
        ("y ~ x + far", f"standard errors not estimable at this eps: Intercept, far; {says}"),
        ("far ~ x", says),
        ("y ~ x + near", None),
    ):
        notes = dpreg.dp_lm(formula, data, 1.0, 1e-6, rng=1).notes
        assert notes == (() if told is None else (told,))
