"""How much privacy is lost: exactly between two laws, or at least, between two samples."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from dpreg.base.arrays import Doubles, Integers

# A bound below is wrong with at most this probability.
ERROR = 1e-5


def epsilon_between(p: Doubles, q: Doubles, delta: float) -> float:
    """Return the least epsilon for which p and q are (epsilon, delta)-indistinguishable.

    p, q: probabilities of the same outcomes.
    Returns: infinite when outcomes of more than `delta` are possible on one side only.
    """
    return max(_one_way(p, q, delta), _one_way(q, p, delta))


def _one_way(p: Doubles, q: Doubles, delta: float) -> float:
    if p[q == 0].sum() > delta * (1 + 1e-9):
        return math.inf
    both = (p > 0) & (q > 0)
    rest = delta - p[q == 0].sum()
    with np.errstate(divide="ignore"):
        loss = np.log(p[both]) - np.log(q[both])
    # HS is piecewise linear in e^epsilon between the losses: solve on the right piece.
    order = np.argsort(-loss)
    above_p, above_q = np.cumsum(p[both][order]), np.cumsum(q[both][order])
    nearest = np.append(loss[order][1:], -math.inf)
    for mass, other, floor in zip(above_p, above_q, nearest, strict=True):
        if mass <= rest:
            continue
        epsilon = math.log((mass - rest) / other)
        if epsilon >= floor:
            return max(epsilon, 0.0)
    return 0.0


def sampled_epsilon_bound(a: Doubles, b: Doubles, delta: float, error: float = ERROR) -> float:
    """Return an epsilon that the mechanism loses at least, with probability 1 - `error`.

    The probabilities of one event, "at least c" or "at most c", are bounded by Clopper and
    Pearson (1934).  Half of the runs choose it, the other half count; when the statistic
    takes two values there is nothing to choose but the sides, and all runs count.

    a, b: shape (runs,): a statistic of the output, on either neighbour, runs independent.
    delta: claimed.
    """
    sides = [(sign * p, sign * q) for p, q in ((a, b), (b, a)) for sign in (1.0, -1.0)]
    if len(np.unique(np.concatenate([a, b]))) <= 2:
        return max(0.0, *(_best_cut(p, q, delta, error / 4)[0] for p, q in sides))
    half = len(a) // 2
    chosen = [_best_cut(p[:half], q[:half], delta, error) for p, q in sides]
    best = int(np.argmax([bound for bound, _ in chosen]))
    p, q = (side[half:] for side in sides[best])
    cut = chosen[best][1]
    hits = [np.array([(side >= cut).sum()]) for side in (p, q)]
    return max(0.0, float(_bounds(hits[0], len(p), hits[1], len(q), delta, error)[0]))


def _best_cut(first: Doubles, second: Doubles, delta: float, error: float) -> tuple[float, float]:
    cuts = np.unique(np.concatenate([first, second]))
    if len(cuts) > 2000:
        cuts = np.quantile(cuts, np.linspace(0, 1, 2000))
    hits = [len(s) - np.searchsorted(np.sort(s), cuts, side="left") for s in (first, second)]
    bounds = _bounds(hits[0], len(first), hits[1], len(second), delta, error)
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(cuts[best])


def _bounds(
    hits: Integers, runs: int, others: Integers, other_runs: int, delta: float, error: float
) -> Doubles:
    """Return log((least p - delta) / largest q), -infinity where that says nothing."""
    level = error / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(hits == 0, 0.0, stats.beta.ppf(level, hits, runs - hits + 1))
        high = np.where(
            others == other_runs, 1.0, stats.beta.isf(level, others + 1, other_runs - others)
        )
        return np.asarray(np.where(low > delta, np.log(np.maximum(low - delta, 0) / high), -np.inf))
