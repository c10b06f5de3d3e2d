"""Directions in which rows may not vary, although a noisy matrix says so.  Public.

Columns may add up to 1 in all rows, as dummies of all levels and shares do, or may be nearly always
0, if no other value is significant.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.data.bounds import level_places
from dpreg.data.design import Terms
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.second_moments import Moments
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales

# Sums of columns may be 1 if the sums of their released means are, within this tolerance.
_NEAR = 0.1
# Largest number of such sums, as a multiple of the number of columns, to limit memory.
_MOST = 4
# A sum of columns is in the span of coordinates, except for at most this share.
_LEFT_OUT = 1e-6
# Sums of consecutive columns, and of two columns: index of the first possible end.
_RUN, _PAIR = 0, 2
# Directions with so small a component of unit sums are rounding errors.
_ROUNDING_SHARE = 1e-8
# Least denominator.
_NOTHING = 1e-300


def constant_sums(terms: Terms, scales: Scales, units: StandardUnits) -> Doubles:
    """Return sums that may be 0 in all rows, as combinations of a standardised row.

    They are sums of the constant and of columns between 0 and 1, two or several consecutive ones,
    if one of these is nearly always 0; others are left to the matrices.  With all sums, errors of
    16 indicators of half of 1,000 rows grew from .30 to .50, and .24 had none instead of .13.
    Levels of a factor are known to be distinct.

    Returns shape (w, m).
    """
    if not units.intercept:
        return np.zeros((units.width, 0))
    own = ~np.isin(units.columns, [j for of in level_places(terms) for j in of])
    low, high = scales.low[units.columns], scales.high[units.columns]
    places = np.flatnonzero(own & (low == 0) & (high <= 1))
    known = np.isin(units.columns[places], [*scales.rare.columns, *scales.rare.untold])
    means = scales.centre[units.columns[places]]
    # Distance of their means from 1, and their columns.
    far, ends = [np.zeros(0)], [np.zeros((0, 3), dtype=np.int64)]
    for first in range(len(places)):
        later = slice(first + 2, None)
        runs = np.cumsum(means[first:]), np.cumsum(known[first:])
        pairs = means[first] + means[later], known[first] | known[later]
        for of, (mean, some) in ((_RUN, runs), (_PAIR, pairs)):
            apart = np.abs(mean - 1)
            near = np.flatnonzero((apart < _NEAR) & (some > 0))
            far.append(apart[near])
            ends.append(np.column_stack([0 * near + of, 0 * near + first, near + first + of]))
    nearest = np.argsort(np.concatenate(far), kind="stable")[: _MOST * units.width]
    sums = np.zeros((units.width, len(nearest)))
    for sum_, (of, first, last) in zip(sums.T, np.vstack(ends)[nearest], strict=True):
        at = places[first : last + 1] if of == _RUN else places[[first, last]]
        sum_[0], sum_[1 + at] = float(units.centre[at].sum()) - 1, units.scale[at]
    return sums


def insignificant_sums(sums: Doubles, found: Whitening, measured: Moments, least: float) -> Doubles:
    """Return the directions of sums without variance of `least` standard deviations of noise.

    Dummies of rare levels are distinguished by counts, which makes coordinates seem to vary along a
    sum that does not vary: in three of four fits the intercept and the dummies of all six levels of
    20,000 rows, two of them with 2% of the rows, had errors.

    measured: by a matrix alone.
    Returns shape (k, h): orthonormal, in coordinates.
    """
    along, *_ = np.linalg.lstsq(found.change, sums, rcond=None)
    apart = np.linalg.norm(found.change @ along - sums, axis=0)
    along = along[:, apart < _LEFT_OUT * np.linalg.norm(sums, axis=0)]
    along = along / np.linalg.norm(along, axis=0)
    values = (along * (measured.matrix @ along)).sum(axis=0)
    hidden = along[:, values <= least * measured.along(along)]
    # Some are sums of others, so orthonormalising them one by one would add rounding errors.
    directions, lengths, _ = np.linalg.svd(hidden, full_matrices=False)
    among = directions[:, lengths > _ROUNDING_SHARE]
    # The difference of two sums, such as a rare level, may be significant.  Without this such a
    # level was rescaled repeatedly, and hidden with the sum.
    among = among @ np.linalg.eigh(among.T @ measured.matrix @ among)[1]
    values = (among * (measured.matrix @ among)).sum(axis=0)
    return np.asarray(among[:, values <= least * measured.along(among)])


def insignificant_columns(scales: Scales, units: StandardUnits) -> Integers:
    """Return indices in a standardised row of columns that seem to be nearly always 0."""
    untold = np.isin(units.columns, scales.rare.untold)
    return np.asarray(int(units.intercept) + np.flatnonzero(untold))


def farthest(scales: Scales, units: StandardUnits, columns: Integers) -> Doubles:
    """Return the distance from 0 of values of these columns, in standard units."""
    places = units.columns[columns - int(units.intercept)]
    low, high = scales.low[places], scales.high[places]
    centre, scale = scales.centre[places], scales.scale[places]
    return np.asarray(np.maximum(high - centre, centre - low) / scale)


def unseen(moments: Moments, found: Whitening, columns: Integers, least: float) -> Integers:
    """Return the coordinates of columns without variance of `least` standard deviations.

    columns: indices in a standardised row; each dominates one coordinate.
    """
    own = np.abs(found.change[columns]).argmax(axis=1) if len(columns) else columns
    seen = np.diag(moments.matrix) > least * np.sqrt(np.diag(moments.variance))
    return np.asarray(own[~seen[own]])


def shortened(found: Whitening, columns: Integers, far: Doubles, norm: float) -> Whitening:
    """Scale down coordinates in which one of the columns would make norms of rows exceed `norm`.

    Rows are clipped at that norm, so such a column seems to vary less than it does.  Without this
    each matrix scaled it up further: errors of normal columns of 20,000 rows, next to five
    indicators of 40 to 200 rows, were 15 times those of least squares instead of 1.2.

    far: distances of their values from 0, as from `farthest`.
    """
    reach = (np.abs(found.change[columns]) * far[:, None]).max(axis=0, initial=_NOTHING)
    return replace(found, sizes=np.minimum(found.sizes, norm / reach))
