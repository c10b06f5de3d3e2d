"""Columns side by side: what numpy makes of them, and which rows are finite."""

from __future__ import annotations

import numpy as np
import pytest

from dpreg import _core

SPECIAL = [0.0, -0.0, 1.5, 5e-324, -1e308, np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("width", range(10))
@pytest.mark.parametrize("rows", [0, 1, 255, 256, 257, 1000])
def test_rows_are_those_of_numpy_bit_by_bit(rows, width):
    rng = np.random.default_rng(rows + width)
    table = rng.standard_normal((rows, width))
    odd = rng.random((rows, width)) < 0.1
    table[odd] = rng.choice(SPECIAL, odd.sum())
    layouts = [
        [np.ascontiguousarray(column) for column in table.T],
        [np.asfortranarray(table)[:, j] for j in range(width)],
        [np.repeat(table, 2, axis=0)[::2, j] for j in range(width)],
        [np.ascontiguousarray(column[::-1])[::-1] for column in table.T],
    ]
    for columns in layouts:
        X, finite = _core.side_by_side(columns, rows)
        assert X.shape == (rows, width)
        assert X.flags.c_contiguous
        np.testing.assert_array_equal(X.view(np.int64), table.view(np.int64))
        np.testing.assert_array_equal(finite, np.isfinite(table).all(axis=1))


def test_columns_are_as_long_as_is_said():
    for columns in ([np.ones(3), np.ones(2)], [np.ones(2)]):
        with pytest.raises(ValueError, match="as long"):
            _core.side_by_side(columns, 3)
