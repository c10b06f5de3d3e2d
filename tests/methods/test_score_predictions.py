"""Coefficients of families for predictions alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special

import dpreg
from dpreg.data.design import Terms
from dpreg.estimation.newton.score_predictions import _alike
from dpreg.estimation.releases.rows import StandardUnits


def units_of(columns, *, intercept=True):
    blank = np.zeros(len(columns))
    return StandardUnits(np.array(columns), blank, blank + 1, 0.0, 1.0, intercept)


@pytest.mark.parametrize("levels", [2, 3, 7])
def test_rows_are_as_long_as_with_indicators_of_all_levels(levels):
    rng = np.random.default_rng(levels)
    share = rng.dirichlet(np.ones(levels))
    centred = np.eye(levels) - share
    names = tuple(f"g[{k}]" for k in range(1, levels))
    limits = dict.fromkeys(names, (0.0, 1.0))
    terms = Terms("y", ("x", *names), intercept=True, ranges=limits,
                  groups={"x": ("x",), "g": names})  # fmt: skip
    change = _alike(terms, units_of(range(levels)))
    x = rng.normal(size=levels)
    for left_out in range(levels):
        kept = np.delete(centred, left_out, axis=1)
        rows = np.column_stack([np.ones(levels), x, kept])
        expected = 1 + x**2 + (centred**2).sum(axis=1)
        np.testing.assert_allclose(((rows @ change) ** 2).sum(axis=1), expected)
    assert (change == change.T).all()


def test_columns_that_are_no_whole_factor_are_left_alone():
    names = ("a", "g[1]", "g[2]", "w")
    limits = dict.fromkeys(names[1:], (0.0, 1.0))
    groups = {"a": ("a",), "g": names[1:3]}
    terms = Terms("y", names, intercept=True, ranges=limits, groups=groups, weights="w")
    np.testing.assert_array_equal(_alike(terms, units_of([0, 1])), np.eye(3))
    np.testing.assert_array_equal(_alike(terms, units_of([0, 1, 2], intercept=False)), np.eye(3))
    assert _alike(terms, units_of([1, 2, 0]))[1, 2] > 0
    sums = replace(terms, ranges=dict.fromkeys(names[1:], (-1.0, 1.0)))
    np.testing.assert_array_equal(_alike(sums, units_of([0, 1, 2])), np.eye(4))
    nothing = replace(terms, groups={"a": ("a",), "g": names[1:3], "one level": ()})
    assert _alike(nothing, units_of([0, 1, 2]))[2, 3] > 0


def test_it_matters_little_which_level_the_others_are_compared_with():
    """And predictions are near the true means, with 77 coefficients."""
    worse = {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        share = 0.8 ** np.arange(20)
        codes = rng.choice(20, size=(20_000, 4), p=share / share.sum())
        effects = rng.normal(size=(4, 20))
        truth = effects[np.arange(4), codes].sum(axis=1) - 1
        data = pd.DataFrame(codes, columns=list("abcd"))
        data["y"] = (rng.random(len(data)) < special.expit(truth)).astype(float)
        for first, order in (("common", 1), ("rare", -1)):
            levels = {name: list(range(20))[::order] for name in "abcd"}
            fit = dpreg.dp_glm("y ~ a + b + c + d", data, 1.0, 1e-6, levels=levels,
                               inference=False, rng=seed)  # fmt: skip
            predicted = fit.predict(data, which="linear")
            loss = [np.mean(np.logaddexp(0, eta) - data.y * eta) for eta in (predicted, truth)]
            worse.setdefault(first, []).append(loss[0] - loss[1])
    # With the natural size of 19 indicators each .0041 and .0021.
    assert np.mean(worse["common"]) < 0.0025
    assert np.mean(worse["rare"]) < 0.0025


def rare(n, family, rng):
    x = rng.normal(size=(n, 5))
    truth = x @ [0.8, -0.5, 0.3, 0.0, 0.0] - 5.2
    mean = special.expit(truth) if family == "binomial" else np.exp(truth)
    data = pd.DataFrame(x, columns=list("abcde"))
    data["y"] = (rng.random(n) < mean).astype(float)
    return data, mean


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "family",
    ["binomial", dpreg.base.families.PROBIT, "poisson", dpreg.NegativeBinomial(0.3)],
    ids=str,
)
def test_predicted_means_of_rare_outcomes_are_right(family, turned):
    """Scores of these are cut, to about half: so were the means."""
    if turned and family not in ("binomial", dpreg.base.families.PROBIT):
        return
    share = []
    for seed in range(4):
        data, mean = rare(40_000, family, np.random.default_rng(seed))
        data["y"] = 1 - data["y"] if turned else data["y"]
        fit = dpreg.dp_glm("y ~ a + b + c + d + e", data, 3.0, 1e-6, family=family,
                           inference=False, rng=seed)  # fmt: skip
        predicted = fit.predict(data).mean()
        share.append((1 - predicted if turned else predicted) / mean.mean())
    assert 0.75 < np.mean(share) < 1.25


@pytest.mark.parametrize("family", ["binomial", dpreg.base.families.CLOGLOG])
def test_an_offset_changes_no_predicted_mean_of_a_rare_outcome(family):
    """With -5 for all rows outcomes were taken to be common, and means came out half as large."""
    data, _ = rare(20_000, "binomial", np.random.default_rng(1))
    formula = "y ~ a + b + c + d + e + offset(far)"
    means = [
        dpreg.dp_glm(formula, data.assign(far=far), 3.0, 1e-6, family=family, inference=False,
                     rng=1).predict(data.assign(far=far)).mean()
        for far in (0.0, -5.0)
    ]  # fmt: skip
    np.testing.assert_allclose(means[1], means[0], rtol=1e-4)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_an_offset_beyond_all_means_ends_no_call(family):
    """The mean at coefficients that it leaves nothing of was 0, and had a logarithm."""
    data, _ = rare(20_000, family, np.random.default_rng(1))
    fit = dpreg.dp_glm("y ~ a + offset(far)", data.assign(far=1e30), 3.0, 1e-6, family=family,
                       inference=False, rng=1)  # fmt: skip
    assert np.isfinite(fit.params).all()


def test_noise_does_not_swamp_predictions_of_rare_outcomes():
    """A standard deviation of the response is worth 9 of a logit there, and 2 where it is even."""
    worse = []
    for seed in range(6):
        data, mean = rare(10_000, "binomial", np.random.default_rng(seed))
        fit = dpreg.dp_glm("y ~ a + b + c + d + e", data, 0.3, 1e-6, inference=False, rng=seed)
        losses = [
            -np.mean(mean * np.log(p) + (1 - mean) * np.log1p(-p))
            for p in (fit.predict(data).clip(1e-9, 1 - 1e-9), np.full(len(data), mean.mean()))
        ]
        worse.append(losses[0] - losses[1])
    assert np.mean(worse) < 0.01
