"""SubLasso: votes on a random partition, peeled."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from laws import assert_follows
from oracles import peeling_law

from dpreg import _core


def data(n, d, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    return x, x[:, 0] - x[:, 1] + 0.5 * rng.standard_normal(n)


def run(x, y, assignment, k, epsilon, bits, **options):
    return _core.sub_lasso(
        x, y, assignment, penalty=0.1, k=k, epsilon=epsilon, bits=bits, **options
    )


@pytest.mark.parametrize("k", [1, 2])
def test_sampler_follows_the_law_of_its_votes(k, bits):
    x, y = data(200, 4)
    assignment = _core.assign_to_slots(200, 10, 20, bits)
    votes = _core.count_votes(_core.fit_lasso_batches(x, y, assignment, penalty=0.1), k)
    law = peeling_law(votes, k, _core.VOTE_RANGE, 1.0)
    counts = dict.fromkeys(law, 0)
    for _ in range(4000):
        counts[tuple(int(j) for j in run(x, y, assignment, k, 1.0, bits))] += 1
    assert_follows(list(counts.values()), list(law.values()))


@pytest.mark.parametrize("k", [1, 2])
def test_law_is_private_when_any_one_model_is_replaced(k):
    """All votes of up to three models for k of four columns, fewer included, and all ballots
    that may replace one of them."""
    sets = [c for size in range(k + 1) for c in itertools.combinations(range(4), size)]
    ballots = [np.isin(range(4), c).astype(float) for c in sets]
    epsilon, worst = 1.1, 0.0
    for others in itertools.combinations_with_replacement(range(len(ballots)), 2):
        rest = sum(ballots[i] for i in others)
        laws = [peeling_law(rest + b, k, _core.VOTE_RANGE, epsilon) for b in ballots]
        for here, there in itertools.permutations(laws, 2):
            worst = max(worst, max(np.log(here[c] / there[c]) for c in here))
    assert 0.4 * epsilon < worst <= epsilon


def test_finds_the_columns_that_matter(bits):
    x, y = data(4000, 12)
    for partition in (
        _core.assign_to_slots(4000, 60, 67, bits),
        _core.assign_independently(4000, 60, bits),
    ):
        assert sorted(run(x, y, partition, 2, 3.0, bits).tolist()) == [0, 1]


def odd_worlds():
    x, y = data(60, 3)
    yield "empty", x[:0], y[:0]
    yield "one row", x[:1], y[:1]
    yield "constant", np.ones_like(x), y
    yield "constant y", x, y * 0
    yield "nan", np.full_like(x, np.nan), y
    yield "duplicated", np.repeat(x[:, :1], 3, axis=1), y
    yield "huge", x * 1e300, y * 1e300


@pytest.mark.parametrize(
    ("name", "x", "y"), list(odd_worlds()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_odd_data_give_a_valid_choice(name, x, y, bits):
    for k in (1, 2, 3):
        assignment = _core.assign_to_slots(len(y), 5, 12, bits)
        chosen = run(x, y, assignment, k, 1.0, bits)
        assert len(set(chosen.tolist())) == k


@pytest.mark.parametrize("k", [0, 4])
def test_wrong_k(k, bits):
    x, y = data(20, 3)
    with pytest.raises(ValueError, match="k must be"):
        run(x, y, _core.assign_to_slots(20, 2, 10, bits), k, 1.0, bits)
