"""Laws that can be written down, compared over all neighbours of small worlds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np
from scipy import stats

from dpreg import _core
from dpreg.audit._bounds import epsilon_between
from dpreg.audit._finding import Check, Effort, Finding, each_case
from dpreg.base.arrays import Doubles, Integers
from dpreg.privacy.gdp import discreteness, gdp_epsilon
from dpreg.privacy.pld import sampled_epsilon


@each_case("release test", "propose_test_release: the test", "exact", 1.0)
def release_test(effort: Effort) -> Iterator[tuple[float, str]]:
    """Pass or not, at every distance and the next; unsafe data may pass with delta only."""
    for delta in (0.3, 0.01, 1e-5):
        threshold = _core.release_threshold(1.0, delta)
        laws = [_test_law(threshold - distance, 1.0) for distance in range(-1, 40)]
        if laws[0][0] > delta:
            claim = f"{delta:g} is claimed"
            yield math.inf, f"unsafe data pass with probability {laws[0][0]:.3g}, {claim}"
        for a, b in itertools.pairwise(laws):
            yield epsilon_between(a, b, 0.0), ""


def _test_law(margin: int, epsilon: float) -> Doubles:
    """Pr[X > margin] and Pr[X <= margin], X discrete Laplace, the smaller one to full precision."""
    tail = _core.discrete_laplace_tail(margin + 1 if margin >= 0 else -margin, epsilon)
    return np.array([tail, 1 - tail] if margin >= 0 else [1 - tail, tail])


def grid_depths(models: Integers, values: int) -> Integers:
    """Depth of every point of {0, ..., values - 1}^p, by definition."""
    points = np.array(list(itertools.product(range(values), repeat=models.shape[1])))
    below = (models[None] <= points[:, None]).sum(axis=1)
    above = (models[None] >= points[:, None]).sum(axis=1)
    return np.asarray(np.minimum(np.minimum(below, above).min(axis=1), (len(models) + 1) // 2))


def tukey_law(
    models: Integers, values: int, t: int, epsilon: tuple[float, float], delta: float
) -> Doubles:
    """Law of `_core.tukey_em` over the grid points and, last, "not released".

    Distance and threshold are those of the code, probabilities are from the definitions.
    """
    test, sample = epsilon
    depths = grid_depths(models, values)
    if t > (len(models) + 1) // 2:
        return np.append(np.zeros(len(depths)), 1.0)
    regions = _core.DepthRegions(models.astype(np.float64), 0)
    distance = _core.distance_to_unsafety(regions, sample, t, delta)
    passes, fails = _test_law(_core.release_threshold(test, delta) - distance, test)
    weight = np.where(depths >= t, np.exp(sample * depths / 2), 0.0)
    return np.append(passes * weight / weight.sum(), fails)


_TUKEY_WORLDS = ((4, 4, 1), (7, 3, 1), (11, 2, 1), (20, 2, 1), (4, 2, 2))


def _tukey(name: str, *epsilon: float) -> Check:
    """All sets of models on small grids, with any one of them replaced by any other.

    epsilon: of the test, and of the draw.
    """
    delta, (test, draw) = 0.02, epsilon

    @each_case(name, f"tukey_em: test {test:g}, draw {draw:g}", "exact", test + draw, delta)
    def lost(effort: Effort) -> Iterator[tuple[float, str]]:
        for m, values, p in _TUKEY_WORLDS:
            points = list(itertools.product(range(values), repeat=p))
            worlds = list(itertools.combinations_with_replacement(points, m))
            neighbours = _neighbours(worlds, points)
            for t in range(1, (m + 1) // 2 + 1):
                laws = {w: tukey_law(np.array(w), values, t, (test, draw), delta) for w in worlds}
                for world, other in neighbours:
                    remark = f"{m} models, t = {t}: {_short(world)} and {_short(other)}"
                    yield epsilon_between(laws[world], laws[other], delta), remark

    return lost


TUKEY, TUKEY_TEST = _tukey("tukey worlds", 1.0, 2.0), _tukey("tukey worlds, test", 2.0, 0.5)


Point = tuple[int, ...]
World = tuple[Point, ...]


def _neighbours(worlds: list[World], points: list[Point]) -> list[tuple[World, World]]:
    found = set()
    for world in worlds:
        for k, new in itertools.product(range(len(world)), points):
            other = tuple(sorted((*world[:k], new, *world[k + 1 :])))
            if world < other:
                found.add((world, other))
    return sorted(found)


def _short(world: World) -> str:
    return "{" + " ".join(",".join(map(str, point)) for point in world) + "}"


@each_case("choice worlds", "choose_index: exponential mechanism", "exact", 1.0)
def choice(effort: Effort) -> Iterator[tuple[float, str]]:
    """All score vectors on a grid whose changes have range epsilon."""
    scores = [np.array(s) for s in itertools.product([0.0, 0.5, 1.0], repeat=3)]
    for a, b in itertools.combinations(scores, 2):
        if np.ptp(a - b) <= 1.0:
            yield epsilon_between(_chosen(a), _chosen(b), 0.0), ""


def _chosen(log_weights: Doubles) -> Doubles:
    """Law of `_core.choose_index`, weights rounded up to multiples of 2^-96."""
    top = log_weights.max()
    weights = [math.ceil(Fraction(math.exp(w - top)) * 2**96) for w in log_weights]
    return np.array([w / sum(weights) for w in weights])


@partial(Check, "gaussian worlds")
def gaussian(effort: Effort) -> Finding:
    """Discrete Gaussian noise on integers, for all changes up to the sensitivity."""
    sigma, sensitivity, delta = 400, 400, 1e-5
    claim = gdp_epsilon(sensitivity / sigma, delta) + discreteness(sigma, 1)
    x = np.arange(-30 * sigma, 31 * sigma)
    lost = []
    for change in range(25, sensitivity + 1, 25):
        p, q = (np.exp(-((x - c) ** 2) / (2 * sigma**2)) for c in (0, change))
        lost.append(epsilon_between(p / p.sum(), q / q.sum(), delta))
    return Finding("discrete_gaussian: one release", "exact", claim, delta, max(lost), len(lost))


@partial(Check, "sampled gaussian")
def sampled_gaussian(effort: Effort) -> Finding:
    """One step on a Poisson sample: a mixture against its part, both ways."""
    multiplier, rate, delta = 1.0, 0.1, 1e-3
    claim = sampled_epsilon(multiplier, rate, 1, 0.0, delta)
    edges = np.linspace(-20, 21, 40_001)
    without = np.diff(stats.norm.cdf(edges / multiplier))
    row = np.diff(stats.norm.cdf((edges - 1) / multiplier))
    lost = epsilon_between(without, (1 - rate) * without + rate * row, delta)
    return Finding("sampled Gaussian: accounting of one step", "exact", claim, delta, lost, 1)
