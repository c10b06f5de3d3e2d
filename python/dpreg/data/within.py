"""Deviations from the means of each unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpreg.data.design import Design, Terms
from dpreg.data.observations import InMemory
from dpreg.data.units import Units

__all__ = ["within_terms", "within_units"]


def within_terms(terms: Terms) -> Terms:
    """Return the terms of deviations from means: the intercept is an effect of each unit."""
    ranges = {name: (low - high, high - low) for name, (low, high) in terms.ranges.items()}
    return replace(terms, intercept=False, ranges=ranges, within=True)


def within_units(design: Design) -> Design:
    """Take the mean of its rows off the rows of each unit.

    What belongs to a unit, such as an effect of its own, is gone then.  A row is a function of the
    rows of its unit, so a unit that comes or goes changes no other rows.

    Parameters
    ----------
    design : Design
        Private; with units.
    """
    units = design.units
    assert units is not None
    X, y = design.rows.arrays()
    both = np.column_stack([X, y])
    # A sum of huge cells may overflow, and a warning would be about a cell; the row is 0 then.
    with np.errstate(all="ignore"):
        apart = _deviations(both, units)
        apart[~np.isfinite(apart).all(axis=1)] = 0.0
    rows = InMemory(np.ascontiguousarray(apart[:, :-1]), apart[:, -1].copy(), design.rows.memory)
    return Design(rows, design.terms, units)


def _deviations(values: NDArray[np.float64], units: Units) -> NDArray[np.float64]:
    first = units.offsets[:-1].astype(np.intp)
    if not len(first):
        return values
    order = units.rows.astype(np.intp)
    counts = np.asarray(np.diff(units.offsets.astype(np.int64)), dtype=np.int64)
    sums: NDArray[np.float64] = np.add.reduceat(values[order], first, axis=0)
    means = sums / counts.reshape(-1, 1)
    result = np.empty_like(values)
    result[order] = values[order] - np.repeat(means, counts, axis=0)
    return result
