"""Histograms of a few zooms out of one pass: those that a pass each would make."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unsealed import opened

from dpreg import _core
from dpreg.estimation.releases.nested_counts import NestedCounts, nested_bins
from dpreg.estimation.releases.statistics import counts_of_columns

# Multiples of an eighth, so that the edge of a bin is exact however it is come by.
VALUES = st.integers(-70, 70).map(lambda k: k / 8)


def nested(cells, low, high):
    weights = np.ones(len(cells))
    return NestedCounts(counts_of_columns(cells, weights), cells.shape[1] - 1, low, high, weights)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(VALUES, st.just(0.0), st.sampled_from([np.nan, np.inf, 1e300]))),
    st.integers(0, 14), st.integers(1, 16),
)  # fmt: skip
def test_counts_of_wider_bins_are_sums_of_narrower_ones(values, first, width):
    x = np.array(values).reshape(-1, 1)
    low, high = np.array([-8.0]), np.array([8.0])
    held = nested(_core.interval_counts(x, low, high, 64), low, high)
    inner_low = low + first
    inner_high = np.minimum(inner_low + width, high)
    found = held.counts(inner_low, inner_high, 4)
    assert found is not None
    found = opened(found)
    np.testing.assert_array_equal(found, _core.interval_counts(x, inner_low, inner_high, 4))
    assert found.sum() == np.isfinite(x).sum()


def test_all_zooms_from_a_power_of_two_nest_with_0_kept_inside():
    """Whatever part of the bins is chosen, and 0 put back into it, as by `narrowed`."""
    bins, zooms = 8, 3
    size = nested_bins(bins, zooms, 2)
    assert size == bins**zooms
    values = np.random.default_rng(1).normal(size=(2000, 1))
    outer = np.array([-4.0]), np.array([4.0])
    held = nested(_core.interval_counts(values, *outer, size), *outer)

    def zoom(low, high, left):
        found = held.counts(low, high, bins)
        assert found is not None
        expected = _core.interval_counts(values, low, high, bins)
        np.testing.assert_array_equal(opened(found), expected)
        step = (high - low) / bins
        for first, last in ((0, 2), (1, 2), (3, 5), (5, 8), (0, 8)) if left else ():
            zoom(low + first * step, low + last * step, left - 1)
            with_0 = np.minimum(low + first * step, 0.0), np.maximum(low + last * step, 0.0)
            zoom(*with_0, left - 1)

    zoom(*outer, zooms - 1)


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 0.3), (-1.0, -0.75), (-2.0, 1.0), (0.1, 1.0), (0.5, 1.5)]
)
def test_other_edges_need_a_pass(low, high):
    outer = np.array([-1.0]), np.array([1.0])
    held = nested(np.arange(17).reshape(1, -1), *outer)
    assert held.counts(np.array([low]), np.array([high]), 4) is None


@settings(max_examples=500, deadline=None)
@given(st.integers(4, 256), st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(1, 3))
def test_limits_that_were_counted_need_no_other_pass(bins, low, width, zooms):
    """However many bins there are, and whatever released noise made of their limits."""
    limits = np.array([low]), np.array([low + width])
    size = nested_bins(bins, zooms, 1)
    cells = np.arange(size + 1).reshape(1, -1)
    found = nested(cells, *limits).counts(*limits, bins)
    assert found is not None
    wide = cells[0, :-1].reshape(bins, -1).sum(axis=1)
    np.testing.assert_array_equal(opened(found), [[*wide, size]])


def test_edges_have_to_be_exact_and_cells_few():
    assert nested_bins(16, 3, 11) == 4096
    assert nested_bins(16, 3, 100) == 256
    assert nested_bins(16, 3, 10**6) == 16
    assert nested_bins(10, 3, 2) == 10
    assert nested_bins(16, 0, 2) == nested_bins(16, 1, 2) == 16
