"""Votes of rows on limits: the definition, and what one row changes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpreg import _core

SLOPES, INTERCEPT, UNIT = [2.0, -1.0], 0.5, 0.7
LIMITS = np.array(
    [
        [[-1.0, 1.0], [0.0, 2.0], [-3.0, 4.0]],
        [[-4.0, 4.0], [0.0, 8.0], [-9.0, 9.0]],
        [[-0.5, 0.5], [0.0, 1.0], [-1.0, 2.0]],
    ]
)
SPECIAL = [0.0, 1.0, -2.5, 7.0, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan]


def votes_of(x, y, slopes=SLOPES, limits=LIMITS):
    return _core.tail_votes(
        np.asarray(x, dtype=float), np.asarray(y, dtype=float), slopes, INTERCEPT,
        low=limits[..., 0], high=limits[..., 1], unit=UNIT,
    )  # fmt: skip


def by_definition(x, y):
    def squared(k):
        low, high = LIMITS[k, :, 0], LIMITS[k, :, 1]
        line = INTERCEPT + np.clip(x, low[:-1], high[:-1]) @ SLOPES
        return ((y - np.clip(line, low[-1], high[-1])) / UNIT) ** 2

    shares = [np.clip(squared(0) - squared(k), -1, 1) for k in (1, 2)]
    return [int(np.rint(share * _core.testing.VOTE_STEPS).sum()) for share in shares]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_votes_by_definition(threads, use_threads):
    use_threads(threads)
    rng = np.random.default_rng(20260101)
    x, y = rng.normal(0, 3, (500, 2)), rng.normal(0, 6, 500)
    found = votes_of(x, y)
    # A last digit of an error may be rounded to the step next to it.
    np.testing.assert_allclose(found, by_definition(x, y), atol=3)
    np.testing.assert_array_equal(found, votes_of(x[::-1], y[::-1]))


def test_what_is_within_all_limits_has_no_vote():
    inside = np.random.default_rng(1).uniform(0.0, 0.4, (50, 2))
    assert votes_of(inside, np.full(50, 1e6)).tolist() == [0, 0]


def test_a_response_on_the_line_votes_for_far_limits():
    x = np.array([[3.0, 1.0]])
    assert votes_of(x, x @ SLOPES + INTERCEPT).tolist() == [
        _core.testing.VOTE_STEPS,
        -_core.testing.VOTE_STEPS,
    ]


def test_the_sensitivity_is_attained_and_never_exceeded():
    """Every row over a set of awkward cells, added to a table."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(0, 3, (20, 2)), rng.normal(0, 6, 20)
    before = votes_of(x, y)
    moves = [
        float(np.linalg.norm((votes_of(np.vstack([x, row]), [*y, last]) - before).astype(float)))
        for *row, last in itertools.product(SPECIAL, repeat=3)
    ]
    assert max(moves) == pytest.approx(_core.tail_votes_sensitivity(3), rel=1e-12)
    assert _core.tail_votes_sensitivity(3) == math.sqrt(2) * _core.testing.VOTE_STEPS


@pytest.mark.parametrize("slopes", [[np.nan, 0.0], [np.inf, -np.inf], [1e308, 1e308]])
def test_slopes_that_cannot_be_used_do_not_raise_a_vote_above_one(slopes):
    found = votes_of(np.array([[1e300, 1e300]]), [0.0], slopes=slopes)
    # Not by abs, which leaves the least integer as it is.
    assert (found <= _core.testing.VOTE_STEPS).all()
    assert (found >= -_core.testing.VOTE_STEPS).all()


def test_no_rows_and_no_columns():
    assert votes_of(np.empty((0, 2)), []).tolist() == [0, 0]
    found = votes_of(np.empty((3, 0)), [0.0] * 3, slopes=[], limits=LIMITS[:, 2:])
    assert found.tolist() == [0, 0]


@pytest.mark.parametrize("change", [{"slopes": [1.0]}, {"limits": LIMITS[:1]},
                                    {"limits": LIMITS[:, :2]}])  # fmt: skip
def test_wrong_shapes(change):
    with pytest.raises(ValueError, match=r"expected|limits"):
        votes_of(np.zeros((2, 2)), [0.0, 0.0], **change)
