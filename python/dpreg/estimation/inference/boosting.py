"""How much of what boosting found is kept.  Everything here is public."""

from __future__ import annotations

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.inference.covariance import at_least
from dpreg.estimation.inference.shrinkage import likely_shares

# Eigenvalues of a noisy Gram matrix below this many deviations of the noise are not told from it.
_LEAST_SEEN = 3.0


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
