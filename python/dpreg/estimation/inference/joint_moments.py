"""Any regression from one noisy matrix of second moments.  Everything here is public.

Rows are u = z M, with z the standardised columns, the 1 first; only G = sum of u u' + N is known.
A column, or a combination of columns, is a vector p with value u'p in each row, and the sum of
products of u'p and u'q has noise p'Nq.  N has independent entries, with variance s^2 on the
diagonal and s^2 / 2 elsewhere, so its distribution is invariant under rotations: for orthonormal
vectors Q the noise of Q'GQ has the same distribution.  A regression of some columns on others
therefore has this noise, whatever the other columns are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.inference.covariance import EstimateError, hidden_by_floor
from dpreg.estimation.inference.normal_equations import NoisyMoments
from dpreg.estimation.releases.moments import floor_of

# The first stage must have at least this multiple of the largest singular value of noise alone;
# otherwise errors are multiplied by the second number, and all coefficients are blank.
_STRONG_STAGE, _WEAK_FACTOR = 1.5, 100.0


@dataclass(frozen=True, slots=True)
class SquaredNorm:
    """Sum of squares of a combination of columns, and the vector of that combination."""

    value: float  # Noisy, corrected for what fitting adds to it.
    vector: Doubles  # Shape (w,).


@dataclass(frozen=True, slots=True)
class Regression:
    """Coefficients of the regressors, in the units of the given vectors."""

    theta: Doubles  # Shape (k,).
    error: EstimateError  # For elliptically distributed rows.
    residual: SquaredNorm  # Of the residuals.


@dataclass(frozen=True, slots=True)
class JointMoments:
    """Second moments of all columns together."""

    # Shape (w, w): column j is the vector of the j-th standardised column, the 1 first.
    basis: Doubles
    matrix: Doubles  # Shape (w, w): noisy.
    deviation: float  # Of the noise on its diagonal; divided by sqrt 2 elsewhere.
    units: float  # Noisy number of rows.
    kurtosis: float = 1.0  # Sampling variances are this multiple of the normal ones.

    def product(self, first: Doubles, second: Doubles) -> Doubles:
        """Return noisy sums of products of vectors, or of matrices of vectors."""
        return np.asarray(first.T @ self.matrix @ second)

    def noise(self, first: Doubles, second: Doubles) -> float:
        """Return the covariance of the noise in the squared norms along two vectors."""
        return self.deviation**2 * float(first @ second) ** 2

    def regression(self, regressors: Doubles, response: Doubles) -> Regression:
        """Regress one vector, of length w, on others, shape (w, k).

        It is solved on orthonormal vectors, for which noise has the same distribution as in
        `matrix`.  Fitting the noise reduces the residual sum of squares, to second order by (s^2 /
        2) ((1 + |theta|^2) tr(A^-1) + theta' A^-1 theta), which is added back.
        """
        k = regressors.shape[1]
        Q, R = np.linalg.qr(np.column_stack([regressors, response]))
        moments = NoisyMoments(self.product(Q, Q), self.deviation, self.units)
        along, error = moments.solution(bootstrap=False)
        inverse, half = moments.inverse, self.deviation**2 / 2
        trace = float(np.trace(inverse))
        own = max(float(moments.matrix[-1, -1]), self.deviation) / self.units
        hidden = hidden_by_floor(moments.gram, self.deviation) * own
        gained = half * float((1 + along @ along) * trace + along @ inverse @ along)
        left = moments.residual(along) * self.units + gained
        back = np.linalg.pinv(R[:k, :k]) if k else np.empty((0, 0))
        scale = float(R[k, k]) if len(R) > k else 0.0
        theta = back @ (scale * along + R[:k, k])
        degrees = self.kurtosis * self.units / max(self.units - k, 1.0)
        error = EstimateError(error.sampling * degrees, error.privacy, hidden)
        error = error.along(scale * back)
        residual = SquaredNorm(scale**2 * left, response - regressors @ theta)
        return Regression(theta, error, residual)

    def two_stages(
        self, regressors: Doubles, instruments: Doubles, response: Doubles
    ) -> Regression:
        """Two-stage least squares.

        With B = (X'P X)^-1 X'Z (Z'Z)^-1, P the projection on the instruments, the error is B Z'(y -
        X theta).  Its variance has two parts: noise in the moments of Z with the residual, and the
        residual variance times (X'P X)^-1.
        """
        Q, _ = np.linalg.qr(instruments)
        inverse = np.linalg.inv(_floored(self.product(Q, Q), self.deviation))
        first = inverse @ self.product(Q, regressors)
        bread = np.linalg.pinv(self.product(Q, regressors).T @ first)
        weights = bread @ first.T
        theta = weights @ self.product(Q, response)
        vector = response - regressors @ theta
        left = max(float(self.product(vector, vector)), self.deviation * float(vector @ vector))
        along = Q.T @ vector
        half = self.deviation**2 / 2
        noise = half * (float(vector @ vector) * np.eye(len(along)) + np.outer(along, along))
        k = regressors.shape[1]
        variance = left / max(self.units - k, 1.0)
        sampling, privacy = self.kurtosis * variance * bread, weights @ noise @ weights.T
        # The first stage must exceed the noise, for vectors of norm 1.
        _, sizes, _ = np.linalg.svd(self.product(Q, np.linalg.qr(regressors)[0]))
        told = sizes[-1] > _STRONG_STAGE * self.deviation * math.sqrt(2 * len(along)) if k else True
        hidden = np.zeros((k, k)) if told else _WEAK_FACTOR * (sampling + privacy)
        error = EstimateError(sampling, privacy, hidden)
        return Regression(theta, error, SquaredNorm(left, vector))

    def determination(
        self, residual: SquaredNorm, total: SquaredNorm, k: int
    ) -> tuple[float, float, float]:
        """Return R squared, and its standard deviations from sampling and from noise.

        The first assumes elliptically distributed rows; its square is 4 R^2 (1 - R^2)^2 / n for
        normal rows.

        residual, total: of the residuals of a model, and of the model with the intercept alone.
        k: number of regressors, without the intercept.
        """
        share = residual.value / total.value
        squared = min(max(1 - share, 0.0), 1.0)
        a, b = residual.vector, total.vector
        variance = self.noise(a, a) - 2 * share * self.noise(a, b) + share**2 * self.noise(b, b)
        sampling = 2 * math.sqrt(max(squared, k / self.units)) * (1 - squared)
        sampling *= math.sqrt(self.kurtosis / self.units)
        return squared, sampling, math.sqrt(max(variance, 0)) / total.value


def _floored(gram: Doubles, deviation: float) -> Doubles:
    values, vectors = np.linalg.eigh(gram)
    return np.asarray((vectors * np.maximum(values, floor_of(values, deviation))) @ vectors.T)
