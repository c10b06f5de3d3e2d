"""The normal equations of AdaSSP, from a noisy matrix of moments.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg.estimation.inference.bootstrap import bootstrapped
from dpreg.estimation.inference.covariance import EstimateError, hidden_by_floor
from dpreg.estimation.inference.shrinkage import kept_shares, likely_shares
from dpreg.estimation.releases.moments import floored_inverse

__all__ = ["RESPONSE_LIMIT", "NoisyMoments", "response_limit"]

Doubles = NDArray[np.float64]

# Clip of the response in its standard deviations, and how wide it may grow.
RESPONSE_LIMIT, _MOST_LIMIT = 4.0, 30.0
# As wide a clip as lets the noise of a sum of products be this share of its sampling error.
_NOISE_RATIO = 0.3


def response_limit(units: float, row_limit: float, mu: float) -> float:
    """Return the clip of the response, in its standard deviations.

    It grows as the fourth root of the units, which makes the result that of least squares in
    the limit, whatever the errors with a finite third moment.

    Parameters
    ----------
    units : float
        Noisy number.
    row_limit : float
        Norm of the longest row of regressors.
    mu : float
        Of the release of the moments.
    """
    squared = _NOISE_RATIO * mu * math.sqrt(max(units, 1.0)) - row_limit**2
    return min(math.sqrt(max(squared, RESPONSE_LIMIT**2)), _MOST_LIMIT)


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """Noisy second moments of w standardised regressors and the response.

    Attributes
    ----------
    matrix : ndarray, shape (w + 1, w + 1)
        The response last.
    deviation : float
        Of the noise on its diagonal; 1 / sqrt 2 of it elsewhere.
    units : float
        Noisy number of units.
    """

    matrix: Doubles
    deviation: float
    units: float

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

    def quieted(self, theta: Doubles, error: EstimateError) -> tuple[Doubles, EstimateError, bool]:
        """Shrink the estimate where noise would swamp predictions, and say whether it was.

        What shrinking may hide counts as hidden.
        """
        inverse = self.inverse
        kept = kept_shares(np.asarray(np.linalg.inv(inverse)), self.units, theta, error.privacy)
        lost = np.eye(len(kept)) - kept
        if not lost.any():
            return theta, error, False
        hidden = error.hidden + lost @ inverse @ lost * self.residual(theta) * self.units
        privacy, sampling = kept @ error.privacy @ kept, kept @ error.sampling @ kept
        return kept @ theta, EstimateError(sampling, privacy, hidden), True
