"""What is sealed, opened for tests."""

from __future__ import annotations

from dpreg.privacy import sealed

__all__ = ["arrays_of", "count_of", "opened", "rows_of", "symmetric_of", "units_of"]


def opened(value):
    """Open for whoever asks: a module of the package that is no door, changed by a test, too."""
    return sealed.opened(value)


def arrays_of(design):
    """Return regressors and response."""
    arrays = opened(design.arrays())
    return arrays.X, arrays.y


def rows_of(design):
    return opened(design.records).rows


def units_of(design):
    return opened(design.records).units


def count_of(design):
    (count,) = opened(design.unit_count)
    return count


def symmetric_of(triangle):
    """Return a symmetric matrix of integers, of which the upper triangle is sealed."""
    import math

    import numpy as np

    entries = opened(triangle)
    width = math.isqrt(2 * len(entries))
    matrix = np.zeros((width, width), dtype=np.int64)
    matrix[np.triu_indices(width)] = entries
    return matrix + np.triu(matrix, 1).T
