"""Expected accuracy of fits from public numbers, by interpolation of simulations.

`auto_table.csv`, of linear regressions, is made by `python/tools/tables/auto.py`, and
`family_table.csv`, of other families and of `dp_moments`, by `families.py` beside it, at delta =
1e-5.  Another delta is converted to the epsilon with the same noise: for Gaussian noise, the same
mu; for TukeyEM, whose number of models is proportional to log(1/delta) / epsilon, the same ratio.

`inference_table.csv`, of default fits with inference, is made by `inference.py` beside them, with
`dpreg.dp_lm` itself.  Its resolution is mu sqrt(n / d), mu being the parameter of Gaussian
differential privacy of eps and delta.  ``log(width^2 - 1)`` is interpolated linearly in the
logarithms of n, d and the resolution; see `Grid.forecast`.  With fewer rows than in the table, the
resolution is reduced by the root of their ratio.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.planning.grids import Forecast, Grid, gridded, read_table
from dpreg.privacy.gdp import gdp_epsilon, gdp_mu

TABULATED = ("boosted_adassp", "adassp", "tukey")
# Names of families, and one release of moments.
OTHERS = ("binomial", "poisson", "quantile", "moments")
# The method of `auto` with inference.
WITH_INFERENCE = "boosted_adassp"
_DELTA = 1e-5
_DESIGNS = ("gaussian", "mixed")
# Medians of simulated widths may lie below 1 by chance: noise adds at least this share.
_LEAST_EXCESS = 0.02
# If less is released, the widths of the few released coefficients say little about the others.
_FEW = 0.5
# Losses below this are treated as equal,
_NO_LOSS = 1e-6
# and so are two losses that differ by less than this.
_SAME = 1e-3


@cache
def _grid(method: str, design: str) -> Grid:
    table = read_table("family_table.csv" if method in OTHERS else "auto_table.csv")
    rows = [row for row in table if (row["method"], row["design"]) == (method, design)]
    axes, found = gridded(
        rows, ("rows", "dimension", "epsilon"), ("loss", "width", "released", "declined")
    )
    excess = np.log(np.maximum(found["width"] ** 2 - 1, 1e-3))
    loss = np.log(np.maximum(found["loss"], _NO_LOSS))
    logs = tuple(np.log(axis) for axis in axes)
    return Grid(logs, excess, found["released"], found["declined"], loss)


def _equivalent_epsilon(method: str, epsilon: float, delta: float) -> float:
    if method == "tukey":
        return epsilon * math.log(_DELTA) / math.log(delta)
    return gdp_epsilon(gdp_mu(epsilon, delta), _DELTA) or 1e-9


def _within(
    axes: tuple[Doubles, ...], units: float, d: int, epsilon: float
) -> tuple[tuple[float, float, float], float]:
    """Return a point of the grid with the same relative noise, and a correction.

    Errors from noise depend on units * epsilon / d, but sampling error does not: the second value
    is the difference in the logarithm of their ratio from that at the point.
    """
    n, p, e = math.log(max(units, 1.0)), math.log(max(d, 1)), math.log(epsilon)
    off = 0.0
    if p > axes[1][-1]:
        n, off = n - (p - axes[1][-1]), off + (p - axes[1][-1])
    if e < axes[2][0]:
        n, off = n - (axes[2][0] - e), off + (axes[2][0] - e)
    if n < axes[0][0]:
        e, off = max(e, axes[2][0]) - (axes[0][0] - n), off - (axes[0][0] - n)
    if n > axes[0][-1]:
        off -= n - axes[0][-1]
    return (n, p, e), off


def expect(method: str, units: float, d: int, epsilon: float, delta: float) -> Forecast:
    """Interpolate the table of public simulations.

    The loss is a mean over the designs of the table; all else is that of Gaussian regressors.

    method: one of `TABULATED` or `OTHERS`.
    units: number of units, noisy or planned.
    d: number of regressors.
    """
    equivalent = _equivalent_epsilon(method, epsilon, delta)
    grid = _grid(method, "gaussian")
    point, beyond = _within(grid.axes, units, d, equivalent)
    losses = []
    for design in _DESIGNS:
        values = _grid(method, design).loss
        assert values is not None
        losses.append(math.exp(grid.at(values, point)))
    excess = grid.at(grid.excess, point) + beyond
    width = math.sqrt(1 + math.exp(excess)) if not math.isnan(excess) else math.inf
    return Forecast(
        grid.at(grid.released, point), grid.at(grid.declined, point), width, float(np.mean(losses))
    )


def best_method(
    candidates: tuple[str, ...], units: float, d: int, epsilon: float, delta: float
) -> str:
    """Return the first candidate with about the least expected loss.

    With many units losses differ by less than the precision of the table; candidates are ordered by
    the assumptions of their standard errors.
    """
    losses = [expect(method, units, d, epsilon, delta).loss for method in candidates]
    least = min(losses)
    return next(
        method for method, loss in zip(candidates, losses, strict=True) if loss <= least + _SAME
    )


def infer(n: float, d: int, epsilon: float, delta: float) -> Forecast:
    """Interpolate the table of default fits with inference.

    n: number of units.
    d: number of regressors.
    """
    if n <= d + 2:  # least squares has no standard errors either
        return Forecast(0.0, 1.0, math.inf)
    table = inference_table()
    rows, columns = math.log(n), math.log(d)
    resolution = math.log(gdp_mu(epsilon, delta)) + (rows - columns) / 2
    # Fewer rows than in the table were not simulated, so be cautious.
    resolution -= max(0.0, float(table.axes[0][0]) - rows) / 2
    point = (rows, columns, resolution)
    found = table.forecast(point, axis=2)
    return found if found.released else replace(found, width=math.inf)


@cache
def inference_table() -> Grid:
    """Read the table.

    Single cells have random errors.  More rows, fewer regressors and a higher resolution never
    increase the width, so values are replaced by the nearest monotone ones.
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
    return Grid(logs, _falling(excess), 1 - missing, np.minimum(missing, lost))


def _continued(excess: Doubles, resolutions: Doubles) -> Doubles:
    """Fill in missing values at small resolutions, by the scaling of noise.

    If none are known at any resolution, widths are those of more rows.
    """
    found = excess.copy()
    for i in range(len(resolutions) - 2, -1, -1):
        from_above = found[..., i + 1] * (resolutions[i + 1] / resolutions[i]) ** 2
        found[..., i] = np.where(np.isnan(found[..., i]), from_above, found[..., i])
    for n in range(len(found) - 2, -1, -1):
        found[n] = np.where(np.isnan(found[n]), found[n + 1], found[n])
    return found


def _falling(values: Doubles) -> Doubles:
    """Return values that decrease with rows and resolution and increase with the dimension.

    They are midway between the running maximum and the running minimum.
    """
    # Every axis in the direction of what is worse.
    turned = values[::-1, :, ::-1]
    above, below = turned, turned[::-1, ::-1, ::-1]
    for axis in range(3):
        above = np.maximum.accumulate(above, axis=axis)
        below = np.minimum.accumulate(below, axis=axis)
    middle: Doubles = (above + below[::-1, ::-1, ::-1]) / 2
    return middle[::-1, :, ::-1]
