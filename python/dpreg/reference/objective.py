"""Objective perturbation exactly as printed, for linear and logistic regression.

Noise is continuous, in double precision; rows are clipped to the bounds that are given.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from dpreg.privacy.bits import bit_source
from dpreg.reference._published import NOT_CLAIMED
from dpreg.reference.sums import PublishedFit, Rng, clipped_rows, gaussian, responses

Floats = NDArray[np.float64]

_CLAIM = f"{NOT_CLAIMED}: continuous noise is rounded to doubles, and the minimum is approximate"


def objective_perturbation(
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    x_bound: float,
    y_bound: float = 1.0,
    loss: Literal["squared", "logistic"] = "squared",
    ridge: float = 0.0,
    rng: Rng = None,
) -> PublishedFit:
    """Kifer, Smith and Thakurta (2012), Algorithm 1 with Gaussian noise.

    The minimum of the losses, a ridge and a random linear term. Neighbours differ in the values
    of one row. For squared loss, half the squared residual, coefficients are kept within norm
    `y_bound` / `x_bound`, as the bound on gradients needs them bounded.

    Parameters
    ----------
    X : array, shape (n, d)
    y : array, shape (n,)
        0 or 1 for logistic loss.
    eps, delta : float
    x_bound, y_bound : float
        Euclidean norm of a row and size of a response; rows beyond are clipped.
    loss : {"squared", "logistic"}
    ridge : float, default 0
        Added to what privacy needs; the penalty is half of it times the squared norm.
    rng : int or bit source, optional

    Raises
    ------
    ValueError
        If a bound is not finite and greater than 0, or a response of logistic loss not 0 or 1.
    """
    bits = bit_source(rng)
    rows = clipped_rows(X, x_bound)
    response = responses(y, len(rows), y_bound)
    if loss == "logistic" and not np.isin(response, (0, 1)).all():
        raise ValueError("y must be 0 or 1 for logistic loss")
    slope = 2 * x_bound * y_bound if loss == "squared" else x_bound
    curvature = x_bound**2 if loss == "squared" else x_bound**2 / 4
    scale = slope * math.sqrt(8 * math.log(2 / delta) + 4 * eps) / eps
    noise = scale * gaussian((rows.shape[1],), bits)
    penalty = 2 * curvature / eps + ridge
    if loss == "squared":
        theta = _least_squares(rows, response, noise, penalty, y_bound / x_bound)
    else:
        theta = _logistic(rows, response, noise, penalty)
    return PublishedFit(theta, "objective perturbation, Kifer et al. (2012), Algorithm 1", _CLAIM)


def _least_squares(rows: Floats, y: Floats, noise: Floats, penalty: float, radius: float) -> Floats:
    """Minimise within a ball: there the ridge is the least that keeps the norm within it."""
    values, vectors = np.linalg.eigh(rows.T @ rows)
    target = vectors.T @ (rows.T @ y - noise)

    def norm(more: float) -> float:
        return float(np.linalg.norm(target / (values + penalty + more)))

    most = float(np.linalg.norm(target)) / radius
    more = optimize.brentq(lambda m: norm(m) - radius, 0.0, most) if norm(0.0) > radius else 0.0
    return np.asarray(vectors @ (target / (values + penalty + more)))


def _logistic(rows: Floats, y: Floats, noise: Floats, penalty: float) -> Floats:
    design = sparse.csr_array(rows)  # mostly of indicators, as logistic regression often is
    transposed = design.T.tocsr()

    def objective(theta: Floats) -> tuple[float, Floats]:
        eta = np.asarray(design @ theta)
        value = np.sum(np.logaddexp(0, eta) - y * eta) + penalty * theta @ theta / 2
        gradient = np.asarray(transposed @ (special.expit(eta) - y)) + penalty * theta + noise
        return float(value + noise @ theta), gradient

    start = np.zeros(rows.shape[1])
    found = optimize.minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 10_000, "ftol": 1e-13, "gtol": 1e-6},
    )
    return np.asarray(found.x)
