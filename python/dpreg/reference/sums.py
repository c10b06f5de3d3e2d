"""Linear and logistic regression by noisy sums exactly as printed, with bounds as arguments.

Noise is continuous, in double precision; rows are clipped to the bounds that are given.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy import optimize, sparse, special

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.privacy.bits import bit_source
from dpreg.privacy.gdp import gdp_mu
from dpreg.reference._published import (
    CONTINUOUS,
    PublishedFit,
    Rng,
    clipped_rows,
    gaussian,
    responses,
)


def _symmetric(d: int, bits: _core.BitSource) -> Doubles:
    upper = np.triu(gaussian((d, d), bits))
    return np.asarray(upper + np.triu(upper, 1).T)


def adassp(
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    x_bound: float,
    y_bound: float,
    failure: float = 0.05,
    rng: Rng = None,
) -> PublishedFit:
    """Wang (2018), Algorithm 2: three releases with a third of the budget each.

    Parameters
    ----------
    X : array, shape (n, d)
    y : array, shape (n,)
    eps, delta : float
    x_bound, y_bound : float
        Euclidean norm of a row and size of a response; rows beyond are clipped.
    failure : float, default 0.05
        rho in the paper.
    rng : int or bit source, optional
    """
    bits = bit_source(rng)
    rows = clipped_rows(X, x_bound)
    response = responses(y, len(rows), y_bound)
    d = rows.shape[1]
    log_term = math.log(6 / delta)
    unit = math.sqrt(log_term) / (eps / 3)
    gram = rows.T @ rows
    least = float(np.linalg.eigvalsh(gram)[0]) if d else 0.0
    noisy_least = least + unit * x_bound**2 * (float(gaussian((1,), bits)[0]) - math.sqrt(log_term))
    needed = math.sqrt(d * log_term * math.log(2 * d**2 / failure)) * x_bound**2 / (eps / 3)
    ridge = max(0.0, needed - max(noisy_least, 0.0))
    noisy_gram = gram + unit * x_bound**2 * _symmetric(d, bits)
    noisy_cross = rows.T @ response + unit * x_bound * y_bound * gaussian((d,), bits)
    theta = np.asarray(
        np.linalg.lstsq(noisy_gram + ridge * np.eye(d), noisy_cross, rcond=None)[0], np.float64
    )
    return PublishedFit(theta, "AdaSSP, Wang (2018), Algorithm 2", CONTINUOUS)


def boosted_adassp(
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    x_bound: float,
    y_bound: float,
    rounds: int = 100,
    failure: float = 0.05,
    rng: Rng = None,
) -> PublishedFit:
    """Tang et al. (2023), Algorithm 1: AdaSSP once, then its ridge on clipped residuals.

    One noisy X'X and ridge for all rounds, a noisy X'g of residuals clipped to `y_bound` each
    round, coefficients added up; Gaussian composition over the rounds + 2 releases of equal mu.
    For the parameters see `adassp`.
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    bits = bit_source(rng)
    rows = clipped_rows(X, x_bound)
    response = responses(y, len(rows), np.finfo(float).max)
    d = rows.shape[1]
    unit = math.sqrt(rounds + 2) / gdp_mu(eps, delta)
    gram = rows.T @ rows
    least = float(np.linalg.eigvalsh(gram)[0]) if d else 0.0
    noisy_least = least + unit * x_bound**2 * float(gaussian((1,), bits)[0])
    needed = math.sqrt(d * math.log(2 * d**2 / failure)) * unit * x_bound**2
    ridge = max(0.0, needed - max(noisy_least, 0.0))
    noisy_gram = gram + unit * x_bound**2 * _symmetric(d, bits) + ridge * np.eye(d)
    theta = np.zeros(d)
    for _ in range(rounds):
        residual = np.clip(response - rows @ theta, -y_bound, y_bound)
        noisy = rows.T @ residual + unit * x_bound * y_bound * gaussian((d,), bits)
        theta = theta + np.linalg.lstsq(noisy_gram, noisy, rcond=None)[0]
    return PublishedFit(theta, "Boosted AdaSSP, Tang et al. (2023), Algorithm 1", CONTINUOUS)


def sketch_epsilon(level: float, rows: int, times: int, delta: float) -> float:
    """Return epsilon of sketches of rows of norm 1.

    A sketch has `rows` normal vectors of covariance X'X + s I, of which the least eigenvalue is
    `level` or more. The Renyi divergence of order a between sketches of neighbours is at most
    rows / (2 (a - 1)) (a log(1 - 1/level) - log(1 - a/level)); Lev et al. (2025).

    level: greater than 1.
    rows, times: rows of a sketch, and how many independent sketches there are.
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

    Half of eps is spent on a fresh sketch of X per round and one noisy smallest eigenvalue, by
    which the noise of sketches is lowered; the other half on X' times residuals clipped to
    `y_bound`.  A sketch is drawn by its law, normal rows of covariance X'X and noise.

    Parameters
    ----------
    factor : float, default 6
        A sketch has `factor` times max(d, log(40 rounds / delta)) rows.
    X, y, eps, delta, x_bound, y_bound, rounds, rng
        As for `boosted_adassp`.
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
    return PublishedFit(theta * y_bound / x_bound, form, CONTINUOUS)


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
    loss : {"squared", "logistic"}
        Of the logistic loss y is 0 or 1.
    ridge : float, default 0
        Added to what privacy needs; the penalty is half of it times the squared norm.
    X, y, eps, delta, x_bound, y_bound, rng
        As for `adassp`.

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
    return PublishedFit(
        theta,
        "objective perturbation, Kifer et al. (2012), Algorithm 1",
        f"{CONTINUOUS}, and the minimum is approximate",
    )


def _least_squares(
    rows: Doubles, y: Doubles, noise: Doubles, penalty: float, radius: float
) -> Doubles:
    """Minimise within a ball: there the ridge is the least that keeps the norm within it."""
    values, vectors = np.linalg.eigh(rows.T @ rows)
    target = vectors.T @ (rows.T @ y - noise)

    def norm(more: float) -> float:
        return float(np.linalg.norm(target / (values + penalty + more)))

    most = float(np.linalg.norm(target)) / radius
    more = optimize.brentq(lambda m: norm(m) - radius, 0.0, most) if norm(0.0) > radius else 0.0
    return np.asarray(vectors @ (target / (values + penalty + more)))


def _logistic(rows: Doubles, y: Doubles, noise: Doubles, penalty: float) -> Doubles:
    design = sparse.csr_array(rows)  # mostly of indicators, as logistic regression often is
    transposed = design.T.tocsr()

    def objective(theta: Doubles) -> tuple[float, Doubles]:
        eta = np.asarray(design @ theta)
        value = np.sum(np.logaddexp(0, eta) - y * eta) + penalty * theta @ theta / 2
        gradient = np.asarray(transposed @ (special.expit(eta) - y)) + penalty * theta + noise
        return float(value + noise @ theta), gradient

    found = optimize.minimize(
        objective, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B",
        options={"maxiter": 10_000, "ftol": 1e-13, "gtol": 1e-6},
    )  # fmt: skip
    return np.asarray(found.x)
