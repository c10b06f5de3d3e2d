"""Tables of public simulations on a grid, and interpolation."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from importlib import resources

import numpy as np

from dpreg.base.arrays import Doubles

# A plan works when the release is this likely and standard errors are at most this many
# times those of least squares.
LIKELY, WIDEST = 0.9, 3.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected results of a fit; see `dpreg.Plan`."""

    released: float
    declined: float
    width: float  # Infinite where nothing is released.
    loss: float = 0.0

    @property
    def works(self) -> bool:
        """Whether it is likely to be released, and not too wide."""
        return self.released >= LIKELY and self.width <= WIDEST


@dataclass(frozen=True, slots=True)
class Grid:
    """Logarithms of rows, dimensions and epsilons or resolutions, and values over them."""

    axes: tuple[Doubles, ...]
    excess: Doubles  # Logarithm of the squared width less 1.
    released: Doubles
    declined: Doubles
    loss: Doubles | None = None  # Its logarithm.

    def at(self, values: Doubles, point: tuple[float, ...]) -> float:
        """Return one of its values at a point."""
        return _interpolate(self.axes, values, point)

    def forecast(self, point: tuple[float, ...], axis: int) -> Forecast:
        """Return the forecast at a point; beyond the axis of resolutions it is extrapolated.

        Noise adds about c / resolution^2 to the variance of an estimate, relative to sampling.
        """
        resolution, own = point[axis], self.axes[axis]
        within = min(max(resolution, float(own[0])), float(own[-1]))
        released, declined = self.at(self.released, point), self.at(self.declined, point)
        if resolution < within:
            lost = math.exp(2 * (resolution - within))
            released, declined = released * lost, 1 - (1 - declined) * lost
        excess = self.at(self.excess, point) - 2 * (resolution - within)
        return Forecast(released, declined, math.sqrt(1 + math.exp(min(excess, 700.0))))


def read_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a table that ships with the package."""
    text = resources.files("dpreg.estimation.planning").joinpath(name).read_text()
    return list(csv.DictReader(text.splitlines()))


def gridded(
    rows: list[dict[str, str]], axes: tuple[str, ...], columns: tuple[str, ...]
) -> tuple[tuple[Doubles, ...], dict[str, Doubles]]:
    """Return the axes of a table, ascending, and its columns over them; NaN where one is empty."""
    ends = tuple(np.array(sorted({float(row[name]) for row in rows})) for name in axes)
    places = tuple(
        np.searchsorted(axis, [float(row[name]) for row in rows])
        for axis, name in zip(ends, axes, strict=True)
    )
    found = {column: np.empty([len(axis) for axis in ends]) for column in columns}
    for column, values in found.items():
        values[places] = [float(row[column] or "nan") for row in rows]
    return ends, found


def _interpolate(axes: tuple[Doubles, ...], values: Doubles, point: tuple[float, ...]) -> float:
    """Multilinear; beyond the grid, the value at its edge."""
    if not axes:
        return float(values)
    axis, rest = axes[0], axes[1:]
    x = min(max(point[0], axis[0]), axis[-1])
    upper = min(max(int(np.searchsorted(axis, x)), 1), len(axis) - 1)
    place = (x - axis[upper - 1]) / (axis[upper] - axis[upper - 1])
    low = _interpolate(rest, values[upper - 1], point[1:])
    high = _interpolate(rest, values[upper], point[1:])
    if place <= 0 or math.isnan(high):
        return low if place < 1 else high
    return low + place * (high - low) if place < 1 else high
