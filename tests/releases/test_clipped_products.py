"""Clipped inner products: definition, exactness, sensitivity."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpreg.estimation.releases.scaling import RANGE, SENSITIVITY, ClippedProducts
from dpreg.privacy.sealed import opened


def scores(x, y, centre=0.0, half=1.0):
    """One score a column; `centre` and `half` of each column and, last, of the response."""
    ends = np.broadcast_to(centre, x.shape[1] + 1), np.broadcast_to(half, x.shape[1] + 1)
    products = ClippedProducts(*ends, tuple(range(x.shape[1])), 1)
    return opened(products.seal(products(x, np.asarray(y, dtype=float))))


def by_definition(x, y, centres, halves, y_centre, y_half):
    """In integers of 2^-15."""
    with np.errstate(all="ignore"):
        u = np.rint(2.0**15 * np.nan_to_num(np.clip((x - centres) / halves, -1, 1)))
        v = np.rint(2.0**15 * np.nan_to_num(np.clip((y - y_centre) / y_half, -1, 1)))
    total = [abs(sum(int(a) * int(b) for a, b in zip(column, v, strict=True))) for column in u.T]
    return np.array([t >> 10 for t in total]) / 2.0**20


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize(("n", "d"), [(0, 3), (1, 1), (5, 40_000), (33, 1000), (10_000, 7)])
def test_definition(n, d, layout):
    rng = np.random.default_rng([n, d])
    x = np.asarray(rng.standard_normal((n, d)) * 3 + 1, order=layout)
    y = rng.standard_normal(n)
    if n > 5:
        x[1, 0], x[2, 0], y[3] = np.nan, np.inf, -np.inf
    centres, halves = rng.standard_normal(d), rng.uniform(0.5, 4, d)
    expected = by_definition(x, y, centres, halves, 0.2, 2.0)
    np.testing.assert_array_equal(scores(x, y, [*centres, 0.2], [*halves, 2.0]), expected)


def test_order_of_rows_does_not_matter():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((5000, 3)), rng.standard_normal(5000)
    shuffle = rng.permutation(5000)
    np.testing.assert_array_equal(scores(x, y), scores(x[shuffle], y[shuffle]))


def test_close_to_the_inner_product():
    rng = np.random.default_rng(2)
    x, y = rng.uniform(-1, 1, (2000, 4)), rng.uniform(-1, 1, 2000)
    np.testing.assert_allclose(scores(x, y), np.abs(x.T @ y), atol=2000 * 2.0**-15)


def test_sensitivity_and_range_are_attained_and_never_exceeded():
    """All data sets of up to three rows with cells in odd places, all rows that can be added."""
    cells = [-np.inf, -1.0, -0.3, 0.0, 1e-5, 0.7, 5.0, np.nan]
    rows = np.array(list(itertools.product(cells, repeat=2)))
    moves = []
    for n in range(3):
        for world in itertools.combinations_with_replacement(range(len(rows)), n):
            table = rows[list(world)]
            here = scores(table[:, :1], table[:, 1])
            # One column for each row that may be added.
            grown = np.vstack([np.repeat(table[:, :1], len(rows), axis=1), rows[:, 0]])
            for response in cells:
                same = rows[:, 1] == response if response == response else np.isnan(rows[:, 1])
                after = scores(grown[:, same], np.append(table[:, 1], response))
                moves.append(after - here)
    moves = np.concatenate(moves)
    assert np.abs(moves).max() == SENSITIVITY
    assert moves.min() == -1
    x, y = np.array([[1.0, -1.0]]), np.array([1.0])
    change = scores(np.vstack([x, [1, 1]]), [*y, 1.0]) - scores(x, y)
    assert np.ptp(change) == RANGE
