"""From the user's units to columns in [-1, 1] and back.  Everything here is public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Flags
from dpreg.estimation.releases.standardisation import Scales


@dataclass(frozen=True, slots=True)
class Scaling:
    """An affine map of each column and, last, of the response."""

    # centre, scale: shape (d + 1,): a value x becomes (x - centre) / scale.
    centre: Doubles
    scale: Doubles
    used: Flags  # Shape (d,): False: the column becomes 0 everywhere.

    @property
    def limits(self) -> Doubles:
        """Where each column and, last, the response are clipped, shape (d + 1, 2)."""
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
        """Return what is added to x . slopes: `constant` is in scaled units."""
        shift = float(self.centre[:-1] @ slopes)
        return float(self.centre[-1] + self.scale[-1] * constant) - shift


def in_unit_interval(values: Doubles, centre: Doubles, scale: Doubles) -> Doubles:
    """Return values less their centre, over their scale, clipped to [-1, 1]; NaN becomes 0."""
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
    """Map `reach` standard deviations about each mean to [-1, 1], less where values end before.

    Without an intercept 0 stays where it is, and root mean squares stand for standard
    deviations.
    """
    centre = scales.centre if intercept else np.zeros_like(scales.centre)
    spread = scales.scale if intercept else np.hypot(scales.scale, scales.centre)
    ends = np.maximum(scales.high - centre, centre - scales.low)
    scale = np.minimum(reach * spread, ends)
    return Scaling(centre, np.where(scale > 0, scale, 1.0), scales.identified[:-1])
