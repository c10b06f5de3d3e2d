"""Shrinkage of estimates where noise would dominate predictions.  Everything is public."""

from __future__ import annotations

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.inference.covariance import at_least

# Coefficients are not shrunk while the noise variance of predictions is below this share of the
# variance of the response.
_LARGEST_NOISE_SHARE = 0.5
# An estimate that explains more than this share of the variance of the response is not shrunk while
# noise is small: a few dominant directions are not draws from a common prior.
_EXPLAINED = 0.5
# Prior variance explained by a direction: its second moment to one of these powers.
_POWERS = (0.0, 0.5, 1.0)
# Grid of prior variances, from this share of the smallest noise variance to the largest estimate.
_LEAST_PRIOR, _PRIORS = 0.01, 200

SHRUNK_NOTE = (
    "the coefficients are shrunk towards zero because noise dominates; use fewer terms, more rows "
    "or a larger eps"
)
# Eigenvalues of a noisy Gram matrix below this many deviations of the noise are not significant.
_SIGNIFICANT_SD = 3.0


def kept_shares(gram: Doubles, units: float, estimate: Doubles, noise: Doubles) -> Doubles:
    """Return the matrix that shrinks the estimate; the identity where noise is small.

    Noise along an eigenvector of the Gram matrix adds its variance times the eigenvalue to the
    prediction error.  A direction is not shrunk while this is below an equal part of half the
    variance of the response; beyond that it is shrunk about as by a prior of equal parts.  Noise is
    assumed to be at least the explained variance beyond that of the response.

    gram, shape (w, w): of standardised rows; positive definite.
    units: number of rows.
    estimate, shape (w,): for a response of variance 1.
    noise, shape (w, w): covariance of the privacy noise in it.
    Returns: shape (w, w), symmetric.
    """
    if gram.size == 0:
        return np.eye(len(gram))
    _, vectors, _, added = _along_directions(gram, units, estimate, noise)
    factors = np.minimum(1.0, (1 + _LARGEST_NOISE_SHARE) / (1 + len(added) * added))
    if (factors == 1.0).all():
        return np.eye(len(gram))
    return np.asarray((vectors * factors) @ vectors.T)


def likely_shares(gram: Doubles, units: float, estimate: Doubles, noise: Doubles) -> Doubles:
    """Return the matrix that shrinks the estimate to minimise the expected prediction error.

    If the estimate explains more than half of the variance of the response, see `kept_shares`.
    Otherwise the contribution of an eigenvector of the Gram matrix has a normal prior with mean 0
    and variance proportional to a power of the eigenvalue; power and variance maximise the marginal
    likelihood of the noisy estimate (empirical Bayes).

    Parameters are as for `kept_shares`.

    Returns: shape (w, w), symmetric.
    """
    if gram.size == 0:
        return np.eye(len(gram))
    values, vectors, found, added = _along_directions(gram, units, estimate, noise)
    most = float((found**2).max())
    if most == 0 or (added == 0).any():
        return np.eye(len(gram))
    if float((found**2 - added).sum()) > _EXPLAINED:
        return kept_shares(gram, units, estimate, noise)
    variances = np.geomspace(_LEAST_PRIOR * float(added.min()), most + float(added.max()), _PRIORS)
    shapes = np.array([(values / values.max()) ** power for power in _POWERS])
    priors = (variances[:, None, None] * shapes).reshape(-1, len(values))
    totals = priors + added
    best = int(np.argmin((np.log(totals) + found**2 / totals).sum(axis=1)))
    return np.asarray((vectors * (priors[best] / totals[best])) @ vectors.T)


def _along_directions(
    gram: Doubles, units: float, estimate: Doubles, noise: Doubles
) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Return the contributions of the eigenvectors of the Gram matrix, and their noise.

    Returns: values, vectors, shape (w,) and (w, w): of the eigendecomposition.
        found, shape (w,): signed standard deviation of predictions along each direction.
        added, shape (w,): variance of the noise in that.
    """
    values, vectors = np.linalg.eigh(gram)
    variance = np.einsum("jk,jl,lk->k", vectors, noise, vectors)
    added = values * variance / units
    found = np.sqrt(values / units) * (estimate @ vectors)
    added *= max(1.0, (float(found @ found) - 1) / added.sum()) if added.any() else 1.0
    return values, vectors, found, added


def shrunk_mean(
    estimate: Doubles, gram: Doubles, deviation: float, step: Doubles, noise: Doubles, average: int
) -> Doubles:
    """Shrink the mean of the last rounds according to its noise; see `likely_shares`.

    A round is e -> (I - P H) e + P xi, with H the Gram matrix, P the step and xi the noise.

    estimate, shape (w,): mean of the last `average` iterates, in standardised units.
    gram, shape (w, w): noisy, with this deviation on its diagonal.
    step, shape (w, w): matrix that multiplies gradients.
    noise, shape (rounds,): deviation of the noise of each gradient.
    """
    # No less than its noise.
    units = max(float(gram[0, 0]), deviation) if gram.size else 0.0
    held = at_least(gram, _SIGNIFICANT_SD * deviation)
    covariance = _covariance(np.eye(len(held)) - step @ held, step, noise, average)
    return np.asarray(likely_shares(held, units, estimate, covariance) @ estimate)


def _covariance(forget: Doubles, step: Doubles, noise: Doubles, average: int) -> Doubles:
    """Return the covariance of the mean of the last rounds due to the noise of all rounds."""
    size = len(forget)
    found = np.zeros((size, size))
    reach, power = np.zeros((size, size)), np.eye(size)
    # The noise of round t is in the iterates t, ..., T, of which the last `average` are used.
    for age, deviation in enumerate(noise[::-1]):
        if age < average:
            reach = reach + power / average
            power = power @ forget
        else:
            reach = reach @ forget
        part = reach @ step * deviation
        found += part @ part.T
    return found
