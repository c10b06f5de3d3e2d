"""The second derivative of a loss, from a noisy matrix.  Everything here is public."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["steadied"]

Doubles = NDArray[np.float64]

# Least eigenvalue, as a share of the mean along the directions that were seen.
_LEAST = 0.1
# Least mean, as a share of the curvature that was expected.
_LEAST_MEAN = 0.02


def steadied(
    matrix: Doubles, deviation: float, seen: NDArray[np.bool_], expected: float
) -> Doubles:
    """Return a noisy matrix of second derivatives, pulled towards an equal curvature.

    Along directions with unit second moments curvatures differ little beside their mean, which
    is an average of many entries and far less noisy than each: the matrix is what is
    left of it beyond the share that noise alone would explain, and its mean for the rest.

    Parameters
    ----------
    matrix : ndarray, shape (w, w)
        Noisy, of a unit on average.
    deviation : float
        Of the noise on its diagonal; 1 / sqrt 2 of it elsewhere.
    seen : ndarray of bool, shape (w,)
        Along the others the mean stands for what was not seen.
    expected : float
        Curvature that was expected.

    Returns
    -------
    ndarray, shape (w, w)
        Positive definite.

    References
    ----------
    Ledoit and Wolf (2004), "A well-conditioned estimator for large-dimensional covariance
    matrices".
    """
    size = int(seen.sum())
    result = expected * np.eye(len(matrix))
    if size == 0:
        return result
    within = matrix[np.ix_(seen, seen)]
    mean = max(float(np.trace(within)) / size, _LEAST_MEAN * expected)
    apart = within - mean * np.eye(size)
    energy = float((apart**2).sum())
    noise = deviation**2 * size * (size + 1) / 2
    kept = max(0.0, 1 - noise / energy) if energy > 0 else 0.0
    values, vectors = np.linalg.eigh(mean * np.eye(size) + kept * apart)
    values = np.maximum(values, _LEAST * mean)
    result = mean * np.eye(len(matrix))
    result[np.ix_(seen, seen)] = (vectors * values) @ vectors.T
    return result
