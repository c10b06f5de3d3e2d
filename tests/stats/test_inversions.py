"""The count of inversions, against its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from dpreg import _core


def by_definition(values):
    v = np.asarray(values)
    return int(np.triu(v[:, None] > v[None, :], 1).sum())


@pytest.mark.parametrize("n", range(7))
def test_every_sequence_of_few_values(n):
    for values in itertools.product(range(3), repeat=n):
        assert _core.count_inversions(values, 3) == (by_definition(values) if n else 0)


@pytest.mark.parametrize("levels", [1, 2, 3, 31, 32, 33, 200, 10_000])
@pytest.mark.parametrize("n", [31, 32, 33, 64, 65, 1000, 1023])
def test_random_sequences(n, levels):
    values = np.random.default_rng([n, levels]).integers(levels, size=n)
    assert _core.count_inversions(values, levels) == by_definition(values)


@pytest.mark.parametrize("n", [1000, 100_003])
def test_sorted_reversed_and_large(n):
    assert _core.count_inversions(range(n), n) == 0
    assert _core.count_inversions(range(n)[::-1], n) == n * (n - 1) // 2
    shuffled = np.random.default_rng(1).permutation(n)
    tau = stats.kendalltau(np.arange(n), shuffled).statistic
    pairs = n * (n - 1) / 2
    assert _core.count_inversions(shuffled, n) == round(pairs * (1 - tau) / 2)


def test_values_up_to_the_width_of_a_rank():
    top = 2**32 - 2
    assert _core.count_inversions([top, 0, top - 1] * 20, top + 1) == by_definition([2, 0, 1] * 20)
