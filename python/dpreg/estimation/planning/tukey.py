"""How many models TukeyEM makes, of how many units, and how it splits epsilon.

From (noisy number of units, d, epsilon, delta) alone, by a table of public simulations:
`tukey_table.csv`, made by `python/tools/tables/tukey.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from dpreg.estimation.planning.grids import read_table

# Real models are less regular than the Gaussian ones of the table.
_SAFETY = 1.2
# Rows of a batch beyond those a fit takes up, below which spreads are not told.
_LEAST_SPARE = 2.0
# Multiples of the least number of models that are compared.
_MULTIPLES = np.geomspace(1.0, 10.0, 41)


# A very noisy count may ask for more memory than there is, and for minutes to fill it; where
# it says nothing at all, less will do.
_MOST_UNITS, _MOST_OF_NOISE, _NOISY = 2**26, 2**20, 1e-5


def most_units(epsilon_count: float) -> int:
    """Return the largest number of units that a noisy count is taken for."""
    return _MOST_UNITS if epsilon_count >= _NOISY else _MOST_OF_NOISE


@dataclass(frozen=True, slots=True)
class TukeyPlan:
    """Public parameters of one TukeyEM release."""

    # models, batch: how many models, and how many units each may have.
    models: int
    batch: int
    depth: int  # Least depth of a released point.
    # epsilon_test, epsilon_sample: they add up to the epsilon of the plan.
    epsilon_test: float
    epsilon_sample: float
    # Predicted standard deviation of a released coordinate relative to that of least squares on all
    # units, for Gaussian data; infinite when batches are too small.
    error: float


_Key = tuple[float, float, float]  # dimension, delta, multiple


@dataclass(frozen=True, slots=True)
class _Entry:
    models: float
    depth_share: float
    test_share: float
    error: float


@cache
def _table() -> tuple[tuple[float, ...], tuple[float, ...], dict[_Key, _Entry]]:
    entries = {}
    for row in read_table("tukey_table.csv"):
        key = (float(row["dimension"]), float(row["delta"]), float(row["multiple"]))
        entries[key] = _Entry(*(float(row[c]) for c in ("models", "depth_share", "test_share",
                                                        "error")))  # fmt: skip
    dimensions = tuple(sorted({k[0] for k in entries}))
    deltas = tuple(sorted({k[1] for k in entries}))
    return dimensions, deltas, entries


def _bracket(grid: tuple[float, ...], value: float) -> tuple[float, float, float]:
    """Return two neighbours in `grid` and the place of `value` between them, by logarithm."""
    upper = min(max(int(np.searchsorted(grid, value)), 1), len(grid) - 1)
    low, high = grid[upper - 1], grid[upper]
    place = (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    return low, high, place


def _interpolate(dimension: int, delta: float, multiple: float, column: str) -> float:
    """Bilinear in log p and log delta; beyond the table, the slope at its edge goes on."""
    dimensions, deltas, entries = _table()
    p0, p1, p = _bracket(dimensions, float(dimension))
    d0, d1, d = _bracket(deltas, delta)

    def at(a: float, b: float) -> float:
        return math.log(getattr(entries[(a, b, multiple)], column))

    value = (1 - p) * ((1 - d) * at(p0, d0) + d * at(p0, d1)) + p * (
        (1 - d) * at(p1, d0) + d * at(p1, d1)
    )
    return math.exp(value)


def _shares(dimension: int, delta: float, multiple: float) -> tuple[float, float]:
    """Depth and test shares of the nearest entry that asks for no fewer models."""
    dimensions, deltas, entries = _table()
    p = next((x for x in dimensions if x >= dimension), dimensions[-1])
    d = next((x for x in reversed(deltas) if x <= delta), deltas[0])
    below = max(x for x in _tabulated_multiples() if x <= multiple + 1e-9)
    entry = entries[(p, d, below)]
    return entry.depth_share, entry.test_share


@cache
def _tabulated_multiples() -> tuple[float, ...]:
    return tuple(sorted({k[2] for k in _table()[2]}))


def _error(dimension: int, delta: float, multiple: float) -> float:
    low, high, place = _bracket(_tabulated_multiples(), multiple)
    a = math.log(_interpolate(dimension, delta, low, "error"))
    b = math.log(_interpolate(dimension, delta, high, "error"))
    return math.exp(a + place * (b - a))


def _inflation(batch: float, d: int) -> float:
    """How much a fit on `batch` units loses to its share of the fit on all, in variance.

    batch / (batch - d - 2) is exact for Gaussian data; the second factor is for data
    that are not, where fits on few rows are far from normal.
    """
    spare = batch - d - 2
    return math.inf if spare < _LEAST_SPARE else batch / spare * (1 + 8 / batch)


def small_batch_factor(batch: float, d: int) -> float:
    """How much larger the spread of a slope is than its own batch tells, for few residuals.

    A wild draw from HC2 residuals falls short where batches have few rows to spare: with 5
    regressors by 19% with two, by 5% with five (fitted to simulations for 1 to 10 regressors;
    tests/planning/test_tukey.py).
    """
    return 1 + 0.13 * math.sqrt(d) / max(batch - d - 2, _LEAST_SPARE)


def plan_tukey(
    units: float, d: int, dimension: int, epsilon: float, delta: float, *, models: int | None = None
) -> TukeyPlan:
    """Choose the plan with the least predicted error among those that pass the test.

    units: noisy number of units.
    d: number of regressors.
    dimension: length of a model vector.
    epsilon, delta: of test and draw together.
    models: use this many models; only the split is chosen then.
    """
    # The table is made with 2% more models than needed; the test needs k / epsilon models.
    least = _interpolate(dimension, delta, 1.0, "models") / epsilon * _SAFETY
    multiples = _MULTIPLES if models is None else np.clip([models / least], 1.0, 10.0)
    errors = []
    for multiple in multiples:
        inflation = _inflation(units / (models or least * multiple), d)
        errors.append(_error(dimension, delta, multiple) * math.sqrt(inflation))
    best = int(np.argmin(errors))
    multiple = float(multiples[best])
    models = models or max(8, math.ceil(least * multiple))
    depth_share, test_share = _shares(dimension, delta, multiple)
    return TukeyPlan(
        models=models,
        batch=math.ceil(max(units, 1.0) / models),
        depth=max(2, round(depth_share * models)),
        epsilon_test=test_share * epsilon,
        epsilon_sample=(1 - test_share) * epsilon,
        error=float(errors[best]),
    )


def least_units(d: int, dimension: int, epsilon: float, delta: float) -> int:
    """Return about how many units TukeyEM needs: enough models, each of d + 4 units."""
    least = _interpolate(dimension, delta, 1.0, "models") / epsilon * _SAFETY
    return math.ceil(least * (d + 4))
