"""Columns that may add up to 1 in all rows, as dummies of all levels and shares do.  Public."""

from __future__ import annotations

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.data.bounds import level_places
from dpreg.data.design import Terms
from dpreg.estimation.newton.coordinates import Moments, Whitening
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales

# They may where their released means do, but for so much.
_NEAR = 0.1
# An indicator has a limit of 1, and where noise is in the next cell of counts, of 2; it is then as
# if most values were 3/4.
_HIGHEST, _MIDDLE = 2.0, 0.75
# No more of them are looked at, as many times as there are columns.
_MOST = 4
# A sum of columns is one of coordinates but for this share of it.
_LEFT_OUT = 1e-6


def constant_sums(terms: Terms, scales: Scales, units: StandardUnits) -> Doubles:
    """Return sums that may be 0 in all rows, as combinations of a standardised row.

    They are those of columns from 0 to 1, of two or of more one after another, and the constant.
    Levels of a factor are told from each other anyway.

    Returns shape (w, m).
    """
    nothing = np.zeros((units.width, 0))
    if not units.intercept:
        return nothing
    own = ~np.isin(units.columns, [j for of in level_places(terms) for j in of])
    low, high = scales.low[units.columns], scales.high[units.columns]
    places = np.flatnonzero(own & (low == 0) & (high <= _HIGHEST))
    means = scales.centre[units.columns[places]]
    more = means / np.where(high[places] > 1, _MIDDLE, 1.0)
    sums = list[tuple[float, Integers]]()
    for first in range(len(places)):
        for of, least, most in (
            (_run, np.cumsum(means[first:]), np.cumsum(more[first:])),
            (_pair, means[first] + means[first + 2 :], more[first] + more[first + 2 :]),
        ):
            apart = np.maximum(np.maximum(least - 1, 1 - most), 0.0)
            sums += [
                (float(apart[k]), places[of(first, int(k))]) for k in np.flatnonzero(apart < _NEAR)
            ]
    combinations = []
    for _, at in sorted(sums, key=lambda of: of[0])[: _MOST * units.width]:
        one = np.zeros(units.width)
        one[0], one[1 + at] = float(units.centre[at].sum()) - 1, units.scale[at]
        combinations.append(one)
    return np.column_stack([nothing, *combinations])


def _run(first: int, more: int) -> list[int]:
    return list(range(first, first + more + 1))


def _pair(first: int, more: int) -> list[int]:
    return [first, first + 2 + more]


def not_seen(sums: Doubles, found: Whitening, measured: Moments, least: float) -> Doubles:
    """Return those sums in which no spread is seen, with so many deviations of noise.

    Dummies of rare levels are told apart by what is known of them, and then coordinates seem to
    have a spread along the sum that they do not have: intercept and dummies of six levels of
    20,000 rows, two of which 2% had, were all given errors, in three of four fits.

    measured: by a matrix alone.
    Returns shape (k, h): orthonormal, in coordinates.
    """
    along, *_ = np.linalg.lstsq(found.change, sums, rcond=None)
    apart = np.linalg.norm(found.change @ along - sums, axis=0)
    along = along[:, apart < _LEFT_OUT * np.linalg.norm(sums, axis=0)]
    along = along / np.linalg.norm(along, axis=0)
    values = np.einsum("iv,ij,jv->v", along, measured.matrix, along)
    hidden = along[:, values <= least * measured.along(along)]
    return np.asarray(np.linalg.qr(hidden)[0])
