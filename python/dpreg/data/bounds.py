"""Public bounds of columns, as the user gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpreg.data.design import Terms
from dpreg.errors import ArgumentError, Blank, Pieces, Value, closest, write

__all__ = ["LEAST_WIDTH", "Bounds", "column_bounds", "no_column_of_the_model"]

Bounds = tuple[float, float]

# Half of a narrower interval could not be divided by.
LEAST_WIDTH = 1e-60
# Squares of ratios of widths must be doubles.
_LARGEST = 1e60


def column_bounds(bounds: Mapping[str, Bounds] | None, terms: Terms) -> NDArray[np.float64]:
    """Return the bounds of each column of X and, last, of the response; NaN where unknown.

    Those of deviations from the means of a unit are as far from 0 as the given ones are apart.

    Raises
    ------
    ValueError
        For a name that is no column of the design, or limits that are not increasing, or not
        within 1e60 of 0.
    """
    names = [*terms.names, terms.response]
    result = np.full((len(names), 2), np.nan)
    family = terms.family.response
    natural = {} if family is None else {terms.response: family}
    given = bounds or {}
    for name, limits in {**terms.ranges, **given, **natural}.items():
        if name in terms.dropped:
            continue
        if name not in names:
            raise no_column_of_the_model(name, names)
        try:
            if any(isinstance(limit, (str, bytes)) for limit in limits):
                raise TypeError
            low, high = (float(limit) for limit in limits)
        except (OverflowError, TypeError, ValueError):
            limits_are = ("those of ", Value(name), " must be two numbers, got ", Value(limits))
            raise ArgumentError("bounds", limits_are, _such(name)) from None
        if not (max(abs(low), abs(high)) <= _LARGEST and high - low > LEAST_WIDTH):
            problem = (
                f"{name!r} needs limits within 1e60 of 0, the first below the second by more than "
                "1e-60, got ", Value(limits),
            )  # fmt: skip
            raise ArgumentError("bounds", problem, _such(name))
        apart = terms.within and name in given
        result[names.index(name)] = (low - high, high - low) if apart else (low, high)
    return result


def _such(name: str) -> Pieces:
    return write("bounds", {name: (Blank("low"), Blank("high"))})


def no_column_of_the_model(name: str, names: Sequence[str]) -> ArgumentError:
    """Return the refusal of bounds for something that is not in the model."""
    listed = ", ".join(map(repr, names))
    meant = closest(name, names)
    advice = [] if meant is None else [_such(meant)]
    return ArgumentError(
        "bounds", f"{name!r} is not a column of the model, which has {listed}", *advice
    )
