"""Public bounds of columns, as the user gives them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dpreg.data.design import Terms

__all__ = ["LEAST_WIDTH", "Bounds", "column_bounds"]

Bounds = tuple[float, float]

# Half of a narrower interval could not be divided by.
LEAST_WIDTH = 1e-60
# Squares of ratios of widths must be doubles.
_LARGEST = 1e60


def column_bounds(bounds: Mapping[str, Bounds] | None, terms: Terms) -> NDArray[np.float64]:
    """Return the bounds of each column of X and, last, of the response; NaN where unknown.

    Raises
    ------
    ValueError
        For a name that is no column of the design, or limits that are not increasing, or not
        within 1e60 of 0.
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
            if any(isinstance(limit, (str, bytes)) for limit in limits):
                raise TypeError
            low, high = (float(limit) for limit in limits)
        except (OverflowError, TypeError, ValueError):
            raise ValueError(f"bounds: write {{{name!r}: (low, high)}}, got {limits!r}") from None
        if not (max(abs(low), abs(high)) <= _LARGEST and high - low > LEAST_WIDTH):
            raise ValueError(
                f"bounds: {name!r} needs limits within 1e60 of 0, the first below the second by "
                f"more than 1e-60, got {limits!r}"
            )
        result[names.index(name)] = low, high
    return result
