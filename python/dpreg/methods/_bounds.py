"""Public bounds of columns, as the user gives them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dpreg.design import Terms

__all__ = ["LEAST_WIDTH", "Bounds", "column_bounds"]

Bounds = tuple[float, float]

# Half of a narrower interval could not be divided by.
LEAST_WIDTH = 1e-100


def column_bounds(bounds: Mapping[str, Bounds] | None, terms: Terms) -> NDArray[np.float64]:
    """Return the bounds of each column of X and, last, of the response; NaN where unknown.

    Raises
    ------
    ValueError
        For a name that is no column of the design, or limits that are not finite and
        increasing.
    """
    names = [*terms.names, terms.response]
    result = np.full((len(names), 2), np.nan)
    for name, limits in {**terms.ranges, **(bounds or {})}.items():
        if name in terms.dropped:
            continue
        if name not in names:
            raise ValueError(
                f"bounds: {name!r} is no column of the model; it has {', '.join(map(repr, names))}"
            )
        try:
            low, high = (float(limit) for limit in limits)
        except (TypeError, ValueError):
            raise ValueError(f"bounds: write {{{name!r}: (low, high)}}, got {limits!r}") from None
        # The width, and the middle, of an interval must be doubles too.
        if not (math.isfinite(abs(low) + abs(high)) and high - low > LEAST_WIDTH):
            raise ValueError(
                f"bounds: {name!r} needs finite limits, the first below the second, got {limits!r}"
            )
        result[names.index(name)] = low, high
    return result
