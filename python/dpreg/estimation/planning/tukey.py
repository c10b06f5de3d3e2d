"""Plans of TukeyEM from public numbers: number and size of models, and law of the release.

Plans follow from (noisy number of units, d, epsilon, delta) alone, by a table of public
simulations: `tukey_table.csv`, made by `python/tools/tables/tukey.py`.

The law of a release, its depth profile and its test are those of Gaussian models, which are
replaced by their expected order statistics: that makes it fast, and the same script checks it by
simulation of whole models.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles, Integers
from dpreg.estimation.inference.law import TailLaw
from dpreg.estimation.planning.grids import gridded, read_table

# Real models are less regular than the Gaussian ones of the table.
_SAFETY = 1.2
# Rows of a batch beyond those that a fit uses, below which scales are not estimable.
_LEAST_SPARE = 2.0
# Multiples of the least number of models that are compared.
_MULTIPLES = np.geomspace(1.0, 10.0, 41)


# A very noisy count may require more memory than there is, and minutes to fill it; if it is mostly
# noise, less is enough.
_MOST_UNITS, _MOST_OF_NOISE, _NOISY = 2**26, 2**20, 1e-5


def most_units(epsilon_count: float) -> int:
    """Return the largest number of units used for a noisy count."""
    return _MOST_UNITS if epsilon_count >= _NOISY else _MOST_OF_NOISE


@dataclass(frozen=True, slots=True)
class TukeyPlan:
    """Public parameters of one TukeyEM release."""

    # models, batch: number of models, and largest number of units of each.
    models: int
    batch: int
    depth: int  # Smallest depth of a released point.
    # epsilon_test, epsilon_sample: they add up to the epsilon of the plan.
    epsilon_test: float
    epsilon_sample: float
    # Predicted standard deviation of a released coordinate relative to that of least squares on all
    # units, for Gaussian data; infinite when batches are too small.
    error: float


@cache
def _table() -> tuple[tuple[Doubles, ...], dict[str, Doubles]]:
    """Return dimensions, deltas and multiples, and what there is for each."""
    axes = ("dimension", "delta", "multiple")
    return gridded(
        read_table("tukey_table.csv"), axes, ("models", "depth_share", "test_share", "error")
    )


@cache
def _interpolator(column: str) -> Callable[[tuple[Any, ...]], Doubles]:
    """Linear in all logarithms; beyond the table, the slope at its edge goes on."""
    from scipy.interpolate import RegularGridInterpolator

    axes, found = _table()
    logs = tuple(np.log(axis) for axis in axes)
    return RegularGridInterpolator(logs, np.log(found[column]), bounds_error=False, fill_value=None)


def _between(column: str, dimension: int, delta: float, multiples: float | Doubles) -> Doubles:
    """Return a column at so many times the least number of models."""
    point = np.log(dimension), np.log(delta), np.log(multiples)
    return np.asarray(np.exp(_interpolator(column)(point)))


def _least_models(dimension: int, epsilon: float, delta: float) -> float:
    # The table is made with 2% more models than needed; the test needs k / epsilon models.
    return float(_between("models", dimension, delta, 1.0)) / epsilon * _SAFETY


def _shares(dimension: int, delta: float, multiple: float) -> tuple[float, float]:
    """Depth and test shares of the nearest entry that asks for no fewer models."""
    (dimensions, deltas, multiples), found = _table()
    place = (
        min(int(np.searchsorted(dimensions, dimension)), len(dimensions) - 1),
        max(int(np.searchsorted(deltas, delta, side="right")) - 1, 0),
        int(np.searchsorted(multiples, multiple + 1e-9, side="right")) - 1,
    )
    return float(found["depth_share"][place]), float(found["test_share"][place])


def _inflation(batch: Doubles, d: int) -> Doubles:
    """Return the variance of a fit on `batch` units, relative to its share of the full fit.

    batch / (batch - d - 2) is exact for Gaussian data; the second factor is for data
    that are not, where fits on few rows are far from normal.
    """
    spare = batch - d - 2
    inflation = batch / np.maximum(spare, _LEAST_SPARE) * (1 + 8 / batch)
    return np.where(spare < _LEAST_SPARE, np.inf, inflation)


def small_batch_factor(batch: float, d: int) -> float:
    """Return the factor by which small batches underestimate the spread of a slope.

    A wild draw from HC2 residuals is too small if batches have few spare rows: with 5 regressors by
    19% with two, by 5% with five (fitted to simulations for 1 to 10 regressors;
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
    units, least = max(units, 1.0), _least_models(dimension, epsilon, delta)
    multiples = _MULTIPLES if models is None else np.clip([models / least], 1.0, 10.0)
    batches = units / np.asarray(models or least * multiples)
    errors = _between("error", dimension, delta, multiples) * np.sqrt(_inflation(batches, d))
    best = int(np.argmin(errors))
    multiple = float(multiples[best])
    models = models or max(8, math.ceil(least * multiple))
    depth_share, test_share = _shares(dimension, delta, multiple)
    return TukeyPlan(
        models=models,
        batch=math.ceil(units / models),
        depth=max(2, round(depth_share * models)),
        epsilon_test=test_share * epsilon,
        epsilon_sample=(1 - test_share) * epsilon,
        error=float(errors[best]),
    )


def least_units(d: int, dimension: int, epsilon: float, delta: float) -> int:
    """Return about how many units TukeyEM needs: enough models, each of d + 4 units."""
    return math.ceil(_least_models(dimension, epsilon, delta) * (d + 4))


def _side_lengths(models: int) -> Doubles:
    """Expected side of the region of depth i = 1, ..., H, in standard deviations of a model."""
    depth = np.arange(1, (models + 1) // 2 + 1)
    # Blom's approximation to expected normal order statistics.
    return np.asarray(np.maximum(-2.0 * special.ndtri((depth - 0.375) / (models + 0.25)), 1e-9))


def distance(models: int, dimension: int, epsilon: float, depth: int, delta: float) -> int:
    """Distance to unsafety of Gaussian models; see `_core.distance_to_unsafety`."""
    log_volume = dimension * np.log(_side_lengths(models))
    deepest = len(log_volume)
    depths = np.arange(1, deepest + 1)
    here = log_volume + epsilon * depths / 2
    beyond = np.logaddexp.accumulate((here + math.log(-math.expm1(-epsilon / 2)))[::-1])[::-1]
    log_weight = np.append(np.logaddexp(here[:-1], beyond[1:]), here[-1])

    k = np.arange(0, max(0, min(depth - 1, deepest - depth)))
    outer, inner = depth - 1 - k - 1, depth + 1 + k - 1
    shell = log_volume[outer] + np.log(-np.expm1(log_volume[inner] - log_volume[outer]))
    log_rho = epsilon * (depth + k) / 2 + shell - log_weight[inner]
    failures = np.flatnonzero(log_rho > math.log(delta) - math.log1p(-delta))
    return int(failures[0] if len(failures) else len(k)) - 1


def box_weights(models: int, dimension: int, epsilon: float, depth: int) -> Doubles:
    """Probability that the release is uniform on S_i, i = depth, ..., H."""
    log_volume = dimension * np.log(_side_lengths(models))[depth - 1 :]
    step = np.arange(len(log_volume))
    tilt = np.where(step == 0, 0.0, math.log(-math.expm1(-epsilon / 2)) + epsilon * step / 2)
    logits = log_volume + tilt
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


def released_scale(models: int, dimension: int, epsilon: float, depth: int) -> float:
    """Standard deviation of a released coordinate, in that of one model."""
    weights = box_weights(models, dimension, epsilon, depth)
    ranks = np.arange(depth, depth + len(weights))
    lower = np.minimum((ranks - 0.375) / (models + 0.25), 0.5)
    half = -special.ndtri(lower)
    density = np.exp(-(half**2) / 2) / math.sqrt(2 * math.pi)
    centre = lower / (2 * density**2) / models  # of the middle of two order statistics
    return math.sqrt(float(weights @ (centre + (2 * half) ** 2 / 12)))


@dataclass(frozen=True, slots=True)
class ReleaseLaw:
    """How far a released coordinate is from what it estimates."""

    scale: float  # Standard deviation, in standard deviations of one model.
    sampling: float  # The part of `scale` that a noiseless average of the models would have.
    law: TailLaw  # Of (estimate - truth) / (scale * estimated spread).
    # The exponential of a released log spread, divided by this, estimates the standard deviation of
    # one model.
    spread_divisor: float


_DRAWS = 100_000
_TAIL = (0.9, 0.75, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.075, 0.05, 0.04, 0.03, 0.02, 0.015, 0.01,
         0.005, 0.002, 0.001)  # fmt: skip


# Few different numbers of models occur in a process; each takes 50 ms.
@lru_cache(maxsize=64)
def release_law(
    models: int, dimension: int, epsilon: float, depth: int, *, shallowest: bool = False
) -> ReleaseLaw:
    """Simulate the law of a released slope over its estimated standard error.

    A coordinate is uniform between two order statistics of the models; their joint law
    is that of uniform order statistics, which are beta variables.  The seed is fixed:
    the law is a public constant of its arguments.

    models, dimension, epsilon, depth: of the release.
    shallowest: the release is from the least depth, as happens to all coordinates if one is not
        estimable in many models, which makes its region wide at small depths only.
    """
    rng = np.random.default_rng(20260101)
    weights = np.ones(1) if shallowest else box_weights(models, dimension, epsilon, depth)
    ranks = depth + rng.choice(len(weights), size=_DRAWS, p=weights)
    centre = _of_ranks(ranks, models, special.ndtri, rng)
    log_spread = _of_ranks(ranks, models, lambda u: np.log(special.ndtri(0.5 + u / 2)), rng)
    divisor = math.exp(float(np.median(log_spread)))
    scale = float(np.std(centre))
    ratio = np.abs(centre) / (np.exp(log_spread) / divisor * scale)
    critical = np.quantile(ratio, 1 - np.array(_TAIL))
    law = TailLaw(_TAIL, tuple(float(c) for c in critical))
    return ReleaseLaw(scale, sampling=1 / math.sqrt(models), law=law, spread_divisor=divisor)


def _of_ranks(
    ranks: Integers, models: int, quantile: Callable[[Doubles], Doubles], rng: np.random.Generator
) -> Doubles:
    """Draw a point between the order statistics of rank i and m - i + 1."""
    lower = rng.beta(ranks, models - ranks + 1)
    gap = models - 2 * ranks + 1
    share = np.where(gap > 0, rng.beta(np.maximum(gap, 1), ranks), 0.0)
    upper = lower + (1 - lower) * share
    low, high = quantile(lower), quantile(upper)
    return np.asarray(low + (high - low) * rng.random(len(ranks)))
