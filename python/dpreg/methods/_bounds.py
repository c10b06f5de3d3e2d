"""Public bounds of columns, as the user gives them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dpreg.design import Terms

__all__ = ["LEAST_WIDTH", "Bounds", "column_bounds"]

Bounds = tuple[float, float]

# Half of a narrower interval could not be divided by.
LEAST_WIDTH = 1e-100
# Squares of wider ones are no doubles.
_LARGEST = 1e100


def column_bounds(bounds: Mapping[str, Bounds] | None, terms: Terms) -> NDArray[np.float64]:
    """Return the bounds of each column of X and, last, of the response; NaN where unknown.

    Raises
    ------
    ValueError
        For a name that is no column of the design, or limits that are not increasing, or not
        within 1e100 of 0.
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
            low, high = (float(limit) for limit in limits if not isinstance(limit, str))
        except (OverflowError, TypeError, ValueError):
            raise ValueError(f"bounds: write {{{name!r}: (low, high)}}, got {limits!r}") from None
        if not (max(abs(low), abs(high)) <= _LARGEST and high - low > LEAST_WIDTH):
            raise ValueError(
                f"bounds: {name!r} needs limits within 1e100 of 0, the first below the second by "
                f"more than 1e-100, got {limits!r}"
            )
        result[names.index(name)] = low, high
    return result
