"""Rows with one of two values of a regressor: what a model of events says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special

import dpreg
from dpreg.estimation.newton import fit as newton
from dpreg.estimation.releases.two_values import TwoValues

SLOPE = 1.73


def events(n, seed, share=0.1):
    """Two indicators, the first of which few rows have, and responses that are 0 or 1."""
    rng = np.random.default_rng([n, seed])
    x = (rng.random((n, 2)) < [share, 0.5]).astype(float)
    y = rng.random(n) < special.expit(-1.04 + SLOPE * x.sum(axis=1))
    return pd.DataFrame({"few": x[:, 0], "half": x[:, 1], "y": y.astype(float)})


@pytest.fixture
def fitted(monkeypatch):
    """Groups of a fit with hardly any noise, their rows, and which of these are in the second.

    Values, mean and shares are put in as they are: released ones are of orders of magnitude.
    """
    seen, real = [], newton.groups

    def spy(begun, model):
        seen.append((begun, real(begun, model)))
        return seen[-1][1]

    monkeypatch.setattr(newton, "groups", spy)
    rng, n = np.random.default_rng(1), 40_000
    few, x = (rng.random(n) < 0.1).astype(float), rng.standard_normal(n)
    y = (rng.random(n) < special.expit(-1 + 1.7 * few + x)).astype(float)
    data = pd.DataFrame({"few": few, "x": x, "y": y})
    dpreg.dp_glm("y ~ few + x", data, 100.0, 1e-6, family="binomial", bounds={"few": (0, 1)}, rng=1)
    begun, groups = seen[-1]
    assert groups.two.tolist() == [False, True, False]
    units, share = begun.telling_units, few.mean()
    low, high = (np.append(1.0, (np.array([k, x.mean()]) - units.centre) / units.scale)
                 for k in (0.0, 1.0))  # fmt: skip
    shares = np.stack([[0.5, 1 - share, 0.5], [0.5, share, 0.5]])
    exact = TwoValues(low + share * (high - low), np.stack([low, high]), shares)
    standard = (np.column_stack([few, x]) - units.centre) / units.scale
    rows = np.column_stack([np.ones(n), standard]) @ groups.model.found.rows
    return replace(groups, regressors=exact), rows, few > 0


def test_means_of_groups_are_those_of_their_rows(fitted):
    groups, rows, few = fitted
    for theta in (groups.model.found.theta, np.array([0.1, -0.4, 0.3])):
        at = theta / groups.model.found.sizes
        wanted = [special.expit(rows[few == k] @ at).mean() for k in (False, True)]
        np.testing.assert_allclose(groups.average(special.expit, at)[:, 1], wanted, atol=0.01)


def test_lengths_of_groups_are_those_of_their_mean_row(fitted):
    groups, rows, few = fitted
    lengths = groups._lengths()
    assert not lengths[:, [0, 2]].any()
    means = [rows[few == k].mean(axis=0) - rows.mean(axis=0) for k in (False, True)]
    np.testing.assert_allclose(lengths[:, 1], np.linalg.norm(means, axis=1), rtol=0.05)


@pytest.mark.parametrize("mu", [0.003, 0.03, 0.3])
def test_limits_of_groups_are_best_for_their_scores(fitted, mu):
    """By the definition, score by score: noise, and what a limit takes off those of one group."""
    groups, _, few = fitted
    at, lengths = groups.model.found.theta / groups.model.found.sizes, groups._lengths()[:, 1]
    limits, best = np.linspace(0.01, 15, 1_500), []
    for k, chance in enumerate(groups.average(special.expit, at)[:, 1]):
        events, others = (round(part * (few == k).sum()) for part in (chance, 1 - chance))
        norms = lengths[k] * np.repeat([1 - chance, chance], [events, others])
        excess = np.maximum(norms - limits[:, None], 0).sum(axis=1)
        best.append(limits[np.argmin((limits / mu) ** 2 + (0.7 * excess) ** 2)])
    step = lengths.max() / 64
    assert abs(groups.limit(at, mu) - max(best)) < 1.1 * step


@pytest.mark.parametrize(("n", "eps"), [(5_000, 1.0), (20_000, 0.3)])
def test_a_regressor_that_is_1_in_a_tenth_is_missed_by_no_more_than_is_said(n, eps):
    """Before limits knew how long rows are, 60 fits of either size missed by 6.3 and 5.4 errors at
    most, and said that clipping may have moved them by 8.5 and 25.

    Of 500 other fits of 20,000 rows 20 missed by over 3 errors, and 10 while the curvature was
    released again after scores; by 4.9 at most in both.
    """
    away, clipped = [], []
    for seed in range(60):
        data = events(n, seed)
        fit = dpreg.dp_glm("y ~ few + half", data, eps, 1e-6, family="binomial", rng=seed)
        error = fit.bse.to_numpy()[1:]
        away.extend(np.abs(fit.params.to_numpy()[1:] - SLOPE) / error)
        clipped.extend(np.asarray(fit.clipping)[1:] / error)
    assert np.isnan(away).mean() <= 0.1
    assert np.nanmax(away) < 5
    assert np.nanmax(clipped) < 6
