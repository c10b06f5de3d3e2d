"""One choice by the exponential mechanism on gaps: guarantee and sampler."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from laws import assert_follows
from oracles import exponential_choice

from dpreg import _core


@pytest.mark.parametrize(("epsilon", "score_range"), [(0.01, 2.0), (1.0, 2.5), (8.0, 5.0)])
@pytest.mark.parametrize("scores", [[0.0], [0, 0, 0, 0], [0, 1, 2.5, -1], [0, 1e3, 5.0, 999.0]])
def test_sampler_follows_the_law(scores, epsilon, score_range, bits):
    gaps = np.max(scores) - np.array(scores, dtype=float)
    draws = [_core.testing.choose_by_gap(gaps, score_range, epsilon, bits) for _ in range(20_000)]
    observed = np.bincount(draws, minlength=len(scores))
    expected = exponential_choice(scores, score_range, epsilon)
    possible = expected > 1e-12
    assert observed[~possible].sum() == 0
    if possible.sum() > 1:
        assert_follows(observed[possible], expected[possible] / expected[possible].sum())


def clipped_law(scores, score_range, epsilon):
    """The law with no weight below e^-32 of the largest (bounded_choice.md)."""
    gaps = np.minimum(32.0, (np.max(scores) - scores) * epsilon / score_range)
    return np.exp(-gaps) / np.exp(-gaps).sum()


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 30.0])
def test_law_is_private_for_every_change_of_a_range(epsilon):
    """Changes in [low, low + range], at both ends; the largest score may be any of them."""
    score_range, worst = 2.5, 0.0
    rng = np.random.default_rng(1)
    bases = [np.zeros(4), np.array([0, 30.0, 60, 90]), np.array([0, 1e6, 1e6 - 3, 5]),
             *rng.normal(scale=20, size=(20, 4))]  # fmt: skip
    for base, low in itertools.product(bases, [-2.5, -1.5, 0.0]):
        here = clipped_law(base, score_range, epsilon)
        for ends in itertools.product([low, low + score_range], repeat=4):
            there = clipped_law(base + ends, score_range, epsilon)
            worst = max(worst, np.abs(np.log(here / there)).max())
    assert 0.6 * epsilon < worst <= epsilon * (1 + 1e-12)


def test_excluded_candidates_are_never_chosen(bits):
    gaps = np.array([np.inf, 0.0, np.inf, 1e300])
    draws = {_core.testing.choose_by_gap(gaps, 1.0, 1e-6, bits) for _ in range(200)}
    assert draws == {1, 3} or draws == {1}
    assert _core.testing.choose_by_gap(np.array([np.inf, 7.0]), 1.0, 1.0, bits) == 1


@pytest.mark.parametrize("score_range", [2.0**-500, 2.0**500])
def test_the_law_at_the_ends_of_the_ranges(score_range, bits):
    """With a range of 1e-310, epsilon / range is infinite: a change of the scores by that range
    once made a candidate e^32 times less likely, at epsilon = 1."""
    gaps = np.array([0.0, 1.0, 3.0]) * score_range
    draws = [_core.testing.choose_by_gap(gaps, score_range, 1.0, bits) for _ in range(20_000)]
    assert_follows(np.bincount(draws, minlength=3), exponential_choice([3, 2, 0], 1.0, 1.0))


def test_gaps_that_are_no_numbers_do_no_harm(bits):
    for gaps in ([np.nan, 0.0], [np.nan, np.nan], [-3.0, 0.0]):
        assert _core.testing.choose_by_gap(np.array(gaps), 1.0, 1.0, bits) in (0, 1)


@pytest.mark.parametrize(
    ("gaps", "score_range", "epsilon", "says"),
    [
        ([], 1.0, 1.0, "at least one"),
        ([np.inf], 1.0, 1.0, "at least one"),
        ([0.0], 0.0, 1.0, "range"),
        ([0.0], np.inf, 1.0, "range"),
        ([0.0], np.nan, 1.0, "range"),
        ([0.0], 2.0**-501, 1.0, "range"),
        ([0.0], 2.0**501, 1.0, "range"),
        ([0.0], 1.0, 0.0, "epsilon"),
        ([0.0], 1.0, np.nan, "epsilon"),
        ([0.0], 1.0, 1e9, "epsilon"),
    ],
)
def test_wrong_use(gaps, score_range, epsilon, says, bits):
    with pytest.raises(ValueError, match=says):
        _core.testing.choose_by_gap(np.array(gaps, dtype=float), score_range, epsilon, bits)
