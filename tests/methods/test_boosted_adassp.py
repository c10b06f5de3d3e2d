"""Boosted AdaSSP end to end."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from methods.sums import check_accuracy, check_total, check_wrong_use, errors_of_intervals, gaussian
from unsealed import opened

import dpreg
from dpreg import _core
from dpreg.estimation.methods import BoostedAdaSSP
from dpreg.privacy.gdp import gdp_epsilon


def test_accuracy_without_bounds():
    check_accuracy("boosted_adassp", 0.85)


def test_total_on_odd_data():
    check_total("boosted_adassp")


def test_wrong_use():
    check_wrong_use("boosted_adassp")


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [
        None,
        lambda data, rng: rng.standard_t(3, len(data)),
        lambda data, rng: rng.standard_normal(len(data)) * (0.5 + np.abs(data["x0"] - 5)),
    ],
    ids=["gaussian", "t3", "heteroskedastic"],
)
def test_intervals_cover(noise):
    errors = errors_of_intervals("boosted_adassp", 10_000, 4, 50, noise)
    # Where a score does not fall there is none.
    assert np.isfinite(errors).sum() >= 198
    assert abs(np.nanmean(errors**2) - 1) < 4 * 0.1


def test_predictions_are_no_worse_than_a_constant_where_noise_is_all_there_is():
    """Without shrinking, 30 columns of 2,000 rows at eps = 1 have R2 down to -19."""
    rng = np.random.default_rng(4)
    scores = []
    for seed in range(5):
        X = rng.standard_normal((2500, 30))
        y = 1.5 * X.sum(1) / math.sqrt(30) + rng.standard_normal(2500)
        data = {f"x{j}": X[:, j] for j in range(30)} | {"y": y}
        train = {name: column[:2000] for name, column in data.items()}
        fit = dpreg.dp_lm("y ~ " + " + ".join(list(data)[:30]), train, 1.0, 1e-6,
                          method="boosted_adassp", rng=seed)  # fmt: skip
        if not fit.released:
            continue
        told = np.isfinite(fit.bse).all()
        assert told or any("shrunk" in note or "not estimable" in note for note in fit.notes)
        test = {name: column[2000:] for name, column in data.items()}
        scores.append(1 - np.mean((test["y"] - fit.predict(test)) ** 2) / np.var(test["y"]))
    assert len(scores) >= 3
    assert np.median(scores) > -0.1
    assert min(scores) > -0.5


def test_what_can_be_told_is_not_shrunk():
    """Nothing is shrunk where noise is small, so intervals are those of the plain mean."""
    fit = dpreg.dp_lm("y ~ x0 + x1", gaussian(5000, 2, 1), 1, 1e-6, method="boosted_adassp", rng=1)
    assert not any("shrunk" in note for note in fit.notes)


@pytest.mark.parametrize("inference", [True, False])
def test_what_was_drawn_composes_to_the_claim(inference):
    fit = dpreg.dp_lm("y ~ x0 + x1", gaussian(2000, 2, 1), 0.7, 1e-6, method="boosted_adassp",
                      inference=inference, rng=1)  # fmt: skip
    parts = fit.privacy.parts
    mu = math.sqrt(sum((part.sensitivity / part.scale) ** 2 for part in parts))
    assert 0.99 * 0.7 < gdp_epsilon(mu, 1e-6) <= 0.7
    assert fit.privacy.composition == "Gaussian (GDP)"


def test_recorded_sensitivities_cover_every_neighbour():
    """Grey box: with noise switched off, one row moves each sum by less than was paid for."""
    data = gaussian(400, 2, 1)
    recorded = [sums_released(data, row) for row in (None, 0, 57, 399)]
    base = recorded[0]
    for other in recorded[1:]:
        for (label, sums, sensitivity, weights), (_, moved, _, _) in zip(base, other, strict=True):
            change = np.linalg.norm((moved - sums).ravel() * weights.ravel())
            assert change <= sensitivity, label


def sums_released(data, without):
    """Run a fit with fixed "released" values and record what would get noise."""
    from dpreg.estimation.releases import accountant

    record = []
    original = accountant.GaussianReleases.release

    def release(self, label, exact, mu):
        sums = opened(exact)
        weight = np.ones(np.shape(sums)) if exact.weights is None else exact.weights
        record.append((label, np.asarray(sums, dtype=float), exact.sensitivity, weight))
        # The public path must be the same for both neighbours: reveal the full data's sums.
        key = (label, len(record))
        return original(self, label, revealed.setdefault(key, exact), mu)

    table = data if without is None else data.drop(index=data.index[without])
    accountant.GaussianReleases.release = release
    try:
        dpreg.dp_lm("y ~ x0 + x1", table, 50.0, method="boosted_adassp", rng=1)
    finally:
        accountant.GaussianReleases.release = original
    return record


revealed: dict = {}


def test_bounds_are_used_and_checked():
    data = gaussian(3000, 2, 1)
    bounds = {"x0": (0.0, 10.0), "x1": (-50.0, 60.0), "y": (-10.0, 30.0)}
    fit = dpreg.dp_lm("y ~ x0 + x1", data, 1.0, method="boosted_adassp", bounds=bounds, rng=1)
    labels = [part.label for part in fit.privacy.parts if "magnitude" in part.label]
    assert labels == ["sign and order of magnitude of each column with bounds"]
    assert abs(fit.params["x0"] - 1) < 0.3
    with pytest.raises(ValueError, match="bounds: 'nope'"):
        dpreg.dp_lm("y ~ x0", data, 1.0, method="boosted_adassp", bounds={"nope": (0, 1)})


def test_dummies_need_no_budget(diamonds):
    fit = dpreg.dp_lm("price ~ cut", diamonds, 1.0, method="boosted_adassp", rng=1)
    histogram = next(p for p in fit.privacy.parts if "magnitude" in p.label)
    assert histogram.sensitivity == _core.counts_sensitivity([1.0])  # the response alone


def test_a_column_that_cannot_be_seen_is_said_to_be_so():
    data = gaussian(3000, 2, 1).assign(x1=4.0)
    fits = [dpreg.dp_lm("y ~ x0 + x1", data, 1.0, method="boosted_adassp", rng=s) for s in range(8)]
    assert all(np.isnan(fit.bse["x1"]) for fit in fits)
    assert all("not estimable at this eps" in " ".join(fit.notes) for fit in fits)
    # Otherwise noise is taken for a spread, and the intercept makes up for the coefficient.
    zero = [fit for fit in fits if fit.params["x1"] == 0]
    assert len(zero) >= 4
    named = [fit for fit in zero if np.isfinite(fit.bse["x0"])]
    assert named
    for fit in named:
        told = "Intercept, x1; x1 varies too little relative to its size: subtract a public number"
        assert told in " ".join(fit.notes)


def test_a_rare_column_that_is_not_seen_may_be_in_other_coefficients():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.standard_normal(3000)})
    data["k"] = np.where(data["x"] > 1.6, 3.0, 0.0)
    data["y"] = 1 + 0.5 * data["x"] + data["k"] + rng.standard_normal(3000)
    bounds = {"y": (-20, 20), "x": (-50, 50), "k": (-20, 80)}
    fits = [dpreg.dp_lm("y ~ x + k", data, 1.0, 1e-5, bounds=bounds, rng=s) for s in range(5, 11)]
    unseen = [fit for fit in fits if np.isnan(fit.bse["k"]) and np.isfinite(fit.bse["x"])]
    assert any(abs(fit.params["x"] - 0.5) > 4 * fit.bse["x"] for fit in unseen)
    assert len(unseen) <= 4
    for fit in unseen:
        told = "other coefficients may contain part of the effects of such terms"
        assert told in " ".join(fit.notes)


@pytest.mark.parametrize("formula", ["y ~ 0 + x0 + x1", "y ~ 1", "y ~ x0"])
def test_with_and_without_intercept(formula):
    fit = dpreg.dp_lm(formula, gaussian(20_000, 2, 3), 2.0, method="boosted_adassp", rng=3)
    assert ("Intercept" in fit.names) == ("0" not in formula.split())
    assert np.isfinite(fit.bse).all()


def test_prediction_winsorises_at_released_limits():
    data = gaussian(20_000, 1, 1)
    fit = dpreg.dp_lm("y ~ x0", data, 1.0, method="boosted_adassp", rng=1)
    far = gaussian(1, 1, 1).assign(x0=1e6)
    limit = fit.limits[0, 1]
    expected = fit.params["Intercept"] + fit.params["x0"] * limit
    assert fit.predict(far)[0] == pytest.approx(expected)
    assert fit.predict(far, winsorise=False)[0] > 1e5


@pytest.mark.parametrize("options", [{"rounds": 0}, {"average": 9}, {"gram_share": 0.0},
                                     {"clip": 0.0}, {"row_factor": -1.0}, {"row_factor": 1e200},
                                     {"first_clip": 1e300}, {"clip": 5e-324}, {"rounds": 10_000},
                                     {"gram_share": 1e-300}, {"gram_share": math.nan}])  # fmt: skip
def test_wrong_options(options):
    with pytest.raises(ValueError, match="must be"):
        BoostedAdaSSP(**options)


@pytest.mark.parametrize("method", ["boosted_adassp", "adassp"])
def test_a_constant_column_through_the_origin_is_a_column(method):
    """It is what an intercept would be; units of one row and of two are there."""
    rng = np.random.default_rng(1)
    person = np.repeat(np.arange(10_001), 2)[:-1]
    data = {"x": np.full(20_001, 5.0), "y": 15 + rng.standard_normal(20_001), "who": person}
    options = BoostedAdaSSP if method == "boosted_adassp" else dpreg.AdaSSP
    fit = dpreg.dp_lm("y ~ x - 1", data, 3.0, 1e-6, unit="who", rng=1,
                      method=options(max_rows=2), bounds={"y": (-100.0, 100.0)})  # fmt: skip
    assert abs(fit.params["x"] - 3) < 0.1
