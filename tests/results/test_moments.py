"""Regressions from second moments: those of statsmodels without noise, and the law of the noise."""

from __future__ import annotations

import dataclasses
import json
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.stats.outliers_influence import variance_inflation_factor

import dpreg
from dpreg.base.errors import ArgumentError, FormulaError
from dpreg.results.moment_models import compare_models, correlations, rsquared

COLUMNS = "~ y + x + z + w + g"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(20261122)
    n = 900
    g = pd.Categorical(rng.choice(["a", "b", "c"], n), ["a", "b", "c"])
    w = rng.standard_normal(n)
    hidden = rng.standard_normal(n)
    x = 50 + 3 * w + hidden + rng.standard_normal(n)
    z = 0.5 * x + 2 * rng.standard_normal(n)
    y = 7 + x - 2 * z + (g == "b") + 2 * hidden + rng.standard_normal(n)
    return pd.DataFrame({"y": y, "x": x, "z": z, "w": w, "g": g})


@pytest.fixture(scope="module")
def released(data):
    return dpreg.dp_moments(COLUMNS, data, 20.0, 1e-5, rng=1)


@pytest.fixture(scope="module")
def exact(data, released):
    """The same object with the moments themselves in the place of the noisy ones."""
    return without_noise(data, released, np.random.default_rng(1))


def without_noise(data, released, rng):
    columns = np.column_stack(
        [data[["y", "x", "z", "w"]], data["g"] == "b", data["g"] == "c"]
    ).astype(float)
    assert released.names == ("y", "x", "z", "w", "g[T.b]", "g[T.c]")
    z = (columns - released.centre) / released.scale
    z = np.column_stack([np.ones(len(z)), z])
    # Directions of about unit spread, as they are released.
    change = np.linalg.inv(np.linalg.cholesky(z.T @ z / len(z)).T)
    change = (
        change @ np.diag(rng.uniform(0.8, 1.2, 7)) @ np.linalg.qr(rng.standard_normal((7, 7)))[0]
    )
    u = z @ change
    return dataclasses.replace(
        released, basis=np.linalg.inv(change), matrix=u.T @ u, deviation=0.0, kurtosis=1.0,
        units=len(z) * 1.0, limits=np.tile([-np.inf, np.inf], (6, 1)),
    )  # fmt: skip


MODELS = ["y ~ x + z + g", "y ~ x", "x ~ y + w + g", "z ~ 1", "y ~ x + z - 1", "w ~ x + y + z + g"]


@pytest.mark.parametrize("formula", MODELS)
def test_without_noise_they_are_those_of_least_squares(exact, data, formula):
    mine, theirs = exact.lm(formula), smf.ols(formula, data).fit()
    names = list(mine.names)
    np.testing.assert_allclose(mine.params, theirs.params[names], rtol=1e-7)
    np.testing.assert_allclose(mine.bse, theirs.bse[names], rtol=1e-6)
    np.testing.assert_allclose(mine.cov_params(), theirs.cov_params().loc[names, names], rtol=1e-5)
    np.testing.assert_allclose(mine.sampling, mine.bse, rtol=1e-9)
    np.testing.assert_allclose(mine.predict(data), theirs.predict(data), rtol=1e-7)
    if "- 1" not in formula:
        share = exact.rsquared(formula)
        assert share["rsquared"] == pytest.approx(theirs.rsquared, abs=1e-9)
        assert share["privacy"] == 0
        table = exact.compare([formula])
        for name in ("aic", "bic"):
            assert table[name].iloc[0] == pytest.approx(getattr(theirs, name), rel=1e-9)
        assert table["sigma"].iloc[0] == pytest.approx(np.sqrt(theirs.scale), rel=1e-7)


def test_two_stages_without_noise_are_those_of_the_textbook(exact, data):
    fit = exact.iv("y ~ x + g", "~ w + z + g")
    design = smf.ols("y ~ x + g", data)
    X, names = design.exog, design.exog_names
    Z = smf.ols("y ~ w + z + g", data).exog
    hat = Z @ np.linalg.solve(Z.T @ Z, Z.T @ X)
    theta = np.linalg.solve(hat.T @ X, hat.T @ data["y"])
    residual = data["y"] - X @ theta
    variance = residual @ residual / (len(X) - X.shape[1])
    np.testing.assert_allclose(fit.params[names], theta, rtol=1e-7)
    error = np.sqrt(variance * np.diag(np.linalg.inv(hat.T @ hat)))
    np.testing.assert_allclose(fit.bse[names], error, rtol=1e-6)
    first = smf.ols("x ~ w + z + g", data).fit().f_test("w = 0, z = 0")
    note = next(n for n in fit.notes if n.startswith("first stage of x"))
    assert float(note.split("F = ")[1].split()[0]) == pytest.approx(first.fvalue, rel=1e-3)
    just = exact.iv("y ~ x + z", "~ x + z")
    np.testing.assert_allclose(just.params, exact.lm("y ~ x + z").params, rtol=1e-7)


