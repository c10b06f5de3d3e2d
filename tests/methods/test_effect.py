"""`dp_effect`: its rows by definition, exact estimates, errors, what is released, and wrong use."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from methods.tables import treated as cohort
from unsealed import arrays_of, opened

import dpreg
from dpreg.audit.recordings import Leak
from dpreg.audit.replay import measure
from dpreg.audit.replay_models import random_effect
from dpreg.audit.replay_tables import random_case
from dpreg.base.errors import ArgumentError, FormulaError, SchemaError
from dpreg.base.families import family_from
from dpreg.data import arms
from dpreg.data.arms import (
    AtLimits,
    EffectScores,
    one_row_each,
)
from dpreg.data.design import Terms
from dpreg.estimation.inference.effect import (
    combined,
    remainder,
    scores_by_models,
    without_noise,
)
from dpreg.estimation.methods import effect
from dpreg.estimation.methods.effect_stages import Stages
from dpreg.estimation.releases.statistics import EventCounts

LEVELS = {"arm": ["placebo", "drug"]}


def exact(data, outcome="y", family=None, propensity=None):
    """Return means and covariance of doubly robust scores without noise."""
    X, t, y = sm.add_constant(data[["a", "b"]].to_numpy()), data["t"], data[outcome]
    family = family or sm.families.Gaussian()
    m = [sm.GLM(y[t == k], X[t == k], family=family).fit().predict(X) for k in (0, 1)]
    e = propensity
    if e is None:
        fit = sm.GLM(t, X, family=sm.families.Binomial()).fit()
        e = np.clip(fit.predict(X), 0.05, 0.95)
    scores = np.array([m[0] + (1 - t) * (y - m[0]) / (1 - e), m[1] + t * (y - m[1]) / e])
    return scores.mean(axis=1), np.cov(scores) / len(y)


CALLS = {
    "aipw": ({"treatment": "t"}, {}),
    "trial": ({"treatment": "t", "propensity": 0.5}, {"propensity": 0.5}),
    "risks": ({"treatment": "t", "family": "binomial"},
              {"outcome": "hit", "family": sm.families.Binomial()}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_with_little_noise_it_is_the_exact_estimate(name):
    given, of = CALLS[name]
    data = cohort(20_000, trial=name == "trial")
    outcome = of.get("outcome", "y")
    found = dpreg.dp_effect(f"{outcome} ~ a + b", data, 300.0, 1e-2, rng=1, **given)
    means, covariance = exact(data, **of)
    errors = np.sqrt(np.diag(covariance))
    assert np.abs(found.means - means).max() < 0.1 * errors.max()
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), errors, rtol=0.05)
    wanted = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert found.se == pytest.approx(wanted, rel=0.05)


def test_a_difference_in_means_has_welchs_error():
    data = cohort(20_000, trial=True)
    found = dpreg.dp_effect("y ~ 1", data, 300.0, 1e-2, treatment="t", method="difference", rng=1)
    parts = [data["y"][data["t"] == arm] for arm in (0, 1)]
    error = math.sqrt(sum(part.var() / len(part) for part in parts))
    assert found.effect == pytest.approx(parts[1].mean() - parts[0].mean(), abs=0.1 * error)
    assert found.se == pytest.approx(error, rel=0.03)
    assert found.overlap is None
    assert "randomised" in " ".join(found.notes)


def test_regression_has_the_error_of_predictions_and_of_coefficients():
    data = cohort(20_000)
    found = dpreg.dp_effect("y ~ a + b", data, 300.0, 1e-2, treatment="t", method="regression",
                            rng=1)  # fmt: skip
    X = sm.add_constant(data[["a", "b"]].to_numpy())
    fits = [sm.OLS(data["y"][data["t"] == k], X[data["t"] == k]).fit() for k in (0, 1)]
    score, mean = fits[1].predict(X) - fits[0].predict(X), X.mean(axis=0)
    error = math.sqrt(
        score.var() / len(score) + sum(mean @ fit.cov_params() @ mean for fit in fits)
    )
    assert found.effect == pytest.approx(score.mean(), abs=0.1 * error)
    assert found.se == pytest.approx(error, rel=0.05)


def test_errors_of_scores_of_few_rows_are_those_of_the_rows():
    """Where norms of scores were not counted, they were 16% too small in the median."""
    ratios = []
    for seed in range(12):
        data = cohort(2000, seed)
        found = dpreg.dp_effect("y ~ a + b", data, 1.0, 1e-6, treatment="t", rng=seed)
        _, covariance = exact(data)
        own = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
        ratios.append(found.tidy()["sampling"]["effect"] / math.sqrt(own))
    assert 0.9 < np.nanmedian(ratios) < 1.1


def test_intervals_cover_where_one_arm_is_small():
    """Few scores are long, and all that the model of their arm is off by is in these."""
    missed = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x, t = rng.standard_normal(10_000), (rng.random(10_000) < 0.05).astype(float)
        y = x + t * (0.5 + 0.3 * x) + rng.standard_normal(10_000)
        data = {"x": x, "t": t, "y": y}
        fit = dpreg.dp_effect("y ~ x", data, 1.0, 1e-5, treatment="t", propensity=0.05, rng=seed)
        missed.append((fit.effect - 0.5) / fit.se)
    assert np.sqrt(np.mean(np.square(missed))) < 1.6


def test_three_estimates_are_put_together_by_their_noise():
    """As generalised least squares, and as simulated."""
    rng = np.random.default_rng(1)
    sampling, noise = np.array([[2.0, 0.7], [0.7, 1.0]]), np.array([0.5, 1.5, 3.0])
    shape = np.array([[-1, 1], [1, 0], [0, 1]])
    whole = shape @ sampling @ shape.T
    draws = rng.multivariate_normal([0, 0], sampling, 20_000) @ shape.T
    draws = draws + rng.normal(size=draws.shape) * np.sqrt(noise)
    found = [combined(d, np.diag(whole) + noise, np.diag(whole)) for d in draws]
    np.testing.assert_allclose(np.cov(np.array([f[0] for f in found]).T), found[0][1], atol=0.1)
    np.testing.assert_allclose(found[0][2], sampling)
    assert np.isnan(combined([0, 0, 0], [np.nan, 1, 1], [1, 1, 1])[1]).all()


def test_three_estimates_are_put_together_when_one_has_hardly_any_noise():
    """An inverse ended a call that was paid for: `LinAlgError`, found by a replay."""
    means, covariance, _ = combined([1.0, 0.2, 0.9], [1e-20, 2.0, 3.0], [0.0, 0.0, 0.0])
    np.testing.assert_allclose(means, [0.08, 1.08])
    np.testing.assert_allclose(covariance, np.full((2, 2), 1.2))
    means, covariance, _ = combined([1.0, 0.2, 0.9], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(means, [0.2, 0.9])
    np.testing.assert_array_equal(covariance, np.zeros((2, 2)))


@pytest.mark.parametrize("variance", [-1e-12, 0.0, np.nan])
def test_a_variance_that_rounding_made_negative_is_none(variance):
    """The pseudoinverse of what is no number raises an error, in a call that was paid for."""
    treatment = np.diag([variance, 1.0])
    found = remainder(np.eye(4), treatment, np.ones(2), 100.0, np.ones(2), 0.5)
    assert np.isnan(found).all()


def test_the_remainder_is_the_variance_of_the_product_of_errors():
    rng = np.random.default_rng(2)
    n, share, w = 4000, 0.3, 2
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    e = np.full(n, share)
    information = (x * (e * (1 - e))[:, None]).T @ x
    own = np.linalg.inv(information)
    treatment = 3 * own
    outcomes = np.kron(np.array([[1.0, 0.2], [0.2, 0.5]]), np.array([[0.02, 0.005], [0.005, 0.03]]))
    found = remainder(outcomes, treatment, np.sqrt(np.diag(own)), n, np.ones(2), share)
    g = rng.multivariate_normal(np.zeros(w), treatment, 40_000)
    d = rng.multivariate_normal(np.zeros(2 * w), outcomes, 40_000)
    moment = x.T @ x / n
    without = share * np.einsum("ri,ij,rj->r", g, moment, d[:, :w])
    treated = -(1 - share) * np.einsum("ri,ij,rj->r", g, moment, d[:, w:])
    np.testing.assert_allclose(found, np.cov(without, treated), rtol=0.05)
    assert np.isnan(remainder(outcomes * np.nan, treatment, np.ones(w), n, np.ones(2), 0.3)).all()
    np.testing.assert_allclose(without_noise(treatment, np.sqrt(np.diag(own))), own)


OUTCOMES = [("gaussian", sm.families.Gaussian()), ("binomial", sm.families.Binomial())]


def steep(n, family, rng):
    """Correlated covariates, one of them skewed, and a treatment that some hardly ever have."""
    a, b = rng.normal(size=n), rng.exponential(size=n) - 1
    X = np.column_stack([np.ones(n), a + 0.5 * b, b])
    t = rng.random(n) < 1 / (1 + np.exp(1 - X @ [0.0, 1.3, 0.2]))
    means = X @ np.array([0.5, 0.8, 0.5]), X @ np.array([1.0, 1.2, 0.2])
    mean = np.where(t, means[1], means[0])
    if family == "gaussian":
        return X, t, mean + rng.normal(size=n)
    return X, t, (rng.random(n) < 1 / (1 + np.exp(-mean))).astype(float)


@pytest.mark.parametrize(("name", "kind"), OUTCOMES)
@pytest.mark.parametrize("known", [False, True])
def test_models_say_how_scores_vary(name, kind, known):
    n, overlap = 60_000, (0.05, 0.95)
    X, t, y = steep(n, name, np.random.default_rng(5))
    t = np.random.default_rng(6).random(n) < 0.3 if known else t
    fits = [sm.GLM(y[t == k], X[t == k], family=kind).fit() for k in (0, 1)]
    m = [fit.predict(X) for fit in fits]
    logit = sm.GLM(t.astype(float), X, family=sm.families.Binomial()).fit()
    e = np.full(n, 0.3) if known else np.clip(logit.predict(X), *overlap)
    scores = np.array([m[0] + (~t) * (y - m[0]) / (1 - e), m[1] + t * (y - m[1]) / e])
    exactly = np.array([np.diff(scores, axis=0)[0], *scores]).var(axis=1) / n
    both = np.zeros((6, 6))
    both[:3, :3], both[3:, 3:] = (fit.cov_params() for fit in fits)
    treatment = logit.params
    if known:
        treatment, overlap = np.array([np.log(3 / 7), 0.0, 0.0]), (0.3, 0.3)
    given = (np.array([fit.params for fit in fits]), both, treatment, family_from(name), float(n),
             t.mean(), overlap)  # fmt: skip
    np.testing.assert_allclose(scores_by_models(*given), exactly, rtol=0.15)
    unknown = scores_by_models(given[0], both * np.nan, *given[2:])
    assert np.array_equal(unknown, np.zeros(3))
    assert np.array_equal(scores_by_models(given[0], -both, *given[2:]), np.zeros(3))


@pytest.mark.parametrize("size", [1e60, 1e170, 1e308])
@pytest.mark.parametrize("name", ["gaussian", "binomial"])
def test_models_of_any_size_are_no_error(name, size):
    """A power of a Python float raises an error where one of an array does not."""
    outcomes, treatment = np.full((2, 3), size), np.array([0.0, 1.0, 1.0])
    found = scores_by_models(
        outcomes, np.eye(6), treatment, family_from(name), 100.0, 0.5, (0.05, 0.95)
    )
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_sampling_errors_are_those_of_scores_where_few_are_long():
    """With those of scores that stop at a limit it was .85 of them."""
    ratios = []
    for seed in range(8):
        X, t, y = steep(5_000, "gaussian", np.random.default_rng([7, seed]))
        data = pd.DataFrame({"a": X[:, 1], "b": X[:, 2], "t": t.astype(float), "y": y})
        found = dpreg.dp_effect("y ~ a + b", data, 1.0, 1e-6, treatment="t", rng=seed)
        error = np.sqrt(np.array([-1, 1]) @ exact(data)[1] @ np.array([-1, 1]))
        ratios.append(found.tidy().loc["effect", "sampling"] / error)
    assert 0.93 < np.nanmean(ratios) < 1.15


@pytest.fixture(scope="module")
def fitted():
    data = cohort(8000)
    return dpreg.dp_effect("y ~ a + b", data, 2.0, treatment="arm", levels=LEVELS, rng=3)


def test_effect_means_and_limits_are_those_of_the_table(fitted):
    table = fitted.tidy(0.1)
    assert list(table.index) == ["effect", "mean[arm=placebo]", "mean[arm=drug]"]
    assert table.loc["effect", "coef"] == fitted.effect == fitted.means[1] - fitted.means[0]
    assert (table.loc["effect", ["lower", "upper"]].tolist()) == list(fitted.conf_int(0.1))
    np.testing.assert_allclose(
        table["sampling"] ** 2 + table["privacy"] ** 2, table["std err"] ** 2
    )
    assert table.loc["effect", "P>|z|"] == fitted.pvalue < 1e-6
    assert fitted.overlap.share < 0.1
    assert abs(fitted.treated / fitted.units - cohort(8000)["t"].mean()) < 0.05
    text = " ".join(str(fitted).split())
    assert "Private Effect of arm on y" in text
    assert "probability of treatment outside 0.05 to 0.95" in text


def test_an_effect_is_drawn_from_the_mean_of_the_control(fitted):
    pytest.importorskip("matplotlib").use("Agg")
    ax, table = fitted.plot(alpha=0.1), fitted.tidy(0.1)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(table.index)
    whole = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(whole[1:], table[["lower", "upper"]].to_numpy()[1:])
    np.testing.assert_allclose(whole[0] - fitted.means[0], table.loc["effect", ["lower", "upper"]])
    assert len(ax.texts) == 3
    assert "90% intervals" in ax.get_xlabel()
    assert ax.child_axes[0].get_xlabel() == "effect, a difference of means"
    risks = dataclasses.replace(fitted, family="binomial").plot()
    assert risks.child_axes[0].get_xlabel() == "effect, a difference of risks"
    unknown = dataclasses.replace(fitted, covariance=np.full((2, 2), np.nan)).plot()
    assert {t.get_text().strip() for t in unknown.texts} == {"not estimable at this eps"}


def test_an_effect_goes_to_json_and_back(fitted):
    again = dpreg.DPEffect.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()
    assert str(again) == str(fitted)
    document = json.loads(fitted.to_json())
    for broken in (
        {"means": [1.0]}, {"arms": ["a"]}, {"overlap": 3}, {"dpreg_effect": 2}, {"units": None},
        {"covariance": [[1.0, 2.0]]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="not a treatment effect"):
            dpreg.DPEffect.from_json(json.dumps({**document, **broken}))


@pytest.mark.parametrize("eps", [0.3, 1.0, 30.0])
@pytest.mark.parametrize("given", [
    {}, {"propensity": 0.5}, {"method": "regression"}, {"unit": "who", "max_rows": 2},
])  # fmt: skip
def test_squares_of_all_stages_are_within_the_allowance(eps, given):
    found = dpreg.dp_effect("hit ~ a + b", cohort(3000), eps, treatment="t", family="binomial",
                            rng=1, **given)  # fmt: skip
    spent = math.fsum((part.mu or 0.0) ** 2 for part in found.privacy.parts)
    from dpreg.estimation.releases.accountant import releases_cost

    whole = releases_cost(eps, found.privacy.delta).mu ** 2
    assert spent <= whole
    assert not found.released or spent > 0.97 * whole


def test_a_budget_is_charged_once_and_the_ledger_says_what_for():
    budget = dpreg.Budget(2.0, 1e-5)
    found = dpreg.dp_effect("y ~ a", cohort(4000), 1.0, 1e-6, treatment="t", budget=budget)
    (charge,) = budget.charges
    assert charge.label == "dp_effect('y ~ a', method='aipw')"
    assert (charge.paid.epsilon, charge.status) == (1.0, "released")
    assert found.privacy.request["method"] == {"name": "effect", "treatment": "t"}
    labels = [part.label for part in found.privacy.parts]
    assert {label.partition(": ")[0] for label in labels if ": " in label} == {
        "outcome", "treatment", "untreated", "treated", "effect"
    }  # fmt: skip


def test_rows_in_neither_arm_are_as_if_they_were_not_there():
    data = cohort(3000)
    data.loc[::5, "t"], data.loc[1::10, "t"] = 2.0, np.nan
    kept = data[np.isin(data["t"], (0, 1))]
    calls = [dpreg.dp_effect("y ~ a + b", d, 2.0, treatment="t", rng=2) for d in (data, kept)]
    assert calls[0].to_json() == calls[1].to_json()


@pytest.mark.parametrize("more", [{}, {"unit": "who", "max_rows": 2}])
def test_where_rows_are_changes_nothing(more, tmp_path):
    data = cohort(30_000)
    path = tmp_path / "cohort.parquet"
    data.to_parquet(path, row_group_size=700)

    def call(given, **other):
        return dpreg.dp_effect("y ~ a + b", given, 1.0, treatment="arm", levels=LEVELS, rng=2,
                               **more, **other).to_json()  # fmt: skip

    first = call(data)
    dictionary = {name: data[name].to_numpy() for name in data}
    assert call(dictionary) == call(path) == call(data, memory=1e6) == first


@pytest.mark.parametrize("rows", [0, 1, 30, 400])
def test_few_records_are_an_outcome(rows):
    data = cohort(rows)
    for method in ("aipw", "regression", "difference"):
        right = "1" if method == "difference" else "a + b"
        found = dpreg.dp_effect(f"y ~ {right}", data, 1.0, treatment="t", method=method, rng=1)
        assert found.privacy.parts
        assert "nan" not in found.to_json().lower()
        str(found)


def test_an_arm_without_a_row_is_an_outcome():
    for arm in (0.0, 1.0):
        found = dpreg.dp_effect("y ~ a", cohort(3000).assign(t=arm), 1.0, treatment="t", rng=1)
        assert not found.released or np.isnan(found.se) or found.se > 0.2


def test_little_overlap_is_said():
    rng = np.random.default_rng(4)
    data = cohort(20_000)
    data["t"] = (rng.random(20_000) < 1 / (1 + np.exp(-3 * data["a"]))).astype(float)
    found = dpreg.dp_effect("y ~ a + b", data, 1.0, treatment="t", rng=1)
    true = ((1 / (1 + np.exp(-3 * data["a"])) - 0.5).abs() > 0.45).sum()
    assert abs(found.overlap.rows - true) < 1500
    assert "depends on the model of the outcome" in found.notes[0]


@pytest.mark.parametrize(("given", "kind", "says"), [
    ({"treatment": "zz"}, SchemaError, "zz"),
    ({"treatment": "arm"}, ArgumentError, "arm"),
    ({"treatment": "arm", "levels": {"arm": ["placebo", "drug", "x"]}}, ArgumentError,
     "two public levels"),
    ({"treatment": 3}, ArgumentError, "the name of one column"),
    ({"formula": "y ~ t + a"}, FormulaError, "is the treatment"),
    ({"formula": "y"}, FormulaError, "on the left of ~"),
    ({"formula": "y ~ ."}, FormulaError, "must name the covariates"),
    ({"formula": "y ~ 0 + a"}, FormulaError, "must have an intercept"),
    ({"formula": "y ~ a", "method": "difference"}, FormulaError, "uses none"),
    ({"method": "tmle"}, ArgumentError, "must be one of"),
    ({"family": "poisson"}, ArgumentError, "family"),
    ({"propensity": 1.0}, ArgumentError, "propensity"),
    ({"propensity": 0.5, "method": "regression"}, ArgumentError, "not used by 'regression'"),
    ({"overlap": (0.9, 0.1)}, ArgumentError, "overlap"),
    ({"overlap": (0.0, 0.9)}, ArgumentError, "overlap"),
    ({"max_rows": 2}, ArgumentError, "unit"),
    ({"bounds": {"t": (0, 1)}}, ArgumentError, "is the treatment"),
    ({"eps": 0}, ArgumentError, "eps"),
    ({"delta": 0.0}, ArgumentError, "delta"),
])  # fmt: skip
def test_wrong_use_is_refused_before_the_charge(given, kind, says):
    budget = dpreg.Budget(9.0, 1e-3)
    asked = {"formula": "y ~ a + b", "data": cohort(20), "eps": 1.0, "treatment": "t", **given}
    with pytest.raises(kind, match=says):
        dpreg.dp_effect(**asked, budget=budget)
    assert not budget.charges


def cases(count):
    for k in range(count):
        rng = np.random.default_rng([9, k])
        yield random_case(rng, random_effect(rng))


@pytest.mark.slow
def test_no_release_on_neighbours_moves_by_more_than_its_sensitivity():
    """The second table on the path of the first: all else must agree."""
    moved = dict(part for case in cases(30) for part in measure(case).moved)
    assert {"rows at the limits of overlap", "mean derivatives of predictions"} <= set(moved)


def _measure_all(those):
    for case in those:
        measure(case)


def _all_again(patch):
    """What stages have spent is not taken off what the next ones get."""
    patch.setattr(Stages, "left", property(lambda self: 1.0))


def _one_row(patch):
    """Units of several rows count as one."""
    real = Stages.stage

    def stage(self, share):
        self._rows = 1
        return real(self, share)

    patch.setattr(Stages, "stage", stage)


def _centred(patch):
    """Scores are functions of other rows too."""
    real = EffectScores.__call__

    def centred(self, X, y):
        rows, score, kept = real(self, X, y)
        return rows, score - (score.mean() if len(score) else 0.0), kept

    patch.setattr(arms.EffectScores, "__call__", centred)


def _exact_share(patch):
    """The share of treated rows is read, not released."""
    real = effect.known_scales

    def known(design, spending, family):
        found = real(design, spending, family)
        treated = arrays_of(design)[0][:, 0]
        return found._replace(share=min(max(treated.mean(), 0.1), 0.9) if len(treated) else 0.5)

    patch.setattr(effect, "known_scales", known)


def _exact_count(patch):
    """Rows at the limits are counted without noise."""
    real = effect.TreatmentEffect._at_limits

    def counted(self, design, chance, spending):
        _, deviation = real(self, design, chance, spending)
        rows = one_row_each(design, AtLimits(chance, self.overlap), Terms("limit", (), True))
        return float(opened(rows.total(EventCounts()))[1]), deviation

    patch.setattr(effect.TreatmentEffect, "_at_limits", counted)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [_all_again, _one_row, _centred, _exact_share, _exact_count])
def test_a_replay_finds_what_is_planted(mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(Leak, match=r"moved by|lose|differ|no function|at mu|stages|spent more"):
        _measure_all(cases(150))
