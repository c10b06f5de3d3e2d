"""One row's part of every sum that is released: no longer than stated, and as long somewhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from unsealed import opened

from dpreg.data.observations import RowCount
from dpreg.estimation.releases.scaling import ClippedProducts
from dpreg.estimation.releases.statistics import (
    EventCounts,
    IntervalCounts,
    LevelCounts,
    MagnitudeCounts,
    MomentSums,
    PairCounts,
    SizeCounts,
    TailVotes,
)

# Cells of two columns, of a third that is a level, and of a response.
ODD = (0.0, -0.0, 1.0, -1.0, 0.5, 3e7, -1e308, 5e-324, 2.0**62, np.inf, -np.inf, np.nan)
WORLD = np.array(list(itertools.product(ODD, (1.0, -2.0, np.nan, 0.0), (0.0, 1.0, np.inf), ODD)))
LOW, HIGH = np.array([-4.0, -1.0, 0.0, -8.0]), np.array([4.0, 3.0, 1.0, 8.0])
SOME, WEIGHTS = np.array([0, 1, 3]), np.array([1.0, 0.5, 2.0])
MIDDLE, HALF = (LOW + HIGH) / 2, (HIGH - LOW) / 2
SETS = (np.stack([2 * of, of, of / 2]) for of in (LOW, HIGH))
FACTORS = np.array([0, 1]), np.array([2])

# A row that is incomplete is none of the design: it may count for nothing, and does for no more.
STATISTICS = {
    "number of rows": RowCount(),
    "sizes": SizeCounts((SOME[:1], SOME[1:])),
    "no sizes": SizeCounts((SOME[:0], SOME[:0])),
    "magnitudes": MagnitudeCounts(SOME, WEIGHTS),
    "intervals": IntervalCounts(LOW, HIGH, 32, SOME, np.ones(len(SOME))),
    "intervals and zeros": IntervalCounts(LOW, HIGH, 64, SOME, WEIGHTS, zeros=True),
    "rows that two columns share": PairCounts(np.array([0, 1, 2])),
    "events": EventCounts(),
    "levels of two factors": LevelCounts(FACTORS),
    "levels of one factor": LevelCounts((np.array([2]),)),
    "moments": MomentSums(MIDDLE, HALF, np.append(WEIGHTS, 0.25)),
    "votes": TailVotes(np.array([1.0, -1.0, 0.5]), 0.25, *SETS, 1.0),
}  # fmt: skip


def parts(statistic, rows):
    """What each row adds, and what `statistic` says of sums, one tuple of both."""
    X, y = np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])
    alone = [statistic(X[k : k + 1], y[k : k + 1]) for k in range(len(y))]
    np.testing.assert_array_equal(statistic(X, y), np.sum(alone, axis=0))
    np.testing.assert_array_equal(statistic(X[::-1].copy(), y[::-1].copy()), np.sum(alone, axis=0))
    return alone


def sealed(statistic, sums):
    made = statistic.seal(sums)
    return made if isinstance(made, tuple) else (made,)


def length(sums):
    flat = opened(sums).ravel().astype(np.float64)
    return float(np.linalg.norm(flat * (1.0 if sums.weights is None else sums.weights.ravel())))


@pytest.mark.parametrize("name", STATISTICS)
def test_no_row_adds_more_than_the_sensitivity_and_one_adds_as_much(name):
    statistic = STATISTICS[name]
    alone = [sealed(statistic, part) for part in parts(statistic, WORLD)]
    for sums in zip(*alone, strict=True):
        stated = sums[0].sensitivity
        lengths = [length(one) for one in sums]
        assert max(lengths) <= stated * (1 + 1e-12)
        assert {one.sensitivity for one in sums} == {stated}
        assert max(lengths) == pytest.approx(stated, rel=1e-3)


@pytest.mark.parametrize("starts", [(0, 1, 2), (0, 2)])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_unit_changes_scores_of_terms_by_no_more_than_their_range(starts, rows):
    """The largest change less the smallest one, of any base, by rows that are as odd as any."""
    statistic = ClippedProducts(MIDDLE, HALF, starts, rows)
    alone, stated = parts(statistic, WORLD), statistic.seal(np.zeros(3, dtype=np.int64)).range
    distinct = np.unique(np.array(alone), axis=0)
    farthest = 0.0
    for base, more in itertools.product(rows * distinct, rows * distinct):
        before, after = (opened(statistic.seal(sums)) for sums in (base, base + more))
        farthest = max(farthest, float(np.ptp(after - before)))
    assert 0.99 * stated <= farthest <= stated * (1 + 1e-12)
