"""From the user's units to columns in [-1, 1] and back.  Everything here is public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scaling", "scaling_from_bounds"]

Bounds = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Scaling:
    """An affine map of each column and of the response.

    Attributes
    ----------
    centre, scale : ndarray, shape (d,)
        A column x becomes (x - centre) / scale.
    response_centre, response_scale : float
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    response_centre: float
    response_scale: float

    def scale_columns(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the columns scaled and clipped to [-1, 1]; NaN becomes 0."""
        return _clipped(X, self.centre, self.scale)

    def scale_response(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the response scaled and clipped to [-1, 1]; NaN becomes 0."""
        return _clipped(y, self.response_centre, self.response_scale)

    def slopes(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return slopes in units of the response per unit of each column; 0 stays 0."""
        return weights * (self.response_scale / self.scale)

    def intercept(self, slopes: NDArray[np.float64], constant: float) -> float:
        """Return what is added to x . slopes: `constant` is in scaled units."""
        shift = float(self.centre @ slopes)
        return self.response_centre + self.response_scale * constant - shift


def _clipped(
    values: NDArray[np.float64],
    centre: NDArray[np.float64] | float,
    scale: NDArray[np.float64] | float,
) -> NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return np.nan_to_num(np.clip((values - centre) / scale, -1.0, 1.0), nan=0.0)


def scaling_from_bounds(
    response: str, names: Sequence[str], bounds: Bounds, *, intercept: bool
) -> Scaling:
    """Map the public range of each column to [-1, 1].

    With an intercept the middle of a range goes to 0; without one 0 stays where it is.
    Indicators of levels, named ``column[T.level]``, have the range (0, 1) unless told otherwise.

    Raises
    ------
    ValueError
        If a range is missing or cannot be used.
    """
    missing = [n for n in (response, *names) if n not in bounds and not _is_indicator(n)]
    if missing:
        listed = ", ".join(f"{n!r}: (lowest, highest)" for n in missing[:5])
        raise ValueError(
            f"bounds: no public range for {', '.join(map(repr, missing))}; write "
            f"FrankWolfe(bounds={{..., {listed}}}) from what is known without the data"
        )
    ranges = np.array([check_range(n, bounds.get(n, (0.0, 1.0))) for n in (response, *names)])
    low, high = ranges[:, 0], ranges[:, 1]
    if intercept:
        centre, scale = low / 2 + high / 2, high / 2 - low / 2
    else:
        centre, scale = np.zeros(len(low)), np.maximum(np.abs(low), np.abs(high))
    return Scaling(centre[1:], scale[1:], float(centre[0]), float(scale[0]))


def _is_indicator(name: str) -> bool:
    return name.endswith("]") and "[T." in name and ":" not in name


def check_range(name: str, limits: object) -> tuple[float, float]:
    """Return (lowest, highest) as floats, or say what is wrong with them."""
    try:
        low, high = (float(v) for v in limits)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        low = high = np.nan
    if not -1e100 <= low < high <= 1e100 or high - low < 1e-100:
        raise ValueError(
            f"bounds: {name!r} must have a pair (lowest, highest), finite and rising, "
            f"got {limits!r}"
        )
    return low, high
