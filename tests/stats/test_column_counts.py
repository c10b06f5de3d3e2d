"""Counts and moments of columns: definitions, and what one row changes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpreg import _core

SPECIAL = [0.0, -0.0, 1.0, 2.0, -2.0, 2.0000001, 0.5, 1e300, 5e-324, -3.0, np.nan, np.inf, -np.inf]

ENDS = _core.LEAST_EXPONENT, _core.testing.LARGEST_EXPONENT


def magnitude_by_definition(column):
    bins = _core.testing.LARGEST_EXPONENT - _core.LEAST_EXPONENT + 1
    counts = np.zeros(2 * bins + 1, dtype=int)
    for x in column[np.isfinite(column)]:
        with np.errstate(divide="ignore"):
            e = np.clip(np.ceil(np.log2(np.abs(x))), *ENDS)
        counts[bins + int(np.sign(x)) * (int(e) - _core.LEAST_EXPONENT + 1)] += 1
    return counts


def interval_by_definition(column, low, high, bins):
    counts = np.zeros(bins + 1, dtype=int)
    for x in column[np.isfinite(column)]:
        place = np.floor((x - low) * bins / (high - low))
        counts[bins if x == 0 else int(np.clip(place, 0, bins - 1))] += 1
    return counts


def columns():
    rng = np.random.default_rng(20260101)
    return np.column_stack(
        [
            np.resize(SPECIAL, 200),
            rng.standard_normal(200) * 10.0 ** rng.integers(-30, 30, 200),
            rng.integers(-3, 4, 200).astype(float),
        ]
    )


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_counts_by_definition(threads, use_threads):
    use_threads(threads)
    x = columns()
    found = _core.magnitude_counts(x)
    for j in range(3):
        np.testing.assert_array_equal(found[j], magnitude_by_definition(x[:, j]))
    low, high = np.array([-1.0, -1e3, -3.5]), np.array([3.0, 1e3, 3.5])
    found = _core.interval_counts(x, low, high, 7)
    for j in range(3):
        np.testing.assert_array_equal(found[j], interval_by_definition(x[:, j], low[j], high[j], 7))


def test_an_interval_that_is_too_wide_for_a_double_still_counts_a_row_once():
    x = np.array([[1e308], [-1e308], [0.0], [1.0]])
    found = _core.interval_counts(x, np.array([-1e308]), np.array([1e308]), 4)
    np.testing.assert_array_equal(found, [[3, 0, 0, 0, 1]])


@pytest.mark.parametrize("threads", [1, 3])
def test_moments_by_definition(threads, use_threads):
    use_threads(threads)
    x = columns()
    middle, half = np.array([1.0, 0.0, 0.5]), np.array([2.0, 1e6, 2.5])
    found = _core.moment_sums(x, middle, half)
    scale = 2.0**_core.MOMENT_BITS
    with np.errstate(invalid="ignore"):
        u = np.where(np.isfinite(x), np.clip((x - middle) / half, -1, 1), 0.0)
    assert found[0] == 200 * scale
    np.testing.assert_array_equal(found[1:4], np.rint(u * scale).sum(axis=0))
    np.testing.assert_array_equal(found[4:7], np.rint(u * u * scale).sum(axis=0))


@pytest.mark.parametrize("weights", [[1.0, 1.0], [1.0, 2.5], [0.3, 0.0]])
def test_sensitivities_are_attained_and_never_exceeded(weights):
    """Every row over a set of awkward values, added to a table."""
    base = columns()[:20, :2]
    limits = np.array([-2.0, -2.0]), np.array([2.0, 2.0])
    cells = np.array(weights).reshape(2, 1)
    statistics = {
        "magnitude": (
            lambda x: cells * _core.magnitude_counts(x),
            _core.counts_sensitivity(weights),
        ),
        "interval": (
            lambda x: cells * _core.interval_counts(x, *limits, 5),
            _core.counts_sensitivity(weights),
        ),
        "moments": (
            lambda x: (
                [1.0, *weights, *weights] * _core.moment_sums(x, np.zeros(2), np.full(2, 2.0))
            ),
            _core.moments_sensitivity(weights),
        ),
    }
    for statistic, bound in statistics.values():
        before = statistic(base)
        moves = [
            np.linalg.norm((statistic(np.vstack([base, row])) - before).ravel().astype(float))
            for row in itertools.product(SPECIAL, repeat=2)
        ]
        assert max(moves) == pytest.approx(bound, rel=1e-12)


def test_no_rows_and_no_columns():
    assert _core.magnitude_counts(np.empty((0, 2))).sum() == 0
    assert _core.moment_sums(np.empty((0, 2)), np.zeros(2), np.ones(2)).tolist() == [0] * 5
    assert _core.moment_sums(np.empty((3, 0)), np.zeros(0), np.ones(0))[0] == 3 << _core.MOMENT_BITS
