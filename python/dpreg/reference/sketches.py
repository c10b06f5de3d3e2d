"""Regression by Gaussian sketches exactly as published, with bounds as arguments.

Noise is continuous, in double precision; rows are clipped to the bounds that are given.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import optimize

from dpreg.privacy.bits import bit_source
from dpreg.privacy.gdp import gdp_mu
from dpreg.reference._published import NOT_CLAIMED
from dpreg.reference.sums import PublishedFit, Rng, clipped_rows, gaussian, responses

_CLAIM = f"{NOT_CLAIMED}: continuous noise is rounded to doubles"


def sketch_epsilon(level: float, rows: int, times: int, delta: float) -> float:
    """Return epsilon of sketches of rows of norm 1.

    A sketch has `rows` normal vectors of covariance X'X + s I, of which the least eigenvalue is
    `level` or more. The Renyi divergence of order a between sketches of neighbours is at most
    rows / (2 (a - 1)) (a log(1 - 1/level) - log(1 - a/level)); Lev et al. (2025).

    Parameters
    ----------
    level : float
        Greater than 1.
    rows, times : int
        Rows of a sketch, and how many independent sketches there are.
    delta : float
    """

    def epsilon(order: float) -> float:
        loss = order * math.log1p(-1 / level) - math.log1p(-order / level)
        renyi = times * rows * loss / (2 * (order - 1))
        return renyi + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)

    def of_share(share: float) -> float:
        return epsilon(1 + (level - 1) * math.exp(share))

    found = optimize.minimize_scalar(of_share, bounds=(-14.0, -1e-9), method="bounded")
    return float(found.fun)


def _level(eps: float, delta: float, rows: int, times: int) -> float:
    """Return the least eigenvalue that sketches and a noisy least eigenvalue need."""

    def excess(log_level: float) -> float:
        level = math.exp(log_level)
        noisy_least = math.sqrt(2 * math.log(1.25 / delta) * rows) / level
        return sketch_epsilon(level, rows, times, delta) + noisy_least - eps

    return math.exp(optimize.brentq(excess, math.log(1.01), 40.0))


def iterative_hessian_mixing(
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    x_bound: float,
    y_bound: float,
    rounds: int = 3,
    factor: float = 6.0,
    rng: Rng = None,
) -> PublishedFit:
    """Lev et al. (2026), arXiv 2601.07545: Newton steps with a sketched Hessian.

    Half of eps goes to a fresh sketch of X a round and one noisy least eigenvalue, by which the
    noise of sketches is lowered; the other half to X' of residuals clipped to `y_bound`. A
    sketch is drawn by its law, normal rows of covariance X'X and noise.

    Parameters
    ----------
    X : array, shape (n, d)
    y : array, shape (n,)
    eps, delta : float
    x_bound, y_bound : float
        Euclidean norm of a row and size of a residual; rows and residuals beyond are clipped.
    rounds : int, default 3
    factor : float, default 6
        A sketch has `factor` times max(d, log(40 rounds / delta)) rows.
    rng : int or bit source, optional
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    bits = bit_source(rng)
    Z = clipped_rows(X, x_bound) / x_bound
    response = responses(y, len(Z), np.finfo(float).max) / y_bound
    d = Z.shape[1]
    k = int(factor * max(d, math.log(40 * rounds / delta)))
    level = _level(eps / 2, delta / 4, k, rounds)
    gram = Z.T @ Z
    noisy_least = float(np.linalg.eigvalsh(gram)[0]) + level / math.sqrt(k) * (
        float(gaussian((1,), bits)[0]) - math.sqrt(2 * math.log(40 / delta))
    )
    noise = max(0.0, level - max(0.0, noisy_least))
    values, vectors = np.linalg.eigh(gram)
    root = vectors * np.sqrt(np.maximum(values, 0.0) + noise)
    scale = math.sqrt(rounds) / gdp_mu(eps / 2, delta / 4)
    theta = np.zeros(d)
    for _ in range(rounds):
        sketch = gaussian((k, d), bits) @ root.T
        residual = np.clip(response - Z @ theta, -1, 1)
        step = Z.T @ residual + scale * gaussian((d,), bits)
        theta = theta + np.linalg.lstsq(sketch.T @ sketch / k, step, rcond=None)[0]
    form = "iterative Hessian mixing, Lev et al. (2026)"
    return PublishedFit(theta * y_bound / x_bound, form, _CLAIM)
