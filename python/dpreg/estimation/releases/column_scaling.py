"""Centres and scales of columns, from counts with as little budget as possible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.families import Family
from dpreg.data.bounds import Crossed
from dpreg.data.level_tables import LevelTable
from dpreg.data.observations import Totals
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.closer_looks import (
    CELL_NOISE,
    LOOKS,
    cells_share,
    closer_looks,
    share_of_rows,
)
from dpreg.estimation.releases.column_sizes import Size, nearly_zero, read_magnitudes
from dpreg.estimation.releases.events import released_events
from dpreg.estimation.releases.level_shares import level_shares
from dpreg.estimation.releases.rare_columns import (
    MOSTLY,
    RARE_SHARE,
    Cells,
    RareColumn,
    known_rare,
    rare_of,
    response_amounts,
)
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.releases.statistics import (
    EventCounts,
    LevelCounts,
    SizeCounts,
)
from dpreg.privacy.sealed import ExactSums

_NONE = np.empty(0, dtype=np.int64)
# Share of the squared mu for the number of rows.
_COUNT = 0.003
# A column whose scale is less than this share of its centre gets further histograms.
_FAR = 0.4
# Largest share of a histogram, and of all of them with counts of magnitudes: with more, 17 of 60
# hazard models of 60 to 400 persons had nothing left for scores.
_LOOK, _TOGETHER = 0.04, 0.2
# Largest standard deviation of an indicator.
LEVEL_SCALE = 0.5
# Distance of public limits, in scales, if nothing else is known of a column.  They may be far too
# wide, so columns with bounds are counted too.  Without that all coefficients of 500 and of 1,000
# rows with bounds ten times too wide had no error, and those of six indicators of 1,000 rows had 6
# times the error of least squares instead of 2.4.
_BOUNDED = 6.0
# Bounds are used without counts if these would need more than this share: with counts, errors of a
# slope of 300 rows with correct bounds were 2.1 times those of least squares instead of 1.6.
_BELIEVED = 0.5
# A response with more than this share of zeros has amounts, and is counted again.  With .5 instead,
# .42 of the means of 2,000 responses, half of them lognormal and the rest 0, were wrong by more
# than four errors instead of 0; without it .54, and .93 of those of 20,000 with 2% not 0.
_ZEROS = 0.3
# Columns without significant values are counted again only if noise in a cell is less than this
# share of the rows: in fewer rows they may be arbitrary.  If they always are, .41 of the
# coefficients of 130 fits had no error instead of .37, and .95 of others covered instead of .97.
_HIDDEN = 1 / 100
# A column with more than this share of zeros is treated like a level.  Without it other columns
# next to an indicator of 2% of 20,000 rows had errors 2 times those of least squares instead of
# 1.1.  Rows that several of them share are counted too: without that slopes of two, with 2% and 3%
# of 20,000 rows, mostly the same, were wrong by up to eight errors.
_NEARLY = 0.9
# With more columns than this, correlations of -1 / 20 add up, as for indicators of all levels but
# one: without it .76 of the coefficients of 59 such columns of 20,000 rows covered, and .71 of 54
# for bicycle rentals, instead of .90 and .91.
_MOST_UNTOLD = 6
# Maximum number of passes over the rows: among them one for levels, two for rare columns and one
# for the response; the pass that counts events is not included.
SCALING_PASSES = 5 + LOOKS


def column_scales(
    rows: Totals,
    noise: GaussianReleases,
    bounds: Doubles,
    *,
    family: Family | None = None,
    levels: tuple[LevelTable, ...] = (),
    wide: Integers = _NONE,
    crossed: tuple[Crossed, ...] = (),
) -> Scales:
    """Estimate centre and scale of the regressors and, last, of the response.

    Signs and orders of magnitude are counted first, then equal bins of columns far from 0, and
    regressors that are nearly always 0 (`known_rare`).  Columns with bounds cost nothing, except
    for counts of the levels of factors, and of columns whose bounds may be wide, if there are
    enough rows.

    rows: private.
    bounds: shape (d + 1, 2): public limits of each column, NaN where none were given.
    family: None: no further counts of the response.  Responses that are 0 and 1, or counts, are
        counted by whether they have an event, and again if events or non-events are few; for least
        squares, responses with many zeros are counted again.
    levels: tables of the indicators of factors, whose bounds are 0 and 1.
    wide: columns whose bounds may be wide.
    crossed: products of columns and levels, whose scales follow from those of the columns.

    Privacy
    -------
    guarantee : as the releases that are added to `noise`
    proof : column_scaling.md
    """
    given = np.asarray(np.isfinite(bounds).all(axis=1))
    products = [int(j) for of in crossed for j in of.products]
    searched = np.setdiff1d(np.flatnonzero(~given), products)
    number, cells, within = rows.total(SizeCounts((searched, wide)))
    looked_at = set(searched.tolist())
    events = family is not None and family.events
    having = released_events(rows.total(EventCounts()), noise, _COUNT) if events else None
    if having is not None:
        units = having.units
    else:
        count, _ = noise.release("number of rows", number, noise.share(_COUNT))
        units = max(float(count[0]), 1.0)
    sizes: dict[int, Size] = {}
    rare: dict[int, RareColumn] = {}
    spent = hidden = 0.0
    if len(searched):
        spent = cells_share(cells.sensitivity, units, noise)
        hidden = cells.sensitivity * noise.rows / noise.share(spent)
        sizes, rare, of_response = _magnitudes(cells, searched, units, noise, spent)
    if len(wide) and share_of_rows(within.sensitivity, units, noise, CELL_NOISE) < _BELIEVED:
        share = cells_share(within.sensitivity, units, noise)
        bounded, others, _ = _magnitudes(within, wide, units, noise, share, bounds[wide])
        sizes, rare = sizes | bounded, rare | others
        spent += share
        looked_at.update(wide.tolist())
    response, amounts = len(bounds) - 1, None
    rare.pop(response, None)  # The response is treated differently.
    lost = [
        int(j) for j in (*searched, *wide)
        if j < len(bounds) - 1 and j not in rare and (j not in sizes or sizes[j].cells == 0)
    ]  # fmt: skip
    counted_cells = cells if len(searched) else within
    few = share_of_rows(counted_cells.sensitivity, units, noise, _HIDDEN) >= spent
    again = [] if few else lost
    known, more = known_rare(rows, noise, rare, again, units, _TOGETHER - spent)
    # Columns that were not counted keep their bounds.
    untold = looked_at.union(again).intersection([*lost, *rare]).difference(known.columns)
    known = replace(known, untold=tuple(sorted(untold)) if len(untold) <= _MOST_UNTOLD else ())
    spent += more
    zeros = (
        family is not None
        and family.least_squares
        and not given[-1]
        and of_response.zeros(units) > _ZEROS
    )
    if zeros and spent + RARE_SHARE < _TOGETHER:
        amounts = response_amounts(rows, noise, of_response, response, units)
        sizes.pop(response, None)
        spent += RARE_SHARE
    look = min(_LOOK, (_TOGETHER - spent) / LOOKS)
    far = [j for j, size in sizes.items() if size.scale < _FAR * abs(size.centre)]
    still = closer_looks(rows, sizes, far, len(bounds), units, noise, look)
    low, high = bounds[:, 0].copy(), bounds[:, 1].copy()
    low[searched], high[searched] = -1.0, 1.0
    centre, scale = (low + high) / 2, (high - low) / _BOUNDED
    # A column without significant values is nearly always 0, with few other values.
    centre[searched], scale[searched] = 0.0, 1.0
    for j, size in sizes.items():
        centre[j], scale[j] = size.centre, size.scale
        if not given[j]:
            low[j], high[j] = size.low, size.high
    columns = known.columns if amounts is None else {**known.columns, response: amounts}
    for j, column in columns.items():
        given[j], centre[j] = False, column.share * column.mean
        scale[j] = LEVEL_SCALE * column.value
        low[j], high[j] = column.low, column.high
    if levels:
        places = np.concatenate([table.places for table in levels])
        rest = _TOGETHER - spent - LOOKS * look * bool(far)
        counts = rows.total(LevelCounts(tuple(table.places for table in levels)))
        centre[places], precision = level_shares(counts, levels, noise, rest)
        scale[places] = LEVEL_SCALE
    counted = False
    found = bool(given[-1]) or response in sizes or amounts is not None
    if having is not None:
        most = float(high[-1]) if given[-1] else None
        centre[-1], scale[-1], counted = having.response(
            sizes.get(response), float(centre[-1]), float(scale[-1]), most
        )
        found |= having.hidden(hidden)
    spread = np.full(len(bounds), np.inf)
    spread[still] = 0.0
    if levels:
        spread[places] = centre[places] * (1 - centre[places]) * precision
    for of in crossed:
        given[of.products], spread[of.products] = given[of.of], spread[of.of]
        low[of.products], high[of.products] = min(low[of.of], 0.0), max(high[of.of], 0.0)
        centre[of.products] = centre[of.levels] * centre[of.of]
        scale[of.products] = LEVEL_SCALE * np.hypot(centre[of.of], scale[of.of])
    return Scales(
        low=low,
        high=high,
        centre=centre,
        scale=scale,
        given=given,
        spread=spread,
        seen=np.ones(len(bounds), dtype=bool),
        response_found=found,
        units=units,
        rare=known,
        amounts=amounts,
        counted=counted,
    )


def _magnitudes(
    cells: ExactSums,
    searched: Integers,
    units: float,
    noise: GaussianReleases,
    share: float,
    bounds: Doubles | None = None,
) -> tuple[dict[int, Size], dict[int, RareColumn], Cells]:
    """Release counts of orders of magnitude; return estimates for columns with significant values.

    bounds: shape (columns, 2), limits that hold.
    Returns the estimates, the columns that are nearly always 0, and counts of these.
    """
    label = "sign and order of magnitude of each column" + " with bounds" * (bounds is not None)
    counts, deviation = noise.release(label, cells, noise.share(share))
    found = {
        int(j): read_magnitudes(row, deviation) for j, row in zip(searched, counts, strict=True)
    }
    if bounds is not None:
        hidden = float(deviation) / units
        for (j, size), row, (low, high) in zip(found.items(), counts, bounds, strict=True):
            # Its few other values are not significant, and rows are too few to count it again.
            # Without it errors next to such indicators were 1.5 times as large.
            if size is None and row[len(row) // 2] > MOSTLY * units:
                found[j] = nearly_zero(low, high, hidden)
            elif size is not None:
                found[j] = size.within(low, high)
    rare = rare_of(zip(searched, counts, strict=True), float(deviation), units, _NEARLY)
    known = {j: size for j, size in found.items() if size is not None}
    return known, rare, Cells(counts[-1], float(deviation))
