"""Rows with one of two values of a regressor: what a model of events says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special

import dpreg
from dpreg.base.families import BINOMIAL
from dpreg.estimation.newton import fit as newton
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.groups import Groups
from dpreg.estimation.newton.linearised import Linearised
from dpreg.estimation.newton.second_moments import Moments
from dpreg.estimation.releases.quantised import RowLoss

SLOPE = 1.73


def events(n, seed, share=0.1):
    """Two indicators, the first of which few rows have, and responses that are 0 or 1."""
    rng = np.random.default_rng([n, seed])
    x = (rng.random((n, 2)) < [share, 0.5]).astype(float)
    y = rng.random(n) < special.expit(-1.04 + SLOPE * x.sum(axis=1))
    return pd.DataFrame({"few": x[:, 0], "half": x[:, 1], "y": y.astype(float)})


N = 40_000
RANGE = (-40.0, 40.0)


def whitening(width):
    moments = Moments(np.eye(width), np.zeros((width, width)), np.zeros(width, dtype=bool))
    nothing = np.zeros((width, 0))
    return Whitening(np.eye(width), nothing, np.zeros(width), 1.0, moments, np.ones(width))


def of_rows(rows, parts, family=BINOMIAL):
    """Groups of rows that were counted, in coordinates of unit second moments, and these.

    parts: a list of masks each, one for each value of a regressor.
    """
    unit = rows @ np.linalg.inv(np.linalg.cholesky(rows.T @ rows / len(rows))).T
    width, masks = rows.shape[1], [mask for part in parts for mask in part]
    loss = RowLoss(family.loss, (0.0, 1.0), RANGE)
    model = Linearised(whitening(width), family, loss=loss, white=np.eye(width))
    of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    means = np.array([unit[k].mean(axis=0) for k in masks]).reshape(-1, width)
    groups = Groups(
        model, white=np.eye(width), constant=unit.mean(axis=0), means=means,
        shares=np.array([k.mean() for k in masks]), of=of, levels=np.ones(len(of), dtype=bool),
        pairs=np.arange(0), effects=np.zeros((0, width)), units=len(rows),
    )  # fmt: skip
    return groups, unit


@pytest.fixture(scope="module")
def mixed():
    """An indicator of a tenth, a normal column, and a factor that the indicator goes with."""
    rng = np.random.default_rng(1)
    few, level = rng.random(N) < 0.1, rng.choice(3, N, p=[0.5, 0.3, 0.2])
    level[few & (rng.random(N) < 0.5)] = 0
    rows = np.column_stack([np.ones(N), few, rng.standard_normal(N), level == 1, level == 2])
    parts = [[few, ~few], [level == 1, level == 2, level == 0]]
    return *of_rows(rows.astype(float), parts), rows.astype(float), parts


@pytest.mark.parametrize(
    "slopes", [[-1, 0.5, 0.3, 0.2, -0.2], [-2, 3, 0.5, -1, -2], [0, -3, -0.5, 2, 4]], ids=str
)
def test_means_and_curvature_are_those_of_rows(mixed, slopes):
    """By the definition: within a third for most, and nearer than as if all rows were normal."""
    groups, unit, rows, parts = mixed
    theta = np.linalg.lstsq(unit, rows @ slopes, rcond=None)[0]
    chance = special.expit(unit @ theta)
    wanted = [chance[mask].mean() for part in parts for mask in part]
    np.testing.assert_allclose(groups.average(special.expit, theta), wanted, atol=0.03)
    curvature = (unit.T * (chance * (1 - chance))) @ unit / N
    normal = replace(groups, levels=np.zeros(len(groups.of), dtype=bool))
    found, as_normal = (
        np.abs(np.log(np.linalg.eigvals(np.linalg.solve(curvature, of.curvature(theta))).real))
        for of in (groups, normal)
    )
    assert found.max() < np.log(1.7)
    assert np.median(found) < np.log(1.2)
    assert found.max() < as_normal.max()


def test_a_likely_step_is_the_mean_of_its_law_given_the_score():
    """Reference: the normal law of scores and of steps whose effects are N(0, 1), by simulation."""
    rng = np.random.default_rng(2)
    curvature = np.array([[2.0, 0.5], [0.5, 1.0]])
    deviation, effects = np.array([0.4, 1.5]), np.array([[1.0, 0.2], [0.0, 3.0]])
    groups = replace(
        of_rows(np.eye(2), [])[0], model=Linearised(whitening(2), BINOMIAL), effects=effects
    )
    steps = np.linalg.solve(effects, rng.standard_normal((2, 400_000)))
    ways = steps + np.linalg.solve(curvature, deviation[:, None] * rng.standard_normal(steps.shape))
    best = np.linalg.lstsq(ways.T, steps.T, rcond=None)[0].T
    found = np.column_stack([groups.likely(way, curvature, deviation) for way in np.eye(2)])
    np.testing.assert_allclose(found, best, atol=0.01)
    without = groups.likely(np.array([1.0, -1.0]), curvature, np.full(2, 1e-9))
    np.testing.assert_allclose(without, [1.0, -1.0])


def test_groups_of_a_fit_are_those_of_its_rows(monkeypatch):
    """Of one with hardly any noise; shares of the indicator are of orders of magnitude."""
    seen, real = [], newton.groups

    def spy(begun, model):
        seen.append((begun, real(begun, model)))
        return seen[-1][1]

    monkeypatch.setattr(newton, "groups", spy)
    rng = np.random.default_rng(1)
    few, x = (rng.random(N) < 0.1).astype(float), rng.standard_normal(N)
    level = rng.choice(3, N, p=[0.6, 0.3, 0.1])
    y = (rng.random(N) < special.expit(-1 + 1.7 * few + x + level)).astype(float)
    data = pd.DataFrame({"few": few, "x": x, "g": np.array(list("abc"))[level], "y": y})
    dpreg.dp_glm("y ~ few + x + g", data, 100.0, 1e-6, family="binomial", bounds={"few": (0, 1)},
                 levels={"g": list("abc")}, rng=1)  # fmt: skip
    begun, groups = seen[-1]
    units = begun.telling_units
    raw = np.column_stack([few, x, level == 1, level == 2])
    standard = np.column_stack([np.ones(N), (raw - units.centre) / units.scale])
    rows = standard @ groups.model.found.change
    parts = [level == 1, level == 2, level == 0, few > 0, few == 0]
    assert groups.levels.tolist() == [True] * 3 + [False] * 2
    np.testing.assert_allclose(groups.shares, [mask.mean() for mask in parts], rtol=0.2)
    for mean, mask in zip(groups.means @ groups.white, parts, strict=True):
        np.testing.assert_allclose(mean, rows[mask].mean(axis=0), atol=0.25)


@pytest.mark.parametrize("mu", [0.003, 0.03, 0.3])
def test_limits_of_groups_are_best_for_their_scores(mixed, mu):
    """By the definition, score by score: noise, and what a limit takes off those of one group."""
    groups, unit, _, parts = mixed
    theta = np.array([-1.0, 0.6, 0.4, 0.3, -0.2])
    limits, best, longest = np.linspace(0.01, 15, 1_500), [], 0.0
    chances = groups.average(special.expit, theta)
    for chance, mask in zip(chances, [mask for part in parts for mask in part], strict=True):
        length = np.linalg.norm(unit[mask].mean(axis=0))
        events, others = (round(part * mask.sum()) for part in (chance, 1 - chance))
        norms = length * np.array([1 - chance, chance])  # of rows with an event, and of others
        excess = np.maximum(norms - limits[:, None], 0) @ [events, others]
        best.append(limits[np.argmin((limits / mu) ** 2 + (0.7 * excess) ** 2)])
        longest = max(longest, length)
    assert abs(groups.limit(theta, mu) - max(best)) < 1.1 * longest / 64


@pytest.mark.parametrize(("n", "eps"), [(5_000, 1.0), (20_000, 0.3)])
def test_a_regressor_that_is_1_in_a_tenth_is_missed_by_no_more_than_is_said(n, eps):
    """Where groups ask for no limits .83 and .82 of intervals cover, and one missed by 12 errors.

    With them .89 and .87 of 300 fits of each do: what is clipped is of those without an event, a
    bias of .3 and .5 errors.
    """
    away, clipped = [], []
    for seed in range(60):
        data = events(n, seed)
        fit = dpreg.dp_glm("y ~ few + half", data, eps, 1e-6, family="binomial", rng=seed)
        error = fit.bse.to_numpy()[1:]
        away.extend(np.abs(fit.params.to_numpy()[1:] - SLOPE) / error)
        clipped.extend(np.asarray(fit.clipping)[1:] / error)
    assert np.isnan(away).mean() <= 0.1
    few = np.array(away)[::2]
    assert np.mean(few[~np.isnan(few)] < 1.96) > 0.85
    assert np.nanmax(away) < 5
    assert np.nanmax(clipped) < 6


def test_no_direction_has_more_curvature_than_a_row(mixed):
    """Nor less than the least.  Products of what groups have came to 1e160, of made-up numbers."""
    rng = np.random.default_rng(3)
    least = 1e-4 * mixed[0].model.curved ** 2
    for _ in range(50):
        means, shares = rng.standard_normal((5, 5)), 10 ** rng.uniform(-6, 0, 5)
        means /= np.linalg.norm(means, axis=1)[:, None] * np.sqrt(shares)[:, None]
        groups = replace(mixed[0], means=means, shares=shares)
        values = np.linalg.eigvalsh(groups.curvature(3 * rng.standard_normal(5)))
        # Along a normal direction rows count three times as much, and a tenth.
        assert values[0] > 0.1 * least * 0.99
        assert values[-1] < 3 * 0.25
