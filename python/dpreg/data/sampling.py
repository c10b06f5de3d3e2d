"""Units of several rows: a few rows of each, their means, and deviations from these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.base.errors import write
from dpreg.base.options import Limit, is_whole
from dpreg.data.design import Design, Terms, Units, unit_means
from dpreg.data.expanded import by_group
from dpreg.data.observations import Collector, Observations
from dpreg.privacy.sealed import Counts, opened

_MOST_ROWS = 10**5
MAX_ROWS = Limit(
    f"an integer from 1 to {_MOST_ROWS:,}, the rows kept per unit",
    lambda rows: is_whole(rows) and 1 <= rows <= _MOST_ROWS,
    ((*write("max_rows", 5), ", for example"),),
)


def sample_rows(
    design: Design, max_rows: int, bits: _core.BitSource, *, order: int | None = None
) -> Design:
    """Keep at most `max_rows` rows of each unit: random ones, or the first in an order.

    order: column of the regressors whose least values are kept.  Where rows are stays of a person
        that end with an event, random ones are a biased sample: who stays longer has more rows, and
        loses more of each.
    Returns: adding or removing a unit of `design` adds or removes at most `max_rows` rows of it,
        given the random numbers of the other units.  With one row a unit, rows are the units.
    """
    rows, units = _records(design)
    if units is None or (units.most is not None and units.most <= max_rows):
        return design
    keys = [_core.uniform_open(bits, len(units.rows))]
    if order is not None:
        column = np.concatenate([X[:, order] for X, _ in rows.blocks()])
        keys.append(column[units.rows.astype(np.intp)])
    offsets = units.offsets.astype(np.int64)
    unit = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    ordered = np.lexsort((*keys, unit))
    place = np.arange(len(ordered)) - offsets[unit]
    chosen = ordered[place < max_rows]
    kept = units.rows[chosen].astype(np.int64)
    if max_rows == 1:
        return Design.of_rows(rows.where(np.isin(np.arange(len(ordered)), kept)), design.terms)
    return _with_rows(design, kept, unit[chosen])


def unit_sizes(design: Design, starts: Integers) -> Counts:
    """Return numbers of units by their rows: from each of `starts`, the first of them 1, on."""
    _, units = _records(design)
    one = np.ones(opened(design.records).unit_count, dtype=np.int64)
    sizes = one if units is None else np.diff(units.offsets.astype(np.int64))
    bins = np.searchsorted(starts, sizes, side="right") - 1
    return Counts(np.bincount(bins, minlength=len(starts)), of_units=True)


def split_units(design: Design, share: float, bits: _core.BitSource) -> tuple[Design, Design]:
    """Divide the units in two, each by a coin of its own.

    share: chance of a unit to be in the first part.
    Returns: a unit that comes or goes changes one of them, given the coins of the others.
    """
    first = np.asarray(_core.uniform_open(bits, opened(design.records).unit_count)) < share
    return _of_units(design, first), _of_units(design, ~first)


def _of_units(design: Design, chosen: Flags) -> Design:
    rows, units = _records(design)
    if units is None:
        return Design.of_rows(rows.where(chosen), design.terms)
    offsets = units.offsets.astype(np.int64)
    unit = np.repeat(np.arange(len(chosen)), np.diff(offsets))
    members = chosen[unit]
    return _with_rows(design, units.rows[members].astype(np.int64), unit[members])


def _with_rows(design: Design, kept: Integers, unit: Integers) -> Design:
    """Keep these rows, each of the unit of that number; the order of rows stays."""
    rows, _ = _records(design)
    labels = np.full(rows.count, -1, dtype=np.int64)
    labels[kept] = unit
    there = labels >= 0
    return Design.of_rows(rows.where(there), design.terms, Units.from_labels(labels[there]))


def _records(design: Design) -> tuple[Observations, Units | None]:
    records = opened(design.records)
    return records.rows, records.units


def one_row_a_unit(design: Design, bounds: Doubles) -> Design:
    """Return a design whose rows are the units: the mean of each unit's rows.

    A linear model of the rows is one of the means, with the same coefficients.  A unit that
    comes or goes is one row that comes or goes.

    bounds: shape (d + 1, 2): values are moved to these limits first, of the response last; NaN
        where there are none.
    """
    rows, units = _records(design)
    if units is None:
        return design
    low, high = np.where(np.isnan(bounds), [-np.inf, np.inf], bounds).T
    X, y = rows.arrays()
    X = unit_means(np.clip(X, low[:-1], high[:-1]), units)
    y = unit_means(np.clip(y, low[-1], high[-1]), units)
    return Design.of(X, y, design.terms)


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
