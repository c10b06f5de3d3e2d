"""Starting values of a family, and its loss for the core.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles
from dpreg.base.families import GAUSSIAN, Family
from dpreg.estimation.releases.quantised import RowLoss
from dpreg.estimation.releases.residuals import MOST_PREDICTOR
from dpreg.estimation.releases.rows import FAR, StandardUnits
from dpreg.estimation.releases.standardisation import Scales

# A mean response at the end of its range is moved inwards by this share of the range, or by one
# response, or by a standard deviation of its noise.
_INWARDS = 1e-3
# If responses are below 0, rounds start from this share of the largest: steps from a mean that is
# too large are small, those from one that is too small are not.
_POSITIVE = 0.25
# Linear predictors beyond these change a probability by less than 1e-17 and 1e-15.
_MOST_LOGIT, _MOST_PROBIT = 40.0, 8.0
# Logarithm of the ratio of the largest response to the smallest mean.
_LOG_REACH = 30.0
# Standardised responses and their predictors are clipped to this.
_MOST_STANDARD = 500.0
# Bandwidth of a quantile loss with 10,000 rows, and the least one.
_BANDWIDTH, _LEAST_BANDWIDTH = 0.1, 0.01
# Of rows whose norms are counted.
CONSTANT_RESIDUAL = 0.5


@dataclass(frozen=True, slots=True)
class WorkingModel:
    """Starting values and loss, before any release."""

    start: Doubles  # Shape (w,): coefficients to start from, and to shrink to.
    curvature: float = 1.0  # Of the loss of a row there.
    # Change of the linear predictor equivalent to one standard deviation of the response.
    scale: float = 1.0
    # Typical residual, as weighted in the score; 0: found from counts of scores.
    deviation: float = 0.0
    family: Family = GAUSSIAN
    mean: float = 0.5  # Mean response there.
    # Combination of rows that is 1; None without an intercept.
    constant: Doubles | None = None


def working_model(
    family: Family,
    scales: Scales,
    units: StandardUnits,
    change: Doubles,
    given: tuple[int, ...] = (),
) -> WorkingModel:
    """Return the model that predicts the mean response in all rows.

    scales: released.
    change: shape (width, w): map of standardised rows.
    given: offsets.
    """
    mean = _inside(float(scales.centre[-1]), family, scales)
    predictor = family.predictor(mean)
    curvature = float(family.curvature(np.array([predictor]))[0])
    spread = float(scales.scale[-1]) * float(family.weight(np.array([predictor]))[0])
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
        deviation = math.sqrt(curvature if family.link == "logit" else mean * (1 - mean))
    if family.level is not None:
        deviation = math.sqrt(family.level * (1 - family.level))
    return WorkingModel(
        start=start,
        curvature=curvature,
        scale=curvature**-0.5 if family.link in ("identity", "logit") else deviation / curvature,
        deviation=deviation,
        family=family,
        mean=mean,
        constant=constant,
    )


def _inside(mean: float, family: Family, scales: Scales) -> float:
    low, high = float(scales.low[-1]), float(scales.high[-1])
    if family.link == "log" and low < 0:
        low, high = 0.0, (high if high > 0 else -low)
        if float(scales.scale[-1]) ** 2 > mean * (high - mean):
            # Responses in [low, high] vary less: those below 0 are set to 0.
            mean = max(mean, _POSITIVE * high)
    share = 1 / scales.units
    if family.name == "binomial":
        share = max(share, _noise_of_mean(scales) / (high - low))
    margin = max(_INWARDS, min(0.25, share)) * (high - low)
    return min(max(mean, low + margin), high - margin)


def _noise_of_mean(scales: Scales) -> float:
    """Return the noise standard deviation of the mean response, from that of its variance.

    Both come from sums with the same noise, of u and u^2, where u is the response scaled to [-1,
    1].
    """
    if not scales.spread[-1] > 1:
        return math.inf
    half = float(scales.high[-1] - scales.low[-1]) / 2
    u = (float(scales.centre[-1]) - float(scales.low[-1])) / half - 1
    return float(scales.scale[-1] ** 2 / scales.spread[-1]) / (half * math.sqrt(1 + 4 * u**2))


def loss_of(family: Family, scales: Scales) -> RowLoss:
    """Return the loss of a row of a family other than least squares.

    scales: released, with those of the response.
    """
    if family.link == "log":
        low, high = predictor_range(scales)
        alpha = 1.0 if family.alpha is None else family.alpha
        return RowLoss(family.loss, (0.0, math.exp(high)), (low, high), dispersion=alpha)
    if family.level is not None:
        reach = (-_MOST_STANDARD, _MOST_STANDARD)
        # In standard deviations of the response.
        bandwidth = max(_BANDWIDTH * math.pow(scales.units / 1e4, -0.4), _LEAST_BANDWIDTH)
        return RowLoss(family.loss, reach, reach, family.level, min(bandwidth, 1.0))
    most = _MOST_PROBIT if family.link == "probit" else _MOST_LOGIT
    return RowLoss(family.loss, (0.0, 1.0), (-most, most))


def predictor_range(scales: Scales) -> tuple[float, float]:
    """Return the limits of linear predictors of a log link.

    The upper one is the logarithm of the clipping limit of responses, `FAR` times the limit below
    which nearly all responses lie.
    """
    farthest = max(abs(float(scales.low[-1])), abs(float(scales.high[-1])), np.finfo(float).tiny)
    high = math.log(FAR) + math.log(farthest)
    high = min(max(high, _LOG_REACH - MOST_PREDICTOR), MOST_PREDICTOR)
    return high - _LOG_REACH, high


def range_note(family: Family, scales: Scales) -> tuple[str, ...]:
    """Return the note on clipped responses and means, if any."""
    if family.link != "log":
        return ()
    high = math.exp(predictor_range(scales)[1])
    return (
        f"responses are clipped to [0, {high:.3g}], and fitted means at {high:.3g}, with an effect "
        "that is not estimated; bounds of the response replace this limit",
    )


# For counts of norms of rows: residuals are `CONSTANT_RESIDUAL`, whatever the responses.
CONSTANT_LOSS = RowLoss("quantile", (1e3, 1e3), level=CONSTANT_RESIDUAL)
