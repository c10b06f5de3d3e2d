"""Values over a grid of points, interpolated."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


def interpolate(axes: tuple[Doubles, ...], values: Doubles, point: tuple[float, ...]) -> float:
    """Multilinear; beyond the grid, the value at its edge."""
    if not axes:
        return float(values)
    axis, rest = axes[0], axes[1:]
    x = min(max(point[0], axis[0]), axis[-1])
    upper = min(max(int(np.searchsorted(axis, x)), 1), len(axis) - 1)
    place = (x - axis[upper - 1]) / (axis[upper] - axis[upper - 1])
    low = interpolate(rest, values[upper - 1], point[1:])
    high = interpolate(rest, values[upper], point[1:])
    if place <= 0 or math.isnan(high):
        return low if place < 1 else high
    return low + place * (high - low) if place < 1 else high
