"""Symmetric matrices with noise.  Everything here is public."""

from __future__ import annotations

import math

import numpy as np

from dpreg.base.arrays import Doubles


def without_spread(values: Doubles, deviation: float) -> Doubles:
    """Return the noiseless second moments along the eigenvectors of a noisy matrix.

    Noise spreads eigenvalues and rotates eigenvectors: along its eigenvectors the noiseless matrix
    is smaller than large eigenvalues and larger than small ones.  For noise with this deviation on
    the diagonal, divided by sqrt 2 elsewhere, the difference is deviation^2 sum over j != k of 1 /
    (value_k - value_j); close eigenvalues get less weight.

    References
    ----------
    Bun, Allez, Bouchaud, Potters (2016), "Rotational invariant estimator for general noisy
    matrices", IEEE Transactions on Information Theory 62, additive case.
    """
    gaps = values[:, None] - values
    least = np.finfo(float).tiny  # Without noise nothing is added.
    closer = gaps / np.maximum(gaps**2 + deviation**2, least)
    return np.asarray(values - deviation**2 * closer.sum(axis=1))


def symmetric_root(moments: Doubles, *, centred: bool) -> Doubles:
    """Return the map of rows with these second moments to unit second moments.

    New coordinates are as close as possible to the old ones divided by their standard deviation, so
    a row that is large in one column is large in one coordinate.

    moments: shape (w, w): positive definite.
    centred: the first entry of rows is an intercept, and the others are centred.
    """
    if not len(moments):
        return moments
    result = np.zeros_like(moments)
    if not centred:
        return _root(moments)
    mean = moments[0, 1:] / moments[0, 0]
    inner = _root(moments[1:, 1:] - np.outer(mean, mean) * moments[0, 0])
    result[0, 0] = 1 / math.sqrt(moments[0, 0])
    result[1:, 1:] = inner
    result[0, 1:] = -mean @ inner
    return result


def _root(moments: Doubles) -> Doubles:
    sizes = np.sqrt(np.maximum(np.diag(moments), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(moments / np.outer(sizes, sizes))
    inverse = (vectors / np.sqrt(np.maximum(values, 1e-12))) @ vectors.T
    return np.asarray(inverse / sizes[:, None])
