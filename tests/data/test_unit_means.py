"""One row a unit: means against a slow definition, and what a unit that leaves changes."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from unsealed import arrays_of, count_of

from dpreg.data.design import Design, Terms, Units
from dpreg.data.sampling import one_row_a_unit

TERMS = Terms("y", ("a", "b"), True)
UNKNOWN = np.full((3, 2), np.nan)


def design(labels, seed=1):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((len(labels), 2)), rng.standard_normal(len(labels))
    return Design.of(X, y, TERMS, Units.from_labels(np.asarray(labels, dtype=np.int64)))


@pytest.mark.parametrize("labels", [[], [4], [4, 4], [3, 1, 3, 3, 2, 1], list(range(9))])
@pytest.mark.parametrize("bounds", [UNKNOWN, np.array([[-0.5, 0.3], [np.nan] * 2, [0.1, 0.2]])])
def test_means_of_each_unit(labels, bounds):
    found, table = one_row_a_unit(design(labels), bounds), design(labels)
    low, high = np.where(np.isnan(bounds), [-np.inf, np.inf], bounds).T
    frame = pd.DataFrame(np.column_stack(arrays_of(table)).clip(low, high))
    expected = frame.groupby(np.asarray(labels, dtype=np.int64)).mean().to_numpy().reshape(-1, 3)
    assert np.column_stack(arrays_of(found)) == pytest.approx(expected, abs=1e-15)
    assert not found.by_unit
    assert count_of(found) == count_of(table)


def test_a_unit_that_leaves_is_a_row_that_leaves():
    labels = np.array([3, 1, 3, 3, 2, 1, 7])
    whole = design(labels)
    X, y = arrays_of(whole)
    for gone in np.unique(labels):
        kept = labels != gone
        less = Design.of(X[kept], y[kept], TERMS, Units.from_labels(labels[kept]))
        rows = arrays_of(one_row_a_unit(whole, UNKNOWN))[0]
        rest = np.delete(rows, np.flatnonzero(np.unique(labels) == gone), axis=0)
        assert np.array_equal(arrays_of(one_row_a_unit(less, UNKNOWN))[0], rest)


def test_without_units_nothing_is_done():
    plain = Design.of(np.ones((2, 2)), np.ones(2), TERMS)
    assert one_row_a_unit(plain, UNKNOWN) is plain


def test_huge_cells_are_no_warning():
    table = Design.of(np.full((3, 2), 1e308), np.full(3, -1e308), TERMS,
                   Units.from_labels(np.array([1, 1, 1])))  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(arrays_of(one_row_a_unit(table, UNKNOWN))[0]).all()
