"""Deviations from the means of each unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.data.design import Design, Terms
from dpreg.data.grouped import by_group
from dpreg.data.observations import Collector
from dpreg.data.units import Units, unit_means
from dpreg.privacy.sealed import opened


def within_terms(terms: Terms) -> Terms:
    """Return the terms of deviations from means: the intercept is an effect of each unit."""
    ranges = {name: (low - high, high - low) for name, (low, high) in terms.ranges.items()}
    return replace(terms, intercept=False, ranges=ranges, within=True)


def within_units(design: Design) -> Design:
    """Take the mean of its rows off the rows of each unit.

    What belongs to a unit, such as an effect of its own, is gone then.  A row is a function of the
    rows of its unit, so a unit that comes or goes changes no other rows.  Rows lie by unit then,
    in memory or not: a method that draws row after row draws the same.
    """
    records = opened(design.records)
    units = records.units
    assert units is not None
    collector = Collector(records.rows.memory)
    for block in by_group(records.rows, units.offsets, units.rows):
        apart = _deviations(np.column_stack([block.X, block.y]), Units(block.offsets, block.rows))
        collector.append(np.ascontiguousarray(apart[:, :-1]), apart[:, -1].copy())
    units = Units(units.offsets, np.arange(len(units.rows), dtype=np.uint64))
    return Design.of_rows(collector.observations(design.columns), design.terms, units)


def _deviations(values: Doubles, units: Units) -> Doubles:
    """Return deviations from the means of units, unit after unit."""
    counts = np.asarray(np.diff(units.offsets.astype(np.int64)), dtype=np.int64)
    # Of huge cells a mean may overflow, and a warning would be about a cell; the row is 0 then.
    with np.errstate(all="ignore"):
        means = np.repeat(unit_means(values, units), counts, axis=0)
        result: Doubles = values[units.rows.astype(np.intp)] - means
    result[~np.isfinite(result).all(axis=1)] = 0.0
    return result
