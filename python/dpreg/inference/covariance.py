"""Covariance of coefficients from noisy sums: sampling error and privacy noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpreg.inference.shrinkage import kept_shares
from dpreg.sums.moments import floor_of

__all__ = [
    "BoostingPath",
    "EstimateError",
    "boosting_error",
    "hidden_by_floor",
    "quieted",
    "unidentified_note",
    "user_errors",
]

Doubles = NDArray[np.float64]

# A coefficient is not identified when what regularisation may hide of it makes its interval
# this many times as wide; up to that the interval is as wide as that.
_WIDEST = 5.0
# Eigenvalues of a noisy Gram matrix below this many deviations of the noise are not told from it.
_LEAST_SEEN = 3.0
# Variances of coefficients may differ by about this share from what they would be with errors of
# constant variance.
_VARIANCES_DIFFER = 1.0
# Share of a coefficient that may be left for the estimate to tell its size.
_MOST_LEFT = 0.3


@dataclass(frozen=True, slots=True)
class BoostingPath:
    """What boosting released, in standardised units; w is the width of a row.

    Attributes
    ----------
    estimate : ndarray, shape (w,)
        Mean of the last `average` iterates.
    clip : float
        That the next round would have used.
    residual : float
        Root mean square residual, clipped.
    gram : ndarray, shape (w, w)
        Noisy.
    gram_deviation : float
        Of the noise on its diagonal.
    step : ndarray, shape (w, w)
        What gradients were multiplied by.
    deviations : ndarray, shape (rounds,)
        Of the noise of each gradient.
    average : int
    kept : ndarray, shape (w, w)
        What `estimate` was multiplied by, see `quieted`; symmetric.
    """

    estimate: Doubles
    clip: float
    residual: float
    gram: Doubles
    gram_deviation: float
    step: Doubles
    deviations: Doubles
    average: int
    kept: Doubles

    @property
    def units(self) -> float:
        """Noisy number of units, as the Gram matrix has it, and no less than its noise."""
        return max(float(self.gram[0, 0]), self.gram_deviation) if self.gram.size else 0.0

    @property
    def shrunk(self) -> bool:
        """Whether `quieted` changed the estimate."""
        return not np.array_equal(self.kept, np.eye(len(self.kept)))

    @property
    def left_to_explain(self) -> float:
        """Sum of squares of the residuals, which bounds what a hidden coefficient explains."""
        return self.units * self.residual**2


@dataclass(frozen=True, slots=True)
class EstimateError:
    """Error of an estimate in standardised units.

    Attributes
    ----------
    sampling, privacy : ndarray, shape (w, w)
        Covariances; they add up.
    hidden : ndarray, shape (w, w)
        Second moment of what regularisation may hide.
    """

    sampling: Doubles
    privacy: Doubles
    hidden: Doubles


def boosting_error(
    path: BoostingPath, scatter: Doubles, deviation: float, unclipped: float
) -> EstimateError:
    """Linearise the rounds about the root of the score.

    A round is e -> (I - P H) e + P xi, with H = unclipped * gram the derivative of the sum of
    clipped residuals times rows, P the step and xi the noise.  The root itself is off by
    H^-1 times a sum with covariance `scatter`.

    Parameters
    ----------
    path : BoostingPath
    scatter : ndarray, shape (w, w)
        Noisy second moments of the gradient.
    deviation : float
        Of the noise on their diagonal.
    unclipped : float
        Noisy share of residuals within the clip.
    """
    share = min(max(unclipped, 0.5), 1.0)
    held = _at_least(path.gram, _LEAST_SEEN * path.gram_deviation)
    inverse = np.asarray(np.linalg.inv(share * held))
    sampling = sandwich(inverse, held * path.residual**2, scatter, deviation)
    privacy = _noise(path, share * held)
    hidden = hidden_by_floor(path.gram, path.gram_deviation, path)
    lost = np.eye(len(path.kept)) - path.kept
    hidden += lost @ np.linalg.inv(held) @ lost * path.left_to_explain
    return EstimateError(path.kept @ sampling @ path.kept, path.kept @ privacy @ path.kept, hidden)


def sandwich(bread: Doubles, constant: Doubles, scatter: Doubles, deviation: float) -> Doubles:
    """Return bread @ scatter @ bread, for a noisy scatter.

    Each variance is that of the noisy scatter where its noise is small beside what errors of
    constant variance would have, and turns to the latter as the noise grows: where noise hides
    the difference, privacy noise in the coefficient outweighs it.  Correlations are those of
    the scatter with positive eigenvalues.

    Parameters
    ----------
    bread : ndarray, shape (w, w)
        Symmetric.
    constant : ndarray, shape (w, w)
        What `scatter` would be if errors had constant variance; positive definite.
    scatter : ndarray, shape (w, w)
    deviation : float
        Of the noise on the diagonal of `scatter`; 1 / sqrt 2 of it elsewhere.
    """
    shape = bread @ _at_least(scatter, 1e-9 * float(np.trace(constant))) @ bread
    expected = np.diag(bread @ constant @ bread)
    seen = np.diag(bread @ scatter @ bread)
    # v' N v has deviation `deviation` |v|^2 for the noise N.
    noise = deviation * (bread**2).sum(axis=0)
    trust = expected**2 / (expected**2 + (noise / _VARIANCES_DIFFER) ** 2)
    least = np.minimum(noise, expected / 2)
    variances = np.maximum(expected + trust * (seen - expected), least)
    ratio = np.sqrt(variances / np.diag(shape))
    return shape * np.outer(ratio, ratio)


def quieted(path: BoostingPath) -> BoostingPath:
    """Shrink the estimate along directions whose noise would swamp predictions.

    What shrinking may hide counts as hidden; see `kept_shares`.
    """
    held = _at_least(path.gram, _LEAST_SEEN * path.gram_deviation)
    kept = kept_shares(held, path.units, path.estimate, _noise(path, held))
    return replace(path, estimate=kept @ path.estimate, kept=kept)


def _noise(path: BoostingPath, curvature: Doubles) -> Doubles:
    """Covariance of the mean of the last rounds that comes from the noise of all rounds."""
    size, rounds = len(curvature), len(path.deviations)
    forget = np.eye(size) - path.step @ curvature
    noise = np.zeros((size, size))
    reach, power = np.zeros((size, size)), np.eye(size)
    # The noise of round t is in the iterates t, ..., T; the last `average` of them count.
    for age in range(rounds):
        if age < path.average:
            reach = reach + power / path.average
            power = power @ forget
        else:
            reach = reach @ forget
        part = reach @ path.step * path.deviations[rounds - 1 - age]
        noise += part @ part.T
    return noise


def hidden_by_floor(gram: Doubles, deviation: float, path: BoostingPath | None = None) -> Doubles:
    """Second moment of the bias along directions whose eigenvalue is near or below the floor.

    Along a direction with true eigenvalue g, held at F, t rounds leave a share (1 - g / F)^t of
    the coefficient; g is what was seen less what noise may have added, and not negative.  The
    coefficient is taken from the estimate when most of it is there; otherwise, and without a
    path, it is as large as would explain all that is left of the response.

    Parameters
    ----------
    gram : ndarray, shape (w, w)
        Noisy.
    deviation : float
        Of the noise on its diagonal.
    path : BoostingPath, optional
        Default: one step, and a response of variance 1.
    """
    if gram.size == 0 or not deviation > 0:
        return np.zeros_like(gram)
    values, vectors = np.linalg.eigh(gram)
    floor = floor_of(values, deviation)
    units = max(float(gram[0, 0]), floor) * (1.0 if path is None else path.residual**2)
    # Noise can raise the largest of `small` eigenvalues by about this.
    small = int((values < deviation * math.sqrt(2 * len(values))).sum())
    reach = deviation * max(1.0, math.sqrt(small))
    rounds, average = (1, 1) if path is None else (len(path.deviations), path.average)
    hidden = np.zeros_like(gram)
    for value, vector in zip(values, vectors.T, strict=True):
        if value > 2 * floor:
            continue
        left = _share_left(value - reach, max(value, floor), rounds, average)
        size = left**2 * units / floor
        if path is not None and left < _MOST_LEFT:
            size = (float(vector @ path.estimate) * left / (1 - left)) ** 2
        hidden += size * np.outer(vector, vector)
    return hidden


def _share_left(value: float, held: float, rounds: int, average: int) -> float:
    """Share of a coefficient that the mean of the last rounds leaves, with eigenvalue `value`."""
    ages = np.arange(rounds - average + 1, rounds + 1)
    return float(np.mean((1 - min(max(value, 0.0) / held, 1.0)) ** ages))


def _at_least(matrix: Doubles, least: float) -> Doubles:
    """Return the symmetric matrix with eigenvalues below `least` set to it."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def user_errors(
    error: EstimateError | None, to_user: Doubles, trusted: NDArray[np.bool_]
) -> tuple[Doubles | None, Doubles | None, NDArray[np.bool_]]:
    """Return covariance, sampling errors and which coefficients are hidden, in user units.

    Hidden coefficients have NaN errors, and so have those of columns that are not used or whose
    limits are not `trusted`, which has the response after them.
    """
    unused = np.asarray(~to_user.any(axis=1), dtype=bool)
    unused[len(unused) - len(trusted) + 1 :] |= ~trusted[:-1]
    if error is None:
        return None, None, unused
    covariance = to_user @ (error.sampling + error.privacy + error.hidden) @ to_user.T
    known = np.diag(to_user @ (error.sampling + error.privacy) @ to_user.T)
    hidden = unused | (np.diag(to_user @ error.hidden @ to_user.T) > (_WIDEST**2 - 1) * known)
    sampling = np.sqrt(np.diag(to_user @ error.sampling @ to_user.T))
    covariance[hidden, :] = covariance[:, hidden] = np.nan
    return covariance, np.where(hidden, np.nan, sampling), hidden


def unidentified_note(hidden: NDArray[np.bool_], coefficients: tuple[str, ...]) -> tuple[str, ...]:
    """Name the coefficients that cannot be told at this eps, if there are any."""
    if not hidden.any():
        return ()
    if hidden.all():
        return (
            "nothing is identified at this eps: give bounds, of the response first, take fewer "
            "columns, or find more rows or a larger epsilon",
        )
    names = ", ".join(name for name, h in zip(coefficients, hidden, strict=True) if h)
    return (
        f"not identified at this eps: {names}; where one of them is 0, the others are those of a "
        "model without it",
    )
