"""Coordinates in which a regressor and its square are hardly correlated.  All of it is public."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.data.design import Terms
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales

_SQUARE = re.compile(r"I\((?P<of>.+) \*\* 2\)")
# Only regressors whose mean is so many deviations from 0: others are hardly correlated with their
# square; and of families no more: no regressor may move linear predictors far in a step, and x and
# its square move them far in opposite ways.  Without it errors of another slope beside a year and
# its square, of 10,000 events and counts, were 2 to 2.6 times as long.
_FAR, _FARTHEST = 1.0, 12.0
# Of least squares no more than this, where doubles still have what is not shared.
_ROUNDED = 1e4
# Released scales of x and of its square agree to about this factor, or one was not found.
_NEAR = 4.0


def square_coordinates(
    terms: Terms, scales: Scales, units: StandardUnits
) -> Iterator[tuple[int, Doubles]]:
    """Return coordinates for squares of regressors that are far from 0.

    Of x and x^2 only what they do not share tells their coefficients apart.  Noise in second
    moments hides it, and where it does not, what is seen of it is mostly too large.  With columns
    as they are, a year and its square had no error in 20,000 rows in .6 of fits, and .80 of the
    slopes of an age and its square in 10,000 wages were covered, for .93 with this.  A square about
    the released mean shares little with x.  With cubes beside it, made so or as they are, there
    were more coefficients without an error than before.

    units: of the columns that are used, with an intercept.
    Returns pairs of the place of a square among the coefficients, and an array of shape (width,):
    what standardised rows are multiplied by.
    """
    place = {name: j for j, name in enumerate(terms.names)}
    most = _ROUNDED if terms.family.least_squares else _FARTHEST
    used = {int(j): 1 + k for k, j in enumerate(units.columns)}
    for name, j in place.items():
        found = _SQUARE.fullmatch(name)
        of = place.get(found["of"], -1) if found else -1
        if found is None or j not in used or of not in used or f"I({found['of']} ** 3)" in place:
            continue
        scale = float(scales.scale[of])
        if not scale > 0:
            continue
        mean = float(scales.centre[of]) / scale
        square, spread = (float(part[j]) / scale / scale for part in (scales.centre, scales.scale))
        alike = abs(square - mean * mean - 1) < _NEAR * abs(mean)
        alike &= abs(mean) < _NEAR * spread < _NEAR**2 * 2 * abs(mean)
        if alike and _FAR < abs(mean) < most:
            yield used[j], _about(mean, scale, used[of], used[j], units)


def _about(mean: float, scale: float, one: int, two: int, units: StandardUnits) -> Doubles:
    """Return what rows are multiplied by to give ((x - centre)^2 - scale^2) / (scale^2 root 2).

    mean: the centre, over the scale; one, two: places of x and of its square.
    """
    at_one, by_one = (float(part[one - 1]) / scale for part in (units.centre, units.scale))
    at_two, by_two = (float(part[two - 1]) / scale / scale for part in (units.centre, units.scale))
    row = np.zeros(units.width)
    row[0] = mean * mean - 1 - 2 * mean * at_one + at_two
    row[one], row[two] = -2 * mean * by_one, by_two
    return row / math.sqrt(2)
