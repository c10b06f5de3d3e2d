"""Formulas without an intercept that have all levels of a factor: models with a constant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg.data.bounds import whole_factor
from dpreg.data.problem import pose

SHARES = {"a": 0.5, "b": 0.3, "c": 0.2}


def table(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "g": pd.Categorical(rng.choice(list(SHARES), n, p=list(SHARES.values()))),
        "h": pd.Categorical(rng.choice(["u", "v"], n)), "x": rng.normal(3, 1, n),
    })  # fmt: skip
    frame["y"] = 20 + frame["x"] / 2 + 2.0 * (frame["g"] == "c") + rng.standard_normal(n)
    odds = np.exp(-3.5 + (frame["x"] - 3) / 2 + (frame["g"] == "c"))
    frame["event"] = (rng.random(n) < odds / (1 + odds)).astype(float)
    return frame


def means(frame):
    return np.column_stack([*(frame["g"] == k for k in SHARES), frame["x"]]).astype(float)


@pytest.mark.parametrize(
    ("right", "found"),
    [
        ("0 + g + x", "g[a]; g[b]; g[c]"),
        ("x + h + g - 1", "h[u]; h[v]"),
        ("0 + g:h", "g[a]:h[u]; g[b]:h[u]; g[c]:h[u]; g[a]:h[v]; g[b]:h[v]; g[c]:h[v]"),
        ("0 + g + g:x", "g[a]; g[b]; g[c]"),
        ("0 + C(g, contr.sum)", "C(g, contr.sum)[a]; C(g, contr.sum)[b]; C(g, contr.sum)[c]"),
        ("0 + C(g, contr.sum) + h", "C(g, contr.sum)[a]; C(g, contr.sum)[b]; C(g, contr.sum)[c]"),
        ("0 + offset(g) + x", ""),
        ("g + x", ""),
        ("0 + g:x", ""),
        ("0 + x", ""),
    ],
)
def test_levels_of_a_whole_factor_are_found_by_name(right, found):
    terms = pose(f"y ~ {right}", table(50, 0), None).terms
    assert "; ".join(terms.names[j] for j in whole_factor(terms)) == found


def test_levels_with_bounds_or_without_others_are_no_whole_factor():
    """A coefficient of 5 was said to be 4: the others were taken for levels of all rows."""
    frame = table(5_000, 1)
    terms = pose("y ~ 0 + g + h + x", frame, None).terms
    for bounds in ({"g[a]": (0.0, 1.0)}, dict.fromkeys(terms.groups["g"], (0.0, 1.0))):
        assert not len(whole_factor(replace(terms, bounds=bounds)))
    of_r = replace(terms, names=("ga", "gb", "gc", "hv", "hw", "x"), groups={})
    of_r = replace(of_r, ranges=dict.fromkeys(of_r.names[:-1], (0.0, 1.0)))
    assert not len(whole_factor(of_r))  # R sends no groups of columns that it selected
    of_r = replace(of_r, groups={"g": of_r.names[:3], "h": of_r.names[3:5], "x": ("x",)})
    assert whole_factor(of_r).tolist() == [0, 1, 2]
    of_r = replace(of_r, bounds=dict.fromkeys(of_r.names[:3], (0.0, 1.0)))
    assert not len(whole_factor(of_r))
    exact = np.linalg.lstsq(means(frame), frame["y"], rcond=None)[0]
    fit = dpreg.dp_lm("y ~ 0 + g + x", frame, 20.0, 1e-6, bounds={"g[a]": (0, 1)}, rng=1)
    np.testing.assert_allclose(fit.params, exact, atol=0.2)


def test_coefficients_are_those_of_all_levels():
    frame = table(10_000, 1)
    X, y = means(frame), frame["y"].to_numpy()
    exact, square, *_ = np.linalg.lstsq(X, y, rcond=None)
    errors = np.sqrt(square[0] / len(X) * np.diag(np.linalg.inv(X.T @ X)))
    found = []
    for seed in range(8):
        fit = dpreg.dp_lm("y ~ 0 + g + x", frame, 20.0, 1e-6, rng=seed)
        assert (np.abs(fit.params - exact) < errors).all()
        found.append(fit.bse.to_numpy() / errors)
    # The error of a mean of 8, whose deviation is .03, is .011.
    np.testing.assert_allclose(np.mean(found, axis=0), 1.0, atol=0.06)


def test_levels_of_rare_events_have_errors_that_hold():
    """As of a model with an intercept; a fifth had none, and .057 missed by four errors."""
    for seed in range(8):
        frame = table(20_000, seed)
        fit = dpreg.dp_glm("event ~ 0 + g + x", frame, 1.0, 1e-6, family="binomial", rng=seed)
        truth = np.array([-5.0, -5.0, -4.0, 0.5])
        assert (np.abs(fit.params - truth) < 4 * fit.bse).all()
        assert (fit.bse < 1.0).all()


def test_quantiles_have_all_levels_too():
    frame = table(20_000, 1)
    fit = dpreg.dp_glm("y ~ 0 + g + x", frame, 1.0, 1e-6, family=dpreg.Quantile(0.5), rng=1)
    assert (np.abs(fit.params - [20, 20, 22, 0.5]) < 4 * fit.bse).all()
    assert (fit.bse < 0.2).all()


def test_a_start_is_in_the_units_of_the_formula():
    moments = []
    for seed in (3, 2, 1):
        fit = dpreg.dp_lm("y ~ 0 + g + x", table(20_000, 2), 1.0, 1e-6, rng=seed)
        start = fit.start
        size = np.hypot(start.centre, start.scale)
        np.testing.assert_allclose(start.change @ start.theta * size[-1] / size[:-1], fit.params)
        rows = means(table(20_000, 3)) / size[:-1] @ start.change
        moments.append(rows.T @ rows / len(rows))
    np.testing.assert_allclose(np.mean(moments, axis=0), np.eye(4), atol=0.15)
    later = dpreg.dp_lm("y ~ 0 + g + x", table(20_000, 3), 1.0, 1e-6, rng=2, start=fit)
    assert (np.abs(later.params - [20, 20, 22, 0.5]) < 4 * later.bse).all()
    assert later.bse["x"] < 0.012


def test_a_start_has_constant_columns_too():
    """Its rows were of fewer columns than those of the next fit, which failed after the charge."""
    frame = table(20_000, 2).assign(k=3.0)
    fit = dpreg.dp_lm("y ~ 0 + g + x + k", frame, 1.0, 1e-6, rng=1)
    assert fit.start.change.shape[0] == fit.start.unseen.shape[0] == 5
    assert fit.start.change.shape[1] + fit.start.unseen.shape[1] == 5
    asked = {"delta": 1e-6, "start": fit}
    laters = [dpreg.dp_lm("y ~ 0 + g + x + k", frame, 1.0, rng=seed, **asked) for seed in (2, 3)]
    errors = np.array([later.bse["x"] for later in laters])
    away = np.abs([later.params["x"] - 0.5 for later in laters])
    # Noise hides some of them, which it does not without a start.
    assert np.isfinite(errors).any()
    assert not (away > 4 * errors).any()
    assert not (errors > 0.125).any()


def test_a_start_that_is_out_of_date_is_left_for_all_levels():
    last = dpreg.dp_lm("y ~ 0 + g + x", table(20_000, 2), 1.0, 1e-6, rng=1)
    frame = table(20_000, 3)
    frame["x"] *= 100
    fit = dpreg.dp_lm("y ~ 0 + g + x", frame, 1.0, 1e-6, rng=2, start=last)
    assert any("out of date" in note for note in fit.notes)
    assert (np.abs(fit.params - [20, 20, 22, 0.005]) < 4 * fit.bse).all()
    assert (fit.bse < [0.2, 0.2, 0.2, 0.001]).all()


def test_dummies_as_numbers_begin_at_the_mean_of_events_too():
    """From odds of 1 one fit of eight missed by 5.9 errors."""
    for seed in range(4):
        frame = table(20_000, seed)
        for name in SHARES:
            frame[name] = (frame["g"] == name).astype(float)
        model = "event ~ 0 + a + b + c + x"
        fit = dpreg.dp_glm(model, frame, 1.0, 1e-6, family="binomial", rng=seed)
        truth = np.array([-5.0, -5.0, -4.0, 0.5])
        assert not (np.abs(fit.params - truth) > 4 * fit.bse).any()
        assert fit.bse["x"] < 0.2
