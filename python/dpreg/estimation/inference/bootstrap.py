"""Parametric bootstrap of AdaSSP: the whole estimate drawn again from what was released."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpreg.base.arrays import Doubles

# Draws, and their seed: no more than arithmetic on what was released.
_DRAWS, _SEED = 400, 20260101
# Share of a coefficient that the estimate must have for the rest to be made up.
_LEAST_KEPT = 0.7


def bootstrapped(
    moments: Doubles,
    deviation: float,
    theta: Doubles,
    residual: float,
    invert: Callable[[Doubles, float], Doubles],
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the estimate without the bias of floor and noise, and its covariances.

    With the released matrix as if it were the true one, H, sampling error and privacy noise are
    drawn, and the equations solved, many times (Ferrando, Wang and Sheldon, 2022).  The mean of
    (floored inverse of H + noise) H is what a coefficient is multiplied by along each eigenvector
    of H; the estimate is divided by it, unless most of what is there would be noise.

    moments: shape (w + 1, w + 1): noisy, of regressors and response.
    deviation: of the noise on its diagonal; 1 / sqrt 2 of it elsewhere.
    theta: shape (w,): solution of the normal equations.
    residual: mean square of the residuals.
    invert: what the equations were solved by: inverts a noisy matrix, given its deviation.
    Returns the estimate, and its covariances by sampling and by noise.
    """
    size = len(theta)
    if size == 0:
        return theta, np.zeros((0, 0)), np.zeros((0, 0))
    values, vectors = np.linalg.eigh(moments[:-1, :-1])
    values = np.maximum(values, deviation)
    # All in the basis of eigenvectors, where noise has the same law.
    rng = np.random.default_rng(_SEED)
    noises = [_symmetric(size + 1, deviation, rng) for _ in range(_DRAWS)]
    inverses = [invert(np.diag(values) + e[:-1, :-1], deviation) for e in noises]
    kept = np.mean([np.diag(inverse) * values for inverse in inverses], axis=0)
    back = np.where(kept < _LEAST_KEPT, 1.0, 1 / np.maximum(kept, _LEAST_KEPT))
    estimate = back * (vectors.T @ theta)
    privacy, sampling = np.zeros((size, size)), np.zeros((size, size))
    for noise, inverse in zip(noises, inverses, strict=True):
        solve = back[:, None] * inverse
        off = solve @ (values * estimate + noise[:-1, -1]) - estimate
        privacy += np.outer(off, off) / _DRAWS
        sampling += residual * (solve * values) @ solve.T / _DRAWS
    sampling, privacy = (vectors @ part @ vectors.T for part in (sampling, privacy))
    return vectors @ estimate, sampling, privacy


def _symmetric(size: int, deviation: float, rng: np.random.Generator) -> Doubles:
    noise = np.triu(rng.normal(0, deviation / math.sqrt(2), (size, size)), 1)
    return noise + noise.T + np.diag(rng.normal(0, deviation, size))
