"""How far predictions follow the line: the rows beyond the limits of the fit have a vote."""

from __future__ import annotations

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.data.design import Design
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.releases.statistics import TailVotes

# How many times as wide as the limits of the fit; the first unless a vote says otherwise.  Votes
# are bounded, and what far limits gain they gain by large errors: they come before near ones.
_FACTORS = (1.25, 4.0, 1.0)
# Deviations of its noise by which a vote must be won.
_LEAD = 1.5


def prediction_limits(
    design: Design, scales: Scales, params: Doubles, noise: GaussianReleases, share: float
) -> Doubles:
    """Choose where predictions move regressors, and then themselves.

    params: shape (intercept + d,): released, in the user's units.
    share: of the squared mu; nothing is spent when all columns have bounds.
    Returns an array of shape (d + 1, 2): the response last.
    """
    sets = [widened(scales, factor) for factor in _FACTORS]
    if scales.given.all():
        return sets[0]
    intercept = design.terms.intercept
    slopes = np.zeros(len(scales.low) - 1)  # weights move no prediction
    slopes[: len(params) - intercept] = params[int(intercept) :]
    votes = design.total(
        TailVotes(
            slopes=slopes,
            intercept=float(params[0]) if intercept else 0.0,
            low=np.stack([limits[:, 0] for limits in sets]),
            high=np.stack([limits[:, 1] for limits in sets]),
            unit=float(scales.scale[-1]),
        )
    )
    noisy, scale = noise.release("vote on the limits of predictions", votes, noise.share(share))
    lead = _LEAD * scale
    return next((s for s, vote in zip(sets[1:], noisy, strict=True) if vote > lead), sets[0])


def regressor_limits(scales: Scales) -> Doubles:
    """Return where predictions move regressors, and none for themselves.

    Returns an array of shape (d + 1, 2): NaN for the response, last: the mean of a family has the
        limits of its link.
    """
    limits = widened(scales, _FACTORS[0])
    limits[-1] = np.nan
    return limits


def widened(scales: Scales, factor: float) -> Doubles:
    """Return the limits, `factor` times as wide where they were searched for.

    What was seen on one side of 0 stays there; public bounds stay as they are.
    """
    middle, half = (scales.low + scales.high) / 2, (scales.high - scales.low) / 2
    low, high = middle - factor * half, middle + factor * half
    low = np.where(scales.low >= 0, np.maximum(low, 0.0), low)
    high = np.where(scales.high <= 0, np.minimum(high, 0.0), high)
    return np.column_stack(
        [np.where(scales.given, scales.low, low), np.where(scales.given, scales.high, high)]
    )
