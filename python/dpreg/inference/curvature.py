"""The second derivative of a loss, from a noisy matrix.  Everything here is public."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["held_back", "steadied"]

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


def held_back(
    way: Doubles, effects: Doubles, inverse: Doubles, deviation: float, farthest: float
) -> Doubles:
    """Return a step of which no effect is larger than `farthest`.

    Where noise alone makes an effect larger it is held at that, and the rest of the step goes to
    where the loss is least given so much: what noise does along a direction that few rows have
    leaves the others alone.  Where another is larger the whole step is shorter.

    Parameters
    ----------
    way : ndarray, shape (w,)
    effects : ndarray, shape (k, w)
        What steps are multiplied by to give their effects.
    inverse : ndarray, shape (w, w)
        Of the curvature of the loss.
    deviation : float
        Of the noise in each entry of the score.
    farthest : float
    """
    spread = effects @ inverse
    noisy = deviation * np.sqrt((spread**2).sum(axis=1)) > farthest
    held, step = np.zeros(len(effects), dtype=bool), way
    for _ in range(int(noisy.sum())):
        beyond = (np.abs(effects @ step) > farthest) & noisy & ~held
        if not beyond.any():
            break
        held |= beyond
        there = effects[held] @ way
        excess = there - np.clip(there, -farthest, farthest)
        back = np.linalg.lstsq(spread[held] @ effects[held].T, excess, rcond=None)[0]
        step = way - spread[held].T @ back
    most = float(np.abs(effects @ step).max(initial=0.0))
    return np.asarray(step * min(1.0, farthest / max(most, np.finfo(float).tiny)))
