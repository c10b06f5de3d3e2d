"""The canonical Lipschitz mechanism: law, guarantee, and blocks that are never walked."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from laws import assert_follows, worst_loss
from oracles import canonical_law, largest_value_law
from scipy.special import gammaln

from dpreg import _core

LAWS = {"exponential": _core.NoiseLaw.EXPONENTIAL, "gumbel": _core.NoiseLaw.GUMBEL}


def draw(scores, k, bits, *, score_range=2.0, epsilon=1.0, gamma=0.5, noise="exponential"):
    chosen = _core.canonical_lipschitz(
        np.asarray(scores, dtype=float),
        k=k,
        range=score_range,
        epsilon=epsilon,
        gamma=gamma,
        noise=LAWS[noise],
        bits=bits,
    )
    return tuple(int(i) for i in chosen)


@pytest.mark.parametrize("noise", list(LAWS))
@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("d", [1, 2, 4, 6])
def test_sampler_follows_the_law(d, gamma, noise, bits):
    """Every k; with ties and without."""
    for scores in (np.array([0.0, 2.0, 2.0, 5.0, -1.0, 2.0])[:d],
                   np.array([1.3, -4.0, 0.2, 7.7, 3.1, 3.0])[:d]):  # fmt: skip
        for k in range(1, d + 1):
            law = canonical_law(scores, k, 2.0, 1.7, gamma, noise)
            assert sum(law.values()) == pytest.approx(1)
            counts = dict.fromkeys(law, 0)
            for _ in range(2000):
                counts[draw(scores, k, bits, epsilon=1.7, gamma=gamma, noise=noise)] += 1
            if len(law) > 1:
                assert_follows(list(counts.values()), list(law.values()))


def worst_over_neighbours(d, k, changes, score_range, epsilon, gamma, noise):
    rng = np.random.default_rng([d, k])
    worst = 0.0
    for base in (np.zeros(d), np.arange(d) * 1.0, np.arange(d) * 8.0, rng.normal(size=d) * 3):
        here = canonical_law(base, k, score_range, epsilon, gamma, noise)
        for corner in itertools.product(changes, repeat=d):
            there = canonical_law(base + corner, k, score_range, epsilon, gamma, noise)
            worst = max(worst, worst_loss(here, there))
    return worst


@pytest.mark.parametrize("changes", [(-1.0, 1.0), (0.0, 1.0), (-1.5, 1.0)],
                         ids=["general", "one-sided", "of |tau|"])  # fmt: skip
@pytest.mark.parametrize("noise", list(LAWS))
@pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
def test_law_is_private_for_every_adversarial_neighbour(d, noise, changes):
    epsilon = 0.8
    for k in range(1, d):
        for gamma in (0.0, 0.5, 0.8) if d < 6 else (0.5,):
            worst = worst_over_neighbours(
                d, k, changes, changes[1] - changes[0], epsilon, gamma, noise
            )
            assert worst <= epsilon * (1 + 1e-12)


def worst_pair(d, noise, score_range, epsilon=0.8):
    """The loss where nearly all likely sets get worse and an unlikely one gets better: one
    score far above and one far below the others, which are tied and then split."""
    base = np.array([80.0, -80.0, *np.zeros(d - 2)])
    change = np.array([-1.0, 1.0, *np.resize([1.0, -1.0], d - 2)])
    here = canonical_law(base, d // 2, score_range, epsilon, 0.5, noise)
    there = canonical_law(base + change, d // 2, score_range, epsilon, 0.5, noise)
    return worst_loss(here, there) / epsilon


def test_the_guarantee_is_used_up():
    assert 0.96 < worst_pair(8, "exponential", 2.0) <= 1
    assert 0.99 < worst_pair(12, "gumbel", 2.0) <= 1


def test_the_constant_for_monotone_scores_is_wrong_for_others():
    """epsilon / (2 Delta) per unit of gap, with scores that move both ways."""
    assert worst_pair(8, "exponential", 1.0) > 1.9
    assert worst_pair(12, "gumbel", 1.0) > 1.99


def law_with_printed_class_sizes(scores, k, epsilon):
    """Swope et al. (2024), Definition A.2 as printed: a body may hold the best index that
    the class says is missing, so that one set is in several classes, with noise in each."""
    order = np.argsort(-scores, kind="stable")
    x, d = scores[order], len(scores)
    labels, utilities = [], []
    for h, t in [(k - 1, k), *itertools.product(range(k), range(k + 1, d + 1))]:
        bodies = [()] if t == k else itertools.combinations(range(h + 1, t), k - h - 1)
        for body in bodies:
            labels.append(frozenset(int(order[i - 1]) for i in (*range(1, h + 1), *body, t)))
            utilities.append(epsilon / 4 * (x[t - 1] - x[h]))
    law = dict.fromkeys(map(frozenset, itertools.combinations(range(d), k)), 0.0)
    for label, p in zip(labels, largest_value_law(utilities, "exponential"), strict=True):
        law[label if len(label) == k else None] += p
    return law


@pytest.mark.parametrize(("d", "k"), [(3, 2), (5, 3), (6, 5)])
def test_the_printed_class_sizes_are_not_private(d, k):
    """The k best are in one class, the set with its worst member exchanged for the next is in k:
    when two scores change places, by 0.001, the loss is log k, not 0.01."""
    scores = np.arange(d) * -1e-3
    swapped = scores.copy()
    swapped[[k - 1, k]] = scores[[k, k - 1]]
    here = law_with_printed_class_sizes(scores, k, 0.01)
    there = law_with_printed_class_sizes(swapped, k, 0.01)
    assert worst_loss(here, there) > 0.99 * np.log(k)


# Of the quadrature below: with fifteen times as many no law moves by 1e-7 in all.
POINTS = 800


def class_probabilities(scores, k, coefficient, gamma):
    """Pr[(h, t)] of every class by quadrature over the value of the winner.

    The largest of m draws of utility + Exp(1) is below v with probability (1 - a e^-v)^m,
    a = e^utility; with sizes C(t - h - 2, k - h - 1) for t > k, and 1 for the k best.
    """
    x, d = np.sort(scores)[::-1], len(scores)
    classes = [(k - 1, k), *itertools.product(range(k), range(k + 1, d + 1))]
    h, t = np.array(classes).T
    n, r = np.maximum(t - h - 2, k - h - 1), k - h - 1
    log_m = np.where(t == k, 0.0, gammaln(n + 1.0) - gammaln(r + 1.0) - gammaln(n - r + 1.0))
    utility = coefficient * (gamma * x[t - 1] - (1 - gamma) * x[h])
    utility -= utility[0]
    end = utility.max() + log_m.max() + 45
    w = (np.arange(POINTS) + 0.5) * (end / POINTS)
    hazard = np.exp(log_m) * np.log1p(-np.exp(utility - w[:, None]).clip(0, 1 - 1e-16))
    density = (
        np.exp(hazard.sum(axis=1))[:, None]
        * np.exp(utility + log_m - w[:, None])
        / (-np.expm1(utility - w[:, None]))
    )
    return h, t, density.sum(axis=0) * (end / POINTS)


@pytest.mark.parametrize(("d", "k", "spread"), [(40, 4, 20.0), (300, 10, 60.0), (120, 30, 0.0)])
def test_classes_of_large_problems(d, k, spread, bits):
    """Which class wins, where subsets cannot be listed: all utilities are at most 0 here."""
    scores = spread * np.random.default_rng(d).standard_normal(d)
    h, t, probability = class_probabilities(scores, k, 0.5, 0.5)
    assert probability.sum() == pytest.approx(1, abs=1e-3)
    place = np.argsort(np.argsort(-scores, kind="stable"), kind="stable")
    index = {(a, b): i for i, (a, b) in enumerate(zip(h.tolist(), t.tolist(), strict=True))}
    counts = np.zeros(len(h))
    for _ in range(6000):
        ranks = sorted(place[list(draw(scores, k, bits))].tolist())
        head = next((i for i, r in enumerate(ranks) if r != i), k - 1)
        counts[index[min(head, k - 1), ranks[-1] + 1]] += 1
    if spread == 0:  # ties: every class has its share of all subsets
        n, r = np.maximum(t - h - 2, k - h - 1), k - h - 1
        size = np.where(t == k, 1.0, np.exp(
            gammaln(n + 1.0) - gammaln(r + 1.0) - gammaln(n - r + 1.0)))  # fmt: skip
        np.testing.assert_allclose(probability, size / math.comb(d, k), rtol=1e-2)
    assert_follows(counts, probability / probability.sum())


def test_bodies_are_uniform(bits):
    """Equal scores: every subset is as likely as any other, by symmetry of the law."""
    counts = dict.fromkeys(itertools.combinations(range(7), 3), 0)
    for _ in range(7000):
        counts[draw(np.zeros(7), 3, bits)] += 1
    assert_follows(list(counts.values()), np.full(35, 1 / 35))


@pytest.mark.parametrize("noise", list(LAWS))
def test_a_clear_winner_is_found_among_a_million(noise, bits):
    scores = np.zeros(10**6)
    best = np.arange(7, 10**6, 9973)[:100]
    scores[best] = 1e5
    assert draw(scores, 100, bits, noise=noise) == tuple(best.tolist())


def odd_scores():
    yield np.full(9, np.nan)
    yield np.full(9, np.inf)
    yield np.full(9, -np.inf)
    yield np.array([np.inf, -np.inf, np.nan, 0.0, 1e308, -1e308, 5e-324, -0.0, 1.0])
    yield np.arange(9) * 1e307


@pytest.mark.parametrize("scores", list(odd_scores()), ids=range(5))
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_odd_scores_give_a_valid_set(scores, gamma, bits):
    for k in range(1, 10):
        for noise in LAWS:
            chosen = draw(scores, k, bits, gamma=gamma, noise=noise)
            assert len(set(chosen)) == k
            assert list(chosen) == sorted(chosen)
            assert 0 <= chosen[0] <= chosen[-1] < 9


@pytest.mark.parametrize("noise", list(LAWS))
@pytest.mark.parametrize("score_range", [2.0**-500, 2.0**500])
def test_the_law_at_the_ends_of_the_ranges(score_range, noise, bits):
    """With a range of 1e308 a gap overflowed when scores moved by half of that, and a set that
    had probability 0.2 was never chosen; with 1e-310, equal scores were drawn from for ever."""
    scores = np.array([0.0, 1.0, 1.0, 3.0])
    law = canonical_law(scores, 2, 1.0, 1.7, 0.5, noise)
    counts = dict.fromkeys(law, 0)
    for _ in range(4000):
        counts[draw(scores * score_range, 2, bits, score_range=score_range, epsilon=1.7,
                    noise=noise)] += 1  # fmt: skip
    assert_follows(list(counts.values()), list(law.values()))


def test_nan_is_not_chosen_because_it_is_nan(bits):
    scores = np.array([np.nan, 50.0, 60.0, np.nan])
    assert draw(scores, 2, bits, epsilon=10.0) == (1, 2)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 4}, "k must be"),
        ({"score_range": 0.0}, "range"),
        ({"score_range": math.nan}, "range"),
        ({"score_range": 1e-310}, "range"),
        ({"score_range": 1e308}, "range"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"gamma": 1.0}, "gamma"),
        ({"gamma": -0.1}, "gamma"),
        ({"gamma": math.nan}, "gamma"),
    ],
)
def test_wrong_use(options, says, bits):
    with pytest.raises(ValueError, match=says):
        draw(np.arange(3.0), **{"k": 1, **options}, bits=bits)
