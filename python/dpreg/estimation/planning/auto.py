"""What each method is expected to give, from public numbers: tables interpolated.

`auto_table.csv`, of linear regressions, is made by `python/tools/tables/auto.py`, and
`family_table.csv`, of other families and of `dp_moments`, by `families.py` beside it, at
delta = 1e-5.  Another delta
counts as the epsilon that asks for the same noise: of Gaussian noise, the one with the same mu; of
TukeyEM, whose number of models is proportional to log(1/delta) / epsilon, the one with the
same ratio.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.planning.grids import Forecast, Grid, gridded, read_table
from dpreg.privacy.gdp import gdp_epsilon, gdp_mu

TABULATED = ("boosted_adassp", "adassp", "tukey")
# By the name of a family, and one release of moments.
OTHERS = ("binomial", "poisson", "quantile", "moments")
# What `auto` takes when standard errors are wanted.
WITH_INFERENCE = "boosted_adassp"
_DELTA = 1e-5
_DESIGNS = ("gaussian", "mixed")
# Losses below this are the same to any user,
_NO_LOSS = 1e-6
# and so are two that differ by less than this.
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
    return Grid(logs, loss, excess, found["released"], found["declined"])


def _equivalent_epsilon(method: str, epsilon: float, delta: float) -> float:
    if method == "tukey":
        return epsilon * math.log(_DELTA) / math.log(delta)
    return gdp_epsilon(gdp_mu(epsilon, delta), _DELTA) or 1e-9


def _within(
    axes: tuple[Doubles, ...], units: float, d: int, epsilon: float
) -> tuple[tuple[float, float, float], float]:
    """Return a point of the grid with as much noise beside the signal, and what it is off.

    Errors from noise depend on units * epsilon / d, but the error of sampling does not: the
    second value is how much larger the logarithm of their ratio is than at the point.
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
    """Return the first candidate whose expected loss is about the least.

    With many units losses differ by no more than the table knows of them, and the order says
    whose standard errors assume less.
    """
    losses = [expect(method, units, d, epsilon, delta).loss for method in candidates]
    least = min(losses)
    return next(
        method for method, loss in zip(candidates, losses, strict=True) if loss <= least + _SAME
    )