def test_tables_without_noise(exact, data):
    plain = data[["y", "x", "z", "w"]].corr()
    np.testing.assert_allclose(exact.corr().iloc[:4, :4], plain, atol=1e-9)
    X = smf.ols("y ~ x + z + w", data).exog
    wanted = [variance_inflation_factor(X, j) for j in (1, 2, 3)]
    np.testing.assert_allclose(exact.vif("y ~ x + z + w"), wanted, rtol=1e-7)
    test = exact.anova("y ~ x", "y ~ x + z + g")
    theirs = smf.ols("y ~ x + z + g", data).fit(use_t=False)
    wald = theirs.wald_test("z = 0, g[T.b] = 0, g[T.c] = 0", use_f=False, scalar=True)
    assert test.statistic == pytest.approx(float(wald.statistic), rel=1e-6)
    assert test.df_num == 3
    subsets = exact.subsets("y ~ x + z + w + g", 16)
    assert len(subsets) == 16
    by_hand = {f: smf.ols(f, data).fit().bic for f in subsets.index}
    np.testing.assert_allclose(subsets["bic"], list(by_hand.values()), rtol=1e-9)
    assert min(by_hand, key=by_hand.get) == subsets.index[0]


def with_noise(exact, rng, deviation):
    size = len(exact.matrix)
    noise = rng.standard_normal((size, size)) * deviation
    noise = (noise + noise.T) / 2
    return dataclasses.replace(exact, matrix=exact.matrix + noise, deviation=deviation)


def test_noise_has_the_law_that_errors_are_made_for(exact):
    """(A + A') / 2 has variance s^2 on the diagonal and s^2 / 2 elsewhere."""
    rng = np.random.default_rng(7)
    model, exogenous = exact.model("y ~ x + z + g"), exact.model("y ~ w + z + g")
    pair = [exact.model("y ~ x + z"), exact.model("y ~ z + w")]
    upper = np.triu_indices(6, 1)
    runs = 400
    found = {"lm": [], "iv": [], "r2": [], "corr": [], "aic": []}
    for _ in range(runs):
        noisy = with_noise(exact, rng, exact.units / 100)
        fit, _ = noisy.regression(model)
        found["lm"].append((fit.theta, np.sqrt(np.diag(fit.error.privacy))))
        regressors, instruments = noisy.regressors(model), noisy.regressors(exogenous)
        fit = noisy.joint.two_stages(regressors, instruments, noisy.vector("y", model))
        found["iv"].append((fit.theta, np.sqrt(np.diag(fit.error.privacy))))
        share = rsquared(noisy, model, 0.05)
        found["r2"].append(([share["rsquared"]], [share["privacy"]]))
        values, errors = (table[upper] for table in correlations(noisy))
        sampling = (1 - values**2) ** 2 / noisy.units
        found["corr"].append((values, np.sqrt(errors**2 - sampling)))
        table = compare_models(noisy, pair).loc[[m.formula for m in pair]]
        found["aic"].append(([np.diff(table["aic"])[0]], [table["noise"].max()]))
    # The deviation of a sample deviation of normal numbers is 1 / sqrt(2 runs) of it.
    for what, pairs in found.items():
        values = np.array([p[0] for p in pairs])
        claimed = np.sqrt((np.array([p[1] for p in pairs]) ** 2).mean(axis=0))
        ratio = values.std(axis=0) / claimed
        assert (np.abs(ratio - 1) < 5 / np.sqrt(2 * runs)).all(), (what, ratio)


def test_squared_residuals_are_right_on_average(exact):
    """Without the correction the mean is as far off as 9 of its errors."""
    rng = np.random.default_rng(8)
    model = exact.model("y ~ x + z + g")
    wanted, _ = exact.regression(model)
    fits = [with_noise(exact, rng, exact.units / 15).regression(model)[0] for _ in range(2000)]
    left = np.array([fit.residual.value for fit in fits])
    assert abs(left.mean() - wanted.residual.value) < 4 * left.std() / np.sqrt(len(fits))


def test_a_singular_pair_is_blank_and_others_are_not(data):
    twice = data.assign(v=data["x"] * 2)
    m = dpreg.dp_moments("~ y + x + v + w", twice, 20.0, 1e-5, rng=1)
    both = m.lm("y ~ x + v + w")
    assert both.bse[["x", "v"]].isna().all()
    assert np.isfinite(both.bse["w"])
    assert np.isfinite(m.lm("y ~ x + w").bse).all()
    assert np.isfinite(m.lm("y ~ v + w").bse).all()


def test_json_comes_back_whole(released):
    again = dpreg.DPMoments.from_json(released.to_json())
    assert again.to_json() == released.to_json()
    assert again.lm("y ~ x + g").to_json() == released.lm("y ~ x + g").to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"dpreg_moments": 99},
        {"matrix": [[1.0]]},
        {"used": [0, 0, 1, 2, 3, 4]},
        {"used": [0, 1, 2, 3, 4, 9]},
        {"scale": [0.0] * 6},
        {"centre": "x"},
        {"units": -1.0},
        {"privacy": {}},
        {"names": [1]},
        {"limits": None},
    ],
)
def test_json_that_is_wrong_is_refused(released, change):
    text = json.dumps({**json.loads(released.to_json()), **change})
    with pytest.raises(ValueError, match="these are not moments"):
        dpreg.DPMoments.from_json(text)


