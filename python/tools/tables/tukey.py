"""Make `tukey_table.csv`: how many models TukeyEM needs, and how to split epsilon.

Run as ``python -m tables.tukey`` in `python/tools` (about two minutes on one core).

For each dimension p and delta, at epsilon = 1: the least number of models for which
Gaussian models pass the test 99 times in 100, with the depth share t / m and the test
share eps_p / eps that achieve it; and for multiples of that number, the shares that make
the released coordinate most accurate while the test still passes.  The needed number is
proportional to 1 / epsilon.  The last column is the share of 200 simulated model sets
that pass.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from tables.auto import FOLDER, write

from dpreg import _core
from dpreg.estimation.planning.tukey import distance, released_scale

COLUMNS = (
    "dimension", "delta", "multiple", "models", "depth_share", "test_share", "error", "pass_rate"
)  # fmt: skip
TABLE = FOLDER / "tukey_table.csv"
DIMENSIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
DELTAS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-11, 1e-15)
MULTIPLES = (1.0, 1.25, 1.6, 2.0, 3.0, 5.0, 10.0)
TEST_SHARES = (0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)
DEPTH_SHARES = (0.03, 0.05, 0.065, 0.08, 0.1, 0.13, 0.17, 0.22)
SIMULATIONS = 200


def least_distance(epsilon: float, delta: float, failure: float = 0.01) -> int:
    """Distance at which the test passes with probability at least 1 - `failure`."""
    threshold = _core.release_threshold(epsilon, delta)
    # Pr[distance + X <= threshold] is the tail of X at distance - threshold.
    return threshold + max(1, math.ceil(-math.log(failure * (1 + math.exp(-epsilon))) / epsilon))


def passes(m: int, p: int, delta: float, test: float, depth: float) -> bool:
    t = max(2, round(depth * m))
    return distance(m, p, 1 - test, t, delta) >= least_distance(test, delta)


def least_models(p: int, delta: float) -> int:
    best = 1 << 15
    for test, depth in itertools.product(TEST_SHARES, DEPTH_SHARES):
        if not passes(best, p, delta, test, depth):
            continue
        low, high = 8, best
        while high > low + max(1, high // 500):
            middle = max(low + 1, math.isqrt(low * high))
            low, high = (low, middle) if passes(middle, p, delta, test, depth) else (middle, high)
        best = high
    return best


def error(m: int, p: int, test: float, depth: float) -> float:
    """Standard deviation of a released coordinate, in sd(model) / sqrt(m)."""
    return math.sqrt(m) * released_scale(m, p, 1 - test, max(2, round(depth * m)))


def best_shares(m: int, p: int, delta: float) -> tuple[float, float, float]:
    return min(
        (error(m, p, test, depth), depth, test)
        for test, depth in itertools.product(TEST_SHARES, DEPTH_SHARES)
        if passes(m, p, delta, test, depth)
    )


def simulated_pass_rate(m: int, p: int, delta: float, test: float, depth: float) -> float:
    rng = np.random.default_rng(20260101)
    bits = _core.TestBits(20260101)
    passed = 0
    for _ in range(SIMULATIONS):
        regions = _core.DepthRegions(rng.standard_normal((m, p)), -60)
        found = _core.distance_to_unsafety(regions, 1 - test, max(2, round(depth * m)), delta)
        passed += _core.passes_release_test(found, test, delta, bits)
    return passed / SIMULATIONS


def rows_of(p: int) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for delta in DELTAS:
        least = least_models(p, delta)
        for multiple in MULTIPLES:
            m = math.ceil(1.02 * multiple * least)
            err, depth, test = best_shares(m, p, delta)
            simulate = multiple == 1 and p <= 32
            rate = simulated_pass_rate(m, p, delta, test, depth) if simulate else ""
            rows.append((p, delta, multiple, m, depth, test, f"{err:.4g}", rate))
    return rows


if __name__ == "__main__":
    write(TABLE, COLUMNS, DIMENSIONS, rows_of)
