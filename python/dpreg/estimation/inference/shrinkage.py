"""How much of an estimate to keep where noise would swamp predictions.  Everything is public."""

from __future__ import annotations

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.inference.covariance import at_least

# Noise in predictions up to which coefficients are not shrunk, as a share of the variance of the
# response.
_SWAMPED = 0.5
# An estimate that explains more than this share of the variance of the response is not shrunk while
# noise is small: a few directions that explain nearly everything are not draws from one prior.
_EXPLAINED = 0.5
# The variance explained by directions may be equal, proportional to their second moment, or in
# between.
_POWERS = (0.0, 0.5, 1.0)
# Prior variances that are tried, from this share of the smallest noise to all that was estimated.
_LEAST_PRIOR, _PRIORS = 0.01, 200

SHRUNK_NOTE = (
    "the coefficients are shrunk towards zero because noise dominates; use fewer terms, more rows "
    "or a larger eps"
)
# Eigenvalues of a noisy Gram matrix below this many deviations of the noise are not significant.
_LEAST_SEEN = 3.0


def kept_shares(gram: Doubles, units: float, estimate: Doubles, noise: Doubles) -> Doubles:
    """Return what to multiply the estimate by; the identity where noise is small.

    Noise along an eigenvector of the Gram matrix adds its variance times the eigenvalue to the
    error of predictions.  Coefficients are kept as they are up to half of the variance of the
    response, an equal part of it for each direction, and beyond that about as a prior of equal
    parts would have it.  Noise is taken as no less than what the estimate explains beyond the
    variance of the response.

    gram, shape (w, w): of standardised rows; positive definite.
    units: number of rows.
    estimate, shape (w,): for a response of variance 1.
    noise, shape (w, w): covariance of the privacy noise in it.
    Returns: shape (w, w), symmetric.
    """
    if gram.size == 0:
        return np.eye(len(gram))
    _, vectors, _, added = _along_directions(gram, units, estimate, noise)
    factors = np.minimum(1.0, (1 + _SWAMPED) / (1 + len(added) * added))
    if (factors == 1.0).all():
        return np.eye(len(gram))
    return np.asarray((vectors * factors) @ vectors.T)


def likely_shares(gram: Doubles, units: float, estimate: Doubles, noise: Doubles) -> Doubles:
    """Return what to multiply the estimate by for the least error of predictions to be expected.

    Where it explains more than half of the variance of the response, see `kept_shares`.  Else what
    an eigenvector of the Gram matrix explains has a normal prior of mean 0, whose variance is
    in proportion to a power of the eigenvalue; power and variance are those under which what was
    found, noise included, is most likely (empirical Bayes).

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
    """Return what the two functions above look at, along the eigenvectors of the Gram matrix.

    Returns: values, vectors, shape (w,) and (w, w): of the eigendecomposition.
        found, shape (w,): what each direction explains: a standard deviation of predictions, with a
            sign.
        added, shape (w,): variance of the noise in that.
    """
    values, vectors = np.linalg.eigh(gram)
    variance = np.einsum("jk,jl,lk->k", vectors, noise, vectors)
    added = values * variance / units
    found = np.sqrt(values / units) * (estimate @ vectors)
    added *= max(1.0, (float(found @ found) - 1) / added.sum()) if added.any() else 1.0
    return values, vectors, found, added


def quieted(
    estimate: Doubles, gram: Doubles, deviation: float, step: Doubles, noise: Doubles, average: int
) -> Doubles:
    """Shrink the mean of the last rounds as far as its noise asks for; see `likely_shares`.

    A round is e -> (I - P H) e + P xi, with H the Gram matrix, P the step and xi the noise.

    estimate, shape (w,): mean of the last `average` iterates, in standardised units.
    gram, shape (w, w): noisy, with this deviation on its diagonal.
    step, shape (w, w): what gradients were multiplied by.
    noise, shape (rounds,): deviation of the noise of each gradient.
    """
    # No less than its noise.
    units = max(float(gram[0, 0]), deviation) if gram.size else 0.0
    held = at_least(gram, _LEAST_SEEN * deviation)
    covariance = _covariance(np.eye(len(held)) - step @ held, step, noise, average)
    return np.asarray(likely_shares(held, units, estimate, covariance) @ estimate)


def _covariance(forget: Doubles, step: Doubles, noise: Doubles, average: int) -> Doubles:
    """Covariance of the mean of the last rounds that comes from the noise of all rounds."""
    size = len(forget)
    found = np.zeros((size, size))
    reach, power = np.zeros((size, size)), np.eye(size)
    # The noise of round t is in the iterates t, ..., T; the last `average` of them count.
    for age, deviation in enumerate(noise[::-1]):
        if age < average:
            reach = reach + power / average
            power = power @ forget
        else:
            reach = reach @ forget
        part = reach @ step * deviation
        found += part @ part.T
    return found
