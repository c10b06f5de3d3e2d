"""The public law of TukeyEM when the models are Gaussian: depth profile, test, release.

Everything here is arithmetic on public numbers.  Models are replaced by their expected
order statistics, which is what makes it fast; `python/tools/tables/tukey.py` checks the result by
simulation of whole models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles, Integers


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
    from scipy import stats

    weights = box_weights(models, dimension, epsilon, depth)
    ranks = np.arange(depth, depth + len(weights))
    lower = np.minimum((ranks - 0.375) / (models + 0.25), 0.5)
    half = -stats.norm.ppf(lower)
    density = stats.norm.pdf(half)
    centre = lower / (2 * density**2) / models  # of the middle of two order statistics
    return math.sqrt(float(weights @ (centre + (2 * half) ** 2 / 12)))


@dataclass(frozen=True, slots=True)
class ReleaseLaw:
    """How far a released coordinate is from what it estimates."""

    scale: float  # Standard deviation, in standard deviations of one model.
    sampling: float  # The part of `scale` that a noiseless average of the models would have.
    tail: tuple[float, ...]  # Two-sided tail probabilities, falling.
    # |estimate - truth| / (scale * estimated spread) exceeds ``critical[i]`` with probability
    # ``tail[i]``.
    critical: tuple[float, ...]
    # The exponential of a released log spread, divided by this, estimates the standard deviation of
    # one model.
    spread_divisor: float


_DRAWS = 100_000
_TAIL = (0.9, 0.75, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.075, 0.05, 0.04, 0.03, 0.02, 0.015, 0.01,
         0.005, 0.002, 0.001)  # fmt: skip


def release_law(
    models: int, dimension: int, epsilon: float, depth: int, *, shallowest: bool = False
) -> ReleaseLaw:
    """Simulate the law of a released slope over its estimated standard error.

    A coordinate is uniform between two order statistics of the models; their joint law
    is that of uniform order statistics, which are beta variables.  The seed is fixed:
    the law is a public constant of its arguments.

    models, dimension, epsilon, depth: of the release.
    shallowest: the release is from the least depth: what a coordinate that many models cannot tell,
        and so a region that is wide at small depths alone, does to all others.
    """
    rng = np.random.default_rng(20260101)
    weights = np.ones(1) if shallowest else box_weights(models, dimension, epsilon, depth)
    ranks = depth + rng.choice(len(weights), size=_DRAWS, p=weights)
    centre = _between(ranks, models, special.ndtri, rng)
    log_spread = _between(ranks, models, lambda u: np.log(special.ndtri(0.5 + u / 2)), rng)
    divisor = math.exp(float(np.median(log_spread)))
    scale = float(np.std(centre))
    ratio = np.abs(centre) / (np.exp(log_spread) / divisor * scale)
    critical = np.quantile(ratio, 1 - np.array(_TAIL))
    return ReleaseLaw(
        scale=scale,
        sampling=1 / math.sqrt(models),
        tail=_TAIL,
        critical=tuple(float(c) for c in critical),
        spread_divisor=divisor,
    )


def _between(ranks: Integers, models: int, quantile: object, rng: np.random.Generator) -> Doubles:
    """Draw a point between the order statistics of rank i and m - i + 1."""
    lower = rng.beta(ranks, models - ranks + 1)
    gap = models - 2 * ranks + 1
    share = np.where(gap > 0, rng.beta(np.maximum(gap, 1), ranks), 0.0)
    upper = lower + (1 - lower) * share
    low, high = quantile(lower), quantile(upper)  # type: ignore[operator]
    return np.asarray(low + (high - low) * rng.random(len(ranks)))
