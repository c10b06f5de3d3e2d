"""TukeyEM from matrix to release, as a ratio to one ``X.T @ X`` in the same run.

Run as ``python tests/benchmarks/bench_tukey.py``: n = 515,345, d = 91, m = 1000.  Not a test:
it measures time and memory, and fails on nothing.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from dpreg import _core

N, D, MODELS = 515_345, 91, 1000


def median_time(work, repeats=5):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def release(x, y):
    bits = _core.SystemBits()
    n = len(y) + int(_core.discrete_laplace(0.02, bits, 1)[0])
    assignment = _core.assign_to_slots(len(y), MODELS, -(-n // MODELS), bits)
    fits = _core.fit_batches(
        x, y, assignment, ridge=0.03, refinements=4, intercept=True, log_spreads=False
    )
    regions = _core.DepthRegions(fits, -60)
    _core.tukey_em(regions, depth=100, epsilon_test=0.4, epsilon_sample=0.6, delta=1e-5, bits=bits)


def main():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, D))
    y = x @ rng.standard_normal(D) + rng.standard_normal(N)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    release_time = median_time(lambda: release(x, y))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    product_time = median_time(lambda: x.T @ x)
    memory = 1 + (after - before) * 1024 / x.nbytes
    print(f"X.T @ X {product_time:.3f} s, TukeyEM {release_time:.3f} s")
    print(f"ratio {release_time / product_time:.2f} (goal: at most 4)")
    print(f"peak memory, in units of X: {memory:.2f} (goal: at most 1.3)")


if __name__ == "__main__":
    main()
