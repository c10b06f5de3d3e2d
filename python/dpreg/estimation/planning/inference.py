"""What default fits with inference are expected to give: a table of simulations, interpolated.

`inference_table.csv` is made by `python/tools/tables/inference.py` with `dpreg.dp_lm` itself.

Noise adds to the variance of a slope, relative to that of sampling, about c / resolution^2,
where the resolution is mu sqrt(n / d) and mu is the parameter of Gaussian differential privacy of
eps and delta.  So ``log(width^2 - 1)`` is interpolated linearly in the logarithms of n, d and the
resolution, and follows this law beyond the table.  Where there are fewer rows than in the table,
the resolution is taken to be less, by the root of their ratio.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.planning.grids import Forecast, Grid, gridded, read_table
from dpreg.privacy.gdp import gdp_mu

# Medians of simulated widths may lie below 1 by chance: noise adds at least this share.
_LEAST_EXCESS = 0.02
# Where less is released, the widths of those few that are say little of the others.
_FEW = 0.5


def infer(n: float, d: int, epsilon: float, delta: float) -> Forecast:
    """Interpolate the table.

    n: number of units.
    d: number of regressors.
    """
    if n <= d + 2:  # nor has least squares standard errors then
        return Forecast(0.0, 1.0, math.inf)
    table = inference_table()
    rows, columns = math.log(n), math.log(d)
    resolution = math.log(gdp_mu(epsilon, delta)) + (rows - columns) / 2
    # Fewer rows than those of the table are not simulated: be careful.
    resolution -= max(0.0, float(table.axes[0][0]) - rows) / 2
    point = (rows, columns, resolution)
    released = table.at(table.released, point)
    declined = table.at(table.declined, point)
    least, most = float(table.axes[2][0]), float(table.axes[2][-1])
    if resolution < least:
        lost = math.exp(2 * (resolution - least))
        released, declined = released * lost, 1 - (1 - declined) * lost
    if released == 0:
        return Forecast(0.0, declined, math.inf)
    beyond = resolution - min(max(resolution, least), most)
    excess = table.at(table.excess, point) - 2 * beyond
    return Forecast(released, declined, math.sqrt(1 + math.exp(min(excess, 700.0))))


@cache
def inference_table() -> Grid:
    """Read the table.

    Values of single cells are off by chance.  More rows, fewer regressors and a higher
    resolution never do harm, so that they are replaced by the nearest ones of which this is true.
    """
    axes, found = gridded(
        read_table("inference_table.csv"),
        ("rows", "dimension", "resolution"),
        ("width", "blank", "declined"),
    )
    width, blank, declined = found.values()
    width[blank + declined > 1 - _FEW] = np.nan
    excess = np.log(_continued(np.maximum(width**2 - 1, _LEAST_EXCESS), axes[2]))
    logs = tuple(np.log(axis) for axis in axes)
    # Both are rounded in the table.
    missing, lost = _falling(np.minimum(blank + declined, 1)), _falling(declined)
    return Grid(logs, None, _falling(excess), 1 - missing, np.minimum(missing, lost))


def _continued(excess: Doubles, resolutions: Doubles) -> Doubles:
    """Fill in what is missing at small resolutions, by the law of noise.

    Where nothing is known at any resolution, widths are those of more rows.
    """
    found = excess.copy()
    for i in range(len(resolutions) - 2, -1, -1):
        from_above = found[..., i + 1] * (resolutions[i + 1] / resolutions[i]) ** 2
        found[..., i] = np.where(np.isnan(found[..., i]), from_above, found[..., i])
    for n in range(len(found) - 2, -1, -1):
        found[n] = np.where(np.isnan(found[n]), found[n + 1], found[n])
    return found


def _falling(values: Doubles) -> Doubles:
    """Return values that fall with rows and resolution and rise with the dimension.

    Halfway between the greatest of what should be less, and the least of what should be more.
    """
    # Every axis in the direction of what is worse.
    turned = values[::-1, :, ::-1]
    above, below = turned, turned[::-1, ::-1, ::-1]
    for axis in range(3):
        above = np.maximum.accumulate(above, axis=axis)
        below = np.minimum.accumulate(below, axis=axis)
    middle: Doubles = (above + below[::-1, ::-1, ::-1]) / 2
    return middle[::-1, :, ::-1]
