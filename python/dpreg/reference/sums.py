"""AdaSSP and Boosted AdaSSP exactly as printed, with bounds as arguments.

Noise is continuous, in double precision; rows are clipped to the bounds that are given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpreg import _core
from dpreg.mechanisms._inputs import doubles
from dpreg.privacy.bits import bit_source
from dpreg.privacy.gdp import gdp_mu
from dpreg.reference._published import NOT_CLAIMED

Rng = int | _core.BitSource | None
Floats = NDArray[np.float64]

_CONTINUOUS = f"{NOT_CLAIMED}: continuous noise is rounded to doubles"


@dataclass(frozen=True, slots=True, eq=False)
class PublishedFit:
    """Coefficients made by a form as printed.

    Attributes
    ----------
    params : ndarray, shape (d,)
        No intercept: add a column of ones to X.
    form : str
        Paper and algorithm.
    claim : str
        What is known of its privacy.
    """

    params: Floats
    form: str
    claim: str

    def __str__(self) -> str:
        return f"{self.form}: {self.params}\n{self.claim}"

    __repr__ = __str__


def gaussian(shape: tuple[int, ...], bits: _core.BitSource) -> Floats:
    """Return normal numbers, as exact as doubles are."""
    uniforms = _core.uniform_open(bits, math.prod(shape)).reshape(shape)
    return np.asarray(stats.norm.ppf(uniforms))


def _symmetric(d: int, bits: _core.BitSource) -> Floats:
    upper = np.triu(gaussian((d, d), bits))
    return np.asarray(upper + np.triu(upper, 1).T)


def clipped_rows(X: Any, bound: float) -> Floats:
    """Return rows, those longer than `bound` scaled to it."""
    rows = doubles("X", X, 2)
    if not 0 < bound < np.inf:
        raise ValueError(f"x_bound must be finite and greater than 0, got {bound!r}")
    norms = np.linalg.norm(rows, axis=1)
    return np.asarray(rows * (bound / np.maximum(norms, bound))[:, None])


def responses(y: Any, n: int, bound: float) -> Floats:
    """Return one response for each of n rows, within `bound` of 0."""
    if not 0 < bound < np.inf:
        raise ValueError(f"y_bound must be finite and greater than 0, got {bound!r}")
    response = doubles("y", y, 1)
    if len(response) != n:
        raise ValueError("X and y must have the same number of rows")
    return np.clip(response, -bound, bound)


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
    return PublishedFit(theta, "AdaSSP, Wang (2018), Algorithm 2", _CONTINUOUS)


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
    return PublishedFit(theta, "Boosted AdaSSP, Tang et al. (2023), Algorithm 1", _CONTINUOUS)
