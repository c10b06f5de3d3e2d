"""A hundred rounds of Boosted AdaSSP, as a ratio to the same in numpy, in the same run.

Run as ``python tests/benchmarks/bench_boosted.py``: n = 515,345, d = 91.  numpy computes
``X @ v`` and ``X.T @ r`` a round; ours also clips and adds up exactly.  Not a test: it measures
time, and fails on nothing.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from dpreg import _core

N, D, ROUNDS, CLIP = 515_345, 91, 100, 2.5


def timed(work, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return np.median(times), min(times), max(times)


def quantised(x, y):
    how = _core.Standardisation()
    how.columns = list(range(D))
    how.low, how.high = [-10.0] * D, [10.0] * D
    how.centre, how.inverse_scale = [0.0] * D, [1.0] * D
    how.y_centre, how.y_inverse_scale = 0.0, 1.0
    how.intercept, how.row_limit, how.response_limit = True, 1.2 * np.sqrt(D + 1), 0.0
    return _core.QuantisedRows(x, y, how)


def main():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, D))
    y = x @ rng.standard_normal(D) / 10 + rng.standard_normal(N)
    start = time.perf_counter()
    rows = quantised(x, y)
    preparation = time.perf_counter() - start
    theta = rng.standard_normal(D + 1) / 100

    def ours():
        for _ in range(ROUNDS):
            rows.round(theta.tolist(), CLIP)

    def loop():
        for _ in range(ROUNDS):
            residual = y - x @ theta[1:]
            x.T @ residual

    numpy_time, ours_time = timed(loop), timed(ours)
    print(f"n = {N:,}, d = {D}, {ROUNDS} rounds, medians of 3 (least to most)")
    print("numpy   {:.2f} s ({:.2f} to {:.2f})".format(*numpy_time))
    print("dpreg   {:.2f} s ({:.2f} to {:.2f})".format(*ours_time))
    print(f"rows are made once in {preparation:.2f} s")
    total = (ours_time[0] + preparation) / numpy_time[0]
    print(f"ratio   {ours_time[0] / numpy_time[0]:.2f}, with that {total:.2f}; goal 0.7")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"peak    {peak / x.nbytes:.2f} times X, X and numpy included")


if __name__ == "__main__":
    main()