@pytest.mark.parametrize("text", [None, "", "[]", "3", "{"])
def test_only_a_document_is_read(text):
    with pytest.raises(ValueError, match="these are not moments"):
        dpreg.DPMoments.from_json(text)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda m: m.lm("y ~ x + x:z"), "'x:z', which was not released"),
        (lambda m: m.lm("y ~ nope"), "there is no column 'nope'"),
        (lambda m: m.lm("y ~ log(x)"), "'log(x)', which was not released"),
        (lambda m: m.regress("y", ["xx"]), "'xx', which was not released"),
        (lambda m: m.anova("y ~ x", "y ~ z"), "small must have the response"),
        (lambda m: m.anova("y ~ x + z", "y ~ x"), "small must have the response"),
        (lambda m: m.rsquared("y ~ x - 1"), "needs an intercept"),
        (lambda m: m.rsquared("y ~ x", 3), "alpha must be"),
        (lambda m: m.compare([]), "one or more models"),
        (lambda m: m.compare(["y ~ x", "x ~ y"]), "one response"),
        (lambda m: m.subsets("y ~ x", 0), "best must be"),
        (lambda m: m.iv("y ~ x + z", "~ w"), "fewer than the 2 regressors"),
        (lambda m: m.iv("y ~ x", 3), "instruments must be"),
        (lambda m: m.iv("y ~ x", "~ w - 1"), "an intercept if and only if"),
    ],
)
def test_wrong_questions(released, ask, says):
    with pytest.raises((ArgumentError, FormulaError)) as refusal:
        ask(released)
    assert says in str(refusal.value)


def test_a_first_stage_that_noise_hides_leaves_blanks(exact):
    rng = np.random.default_rng(2)
    clear = with_noise(exact, rng, exact.units / 100)
    assert np.isfinite(clear.iv("y ~ x", "~ w").bse).all()
    hidden = with_noise(exact, rng, exact.units / 2)
    assert hidden.iv("y ~ z", "~ g").bse.isna().all()


def test_a_response_without_spread_is_refused_in_every_question(exact):
    lost = dataclasses.replace(
        exact, used=exact.used[1:], centre=exact.centre[1:], scale=exact.scale[1:],
        basis=np.eye(6), matrix=np.eye(6) * exact.units,
    )  # fmt: skip
    for ask in (
        lambda m: m.lm("y ~ x"),
        lambda m: m.iv("y ~ x", "~ w"),
        lambda m: m.rsquared("y ~ x"),
        lambda m: m.compare(["y ~ x"]),
    ):
        with pytest.raises(ArgumentError, match="the scale of 'y' is not estimable"):
            ask(lost)
    with pytest.raises(ArgumentError, match="the scale is not estimable at this eps: y"):
        lost.iv("x ~ y", "~ w + z")


def test_weak_instruments_are_told(exact):
    weak = dataclasses.replace(exact)
    assert any("which is weak" in n for n in weak.iv("y ~ z", "~ g").notes)


def test_a_fit_says_where_it_is_from_and_has_tests(released):
    fit = released.lm("y ~ x + z + g")
    assert fit.method == "moments"
    assert fit.privacy == released.privacy
    assert any("errors of constant variance" in note for note in fit.notes)
    assert fit.anova().loc["g", "df"] == 2
    assert fit.t_test("x + z").sd[0] > 0
    assert dpreg.DPResults.from_json(fit.to_json()).to_json() == fit.to_json()


def test_it_prints_and_draws(released):
    text = str(released)
    assert "(1) y" in text
    assert "Standard errors of correlations" in text
    assert "<table" in released._repr_html_()
    ax = released.plot()
    assert len(ax.get_xticklabels()) == 6
    assert "NOT PRIVATE" in ax.get_title(loc="left")


def test_the_summary_has_means_and_deviations_of_the_columns(exact, data):
    """Not the centre and scale of the release, 0.5 for every dummy."""
    lines = str(exact.summary()).splitlines()
    columns = data[["y", "x", "z", "w"]].assign(b=data["g"] == "b", c=data["g"] == "c") * 1.0
    for place, name in enumerate(exact.names):
        row = next(line for line in lines if line.startswith(f"({place + 1}) {name} "))
        mean, deviation = (float(word) for word in row.split()[2:4])
        column = columns.iloc[:, place]
        np.testing.assert_allclose(mean, column.mean(), rtol=1e-4)
        np.testing.assert_allclose(deviation, column.std(ddof=0), rtol=1e-4)
    unknown = dataclasses.replace(exact, trusted=np.zeros(6, dtype=bool))
    assert str(unknown.summary()).count("n/a") == 6  # without a location a mean is not estimable


def test_moments_that_came_out_as_0_print_without_a_warning(released):
    nothing = dataclasses.replace(released, matrix=np.zeros_like(released.matrix))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "(1) y" in str(nothing.summary())
