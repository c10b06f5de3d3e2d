"""Limits of columns: maps to [-1, 1] and back, and limits of predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Flags, Sums
from dpreg.data.design import Design
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.releases.statistics import TailVotes
from dpreg.privacy.sealed import Scores

# Candidate widths of prediction limits, relative to those of the fit; the first is the default.
# Votes are bounded, and wide limits differ by large errors, so they are tried before narrow ones.
_FACTORS = (1.25, 4.0, 1.0)
# Required lead of a vote, in standard deviations of its noise.
_LEAD = 1.5
# Mapped cells are multiples of 2^-15, and scores of 2^-20.
_CELL_BITS, _SCORE_BITS = 15, 20
# Cells that are mapped together: they fit in the cache, and sums of products of this many are exact
# in doubles, in any order.
_TOGETHER = 1 << 15
# Largest change of a score when one row is added or removed, and length of the interval that holds
# the changes of all scores; both are attained (clipped_products.md).
SENSITIVITY, RANGE = 1.0, 2.0


@dataclass(frozen=True, slots=True)
class Scaling:
    """An affine map of each column and, last, of the response."""

    # centre, scale: shape (d + 1,): a value x becomes (x - centre) / scale.
    centre: Doubles
    scale: Doubles
    used: Flags  # Shape (d,): False: the column becomes 0 everywhere.

    @property
    def limits(self) -> Doubles:
        """Clipping limits of each column and, last, of the response, shape (d + 1, 2)."""
        return np.column_stack([self.centre - self.scale, self.centre + self.scale])

    def scale_columns(self, X: Doubles) -> Doubles:
        """Return the columns scaled and clipped to [-1, 1]; NaN becomes 0."""
        return np.where(self.used, in_unit_interval(X, self.centre[:-1], self.scale[:-1]), 0.0)

    def scale_response(self, y: Doubles) -> Doubles:
        """Return the response scaled and clipped to [-1, 1]; NaN becomes 0."""
        return in_unit_interval(y, self.centre[-1], self.scale[-1])

    def slopes(self, weights: Doubles) -> Doubles:
        """Return slopes in units of the response per unit of each column; 0 stays 0."""
        return np.where(self.used, weights * (self.scale[-1] / self.scale[:-1]), 0.0)

    def intercept(self, slopes: Doubles, constant: float) -> float:
        """Return the intercept in the user's units; `constant` is in scaled units."""
        shift = float(self.centre[:-1] @ slopes)
        return float(self.centre[-1] + self.scale[-1] * constant) - shift


def in_unit_interval(values: Doubles, centre: Doubles, scale: Doubles) -> Doubles:
    """Return (value - centre) / scale, clipped to [-1, 1]; NaN becomes 0."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return np.nan_to_num(np.clip((values - centre) / scale, -1.0, 1.0), nan=0.0)


def scaling_from_bounds(bounds: Doubles, *, intercept: bool) -> Scaling:
    """Map the public range of each column to [-1, 1].

    With an intercept the middle of a range goes to 0; without one 0 stays where it is.

    bounds: shape (d + 1, 2)
    """
    low, high = bounds.T
    if intercept:
        centre, scale = low / 2 + high / 2, high / 2 - low / 2
    else:
        centre, scale = np.zeros(len(low)), np.maximum(np.abs(low), np.abs(high))
    return Scaling(centre, scale, np.ones(len(bounds) - 1, dtype=bool))


def scaling_from_scales(scales: Scales, reach: float, *, intercept: bool) -> Scaling:
    """Map `reach` standard deviations about each mean, or the range if smaller, to [-1, 1].

    Without an intercept 0 stays where it is, and root mean squares stand for standard
    deviations.
    """
    centre = scales.centre if intercept else np.zeros_like(scales.centre)
    spread = scales.scale if intercept else np.hypot(scales.scale, scales.centre)
    ends = np.maximum(scales.high - centre, centre - scales.low)
    scale = np.minimum(reach * spread, ends)
    return Scaling(centre, np.where(scale > 0, scale, 1.0), scales.identified[:-1])


def prediction_limits(
    design: Design, scales: Scales, params: Doubles, noise: GaussianReleases, share: float
) -> Doubles:
    """Choose the limits to which predictions clip regressors and their result.

    params: shape (intercept + d,): released, in the user's units.
    share: of the squared mu; nothing is spent when all columns have bounds.
    Returns an array of shape (d + 1, 2): the response last.
    """
    sets = [widened(scales, factor) for factor in _FACTORS]
    if scales.given.all():
        return sets[0]
    intercept = design.terms.intercept
    slopes = np.zeros(len(scales.low) - 1)  # weights do not enter predictions
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
    """Return the limits to which predictions clip regressors.

    Returns an array of shape (d + 1, 2): NaN for the response, last: the mean of a family has the
        limits of its link.
    """
    limits = widened(scales, _FACTORS[0])
    limits[-1] = np.nan
    return limits


def widened(scales: Scales, factor: float) -> Doubles:
    """Return the limits, `factor` times as wide where they were estimated.

    Limits do not cross 0; public bounds are unchanged.
    """
    middle, half = (scales.low + scales.high) / 2, (scales.high - scales.low) / 2
    low, high = middle - factor * half, middle + factor * half
    low = np.where(scales.low >= 0, np.maximum(low, 0.0), low)
    high = np.where(scales.high <= 0, np.minimum(high, 0.0), high)
    return np.column_stack(
        [np.where(scales.given, scales.low, low), np.where(scales.given, scales.high, high)]
    )


@dataclass(frozen=True, slots=True, eq=False)
class ClippedProducts:
    """Sums of products of each column and the response: a `Statistic`."""

    # centres, halves: shape (d + 1,): of the limits of each column, the response being the last.
    centres: Doubles
    halves: Doubles
    starts: tuple[int, ...]  # First column of each term, whose score is the largest of its columns.
    rows: int  # Maximum number of rows of a unit.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (d,), in steps of 2^-30."""
        sums = np.zeros(X.shape[1], dtype=np.int64)
        together = max(1, _TOGETHER // X.shape[1])
        for first in range(0, len(y), together):
            part = slice(first, first + together)
            response = mapped(y[part], self.centres[-1], self.halves[-1])
            columns = mapped(X[part], self.centres[:-1], self.halves[:-1])
            sums += (response @ columns).astype(np.int64)
        return sums

    def seal(self, sums: Sums) -> Scores:
        """Return a score for each term."""
        scores = np.maximum.reduceat(scores_of(sums), self.starts)
        return Scores(scores, self.rows * RANGE)


def mapped(values: Doubles, centre: Doubles, half: Doubles) -> Doubles:
    """Return cells mapped to [-1, 1], as whole numbers of steps; NaN becomes 0."""
    return np.asarray(np.rint(np.ldexp(in_unit_interval(values, centre, half), _CELL_BITS)))


def scores_of(sums: Sums) -> Doubles:
    """Return absolute values, rounded down to multiples that are exact doubles."""
    return np.asarray(np.ldexp(np.abs(sums) >> (2 * _CELL_BITS - _SCORE_BITS), -_SCORE_BITS))
