"""The dispersion of negative binomial counts, from noisy sums about a released mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Sums
from dpreg.base.families import LARGEST_ALPHA, LEAST_ALPHA
from dpreg.data.design import Design
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.residuals import STEPS, Line
from dpreg.estimation.releases.standardisation import Scales
from dpreg.privacy.sealed import ExactSums

# Weights of the three sums: the noise of the first matters most.
_WEIGHTS = np.array([1.0, 0.6, 0.3])
# Excess squares are clipped at this multiple of their typical size if units times mu are the second
# number; it grows with these to the power of the third, and is at least the last (a count of 4).
_MOST, _UNITS, _GROWTH, _LEAST = 35.0, 500.0, 0.3, 10.0
# Rows with a squared mean above this multiple of that of the mean response get less weight.
_MEANS = 4.0
# The dispersion with which scores are weighted is between these.
_FIRST = (0.01, 20.0)
# Least sum of squared means, in standard deviations of its noise.
_SEEN = 3.0

# Largest l2 change of `DispersionSums` by one row, its entries times their weights.
DISPERSION_SENSITIVITY = STEPS * float(np.linalg.norm(_WEIGHTS))


@dataclass(frozen=True, slots=True)
class Dispersion:
    """The released dispersion."""

    alpha: float  # Of the variance mean + alpha mean^2.
    # Its standard error, with noise; NaN: `alpha` is the value used in the weights of scores.
    error: float

    @property
    def note(self) -> str:
        """Return the note under the model."""
        if math.isnan(self.error):
            return f"the dispersion alpha is not estimable at this eps; scores use {self.alpha:.3g}"
        return f"dispersion alpha = {self.alpha:.3g} (standard error {self.error:.2g})"


@dataclass(frozen=True, slots=True, eq=False)
class DispersionSums:
    """Sums of A / most, B / means and (A / most)^2, each clipped to [-1, 1], in steps.

    A = w ((y - mean)^2 - mean) and B = w mean^2 with w = (1 + alpha mean)^-2, or less so that B is
    no more than `means`: in expectation A is the dispersion times B.  One row moves them, times
    `_WEIGHTS`, by at most `DISPERSION_SENSITIVITY` together.
    """

    line: Line  # Of a family with the dispersion alpha of the weights.
    most: float
    means: float

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (3,)."""
        with np.errstate(all="ignore"):
            mean = self.line.means(X)
            weight = (1 + (self.line.family.alpha or 0.0) * mean) ** -2
            weight = np.fmin(weight, self.means / mean**2)
            a = np.fmin(np.fmax(weight * ((y - mean) ** 2 - mean) / self.most, -1.0), 1.0)
            b = np.fmin(np.fmax(weight * mean**2 / self.means, 0.0), 1.0)
        sums: Sums = np.rint(STEPS * np.stack([a, b, a * a])).astype(np.int64).sum(axis=1)
        return sums

    def seal(self, sums: Sums) -> ExactSums:
        return ExactSums(sums, DISPERSION_SENSITIVITY, weights=_WEIGHTS)


def first_alpha(variance: float, mean: float, square: float) -> float:
    """Return a dispersion with which scores are weighted.

    variance: of responses about their means.
    mean, square: mean of the means, and of their squares.
    """
    alpha = (variance - mean) / max(square, np.finfo(float).tiny)
    return min(max(alpha, _FIRST[0]), _FIRST[1])


def released_dispersion(
    design: Design, scales: Scales, line: Line, noise: GaussianReleases, mu: float
) -> Dispersion:
    """Release the dispersion about fitted means.

    design: private.
    scales: released.
    line: released, with the dispersion that weights have.

    Privacy
    -------
    guarantee : mu^2 of `noise`
    proof : dispersion.md
    """
    alpha, mean = line.family.alpha or 0.0, max(float(scales.centre[-1]), np.finfo(float).tiny)
    typical = mean / (1 + alpha * mean)
    wider = max(1.0, scales.units * mu / noise.rows / _UNITS) ** _GROWTH
    most, means = max(_MOST * wider * typical, _LEAST), _MEANS * typical**2
    exact = design.total(DispersionSums(line, most, means))
    sums, scale = noise.release("squares of residuals beyond the mean", exact, mu)
    excess, squares, fourth = sums / STEPS * np.array([most, means, most**2])
    noises = scale / _WEIGHTS[:2] / STEPS * np.array([most, means])
    if not squares > _SEEN * noises[1]:
        return Dispersion(alpha, math.nan)
    found = min(max(excess / squares, LEAST_ALPHA), LARGEST_ALPHA)
    variance = noises[0] ** 2 + (found * noises[1]) ** 2 + max(fourth, 0.0)
    return Dispersion(found, math.sqrt(variance) / squares)
