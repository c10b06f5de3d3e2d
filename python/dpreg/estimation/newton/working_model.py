"""Where rounds of a family start, and what its loss is to the core.  Everything here is public."""

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

# A mean response at the end of its range is moved this share of the range inwards, or as far as
# there would be one such response, or as a deviation of its noise.
_INWARDS = 1e-3
# Where responses are below 0, rounds start from this share of the largest: steps from a mean that
# is too large are short, and those from one that is too small are not.
_POSITIVE = 0.25
# Linear predictors beyond these change a probability by less than 1e-17 and 1e-15.
_MOST_LOGIT, _MOST_PROBIT = 40.0, 8.0
# Means are at least e to this power smaller than the largest response that counts.
_LOG_REACH = 30.0
# Standardised responses and their predictors are clipped to this.
_MOST_STANDARD = 500.0
# Bandwidth of a quantile loss with 10,000 rows, and the least one.
_BANDWIDTH, _LEAST_BANDWIDTH = 0.1, 0.01
# Of rows whose norms are counted.
CONSTANT_RESIDUAL = 0.5


@dataclass(frozen=True, slots=True)
class WorkingModel:
    """What rounds know before they release anything."""

    start: Doubles  # Shape (w,): coefficients to start from, and to shrink to.
    curvature: float = 1.0  # Of the loss of a row there.
    # What one standard deviation of the response is worth in the linear predictor.
    scale: float = 1.0
    # Of the residual, as weighted in the score; 0: scores are counted to see how large they are.
    deviation: float = 0.0
    family: Family = GAUSSIAN
    mean: float = 0.5  # Of the response there.
    # What rows are multiplied by to give 1; None without an intercept.
    constant: Doubles | None = None


def working_model(
    family: Family,
    scales: Scales,
    units: StandardUnits,
    change: Doubles,
    given: tuple[int, ...] = (),
) -> WorkingModel:
    """Return the model with the mean response for all rows.

    scales: released.
    change: shape (width, w): what standardised rows are multiplied by.
    given: columns that are added to the linear predictor.
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
    """Return the loss of a row of a family that is not of least squares.

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

    The upper one is the logarithm of the largest response that counts, `FAR` times as far from 0
    as where nearly all responses are.
    """
    farthest = max(abs(float(scales.low[-1])), abs(float(scales.high[-1])), np.finfo(float).tiny)
    high = math.log(FAR) + math.log(farthest)
    high = min(max(high, _LOG_REACH - MOST_PREDICTOR), MOST_PREDICTOR)
    return high - _LOG_REACH, high


def range_note(family: Family, scales: Scales) -> tuple[str, ...]:
    """Say where responses and means were cut off, if they were."""
    if family.link != "log":
        return ()
    high = math.exp(predictor_range(scales)[1])
    return (
        f"responses are clipped to [0, {high:.3g}], and fitted means at {high:.3g}, with an effect "
        "that is not estimated; bounds of the response replace this limit",
    )


# Of rows whose norms are counted: residuals are `CONSTANT_RESIDUAL`, whatever the responses.
CONSTANT_LOSS = RowLoss("quantile", (1e3, 1e3), level=CONSTANT_RESIDUAL)
