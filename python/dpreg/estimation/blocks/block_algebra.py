"""Linear algebra of many small systems, element by element: none depends on what stands beside it.

No matrix product, whose last bits may depend on the shapes of all.
"""

from __future__ import annotations

import numpy as np

from dpreg.base.arrays import Doubles


def inner(a: Doubles, b: Doubles) -> Doubles:
    """Return a'b, of each pair of rows."""
    total = np.zeros(len(a))
    for j in range(a.shape[1]):
        total = total + a[:, j] * b[:, j]
    return total


def times(matrix: Doubles, vector: Doubles) -> Doubles:
    """Return M v, of each pair."""
    total = np.zeros_like(vector)
    for j in range(vector.shape[1]):
        total = total + matrix[:, :, j] * vector[:, j : j + 1]
    return total


def quadratic(matrix: Doubles, z: Doubles) -> Doubles:
    """Return z' M z, of each pair."""
    return inner(times(matrix, z), z)


def inverted(matrix: Doubles) -> Doubles:
    """Return inverses of positive definite matrices, by Gauss and Jordan."""
    size = matrix.shape[1]
    left, right = matrix.copy(), np.broadcast_to(np.eye(size), matrix.shape).copy()
    for k in range(size):
        pivot = left[:, k, k].copy()[:, None]
        left[:, k], right[:, k] = left[:, k] / pivot, right[:, k] / pivot
        for j in range(size):
            if j != k:
                factor = left[:, j, k].copy()[:, None]
                left[:, j] -= factor * left[:, k]
                right[:, j] -= factor * right[:, k]
    return right
