"""How much of an estimate to keep where noise would swamp predictions.  Everything is public."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SHRUNK_NOTE", "kept_shares"]

Doubles = NDArray[np.float64]

# Noise in predictions up to which coefficients are not shrunk, as a share of the variance of the
# response.
_SWAMPED = 0.5

SHRUNK_NOTE = (
    "coefficients are shrunk, or predictions would be mostly noise: this many coefficients "
    "need more rows or a larger epsilon"
)


def kept_shares(gram: Doubles, units: float, estimate: Doubles, noise: Doubles) -> Doubles:
    """Return what to multiply the estimate by; the identity where noise is small.

    Noise along an eigenvector of the Gram matrix adds its variance times the eigenvalue to the
    error of predictions.  Coefficients are kept as they are up to half of the variance of the
    response, an equal part of it for each direction, and beyond that about as a prior of equal
    parts would have it.  Noise is taken as no less than what the estimate explains beyond the
    variance of the response.

    Parameters
    ----------
    gram : ndarray, shape (w, w)
        Of standardised rows; positive definite.
    units : float
        Number of rows.
    estimate : ndarray, shape (w,)
        For a response of variance 1.
    noise : ndarray, shape (w, w)
        Covariance of the privacy noise in it.

    Returns
    -------
    ndarray, shape (w, w)
        Symmetric.
    """
    if gram.size == 0:
        return np.eye(len(gram))
    values, vectors = np.linalg.eigh(gram)
    variance = np.einsum("jk,jl,lk->k", vectors, noise, vectors)
    added = values * variance / units
    explained = float(estimate @ gram @ estimate) / units
    added *= max(1.0, (explained - 1) / added.sum()) if added.any() else 1.0
    factors = np.minimum(1.0, (1 + _SWAMPED) / (1 + len(added) * added))
    if (factors == 1.0).all():
        return np.eye(len(gram))
    return np.asarray((vectors * factors) @ vectors.T)
