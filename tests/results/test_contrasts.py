"""Tests and contrasts: those of statsmodels where covariances are known, bounds where not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats

import dpreg
from dpreg.base.errors import ArgumentError
from dpreg.estimation.inference.law import NORMAL, TailLaw
from dpreg.results.contrasts import combination_errors, covariances_known, joint_p_value

FORMULA = "y ~ x * g + z"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(20261122)
    n = 800
    g = pd.Categorical(rng.choice(["a", "b", "c"], n), ["a", "b", "c"])
    x, z = rng.standard_normal((2, n))
    return pd.DataFrame({"y": x + (g == "b") + rng.standard_normal(n), "x": x, "z": z, "g": g})


@pytest.fixture(scope="module")
def pair(data):
    """A fit of statsmodels, and a result with its numbers in the place of released ones."""
    ours = dpreg.dp_lm(FORMULA, data, 8.0, 1e-5, method="adassp", rng=1)
    theirs = smf.ols(FORMULA, data).fit(use_t=False)
    return with_numbers(ours, theirs.params[list(ours.names)], theirs.cov_params()), theirs


def with_numbers(fit, params, covariance):
    names = list(fit.names)
    return dataclasses.replace(
        fit,
        estimates=np.asarray(params, dtype=float),
        covariance=np.asarray(pd.DataFrame(covariance).loc[names, names], dtype=float)
        if isinstance(covariance, pd.DataFrame)
        else np.asarray(covariance, dtype=float),
    )


TEXTS = [
    "x = 1, z = 0",
    "x",
    "g[T.b] - g[T.c] = 0.5",
    "(x + z) / 2 = 3, 2 * x - g[T.b]",
    "x:g[T.b] = x:g[T.c] = 0",
    ["x = 1", "z = 0"],
    {"x": 1, "z": 0},
    np.eye(7)[2],
    np.eye(7)[[2, 5]],
    (np.eye(7)[[2, 5]], [1.0, 2.0]),
]


@pytest.mark.parametrize("constraint", TEXTS, ids=str)
def test_numbers_are_those_of_statsmodels(pair, constraint):
    ours, theirs = pair
    matrix = constraint
    if not isinstance(constraint, str | list | dict):
        # statsmodels may have the columns in another order.
        place = [list(ours.names).index(name) for name in theirs.params.index]
        matrix = (
            (constraint[0][:, place], constraint[1])
            if isinstance(constraint, tuple)
            else np.atleast_2d(constraint)[:, place]
        )
    got, wanted = ours.t_test(constraint), theirs.t_test(matrix)
    np.testing.assert_allclose(got.effect, wanted.effect, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(got.sd, np.atleast_1d(np.squeeze(wanted.sd)), rtol=1e-7)
    np.testing.assert_allclose(got.tvalue, np.atleast_1d(np.squeeze(wanted.statistic)), rtol=1e-7)
    np.testing.assert_allclose(got.pvalue, np.atleast_1d(wanted.pvalue), rtol=1e-6)
    np.testing.assert_allclose(got.conf_int(0.1), wanted.conf_int(0.1), rtol=1e-7)
    frame = got.summary_frame()
    np.testing.assert_allclose(frame["coef"], wanted.effect, rtol=1e-9, atol=1e-12)
    joint = theirs.wald_test(matrix, use_f=False, scalar=True)
    mine = ours.wald_test(constraint)
    assert (mine.distribution, mine.df_num) == ("chi2", len(np.atleast_1d(wanted.effect)))
    np.testing.assert_allclose(mine.statistic, joint.statistic, rtol=1e-7)
    np.testing.assert_allclose(mine.pvalue, joint.pvalue, rtol=1e-6)
    by_f = ours.f_test(constraint)
    assert by_f.fvalue == pytest.approx(mine.statistic / mine.df_num)
    assert by_f.pvalue == pytest.approx(mine.pvalue)


def test_terms_are_tested_as_statsmodels_does(pair):
    ours, theirs = pair
    wanted = theirs.wald_test_terms(scalar=True).table.drop("Intercept")
    got = ours.anova()
    assert set(got.index) == set(wanted.index)
    for term, row in wanted.iterrows():
        assert got.loc[term, "statistic"] == pytest.approx(float(row["statistic"]), rel=1e-6)
        assert got.loc[term, "df"] == row["df_constraint"]
        assert got.loc[term, "P>chi2"] == pytest.approx(float(row["pvalue"]), rel=1e-6)
    pd.testing.assert_frame_equal(got, ours.wald_test_terms())


def test_one_row_is_the_square_of_its_ratio_and_order_and_scale_do_not_matter(pair):
    fit, _ = pair
    ratio = fit.t_test("x - z = 1").statistic[0]
    assert fit.wald_test("x - z = 1").statistic == pytest.approx(ratio**2)
    first = fit.wald_test("x - z = 1, g[T.b]")
    again = fit.wald_test("g[T.b] = 0, 3 * x - 3 * z = 3")
    assert first.statistic == pytest.approx(again.statistic)
    frame = fit.t_test(np.eye(7)).summary_frame()
    np.testing.assert_allclose(frame, fit.tidy()[frame.columns])


def test_tails_of_the_method_are_those_of_one_coefficient(pair):
    fit, _ = pair
    law = TailLaw((0.2, 0.05, 1e-3), (1.5, 2.4, 4.5))
    fit = dataclasses.replace(fit, law=law)
    np.testing.assert_allclose(fit.t_test(np.eye(7)).pvalue, fit.pvalues)
    assert fit.wald_test("z").pvalue == pytest.approx(fit.pvalues["z"])
    statistic = float(stats.chi2.isf(0.05, 3))
    assert joint_p_value(statistic, 3, NORMAL) == pytest.approx(0.05)
    assert joint_p_value(statistic, 3, law) > 0.05


def test_without_covariances_errors_are_bounds_that_are_attained():
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((4, 3))
    for _ in range(50):
        root = rng.standard_normal((3, int(rng.integers(1, 4))))
        covariance = root @ root.T
        bound, notes = combination_errors(matrix, covariance, related=False)
        true, _ = combination_errors(matrix, covariance, related=True)
        assert (true <= bound * (1 + 1e-12)).all()
        assert "upper bounds" in notes[0]
    signs = np.sign(matrix[0])
    alike = np.outer(signs, signs)
    bound, _ = combination_errors(matrix[:1], alike, related=False)
    true, _ = combination_errors(matrix[:1], alike, related=True)
    np.testing.assert_allclose(bound, true)


def test_a_method_without_covariances_is_told_by_its_zeros(pair, diamonds):
    fit, _ = pair
    assert covariances_known(fit.covariance, fit.names)
    middle = dpreg.dp_lm("price ~ carat + depth", diamonds, 4.0, 1e-5, method="tukey", rng=1)
    assert not covariances_known(middle.covariance, middle.names)
    contrast = middle.t_test("carat - depth")
    assert contrast.sd[0] == pytest.approx(middle.bse[["carat", "depth"]].sum())
    assert "upper bounds" in contrast.notes[0]
    assert middle.t_test("carat").notes == ()
    joint = middle.wald_test("carat = 0, depth = 0")
    assert joint.distribution == "bonferroni"
    assert joint.pvalue == pytest.approx(min(1.0, 2 * middle.pvalues[["carat", "depth"]].min()))
    blank = middle.covariance.copy()
    blank[1, 2] = blank[2, 1] = np.nan
    assert not covariances_known(blank, middle.names)


def test_blank_coefficients_are_refused_by_name_and_left_out_of_terms(pair):
    fit, _ = pair
    covariance = fit.covariance.copy()
    j = fit.names.index("g[T.b]")
    covariance[j, :] = covariance[:, j] = np.nan
    blank = dataclasses.replace(fit, covariance=covariance)
    with pytest.raises(ArgumentError, match=r"no standard error at this eps: g\[T.b\]"):
        blank.t_test("x - g[T.b]")
    assert blank.t_test("x - z").sd == pytest.approx(fit.t_test("x - z").sd)
    assert blank.anova().loc["g", "df"] == 1
    assert fit.anova().loc["g", "df"] == 2
    none = dataclasses.replace(fit, covariance=np.full_like(covariance, np.nan))
    assert none.anova()["statistic"].isna().all()


@pytest.mark.parametrize(
    ("constraint", "says"),
    [
        ("xx = 1", "there is no coefficient 'xx'"),
        ("g[T.bb] = 0", r"there is no coefficient 'g\[T.bb\]'; write 'g\[T.b\]'"),
        ("T = 0", "there is no coefficient 'T'"),  # a part of the name of one
        ("x = ", "cannot read 'x = '"),
        ("x * z", r"cannot read 'x \* z'"),
        ("x / 0", "cannot read|finite numbers"),
        ("1 = 1", "no coefficient in one of its rows|cannot read"),
        ("x, x", "has a row that is a combination of the others"),
        ({"no": 1}, "there is no coefficient 'no'"),
        ([1.0, 2.0], "needs a column for each of the 7 coefficients"),
        (np.zeros(7), "no coefficient in one of its rows"),
        (np.full(7, np.nan), "finite numbers"),
        ((np.eye(7), [1.0, 2.0]), "one value for each row"),
        (None, "must be a string or finite numbers"),
        ("", "cannot read|no coefficient"),
        ([], "needs a column"),
        ("x = 1e400", "finite numbers"),
    ],
)
def test_what_cannot_be_read_is_refused(pair, constraint, says):
    with pytest.raises(ArgumentError, match=says) as refusal:
        pair[0].wald_test(constraint)
    assert refusal.value.argument == "r_matrix"


def test_a_matrix_has_a_column_for_each_of_params_and_none_for_an_offset():
    rng = np.random.default_rng(1)
    x, years = rng.standard_normal(3_000), rng.uniform(1, 3, 3_000)
    data = {"y": rng.poisson(years * np.exp(0.3 * x)), "x": x, "years": years}
    text = "y ~ x + offset(log(years))"
    fit = dpreg.dp_glm(text, data, 3.0, 1e-6, family="poisson", rng=1)
    by_name, by_matrix = fit.wald_test("x = 0.3"), fit.wald_test(([0.0, 1.0], [0.3]))
    assert by_matrix == by_name
    assert fit.t_test(np.eye(len(fit.params))).effect == pytest.approx(fit.params.to_numpy())
    with pytest.raises(ArgumentError, match="each of the 2 coefficients, Intercept, x; got"):
        fit.t_test([1.0, 0.0, 0.0, 0.0])


def test_names_may_be_parts_of_one_another(pair):
    fit = dataclasses.replace(
        pair[0], names=("Intercept", "x", "x1", "x:x1", "I(x ** 2)", "a b", "z = 1")
    )
    for j, name in enumerate(fit.names):
        np.testing.assert_allclose(fit.t_test(name).effect, fit.estimates[j])


def test_a_fit_without_errors_says_so(pair):
    bare = dataclasses.replace(pair[0], covariance=None)
    with pytest.raises(ArgumentError, match="the fit has none; add inference=True"):
        bare.t_test("x")
    why = dataclasses.replace(bare, no_errors="of a reason")
    with pytest.raises(ArgumentError, match="because of a reason"):
        why.anova()


def test_terms_that_a_selection_left_out_have_no_row(data):
    fit = dpreg.dp_lm("y ~ x + z + g", data, 50.0, 1e-5, select="kendall", k=1, rng=1)
    assert len(fit.anova()) == 1


def test_they_print(pair):
    fit, _ = pair
    text = str(fit.t_test("g[T.b] - g[T.c] = 0.5"))
    assert "g[T.b] - g[T.c]" in text
    assert "null" in text
    assert "<td>" in fit.t_test("x")._repr_html_()
    assert repr(fit.f_test("x")).startswith("<F test: statistic=")


def test_a_linear_model_of_an_array_has_tests_too(pair):
    """The oracle itself: that of statsmodels by matrices."""
    fit, theirs = pair
    R = np.eye(len(fit.names))[1:3]
    V = fit.covariance
    b = R @ fit.estimates
    assert fit.wald_test(R).statistic == pytest.approx(float(b @ np.linalg.solve(R @ V @ R.T, b)))
    assert isinstance(theirs.model, sm.OLS)
