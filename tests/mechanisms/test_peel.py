"""Peeling: is its law private, and does it follow its law?"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from laws import assert_follows, worst_loss
from oracles import peeling_law

from dpreg import _core


@pytest.mark.parametrize("changes", [(-1.0, 1.0), (0.0, 1.0)], ids=["general", "one-sided"])
@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_law_is_private_for_every_adversarial_neighbour(d, changes):
    """Every k, every corner of the cube of changes, sensitivity 1."""
    epsilon, score_range = 0.9, changes[1] - changes[0]
    worst = 0.0
    for k in range(1, d + 1):
        for base in (np.zeros(d), np.arange(d) * 1.0, np.arange(d) * 12.0):
            here = peeling_law(base, k, score_range, epsilon)
            for corner in itertools.product(changes, repeat=d):
                there = peeling_law(base + corner, k, score_range, epsilon)
                worst = max(worst, worst_loss(here, there))
    assert 0.4 * epsilon < worst <= epsilon * (1 + 1e-12)


def test_half_the_range_is_not_enough_for_general_scores():
    epsilon = 0.9
    here = peeling_law(np.arange(4) * 12.0, 2, 1.0, epsilon)
    there = peeling_law(np.arange(4) * 12.0 + [1, 1, -1, -1], 2, 1.0, epsilon)
    assert worst_loss(here, there) > 1.5 * epsilon


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
def test_sampler_follows_the_law(d, bits):
    scores = np.array([0.0, 1.5, 1.5, -2.0, 4.0, 0.3])[:d]
    for k in range(1, min(d, 3) + 1):
        law = peeling_law(scores, k, 2.0, 1.5)
        counts = dict.fromkeys(law, 0)
        for _ in range(4000):
            drawn = _core.peel(scores, k=k, range=2.0, epsilon=1.5, bits=bits)
            counts[tuple(int(i) for i in drawn)] += 1
        if len(law) > 1:
            assert_follows(list(counts.values()), list(law.values()))


def test_equals_gumbel_noise_added_once(bits):
    """The largest k of score + Gumbel(k range / epsilon): sets of size 2 of 4."""
    scores, epsilon = np.array([0.0, 3.0, 1.0, -1.0]), 2.0
    noise = _core.standard_gumbel(bits, 4 * 20_000).reshape(-1, 4) * (2 * 2.0 / epsilon)
    order = np.argsort(-(scores + noise), axis=1)[:, :2]
    law = peeling_law(scores, 2, 2.0, epsilon)
    counts = dict.fromkeys(law, 0)
    for pair in order.tolist():
        counts[tuple(pair)] += 1
    assert_follows(list(counts.values()), list(law.values()))


def test_scores_that_are_no_numbers(bits):
    scores = np.array([np.nan, np.inf, 0.0, -np.inf, 1.0])
    for _ in range(50):
        drawn = _core.peel(scores, k=3, range=2.0, epsilon=60.0, bits=bits)
        assert sorted(drawn.tolist()) == [1, 2, 4]
    assert 3 not in _core.peel(scores, k=4, range=2.0, epsilon=1.0, bits=bits)


def test_all_candidates_in_some_order(bits):
    drawn = _core.peel(np.zeros(7), k=7, range=2.0, epsilon=1.0, bits=bits)
    assert sorted(drawn.tolist()) == list(range(7))


@pytest.mark.parametrize("k", [0, 3])
def test_wrong_k(k, bits):
    with pytest.raises(ValueError, match="k must be"):
        _core.peel(np.array([0.0, 1.0, -np.inf]), k=k, range=1.0, epsilon=1.0, bits=bits)


@pytest.mark.parametrize("score_range", [0.0, 2e-310, 1e308, np.inf, np.nan])
def test_wrong_range(score_range, bits):
    """Scores 0, 0 and 0, 1e-310 once lost 32 nats at epsilon = 1 and range 2e-310."""
    with pytest.raises(ValueError, match="range"):
        _core.peel(np.array([0.0, 1e-310]), k=1, range=score_range, epsilon=1.0, bits=bits)
