"""What released numbers say of the errors of a treatment effect."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from methods.tables import steep

import dpreg
from dpreg.base.families import family_from
from dpreg.data.arms import EffectScores, Line
from dpreg.estimation.inference.effect import (
    combined,
    remainder,
    residual_variance,
    scores_by_models,
    share_of_large_residuals,
    share_of_large_weights,
    without_noise,
)
from dpreg.estimation.methods.effect_columns import ByArm
from dpreg.estimation.methods.effect_stages import Known, small_arm
from dpreg.estimation.releases.accountant import GaussianReleases, Noisy
from dpreg.estimation.releases.standardisation import Scales


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


PLAIN = np.eye(2), np.eye(2)
ANY = np.full(2, 1e6)


@pytest.mark.parametrize("variance", [-1e-12, 0.0, 1e-300, 1e95, 1e308, np.nan])
def test_a_variance_that_rounding_made_negative_is_no_error(variance):
    """The pseudoinverse of what is no number raises an error, in a call that was paid for."""
    treatment = np.diag([variance, 1.0])
    found = remainder(np.eye(4), (treatment, treatment), 100.0, np.ones(2), 0.5, ANY, PLAIN)
    assert np.isnan(found).all() == (not abs(variance) < 1e100)


def test_the_remainder_is_the_variance_of_the_product_of_errors():
    rng = np.random.default_rng(2)
    n, share, w = 4000, 0.3, 2
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    e = np.full(n, share)
    information = (x * (e * (1 - e))[:, None]).T @ x
    own = np.linalg.inv(information)
    treatment = 3 * own
    outcomes = np.kron(np.array([[1.0, 0.2], [0.2, 0.5]]), np.array([[0.02, 0.005], [0.005, 0.03]]))
    found = remainder(outcomes, (treatment, own), n, np.ones(2), share, ANY, PLAIN)
    g = rng.multivariate_normal(np.zeros(w), treatment, 40_000)
    d = rng.multivariate_normal(np.zeros(2 * w), outcomes, 40_000)
    moment = x.T @ x / n
    without = share * np.einsum("ri,ij,rj->r", g, moment, d[:, :w])
    treated = -(1 - share) * np.einsum("ri,ij,rj->r", g, moment, d[:, w:])
    np.testing.assert_allclose(found, np.cov(without, treated), rtol=0.05)
    turn = np.array([[1.0, 40.0], [0.0, 0.2]])
    other, twice = np.linalg.inv(turn), np.kron(np.eye(2), np.linalg.inv(turn))
    turned = twice @ outcomes @ twice.T, *(other @ of @ other.T for of in (treatment, own))
    again = remainder(turned[0], turned[1:], n, np.ones(2), share, ANY, (turn, np.eye(2)))
    np.testing.assert_allclose(again, found)
    unknown = remainder(outcomes * np.nan, (treatment, own), n, np.ones(2), 0.3, ANY, PLAIN)
    assert np.isnan(unknown).all()
    np.testing.assert_allclose(without_noise(treatment, np.sqrt(np.diag(own))), own)


def test_a_level_of_which_nothing_is_known_adds_no_more_than_its_rows_can():
    """Its errors are 100, in logits; it has 2 of 100 rows, and no sampling error at all."""
    n, share, columns = 5000, 0.4, (np.diag([1.0, 0.5]), np.diag([1.0, 0.0196 / 0.25]))
    own = np.diag([1 / (0.24 * n), 0.0])
    treatment, outcomes = np.diag([1 / (0.24 * n), 1e4]), np.diag([1e-3, 1e4, 1e-3, 1e4])
    found = remainder(
        outcomes, (treatment, own), n, np.full(2, 0.2), share, np.full(2, 0.2), columns
    )
    assert 0 < found[0, 0] < 0.06**2
    less = remainder(
        outcomes, (treatment, own), n, np.full(2, 0.2), share, np.full(2, 0.01), columns
    )
    assert less[0, 0] < found[0, 0]


def stops(n, seed):
    """Return rows with factors of which some levels are rare, and a rare outcome."""
    rng = np.random.default_rng(seed)
    a = rng.choice(8, n, p=[0.02, 0.3, 0.23, 0.15, 0.1, 0.1, 0.06, 0.04])
    b = rng.choice(3, n, p=[0.5, 0.4, 0.1])
    t = rng.random(n) < 1 / (1 + np.exp(-(0.3 + 0.15 * (a - 3) - 0.3 * b)))
    y = rng.random(n) < 1 / (1 + np.exp(-(-3 + 0.2 * a + 0.3 * b + 0.5 * t)))
    return pd.DataFrame({"a": pd.Categorical(a), "b": pd.Categorical(b), "t": t * 1, "y": y * 1})


@pytest.mark.parametrize("n", [5000, 20_000])
def test_an_effect_has_an_error_where_levels_of_factors_are_rare(n):
    """Every error was blank: levels in the arms were columns like others, and hid it."""
    data = stops(400_000, 0)
    cells = data.groupby(["a", "b"], observed=True)
    each = cells.apply(lambda of: of["y"][of["t"] == 1].mean() - of["y"][of["t"] == 0].mean())
    truth = float(np.average(each, weights=cells.size()))
    off, said, errors = [], [], []
    for seed in range(8):
        fit = dpreg.dp_effect("y ~ a + b", stops(n, 1 + seed), 1.0, treatment="t",
                              family="binomial", rng=seed)  # fmt: skip
        if fit.released:
            off.append((fit.effect - truth) / fit.se)
            said.append("widens the interval" in " ".join(fit.notes))
            errors.append(fit.se)
    assert len(errors) == 8
    assert np.median(errors) < (0.035 if n == 5000 else 0.007)
    assert np.max(errors) < (0.08 if n == 5000 else 0.01)
    assert np.isfinite(off).all()
    assert np.abs(off).max() < 3
    assert any(said) if n == 5000 else sum(said) < 2
    assert "T." not in " ".join(fit.notes)


def test_regression_has_an_error_where_levels_of_factors_are_rare():
    """Errors of levels were lengthened one by one, and with them a rare reference was not known."""
    fit = dpreg.dp_effect("y ~ a + b", stops(20_000, 1), 1.0, treatment="t", family="binomial",
                          method="regression", rng=0)  # fmt: skip
    assert fit.se < 0.02


OUTCOMES = [("gaussian", sm.families.Gaussian()), ("binomial", sm.families.Binomial())]


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


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_scores_of_a_small_arm_are_of_any_size(size):
    one, every = np.ones(3), np.ones(3, dtype=bool)
    scales = Scales(-one, one, 0 * one, np.array([1, 1, size]), every, one, every, True, 900.0)
    lines = [Line(np.full(2, size), np.array([[-1.0, 1.0]]), family_from("gaussian"))] * 2
    scores = EffectScores(tuple(lines), 0.02, (0.02, 0.98), (-1.0, 1.0))
    known = Known(scales, 0.02, ByArm.common(1), scales, ())
    found = small_arm(known, scores, np.full((4, 4), size), None)
    assert np.isfinite([*found.scales.low, *found.scales.high, *found.scales.scale]).all()
    assert np.isfinite(found.rare).all()


def one_arm_rare(n, rng):
    """The outcome is rare in rows without a treatment, which few rows of a kind are."""
    x = rng.standard_normal(n)
    treated = rng.random(n) < 1 / (1 + np.exp(-0.8 - 0.9 * x))
    means = 1 / (1 + np.exp(3.2 - x)), 1 / (1 + np.exp(1.2 - 0.8 * x))
    y = rng.random(n) < np.where(treated, means[1], means[0])
    return {"x": x, "t": 1.0 * treated, "y": 1.0 * y}, [mean.mean() for mean in means]


def test_intervals_cover_where_an_outcome_is_rare_in_one_arm():
    """By the share of events in both arms together these are 18 errors."""
    _, truth = one_arm_rare(1_000_000, np.random.default_rng(0))
    missed = []
    for seed in range(6):
        data, _ = one_arm_rare(5000, np.random.default_rng(seed))
        fit = dpreg.dp_effect("y ~ x", data, 1.0, 1e-6, treatment="t", family="binomial", rng=seed)
        missed.append((fit.means - truth) / np.sqrt(np.diag(fit.covariance)))
    assert np.sqrt(np.mean(np.square(missed))) < 1.7


def test_few_rows_are_long_where_weights_or_events_are_few():
    centre, spread = np.array([1.0, 3.0]), np.array([0.0, 1.0])
    same = np.array([math.log(0.25), 0.0])
    events = share_of_large_residuals(same, centre, spread)
    assert events == pytest.approx(0.16 / (1 - 3 * 0.16))
    assert share_of_large_weights(same, centre, spread, (0.05, 0.95)) == pytest.approx([0.8, 0.2])
    steep = np.array([-3.0, 1.0])
    chance = 1 / (1 + np.exp(-np.random.default_rng(1).normal(size=1_000_000)))
    own = chance / np.clip(chance, 0.05, 0.95) ** np.array([[2], [4]])
    found = share_of_large_weights(steep, centre, spread, (0.05, 0.95))
    assert found[1] == pytest.approx(own[0].mean() ** 2 / own[1].mean(), rel=0.06)
    assert found[0] == pytest.approx(found[1])
    for size in (1e200, np.nan):
        of = share_of_large_weights(steep * size, centre, spread, (0.05, 0.95))
        assert np.isfinite(of).all()


@pytest.mark.parametrize("numbers", [-1e18, -50.0, 0.0, 50.0, 1e18])
@pytest.mark.parametrize("method", ["aipw", "regression", "difference"])
def test_means_of_an_outcome_of_0_and_1_are_that_whatever_is_released(method, numbers, monkeypatch):
    release, made = GaussianReleases.release, []

    def other(self, label, exact, mu):
        found = release(self, label, exact, mu)
        made.append(label)
        if len(made) < 6:
            return found
        return Noisy(np.full_like(found.values, numbers), found.scale)

    monkeypatch.setattr(GaussianReleases, "release", other)
    data = stops(2000, 1)
    right = "1" if method == "difference" else "b"
    found = dpreg.dp_effect(f"y ~ {right}", data, 1.0, treatment="t", method=method,
                            family="binomial", rng=1)  # fmt: skip
    if found.released:
        assert (np.abs(found.means - 0.5) <= 0.5).all()


def test_sampling_errors_say_how_large_residuals_are():
    """Those of a least-squares model with common slopes, whose errors are larger in one arm."""
    rng, n = np.random.default_rng(1), 50_000
    x, t = rng.normal(size=n), (rng.random(n) < 0.1).astype(float)
    y = x + t + rng.normal(size=n) * np.where(t == 1, 2.0, 1.0)
    fit = sm.OLS(y, np.column_stack([np.ones(n), t, x])).fit(cov_type="HC0")
    turn = np.array([[1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1]], dtype=float)
    sampling = turn @ fit.cov_params() @ turn.T
    gaussian, binomial = family_from("gaussian"), family_from("binomial")
    assert residual_variance(sampling, gaussian, n, 0.1) == pytest.approx(4.0, rel=0.1)
    assert np.isnan(residual_variance(sampling, binomial, n, 0.1))
    assert np.isnan(residual_variance(sampling * np.nan, gaussian, n, 0.1))
    assert np.isnan(residual_variance(sampling * 0, gaussian, n, 0.1))


@pytest.mark.parametrize("first", [True, False])
def test_columns_that_are_nearly_always_0_are_known_at_their_own_place(first):
    """The model of the treatment took the next column for one: slopes of .7 came out .04 to 1."""
    found = []
    for seed in range(4):
        rng, n = np.random.default_rng(seed), 20_000
        k, (b, c) = (rng.random(n) < 0.01) * 3.0, rng.standard_normal((2, n))
        t = (rng.random(n) < 1 / (1 + np.exp(0.5 * c - 0.7 * b))).astype(float)
        data = {"k": k, "b": b, "c": c, "t": t, "y": k + b + c + t + rng.standard_normal(n)}
        right = "k + b + c" if first else "b + c + k"
        fit = dpreg.dp_effect(f"y ~ {right}", data, 1.0, 1e-6, treatment="t", rng=seed)
        found.append(fit.propensity[1 + fit.covariates.index("b")])
    assert np.abs(np.array(found) - 0.7).max() < 0.1


@pytest.mark.parametrize("treated", [0, 1])
def test_a_difference_in_means_is_not_cut_where_an_arm_and_its_events_are_few(treated):
    """Events of 9% of the rows were: the mean was off by 5 standard errors."""
    rng = np.random.default_rng(20261128)
    rare = rng.random(10_000) < 0.09
    y = (rng.random(10_000) < np.where(rare, 0.055, 0.447)).astype(float)
    data = pd.DataFrame({"y": y, "t": np.where(rare, treated, 1 - treated)})
    off = []
    for seed in range(10):
        found = dpreg.dp_effect("y ~ 1", data, 1.0, treatment="t", method="difference", rng=seed)
        off.append(
            (found.means[treated] - y[rare].mean()) / found.tidy()["std err"].iloc[1 + treated]
        )
    assert abs(np.mean(off)) < 1
