"""The normal equations of AdaSSP, from a noisy matrix of moments.  Everything here is public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.inference.bootstrap import bootstrapped
from dpreg.estimation.inference.covariance import EstimateError, hidden_by_floor
from dpreg.estimation.inference.shrinkage import likely_shares
from dpreg.estimation.releases.moments import floored_inverse


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """Noisy second moments of w standardised regressors and the response."""

    matrix: Doubles  # Shape (w + 1, w + 1): the response last.
    deviation: float  # Of the noise on its diagonal; 1 / sqrt 2 of it elsewhere.
    units: float  # Noisy number of units.

    @property
    def gram(self) -> Doubles:
        """Of the regressors."""
        return self.matrix[:-1, :-1]

    @property
    def inverse(self) -> Doubles:
        """Of the Gram matrix, its eigenvalues held at a floor."""
        return floored_inverse(self.gram, self.deviation)

    def residual(self, theta: Doubles) -> float:
        """Mean square of the residuals; no less than what noise would make of 0."""
        cross, square = self.matrix[:-1, -1], float(self.matrix[-1, -1])
        total = square - 2 * float(theta @ cross) + float(theta @ self.gram @ theta)
        return max(total, self.deviation) / self.units

    def solution(self, *, bootstrap: bool) -> tuple[Doubles, EstimateError]:
        """Solve the equations; return the estimate and its error, of errors of constant variance.

        The residual of the equations at the truth is a sum over rows, of covariance `residual`
        gram, and the noise of (cross - gram theta): with variance v on the diagonal of the moments
        and v / 2 elsewhere, (v / 2) ((1 + |theta|^2) I + theta theta').
        """
        inverse = self.inverse
        theta = inverse @ self.matrix[:-1, -1]
        hidden = hidden_by_floor(self.gram, self.deviation)
        residual = self.residual(theta)
        if bootstrap:
            theta, sampling, privacy = bootstrapped(
                self.matrix, self.deviation, theta, residual, floored_inverse
            )
            return theta, EstimateError(sampling, privacy, hidden)
        half = self.deviation**2 / 2
        noise = half * ((1 + theta @ theta) * np.eye(len(theta)) + np.outer(theta, theta))
        return theta, EstimateError(residual * inverse, inverse @ noise @ inverse, hidden)

    def predictor(self) -> Doubles:
        """Return the solution, shrunk as far as its noise asks for; see `likely_shares`."""
        theta, error = self.solution(bootstrap=False)
        curvature = np.asarray(np.linalg.inv(self.inverse))
        return np.asarray(likely_shares(curvature, self.units, theta, error.privacy) @ theta)
