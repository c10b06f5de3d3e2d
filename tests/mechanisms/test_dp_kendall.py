"""DPKendall: the law by definition, the guarantee over neighbours, the sampler."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from laws import assert_follows
from oracles import exponential_choice, kendall_by_definition

from dpreg import _core

RANGES = {"first_range": _core.KENDALL_LABEL_RANGE, "later_range": _core.KENDALL_SCORE_RANGE}


def law(table, k, epsilon_round, ranges=(2.5, 5.0), groups=None):
    """Algorithm 1 of Dick et al. (2023) with equation (1), over ordered k-tuples.

    Column 0 of `table` is y.  Columns of groups stand for them by the largest correlation.
    """
    table = np.asarray(table, dtype=float)
    y, x = table[:, 0], table[:, 1:].T
    groups = [(j,) for j in range(len(x))] if groups is None else groups

    @functools.cache
    def tau(i, j):
        others = [y] if j is None else [x[s] for s in groups[j]]
        return max(abs(kendall_by_definition(x[a], b)) for a in groups[i] for b in others)

    result = {}
    for chosen in itertools.permutations(range(len(groups)), k):
        probability, left = 1.0, list(range(len(groups)))
        for t, pick in enumerate(chosen):
            before = chosen[:t]
            scores = [tau(j, None) - (np.mean([tau(j, s) for s in before]) if t else 0)
                      for j in left]  # fmt: skip
            choice = exponential_choice(scores, ranges[min(t, 1)], epsilon_round)
            probability *= choice[left.index(pick)]
            left.remove(pick)
        result[chosen] = probability
    return result


def worst_loss(here, there):
    return max(abs(np.log(here[c] / there[c])) for c in here)


def test_law_is_private_on_every_small_world():
    """Two columns and y on three values, up to two rows, every row that can be added.

    The law of each world is computed once, for one order of its rows.
    """
    rows = list(itertools.product(range(3), repeat=3))
    epsilon_round, worst = 1.5, 0.0
    laws = {
        world: law(np.array(world, dtype=float).reshape(n, 3), 2, epsilon_round)
        for n in range(4)
        for world in itertools.combinations_with_replacement(rows, n)
    }
    for world, here in laws.items():
        for row in rows if len(world) < 3 else ():
            worst = max(worst, worst_loss(here, laws[tuple(sorted((*world, row)))]))
    assert 0.2 * epsilon_round < worst <= 2 * epsilon_round


def test_law_is_private_on_larger_worlds():
    rng = np.random.default_rng(4)
    worst, epsilon_round = 0.0, 0.7
    for _ in range(400):
        n, values = int(rng.integers(2, 12)), int(rng.integers(2, 12))
        table = rng.integers(values, size=(n + 1, 4)).astype(float)
        if rng.random() < 0.5:  # a row that is extreme in every column
            table[-1] = rng.choice([-1, values], 4)
        for k in (1, 2, 3):
            loss = worst_loss(law(table, k, epsilon_round), law(table[:-1], k, epsilon_round))
            assert loss <= k * epsilon_round * (1 + 1e-12)
            worst = max(worst, loss / (k * epsilon_round))
    assert worst > 0.3


def test_the_guarantee_of_round_one_is_used_up():
    """Many copies of a column that loses 3/2, one that gains 1: the loss nears epsilon."""
    n, copies = 60, 400
    y = np.arange(n, dtype=float)
    good, flat = y.copy(), np.zeros(n)
    table = np.column_stack([y, flat, *[good] * copies])
    row = np.array([-1.0, 1.0, *[float(n)] * copies])
    epsilon = 1.0
    here, there = (law(t, 1, epsilon) for t in (table, np.vstack([table, row])))
    assert 0.97 * epsilon < np.log(there[(0,)] / here[(0,)]) <= epsilon


def test_tau_b_as_in_the_reference_code_is_not_private():
    """(n/2) tau_b: one row moves a nearly constant column by about sqrt(n/2)."""
    from scipy import stats

    n = 2000
    y = np.arange(n, dtype=float)
    x = np.zeros(n)
    x[-1] = 1
    before = n / 2 * abs(stats.kendalltau(x[1:], y[1:]).statistic)
    x2 = x.copy()
    x2[0] = 2
    assert abs(n / 2 * abs(stats.kendalltau(x2, y).statistic) - before) > 10
    tau = [abs(_core.kendall_tau(x[1:], y[1:])), abs(_core.kendall_tau(x2, y))]
    assert abs(tau[1] - tau[0]) <= 1.5


def test_law_of_groups_is_private_on_every_small_world():
    """A group of two columns, one of one and y on two values, up to two rows."""
    rows = list(itertools.product(range(2), repeat=4))
    worst = 0.0
    for n in range(3):
        for world in itertools.combinations_with_replacement(rows, n):
            table = np.array(world, dtype=float).reshape(n, 4)
            here = law(table, 2, 1.5, groups=[(0, 1), (2,)])
            for row in rows:
                there = law([*table, row], 2, 1.5, groups=[(0, 1), (2,)])
                worst = max(worst, worst_loss(here, there))
    assert 0.2 * 1.5 < worst <= 2 * 1.5


def test_sampler_of_groups_follows_the_law(bits):
    rng = np.random.default_rng(8)
    x = rng.integers(5, size=(12, 5)).astype(float)
    y = x[:, 1] + rng.integers(3, size=12)
    expected = law(np.column_stack([y, x]), 2, 2.0, groups=[(0,), (1, 2, 3), (4,)])
    counts = dict.fromkeys(expected, 0)
    for _ in range(5000):
        drawn = _core.dp_kendall(x, y, k=2, epsilon_round=2.0, bits=bits, groups=[0, 1, 4],
                                 **RANGES)  # fmt: skip
        counts[tuple(int(g) for g in drawn)] += 1
    assert_follows(list(counts.values()), list(expected.values()))


def columns_with_ties():
    rng = np.random.default_rng(6)
    x = rng.integers(5, size=(12, 4)).astype(float)
    x[2, 1] = np.nan
    return x, x[:, 0] + rng.integers(3, size=12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_sampler_follows_the_law(k, bits, use_threads):
    use_threads(1)
    x, y = columns_with_ties()
    expected = law(np.column_stack([y, x]), k, 0.8)
    counts = dict.fromkeys(expected, 0)
    for _ in range(5000):
        drawn = _core.dp_kendall(x, y, k=k, epsilon_round=0.8, bits=bits, **RANGES)
        counts[tuple(int(j) for j in drawn)] += 1
    assert_follows(list(counts.values()), list(expected.values()))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_threads_and_layouts_draw_the_same(threads, layout, use_threads):
    x, y = columns_with_ties()
    for seed, k in itertools.product(range(100), (1, 2, 3)):
        drawn = []
        for table, count in ((x, 1), (np.asarray(x, order=layout), threads)):
            use_threads(count)
            bits = _core.TestBits(seed)
            drawn.append(_core.dp_kendall(table, y, k=k, epsilon_round=0.8, bits=bits, **RANGES))
        np.testing.assert_array_equal(*drawn)


def test_published_ranges_give_the_published_law(bits):
    rng = np.random.default_rng(6)
    table = rng.integers(9, size=(15, 4)).astype(float)
    expected = law(table, 2, 0.8, (3.0, 6.0))
    counts = dict.fromkeys(expected, 0)
    for _ in range(5000):
        drawn = _core.dp_kendall(
            table[:, 1:], table[:, 0], k=2, epsilon_round=0.8, first_range=3.0, later_range=6.0,
            bits=bits,
        )  # fmt: skip
        counts[tuple(int(j) for j in drawn)] += 1
    assert_follows(list(counts.values()), list(expected.values()))


def test_one_of_each_group_of_copies(bits):
    """Dick et al. (2023), Theorem 3.8, at an n and epsilon that are plenty."""
    rng = np.random.default_rng(7)
    groups = rng.standard_normal((5000, 3))
    y = groups @ [1.0, 1.0, 1.0] + rng.standard_normal(5000)
    x = np.column_stack([groups, groups, rng.standard_normal((5000, 4))])
    for _ in range(20):
        drawn = _core.dp_kendall(x, y, k=3, epsilon_round=1.0, bits=bits, **RANGES)
        assert sorted(drawn.astype(int) % 3) == [0, 1, 2]
        assert drawn.max() < 6


def odd_data():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    yield "no rows", x[:0], y[:0]
    yield "one row", x[:1], y[:1]
    yield "constant", np.ones((30, 4)), y
    yield "constant y", x, np.zeros(30)
    yield "all nan", np.full((30, 4), np.nan), y
    yield "nan y", x, np.full(30, np.nan)
    yield "copies", np.repeat(x[:, :1], 4, axis=1), y
    yield "infinite", np.where(x > 0, np.inf, -np.inf), y * 1e300


@pytest.mark.parametrize(
    ("name", "x", "y"), list(odd_data()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_odd_data_give_a_valid_choice(name, x, y, bits):
    for k in range(1, 5):
        drawn = _core.dp_kendall(x, y, k=k, epsilon_round=1.0, bits=bits, **RANGES)
        assert len(set(drawn.tolist())) == k


def test_nan_is_never_chosen_because_it_is_nan(bits):
    rng = np.random.default_rng(3)
    y = rng.standard_normal(2000)
    x = np.column_stack([y, np.full(2000, np.nan), np.where(y > 0, np.nan, 0.0)])
    for _ in range(30):
        assert _core.dp_kendall(x, y, k=1, epsilon_round=1.0, bits=bits, **RANGES) == [0]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 4}, "k must be"),
        ({"epsilon_round": 0.0}, "epsilon"),
        ({"epsilon_round": np.nan}, "epsilon"),
        ({"first_range": 2.0}, "5/2"),
        ({"later_range": 4.9}, "5/2"),
        ({"later_range": np.inf}, "range"),
        ({"y": np.zeros(3)}, "same number of rows"),
    ],
)
def test_wrong_use(options, says, bits):
    call = {"x": np.zeros((5, 3)), "y": np.zeros(5), "k": 2, "epsilon_round": 1.0, **RANGES}
    with pytest.raises(ValueError, match=says):
        _core.dp_kendall(**{**call, **options}, bits=bits)
