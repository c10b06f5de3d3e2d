"""One fit a batch: against dense algebra, and on whatever a cell may hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from oracles import iterated_ridge
from scipy import stats

from dpreg import _core


def problem(n, d, seed=20260101):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 5
    return x, x @ rng.standard_normal(d) + rng.standard_normal(n) - 3


def fits(x, y, assignment, **options):
    defaults = {"ridge": 0.0, "refinements": 0, "intercept": True, "log_spreads": False}
    return _core.fit_batches(x, y, assignment, **{**defaults, **options})


def batches(assignment):
    members, offsets = assignment.members.astype(int), assignment.offsets.astype(int)
    return [members[a:b] for a, b in itertools.pairwise(offsets)]


@pytest.mark.parametrize("d", [1, 3, 8, 11])
@pytest.mark.parametrize(("ridge", "refinements"), [(0.0, 0), (0.1, 0), (0.03, 4)])
def test_slopes_and_means_equal_dense_algebra(bits, d, ridge, refinements):
    x, y = problem(400, d)
    assignment = _core.assign_to_slots(400, 7, 60, bits)
    found = fits(x, y, assignment, ridge=ridge, refinements=refinements)
    for row, batch in zip(found, batches(assignment), strict=True):
        slopes = iterated_ridge(x[batch], y[batch], ridge, refinements)
        np.testing.assert_allclose(row[:d], slopes, rtol=1e-8)
        weights = 0.5 + (np.arange(1, len(batch) + 1) * 0.6180339887498949) % 1
        mean_y, means_x = (np.average(v[batch], axis=0, weights=weights) for v in (y, x))
        np.testing.assert_allclose(row[d], mean_y, rtol=1e-12)
        np.testing.assert_allclose(row[d + 1 :], means_x, rtol=1e-12)


def test_through_the_origin(bits):
    x, y = problem(300, 4)
    assignment = _core.assign_independently(300, 5, bits)
    found = fits(x, y, assignment, intercept=False)
    for row, batch in zip(found, batches(assignment), strict=True):
        np.testing.assert_allclose(row, np.linalg.lstsq(x[batch], y[batch])[0], rtol=1e-8)


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_layout_and_threads_do_not_matter(bits, layout, threads, use_threads):
    x, y = problem(500, 6)
    assignment = _core.assign_to_slots(500, 20, 25, bits)
    other = {"C": x, "F": np.asfortranarray(x), "strided": np.repeat(x, 2, axis=1)[:, ::2]}[layout]
    options = {"ridge": 0.03, "refinements": 2, "log_spreads": True}
    use_threads(1)
    expected = fits(x, y, assignment, **options)
    use_threads(threads)
    assert np.array_equal(fits(other, y, assignment, **options), expected)


def test_a_row_that_is_not_finite_is_passed_over(bits):
    x, y = problem(200, 3)
    assignment = _core.assign_to_slots(200, 1, 200, bits)
    bad_x, bad_y = x.copy(), y.copy()
    bad_x[3, 1], bad_x[50, 0], bad_y[100] = np.nan, np.inf, -np.inf
    keep = np.setdiff1d(np.arange(200), [3, 50, 100])
    expected = iterated_ridge(x[keep], y[keep], 0, 0)
    np.testing.assert_allclose(fits(bad_x, bad_y, assignment)[0, :3], expected, rtol=1e-8)


def test_a_model_depends_on_its_own_units_only(bits):
    x, y = problem(120, 3)
    assignment = _core.assign_to_slots(120, 6, 20, bits)
    before = fits(x, y, assignment, ridge=0.03, log_spreads=True)
    for unit in (0, 17, 119):
        x2, y2 = x.copy(), y.copy()
        x2[unit], y2[unit] = 1e6, -1e9
        moved = (fits(x2, y2, assignment, ridge=0.03, log_spreads=True) != before).any(axis=1)
        owner = [unit in batch for batch in batches(assignment)]
        assert moved.tolist() == owner


def test_rows_of_one_unit_go_together(bits):
    x, y = problem(300, 2)
    counts = np.random.default_rng(1).integers(1, 6, 100)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rows = np.random.default_rng(2).permutation(300)[: offsets[-1]]
    offsets = offsets[offsets <= len(rows)]
    rows = rows[: offsets[-1]]
    units = len(offsets) - 1
    assignment = _core.assign_to_slots(units, 5, 20, bits)
    found = fits(x, y, assignment, unit_offsets=offsets.astype(np.uint64),
                 unit_rows=rows.astype(np.uint64))  # fmt: skip
    for row, batch in zip(found, batches(assignment), strict=True):
        own = np.concatenate([rows[offsets[u] : offsets[u + 1]] for u in batch])
        np.testing.assert_allclose(row[:2], iterated_ridge(x[own], y[own], 0, 0), rtol=1e-8)


def test_a_constant_column_gets_slope_zero_or_no_say(bits):
    x, y = problem(100, 3)
    x[:, 1] = 0.1
    assignment = _core.assign_to_slots(100, 4, 25, bits)
    assert (fits(x, y, assignment)[:, 1] == 0).all()
    found = fits(x, y, assignment, ridge=0.01, log_spreads=True)
    assert found[:, 1].tolist() == [np.inf, -np.inf, np.inf, -np.inf]
    assert np.isfinite(np.delete(found, 1, axis=1)).all()


DESIGNS = ["gaussian", "heteroskedastic", "t3 errors", "lognormal x", "clustered"]


@pytest.mark.parametrize("design", DESIGNS)
def test_spread_has_the_law_of_the_slope_about_its_middle(bits, design):
    """Median of the spread over that of |slope - truth|: 1 but for 4 standard errors."""
    models, units, rows = 4000, 40, 5 if design == "clustered" else 1
    rng = np.random.default_rng(20260101)
    n = models * units * rows
    x = rng.standard_normal((n, 2))
    e = rng.standard_normal(n)
    if design == "heteroskedastic":
        e *= 0.5 + np.abs(x[:, 0])
    elif design == "t3 errors":
        e = rng.standard_t(3, n)
    elif design == "lognormal x":
        x = np.exp(x)
    elif design == "clustered":
        x = np.repeat(x[::rows], rows, axis=0) + 0.3 * x
        e += np.repeat(2 * rng.standard_normal(n // rows), rows)
    offsets = np.arange(0, n + 1, rows).astype(np.uint64)
    assignment = _core.assign_to_slots(n // rows, models, units, bits)
    found = fits(x, x.sum(axis=1) + e, assignment, log_spreads=True, unit_offsets=offsets,
                 unit_rows=np.arange(n).astype(np.uint64))  # fmt: skip
    slope, spread = found[:, 0] - 1, np.exp(found[:, 5])
    ratio = np.median(spread) / np.median(np.abs(slope))
    # The median of |N| has relative standard error 1.17 / sqrt(models); two of them.
    # Heteroskedastic scores are too small by up to 5% in batches of 40.
    slack = 0.05 if design in ("heteroskedastic", "clustered") else 0.0
    assert abs(ratio - 1) < 4 * 1.17 * np.sqrt(2 / models) + slack


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, -1e300, 5e-324, 0.0])
def test_total_on_odd_cells(bits, value):
    rng = np.random.default_rng(3)
    for share in (0.1, 0.5, 1.0):
        x, y = problem(60, 3)
        x[rng.random(x.shape) < share] = value
        y[rng.random(60) < share] = value
        assignment = _core.assign_to_slots(60, 6, 12, bits)
        for spreads in (False, True):
            assert not np.isnan(fits(x, y, assignment, ridge=0.03, log_spreads=spreads)).any()


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_fewer_rows_than_columns(bits, n):
    x, y = problem(4, 5)
    assignment = _core.assign_to_slots(n, 3, 2, bits)
    found = fits(x[:n], y[:n], assignment, ridge=0.03, refinements=4, log_spreads=True)
    assert found.shape == (3, 17)
    assert not np.isnan(found).any()


def test_no_columns_at_all(bits):
    y = np.arange(10.0)
    assignment = _core.assign_to_slots(10, 1, 10, bits)
    order = np.asarray(assignment.members, dtype=int)
    weights = 0.5 + (np.arange(1, 11) * 0.6180339887498949) % 1
    expected = np.average(y[order], weights=weights)
    np.testing.assert_allclose(fits(np.empty((10, 0)), y, assignment), [[expected]], rtol=1e-12)


def test_means_of_columns_with_two_values_are_not_tied(bits):
    """Ties at the median leave the boxes in the middle without volume."""
    x = (np.arange(2600) % 2).astype(float).reshape(-1, 1)
    assignment = _core.assign_to_slots(2600, 100, 26, bits)
    means = fits(x, np.zeros(2600), assignment)[:, 2]
    assert len(np.unique(means)) > 80  # plain means would have 27 values at most


def test_shapes_must_agree(bits):
    assignment = _core.assign_to_slots(3, 1, 3, bits)
    with pytest.raises(ValueError, match="same number of rows"):
        fits(np.ones((3, 2)), np.ones(4), assignment)


def test_wild_spread_is_not_fooled_by_the_order_of_the_rows(bits):
    """Sorted by y, alternating signs in data order would cancel the errors."""
    x, y = problem(40_000, 1)
    order = np.argsort(y)
    assignment = _core.assign_to_slots(40_000, 1000, 40, bits)
    sorted_ = fits(x[order], y[order], assignment, log_spreads=True)[:, 3]
    shuffled = fits(x, y, assignment, log_spreads=True)[:, 3]
    assert stats.ks_2samp(sorted_, shuffled).pvalue > 1e-6
