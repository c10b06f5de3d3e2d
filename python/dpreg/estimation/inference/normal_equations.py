"""The normal equations of AdaSSP, from a noisy matrix of moments.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.inference.covariance import EstimateError, hidden_by_floor
from dpreg.estimation.inference.shrinkage import likely_shares
from dpreg.estimation.releases.moments import floored_inverse

# Draws and their seed: the bootstrap is arithmetic on released values.
_DRAWS, _SEED = 400, 20260101
# Least share of a coefficient in the estimate for which bias is corrected.
_LEAST_KEPT = 0.7


def bootstrapped(
    moments: Doubles,
    deviation: float,
    theta: Doubles,
    residual: float,
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the estimate corrected for the bias of floor and noise, and its covariances.

    Treating the released matrix as the true H, sampling error and privacy noise are drawn and the
    equations solved many times (Ferrando, Wang and Sheldon, 2022).  The mean of (floored inverse of
    H + noise) H is the factor by which coefficients shrink along each eigenvector of H; the
    estimate is divided by it, unless most of the estimate would be noise there.

    moments: shape (w + 1, w + 1): noisy, of regressors and response.
    deviation: of the noise on its diagonal; divided by sqrt 2 elsewhere.
    theta: shape (w,): solution of the normal equations.
    residual: mean square of the residuals.
    Returns the estimate, and its covariances from sampling and from noise.
    """
    size = len(theta)
    if size == 0:
        return theta, np.zeros((0, 0)), np.zeros((0, 0))
    values, vectors = np.linalg.eigh(moments[:-1, :-1])
    values = np.maximum(values, deviation)
    # All in the basis of eigenvectors, in which noise has the same distribution.
    rng = np.random.default_rng(_SEED)
    noises = [_symmetric(size + 1, deviation, rng) for _ in range(_DRAWS)]
    inverses = [floored_inverse(np.diag(values) + e[:-1, :-1], deviation) for e in noises]
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


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """Noisy second moments of w standardised regressors and the response."""

    matrix: Doubles  # Shape (w + 1, w + 1): the response last.
    deviation: float  # Of the noise on its diagonal; 1 / sqrt 2 of it elsewhere.
    units: float  # Noisy number of units.

    @property
    def gram(self) -> Doubles:
        """Gram matrix of the regressors."""
        return self.matrix[:-1, :-1]

    @property
    def inverse(self) -> Doubles:
        """Inverse of the Gram matrix, with a floor under its eigenvalues."""
        return floored_inverse(self.gram, self.deviation)

    def residual(self, theta: Doubles) -> float:
        """Return the mean squared residual, at least what noise would make of 0."""
        cross, square = self.matrix[:-1, -1], float(self.matrix[-1, -1])
        total = square - 2 * float(theta @ cross) + float(theta @ self.gram @ theta)
        return max(total, self.deviation) / self.units

    def solution(self, *, bootstrap: bool) -> tuple[Doubles, EstimateError]:
        """Solve the equations; return the estimate and its error for homoscedastic residuals.

        At the true coefficients the equations have two errors: a sum over rows with covariance
        `residual` gram, and the noise of (cross - gram theta), with covariance (v / 2) ((1 +
        |theta|^2) I + theta theta') if v is the variance on the diagonal of the moments.
        """
        inverse = self.inverse
        theta = inverse @ self.matrix[:-1, -1]
        hidden = hidden_by_floor(self.gram, self.deviation)
        residual = self.residual(theta)
        if bootstrap:
            theta, sampling, privacy = bootstrapped(self.matrix, self.deviation, theta, residual)
            return theta, EstimateError(sampling, privacy, hidden)
        half = self.deviation**2 / 2
        noise = half * ((1 + theta @ theta) * np.eye(len(theta)) + np.outer(theta, theta))
        return theta, EstimateError(residual * inverse, inverse @ noise @ inverse, hidden)

    def predictor(self) -> Doubles:
        """Return the solution, shrunk according to its noise; see `likely_shares`."""
        theta, error = self.solution(bootstrap=False)
        curvature = np.asarray(np.linalg.inv(self.inverse))
        return np.asarray(likely_shares(curvature, self.units, theta, error.privacy) @ theta)
