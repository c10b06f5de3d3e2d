"""What a row adds to a sum does not depend on its place, on other rows or on the machine."""

from __future__ import annotations

import numpy as np
import pytest
from bindings.arrays import HUGE, ODD, table
from bindings.calls import column_sums, recipes, sums_of

from dpreg import _core
from dpreg.estimation.releases.scaling import ClippedProducts

testing = _core.testing
TABLES = {
    "plain": table(101), "odd": table(101, 9, ODD), "huge": table(101, 9, HUGE),
    "wide": table(67, 33, ODD + HUGE), "narrow": table(101, 1, ODD),
}  # fmt: skip


def exact_sums(x, y):
    """Return all sums over rows, without what is no sum."""
    _, finite, counts, intervals, moments, votes = column_sums(x, y)
    yield from ([finite.sum()], counts, intervals, moments, votes)
    ones = np.ones(x.shape[1] + 1)
    yield ClippedProducts(0.5 * ones, 2 * ones, (0,), 1)(x, y)
    for how in recipes(x.shape[1]):
        yield _core.mapped_gram(x, y, how)
        yield from list(sums_of(_core.QuantisedRows(x, y, how)))[:-1]


@pytest.fixture
def portable():
    """Return a function that does its work with the instructions of every processor."""
    best = testing.instructions_in_use()

    def work(function, *arguments):
        testing.use_instructions(testing.Instructions.portable)
        try:
            return list(function(*arguments))
        finally:
            testing.use_instructions(best)

    return work


@pytest.mark.parametrize("name", TABLES)
def test_sums_of_parts_add_up_in_any_order(name, portable):
    x, y = TABLES[name]
    whole = list(exact_sums(x, y))
    places = np.random.default_rng(4).permutation(len(y))
    parts = [portable(exact_sums, x[at], y[at]) for at in np.split(places, [1, 12, 30])]
    for found, *added in zip(whole, *parts, strict=True):
        np.testing.assert_array_equal(found, np.sum(added, axis=0))


def state_of(x, y, how):
    return list(_core.QuantisedRows(x, y, how).__getstate__())


@pytest.mark.parametrize("name", TABLES)
def test_a_row_is_made_as_it_would_be_alone(name, portable):
    x, y = TABLES[name]
    for how in recipes(x.shape[1]):
        whole = state_of(x, y, how)
        for i in (0, 5, len(y) // 2, len(y) - 1):
            alone = portable(state_of, x[i : i + 1], y[i : i + 1], how)
            stride = len(alone[2])
            np.testing.assert_array_equal(whole[2][i * stride : (i + 1) * stride], alone[2])
            for found, value in zip(whole[3:4] + whole[6:], alone[3:4] + alone[6:], strict=True):
                np.testing.assert_array_equal(found[i : i + len(value)], value)
