"""Rows of arms and scores: by definition, and of one record each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from methods.tables import treated as cohort
from unsealed import arrays_of, opened, units_of

from dpreg.base.families import BINOMIAL, GAUSSIAN
from dpreg.data.arms import (
    AtLimits,
    EffectScores,
    Interacted,
    Line,
    Slopes,
    alone,
    in_arms,
    one_row_each,
    treatments,
    treatments_alone,
)
from dpreg.data.bounds import level_places
from dpreg.data.design import Design, Terms, Units
from dpreg.estimation.methods.effect_columns import ByArm
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.releases.statistics import EventCounts, LevelCounts, MomentSums

LEVELS = {"arm": ["placebo", "drug"]}
LIMITS = np.array([[-3.0, 3.0], [0.0, 1.0]])
LINES = tuple(
    Line(np.array([start, 0.7, -0.4]), LIMITS, family)
    for family in (GAUSSIAN, BINOMIAL) for start in (0.2, 1.0)
)  # fmt: skip
CHANCE = Line(np.array([0.1, 0.9, -0.5]), LIMITS, BINOMIAL)
EXPANSIONS = {
    "in arms": in_arms,
    "alone": alone,
    "treatments": treatments,
    "treatments alone": treatments_alone,
    "interacted": Interacted(
        np.array([0, 1, 1, 0]), np.array([0, 1, 2, 2]), np.array([0.0, 0.0, 0.0, 0.5])
    ),
    "scores": EffectScores(LINES[:2], CHANCE, (0.2, 0.8), (-1.0, 1.0)),
    "scores of risks": EffectScores(LINES[2:], 0.5, (0.05, 0.95), (0.0, 1.0)),
    "predictions": EffectScores(LINES[:2], None, (0.05, 0.95), (1.0, 0.0)),
    "limits": AtLimits(CHANCE, (0.4, 0.6)),
    "slopes": Slopes(LINES[2:]),
}
# Cells as they may be: treatments that are none, extreme covariates and outcomes.
RECORDS = np.array(list(itertools.product(
    (0.0, 1.0, 0.5), (-1e308, 0.3, 40.0), (0.0, 1.0), (-1e308, 0.0, 0.7, 1e308)
)))  # fmt: skip


@pytest.mark.parametrize("name", EXPANSIONS)
def test_a_row_is_a_function_of_its_record_whichever_others_are_there(name):
    """Of all records of a small world, alone, with every other one, and in the middle of all."""
    expansion = EXPANSIONS[name]
    records = RECORDS if name == "in arms" else RECORDS[RECORDS[:, 0] != 0.5]
    X, y = records[:, :-1].copy(), records[:, -1].copy()
    rows, response, counts = expansion(X, y)
    assert counts.max() <= 1
    assert counts.sum() == len(rows) == len(response)
    assert np.isfinite(rows).all()
    assert np.isfinite(response).all()
    ends = np.concatenate([[0], np.cumsum(counts)])
    for i in range(len(y)):
        own, mine, _ = expansion(X[i : i + 1], y[i : i + 1])
        here = slice(ends[i], ends[i + 1])
        np.testing.assert_array_equal(own, rows[here])
        np.testing.assert_array_equal(mine, response[here])
        left = np.arange(len(y)) != i
        fewer, other, _ = expansion(X[left], y[left])
        np.testing.assert_array_equal(fewer, np.delete(rows, here, axis=0))
        np.testing.assert_array_equal(other, np.delete(response, here))


def test_covariates_are_there_in_the_rows_of_their_arm():
    X, y = np.array([[0.0, 3.0, 1.0], [1.0, 5.0, 1.0]]), np.zeros(2)
    rows, _, _ = EXPANSIONS["interacted"](X, y)
    np.testing.assert_array_equal(rows, [[0, 3, 1, 0, 0], [1, 5, 0, 1, 4.5]])


@pytest.mark.parametrize("length", [7, 64, 1000])
def test_a_score_does_not_depend_on_where_its_row_is(length):
    """To the last bit: products of matrices would."""
    rng = np.random.default_rng(length)
    X = np.column_stack([rng.integers(0, 2, length), rng.normal(size=length), rng.random(length)])
    y = rng.normal(size=length)
    for name in ("scores", "scores of risks", "limits", "slopes", "interacted"):
        rows, response, _ = EXPANSIONS[name](X, y)
        for start in (1, 2, 3, 5):
            again, other, _ = EXPANSIONS[name](X[start:].copy(), y[start:].copy())
            np.testing.assert_array_equal(again, rows[start:])
            np.testing.assert_array_equal(other, response[start:])


@pytest.mark.parametrize("name", ["limits", "slopes", "treatments alone"])
def test_no_neighbour_moves_what_is_released_of_rows_by_more_than_its_sensitivity(name):
    def total(records):
        terms = Terms("y", ("t", "a", "b"), True)
        design = Design.of(records[:, :-1].copy(), records[:, -1].copy(), terms)
        rows = one_row_each(design, in_arms, terms)
        rows = one_row_each(rows, EXPANSIONS[name], terms)
        if name != "slopes":
            return rows.total(EventCounts())
        middle, half = np.zeros(7), np.full(7, 0.3)
        return rows.total(MomentSums(middle, half, np.ones(7)))

    largest = 0.0
    for place in range(len(RECORDS)):
        sums = [total(RECORDS), total(np.delete(RECORDS, place, axis=0))]
        weights = sums[0].weights
        moved = (opened(sums[0]) - opened(sums[1])) * (1.0 if weights is None else weights)
        largest = max(largest, float(np.linalg.norm(moved.astype(float))))
        assert largest <= sums[0].sensitivity
    assert largest > 0.6 * sums[0].sensitivity


def test_units_stay_units_and_a_unit_has_no_more_rows_than_records():
    data = cohort(60)
    data.loc[::7, "t"] = 2.0
    terms = Terms("y", ("t", "a", "b"), True)
    X, y, who = data[["t", "a", "b"]].to_numpy(), data["y"].to_numpy(), data["who"].to_numpy()
    design = Design.of(X, y, terms, Units.from_labels(who))
    arms = one_row_each(design, in_arms, terms)
    scores = one_row_each(arms, EXPANSIONS["scores"], Terms("score", (), True))
    assert units_of(scores) is units_of(design)
    kept = np.isin(data["t"], (0, 1))
    np.testing.assert_array_equal(arrays_of(arms)[0], X[kept])
    wanted = EXPANSIONS["scores"](X[kept], y[kept])[1]
    np.testing.assert_array_equal(arrays_of(scores)[1], wanted)


def test_scores_are_those_of_the_definition():
    data = cohort(200)
    X, y = data[["t", "a", "b"]].to_numpy(), data["y"].to_numpy()
    t, inside = X[:, 0], np.clip(X[:, 1:], *LIMITS.T)
    e = np.clip(1 / (1 + np.exp(-(CHANCE.params[0] + inside @ CHANCE.params[1:]))), 0.2, 0.8)
    m = [line.params[0] + inside @ line.params[1:] for line in LINES[:2]]
    wanted = m[1] - m[0] + t * (y - m[1]) / e - (1 - t) * (y - m[0]) / (1 - e)
    np.testing.assert_allclose(EXPANSIONS["scores"](X, y)[1], wanted, rtol=1e-12)
    assert EXPANSIONS["limits"](X, y)[1].mean() > 0.1


def factors(n=500):
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, 4, n), rng.integers(0, 2, n)
    levels = np.column_stack([a == 1, a == 2, a == 3, b == 1]) * 1.0
    X = np.column_stack([rng.integers(0, 2, n), levels[:, :3], rng.normal(size=n), levels[:, 3]])
    names = ("t", "a[1]", "a[2]", "a[3]", "x", "b[1]")
    groups = {"t": ("t",), "a": names[1:4], "x": ("x",), "b": ("b[1]",)}
    terms = Terms("y", names, True, ranges=dict.fromkeys((*names[1:4], "b[1]"), (0.0, 1.0)),
                  groups=groups)  # fmt: skip
    return X, rng.normal(size=n), terms


def test_coefficients_by_arm_predict_as_the_rows_do():
    X, y, terms = factors()
    columns, centre = ByArm.of(terms).apart, np.array([0.2, 0.3, 0.1, 0.7, 0.5])
    rows, _, _ = columns.rows(centre)(X, y)
    assert columns.terms("y", terms, GAUSSIAN).names == (
        "t", "a[1]", "a[2]", "a[3]", "(a[1]) if t", "(a[2]) if t", "(a[3]) if t",
            "x", "b[1]", "(b[1]) if t", "(x) if t",
    )  # fmt: skip
    params = np.random.default_rng(1).normal(size=1 + rows.shape[1])
    by_arm = (columns.coefficients(centre) @ params).reshape(2, -1)
    there = by_arm[X[:, 0].astype(int)]
    expected = there[:, 0] + (there[:, 1:] * X[:, 1:]).sum(axis=1)
    np.testing.assert_allclose(params[0] + rows @ params[1:], expected)


def test_a_level_with_all_rows_of_both_arms_is_no_error():
    """One count may be so large that its share is 1."""
    terms = factors()[2]
    columns, every = ByArm.of(terms), np.ones(11, dtype=bool)
    ends = np.zeros(11), np.ones(11)
    counted = Scales(
        *ends, ends[0] + (np.arange(11) == 4), ends[1], every, ends[0], every, True, 1.0
    )
    scales = columns.together(counted)
    np.testing.assert_array_equal(scales.centre[1:4], [1, 0, 0])
    assert np.isfinite(scales.spread).all()


def test_a_row_counts_for_one_level_of_both_arms_of_a_factor():
    X, y, terms = factors(60)
    columns = ByArm.of(terms)
    of = columns.terms("y", terms, GAUSSIAN)
    places = level_places(of)
    assert [len(group) for group in places] == [6, 2]

    def counts(kept):
        design = Design.of(X[kept], y[kept], terms)
        return one_row_each(design, columns.rows(np.zeros(5)), of).total(LevelCounts(places))

    every = counts(np.arange(60))
    treated = X[:, 0] == 1
    arms = [X[~treated], X[treated]]
    expected = np.concatenate([arm[:, 1:4].sum(axis=0) for arm in arms])
    np.testing.assert_array_equal(opened(every)[:6], expected)
    assert opened(every)[6] == 60 - expected.sum()
    for left in range(60):
        fewer = counts(np.delete(np.arange(60), left))
        moved = np.linalg.norm((opened(every) - opened(fewer)).astype(float))
        assert moved == pytest.approx(np.sqrt(2))
        assert moved <= every.sensitivity
