"""Units of several rows: samples of their rows, means, and deviations from the means."""

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
    """Keep at most `max_rows` rows of each unit, at random or the first by a column.

    order: regressor whose smallest values are kept.  If rows are spells of a person that end with
        an event, a random sample is biased: persons with longer histories have more rows and lose a
        larger share of them.
    Returns: a design in which adding or removing a unit adds or removes at most `max_rows` rows,
        given the random numbers of the other units.  If `max_rows` is 1, each row is a unit.
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
    """Count units by number of rows, in bins that begin at `starts`; the first start is 1."""
    _, units = _records(design)
    one = np.ones(opened(design.records).unit_count, dtype=np.int64)
    sizes = one if units is None else np.diff(units.offsets.astype(np.int64))
    bins = np.searchsorted(starts, sizes, side="right") - 1
    return Counts(np.bincount(bins, minlength=len(starts)), of_units=True)


def split_units(design: Design, share: float, bits: _core.BitSource) -> tuple[Design, Design]:
    """Divide the units at random into two parts, independently.

    share: probability that a unit is in the first part.
    Returns: two designs; adding or removing a unit changes one of them, given the draws of the
        others.
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
    """Keep these rows, with the number of the unit of each; the order of rows is kept."""
    rows, _ = _records(design)
    labels = np.full(rows.count, -1, dtype=np.int64)
    labels[kept] = unit
    there = labels >= 0
    return Design.of_rows(rows.where(there), design.terms, Units.from_labels(labels[there]))


def _records(design: Design) -> tuple[Observations, Units | None]:
    records = opened(design.records)
    return records.rows, records.units


def one_row_a_unit(design: Design, bounds: Doubles) -> Design:
    """Return the design of unit means, with one row per unit.

    A linear model of the rows holds for the means, with the same coefficients.  Adding or removing
    a unit adds or removes one row.

    bounds: shape (d + 1, 2): limits to which values are clipped first, the response last; NaN where
        there are none.
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
    """Return the terms of deviations from means; unit effects replace the intercept."""
    ranges = {name: (low - high, high - low) for name, (low, high) in terms.ranges.items()}
    return replace(terms, intercept=False, ranges=ranges, within=True)


def within_units(design: Design) -> Design:
    """Subtract from the rows of each unit their mean.

    This removes everything that is constant within a unit, such as fixed effects.  A row becomes a
    function of the rows of its unit, so adding or removing a unit changes no other rows.  Rows are
    then sorted by unit, in memory or not, so a method that draws random numbers row by row draws
    the same ones.
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
    """Return deviations from unit means, sorted by unit."""
    counts = np.asarray(np.diff(units.offsets.astype(np.int64)), dtype=np.int64)
    # The mean of huge cells may overflow; the row is then 0, and a warning would depend on cells.
    with np.errstate(all="ignore"):
        means = np.repeat(unit_means(values, units), counts, axis=0)
        result: Doubles = values[units.rows.astype(np.intp)] - means
    result[~np.isfinite(result).all(axis=1)] = 0.0
    return result
