"""Where rounds of a family start, and what its loss is to the core.  Everything here is public."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpreg.families import GAUSSIAN, Family
from dpreg.sums.quantised import SQUARED, RowLoss
from dpreg.sums.rows import StandardUnits
from dpreg.sums.standardisation import Scales
from dpreg.sums.two_values import two_values

__all__ = [
    "CONSTANT_LOSS",
    "CONSTANT_RESIDUAL",
    "WorkingModel",
    "least_squares",
    "loss_of",
    "natural_sizes",
    "predictor_range",
    "range_note",
    "working_model",
]

Doubles = NDArray[np.float64]

# A mean response at the end of its range is moved this share of the range inwards, or as far as
# there would be one such response, or as a deviation of its noise.
_INWARDS = 1e-3
# Where responses are below 0, rounds start from this share of the largest: steps from a mean that
# is too large are short, and those from one that is too small are not.
_POSITIVE = 0.25
# Linear predictors beyond these change a probability by less than 1e-17 and 1e-15.
_MOST_LOGIT = 40.0
_MOST_PROBIT = 8.0
# Responses up to this many times what nearly all are below count as they are,
_FAR = 4.0
# and means are at least e to this power smaller.
_LOG_REACH = 30.0
# Logarithms of means are within this of 0, so that means and their squares times rows are doubles.
_MOST_PREDICTOR = 300.0
# Standardised responses and their predictors are clipped to this.
_MOST_STANDARD = 500.0
# Bandwidth of a quantile loss with 10,000 rows, and the least one.
_BANDWIDTH, _LEAST_BANDWIDTH = 0.1, 0.01
# Least eigenvalue of the curvature of normal rows, as a share of its mean.
_LEAST_EXPECTED = 0.1
# and as a share of where rounds start.
_LEAST_CURVATURE = 0.01
# For integrals over a normal variable.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Of rows whose norms are counted.
CONSTANT_RESIDUAL = 0.5
# Of a box with so many sides all corners are looked at.
_MOST_CORNERS = 10


@dataclass(frozen=True, slots=True)
class WorkingModel:
    """What rounds know before they release anything.

    Attributes
    ----------
    start : ndarray, shape (w,)
        Coefficients to start from, and to shrink to.
    curvature : float
        Of the loss of a row there.
    most_curvature : float
        It is never larger anywhere.
    scale : float
        What one standard deviation of the response is worth in the linear predictor.
    deviation : float
        Of the response; 0: scores are counted to see how large they are.
    dispersion : float
        Mean square of a score over its curvature, where the family fixes it; 0: it is counted.
    most_score : float
        No score of a row is longer.
    family : Family
    constant : ndarray, shape (w,), or None
        What rows are multiplied by to give 1; None without an intercept.
    effects : ndarray, shape (width, w), or None
        What coordinates are multiplied by to give what each regressor does to linear predictors
        far from its mean; None: predictors are standardised.
    moments : ndarray, shape (w,), or None
        Second moments of rows along coordinates, with an identity link; None: 1 each.
    """

    start: Doubles
    curvature: float = 1.0
    most_curvature: float = 1.0
    scale: float = 1.0
    deviation: float = 0.0
    dispersion: float = 0.0
    most_score: float = math.inf
    family: Family = GAUSSIAN
    constant: Doubles | None = None
    effects: Doubles | None = None
    moments: Doubles | None = None

    def curvature_at(self, theta: Doubles) -> Doubles:
        """Return the curvature at coefficients, as it would be were the rows normal.

        With z = e + x, e'z = 1 and x normal with second moments of 1 at right angles to e, the
        linear predictor is a + s t, t normal, and curvature is a matter of three integrals over t.

        Returns
        -------
        ndarray, shape (w, w)
            Positive definite.
        """
        size = len(theta)
        if self.family.link == "identity":
            moments = np.ones(size) if self.moments is None else self.moments
            return self.curvature * np.diag(moments)
        level, centre = np.zeros(size), 0.0
        if self.constant is not None:
            # Noise in second moments leaves it not quite of length 1.
            length = float(np.linalg.norm(self.constant))
            level, centre = self.constant / length, float(theta @ self.constant) / length**2
        across = theta - float(theta @ level) * level
        spread = float(np.linalg.norm(across))
        along = across / max(spread, np.finfo(float).tiny)
        weights = self.family.slope(np.clip(centre + spread * _NODES, -_MOST_LOGIT, _MOST_LOGIT))
        weights = np.minimum(weights, self.most_curvature)
        zero, one, two = (float(_WEIGHTS @ (weights * _NODES**k)) for k in range(3))
        turn = np.outer(level, along)
        result = zero * np.eye(size) + one * (turn + turn.T) + (two - zero) * np.outer(along, along)
        values, vectors = np.linalg.eigh(result)
        least = max(_LEAST_EXPECTED * zero, _LEAST_CURVATURE * self.curvature)
        return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def least_squares(width: int) -> WorkingModel:
    """Return the model of a linear regression in standard units."""
    return WorkingModel(np.zeros(width))


def working_model(
    family: Family,
    scales: Scales,
    units: StandardUnits,
    change: Doubles,
    given: tuple[int, ...] = (),
    *,
    weighed: bool = False,
) -> WorkingModel:
    """Return the model with the mean response for all rows.

    Parameters
    ----------
    family : Family
    scales : Scales
        Released.
    units : StandardUnits
    change : ndarray, shape (width, w)
        What standardised rows are multiplied by.
    given : tuple of int
        Columns that are added to the linear predictor.
    weighed : bool
        Rows have weights.
    """
    if family.least_squares:
        return least_squares(change.shape[1])
    mean = _inside(float(scales.centre[-1]), family, scales)
    predictor = family.predictor(mean)
    curvature = float(family.slope(np.array([predictor]))[0])
    spread = float(scales.scale[-1])
    if family.level is not None:
        # As if the response were normal; it is in standard units.
        predictor, spread = float(special.ndtri(family.level)), 1.0
        curvature = math.exp(-(predictor**2) / 2) / math.sqrt(2 * math.pi)
    offset = float(scales.centre[list(given)].sum())
    start, constant = np.zeros(change.shape[1]), None
    if units.intercept:
        constant = np.linalg.lstsq(change, np.eye(len(change))[0], rcond=None)[0]
        start = (predictor - offset) * constant
    deviation = spread
    if family.name == "binomial":
        deviation = math.sqrt(mean * (1 - mean) if family.link == "probit" else curvature)
    if family.level is not None:
        deviation = math.sqrt(family.level * (1 - family.level))
    longest = family.most_residual * _longest_row(scales, units, change)
    if weighed:
        longest = math.inf
    effects = None
    if not family.standardised:
        effects = two_values(scales, units).farther[:, None] * change
    return WorkingModel(
        start=start,
        curvature=curvature,
        most_curvature=_most_curvature(family, scales),
        scale=deviation / curvature if family.link in ("log", "probit") else curvature**-0.5,
        deviation=deviation,
        dispersion=1.0 if family.link == "logit" and not weighed else 0.0,
        most_score=longest,
        family=family,
        constant=constant,
        effects=effects,
    )


def _longest_row(scales: Scales, units: StandardUnits, change: Doubles) -> float:
    """Return a length that no row exceeds, given public bounds of all columns."""
    if not scales.given[units.columns].all():
        return math.inf
    ends = np.stack([scales.low[units.columns], scales.high[units.columns]])
    first = int(units.intercept)
    middle = change[0] if first else np.zeros(change.shape[1])
    middle = middle + ((ends.mean(axis=0) - units.centre) / units.scale) @ change[first:]
    halves = ((ends[1] - ends[0]) / 2 / units.scale)[:, None] * change[first:]
    if len(halves) > _MOST_CORNERS:
        lengths = np.sqrt((halves**2).sum(axis=1))
        return float(np.sqrt((middle**2).sum()) + lengths.sum())
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(halves))), dtype=float)
    corners = middle + signs @ halves
    return float(np.sqrt((corners**2).sum(axis=1).max(initial=0.0)))


def natural_sizes(family: Family, scales: Scales, units: StandardUnits) -> Doubles | None:
    """Return how many standard deviations of each regressor a prior takes for one; None: one.

    A level that few rows have has a small deviation, and what it does to a linear predictor is
    known no better for that: half of the distance of public limits is one at least.

    Returns
    -------
    ndarray, shape (width,), or None
    """
    if family.standardised:
        return None
    halves = (scales.high[units.columns] - scales.low[units.columns]) / 2
    sizes = np.where(scales.given[units.columns], np.maximum(1.0, halves / units.scale), 1.0)
    return np.concatenate([np.ones(int(units.intercept)), sizes])


def _inside(mean: float, family: Family, scales: Scales) -> float:
    low, high = float(scales.low[-1]), float(scales.high[-1])
    if family.link == "log" and low < 0:
        low, high = 0.0, (high if high > 0 else -low)
        if float(scales.scale[-1]) ** 2 > mean * (high - mean):
            # Responses in [low, high] vary less: some are below 0, which count as 0.
            mean = max(mean, _POSITIVE * high)
    share = 1 / scales.units
    if family.name == "binomial":
        share = max(share, _noise_of_mean(scales) / (high - low))
    margin = max(_INWARDS, min(0.25, share)) * (high - low)
    return min(max(mean, low + margin), high - margin)


def _noise_of_mean(scales: Scales) -> float:
    """Return the deviation of the noise in the mean response, from that in its variance.

    Both are of sums with the same noise, of u and u^2 with u from -1 to 1 between the limits.
    """
    if not scales.spread[-1] > 1:
        return math.inf
    half = float(scales.high[-1] - scales.low[-1]) / 2
    u = (float(scales.centre[-1]) - float(scales.low[-1])) / half - 1
    return float(scales.scale[-1] ** 2 / scales.spread[-1]) / (half * math.sqrt(1 + 4 * u**2))


def loss_of(family: Family, scales: Scales) -> RowLoss:
    """Return the loss of a row, given what was released of the response."""
    if family.least_squares:
        return SQUARED
    if family.link == "log":
        low, high = predictor_range(scales)
        return RowLoss(family.loss, (0.0, math.exp(high)), (low, high))
    if family.level is not None:
        reach = (-_MOST_STANDARD, _MOST_STANDARD)
        return RowLoss(family.loss, reach, reach, family.level, _bandwidth(scales))
    most = _MOST_PROBIT if family.link == "probit" else _MOST_LOGIT
    return RowLoss(family.loss, (0.0, 1.0), (-most, most))


def predictor_range(scales: Scales) -> tuple[float, float]:
    """Return the limits of linear predictors of a log link.

    The upper one is the logarithm of the largest response that counts, `_FAR` times as far from 0
    as where nearly all responses are.
    """
    farthest = max(abs(float(scales.low[-1])), abs(float(scales.high[-1])), np.finfo(float).tiny)
    high = math.log(_FAR) + math.log(farthest)
    high = min(max(high, _LOG_REACH - _MOST_PREDICTOR), _MOST_PREDICTOR)
    return high - _LOG_REACH, high


def range_note(family: Family, scales: Scales) -> tuple[str, ...]:
    """Say where responses and means were cut off, if they were."""
    if family.link != "log":
        return ()
    high = math.exp(predictor_range(scales)[1])
    return (f"responses and means are clipped at {high:.3g}, and responses below 0 at 0",)


def _bandwidth(scales: Scales) -> float:
    """Of a smooth quantile loss, in standard deviations of the response."""
    return min(max(_BANDWIDTH * math.pow(scales.units / 1e4, -0.4), _LEAST_BANDWIDTH), 1.0)


def _most_curvature(family: Family, scales: Scales) -> float:
    if family.link == "log":
        return float(math.exp(predictor_range(scales)[1]))
    if family.level is not None:
        return 0.25 / _bandwidth(scales)
    return float(family.slope(np.zeros(1))[0])


# Of rows whose norms are counted: residuals are `CONSTANT_RESIDUAL`, whatever the responses.
CONSTANT_LOSS = RowLoss("quantile", (1e3, 1e3), level=CONSTANT_RESIDUAL)
