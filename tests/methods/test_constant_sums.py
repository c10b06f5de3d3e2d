"""Dummies of all levels beside an intercept: what is told of such columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.data.design import Terms
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.hidden_directions import constant_sums, insignificant_sums
from dpreg.estimation.newton.second_moments import Moments
from dpreg.estimation.releases.rare_columns import RareColumns
from dpreg.estimation.releases.rows import standard_units
from dpreg.estimation.releases.standardisation import Scales


def dummies(n, shares, rng):
    level = rng.choice(len(shares), n, p=shares)
    return {f"d{k}": (level == k).astype(float) for k in range(len(shares))}


def scales_of(X, untold=()):
    """What might be released of these columns, the last of which is the response."""
    return Scales(
        low=X.min(axis=0), high=X.max(axis=0), centre=X.mean(axis=0) * 0.98, scale=X.std(axis=0),
        given=np.zeros(X.shape[1], dtype=bool), spread=np.full(X.shape[1], np.inf),
        seen=np.ones(X.shape[1], dtype=bool),
        response_found=True, units=float(len(X)), rare=RareColumns(untold=untold),
    )  # fmt: skip


def test_sums_of_dummies_are_constant_in_rows():
    """Of two sets, one of which has a column within."""
    rng = np.random.default_rng(1)
    first, pair = dummies(500, (0.4, 0.3, 0.28, 0.02), rng), dummies(500, (0.9, 0.1), rng)
    table = pd.DataFrame({
        "x": rng.standard_normal(500), **first, "a": pair["d0"], "z": rng.random(500) * 9,
        "h": rng.random(500) < 0.1, "b": pair["d1"], "y": rng.standard_normal(500),
    }).astype(float)  # fmt: skip
    X, names = table.to_numpy(), tuple(table.columns[:-1])
    scales = scales_of(X, untold=(4, 8))
    units = standard_units(scales, intercept=True)
    rows = np.column_stack([np.ones(500), (X[:, :-1] - units.centre) / units.scale])
    terms = Terms(response="y", names=names, intercept=True, ranges={}, groups={})
    sums = constant_sums(terms, scales, units)
    constant = np.abs(rows @ sums).max(axis=0) < 1e-9
    found = {tuple(np.flatnonzero(sum_[1:])) for sum_ in sums[:, constant].T}
    assert {(1, 2, 3, 4), (5, 8)} <= found
    as_levels = Terms(
        response="y", names=names, intercept=True, ranges=dict.fromkeys(names[1:5], (0.0, 1.0)),
        groups={"d": names[1:5], **{name: (name,) for name in (names[0], *names[5:])}},
    )  # fmt: skip
    assert not constant_sums(as_levels, scales, units)[2:6].any()
    assert constant_sums(terms, scales, standard_units(scales, intercept=False)).shape[1] == 0
    assert constant_sums(terms, scales_of(X), units).shape[1] == 0


def test_a_sum_without_a_spread_is_told_from_one_that_has_some():
    rng = np.random.default_rng(2)
    turn = rng.standard_normal((4, 4))
    sums = np.column_stack([turn @ [1.0, 1, 0, 0], turn @ [0.0, 0, 1, -1]])
    nothing = np.array([1.0, 1, 0, 0]) / np.sqrt(2)
    exact = np.eye(4) - np.outer(nothing, nothing)
    levels = np.ones(4, dtype=bool)
    moments = Moments(exact, np.full((4, 4), 0.01), levels)
    found = Whitening(turn, np.zeros((4, 0)), np.zeros(4), 1.0, moments, np.ones(4))
    hidden = insignificant_sums(sums, found, moments, 3.0)
    np.testing.assert_allclose(np.abs(hidden.T @ nothing), [1.0])
    # nor is one of columns that are left out
    less = Whitening(
        turn[:, 1:], turn[:, :1], np.zeros(3), 1.0,
        Moments(exact[1:, 1:], np.full((3, 3), 0.01), levels[1:]), np.ones(3),
    )  # fmt: skip
    assert insignificant_sums(sums[:, :1], less, less.moments, 3.0).shape == (3, 0)


def test_what_two_sums_differ_by_is_seen():
    """A rare level: it was hidden with the sum, and stretched again and again."""
    measured = Moments(np.diag([0.0, 4, 1]), np.full((3, 3), 0.01), np.ones(3, dtype=bool))
    found = Whitening(np.eye(3), np.zeros((3, 0)), np.zeros(3), 1.0, measured, np.ones(3))
    sums = np.array([[1.0, 0, 0], [1, 0.1, 0]]).T
    hidden = insignificant_sums(sums, found, measured, 3.0)
    np.testing.assert_allclose(np.abs(hidden), [[1.0], [0], [0]], atol=1e-12)
    # nor is it where each of them has some spread
    assert insignificant_sums(
        np.array([[1.0, 0, 1], [1, 0.1, 1]]).T, found, measured, 3.0
    ).shape == (3, 0)


def test_sums_of_others_add_no_direction():
    """One of rounding was hidden too, and all of a fit where there were as many as coordinates."""
    rng = np.random.default_rng(3)
    sums = np.column_stack([np.eye(4)[:, :2], np.ones((4, 1)) * [[1], [1], [0], [0]]])
    moments = Moments(np.diag([0.0, 0.0, 1.0, 1.0]), np.full((4, 4), 0.01), np.ones(4, dtype=bool))
    found = Whitening(np.eye(4), np.zeros((4, 0)), np.zeros(4), 1.0, moments, np.ones(4))
    hidden = insignificant_sums(sums @ rng.standard_normal((3, 9)), found, moments, 3.0)
    assert hidden.shape == (4, 2)
    np.testing.assert_allclose(hidden @ hidden.T, np.diag([1.0, 1.0, 0.0, 0.0]), atol=1e-12)


@pytest.mark.parametrize("model", ["linear", "logistic", "survival"])
def test_dummies_of_all_levels_are_not_estimable_and_of_all_but_one_are(model):
    """Two of six levels have 2% of the rows, and are as levels that are told apart."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n, by = 20_000, {"eps": 1.0, "delta": 1e-6, "rng": seed}
        table = pd.DataFrame(dummies(n, (0.3, 0.26, 0.2, 0.2, 0.02, 0.02), rng))
        all_of_them = " + ".join(["x", *table])
        but_one = " + ".join(["x", *table.columns[1:]])
        table["x"] = rng.standard_normal(n)
        mean = table["x"] / 2 + table["d1"] / 4
        match model:
            case "linear":
                table["y"] = mean + rng.standard_normal(n)
            case "logistic":
                table["y"] = (rng.random(n) < 1 / (1 + np.exp(-mean))).astype(float)
            case "survival":
                table["y"] = rng.exponential(np.exp(-mean))
                table["event"] = (table["y"] < 2).astype(float)
                table["y"] = table["y"].clip(upper=2)
        for right, blank in ((all_of_them, True), (but_one, False)):
            match model:
                case "linear":
                    fit = dpreg.dp_lm(f"y ~ {right}", table, **by)
                case "logistic":
                    fit = dpreg.dp_glm(f"y ~ {right}", table, family="binomial", **by)
                case "survival":
                    cuts = [0.5, 1.0, 1.5]
                    fit = dpreg.dp_survival(f"Surv(y, event) ~ {right}", table, cuts=cuts, **by)
            errors = fit.bse.drop("x")
            dummy = errors[[name for name in errors.index if name.startswith("d")]]
            assert np.isfinite(fit.bse["x"])
            assert (dummy.isna() == blank).all()
