"""Private Frank-Wolfe on sparse data, as a ratio to a loop in numpy and scipy in the same run.

Run as ``python tests/benchmarks/bench_frank_wolfe.py [--steps 1000]``: n = 1e5, d = 1e6, 100
non-zeros a row.  Not a test: it measures time and memory, and fails on nothing.

The loop it is compared with does what a step needs and no more: one product with X for the
residual, one with X' for the gradient, and one Gumbel variable for each of the 2 d vertices.
It is timed for a few steps; its steps all cost the same.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from dpreg import _core

N, D, PER_ROW, L1, EPSILON_STEP = 100_000, 1_000_000, 100, 1.0, 0.0157
NAIVE_STEPS = 5


def problem(rng):
    columns = rng.integers(0, D, (N, PER_ROW), dtype=np.int32)
    columns.sort(axis=1)
    X = sp.csr_array(
        (rng.uniform(-1, 1, N * PER_ROW), columns.ravel(), np.arange(0, N * PER_ROW + 1, PER_ROW)),
        shape=(N, D),
    )
    X.sum_duplicates()
    X.indptr, X.indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)
    return X, np.clip(X @ np.where(np.arange(D) < 1000, 1.0, 0.0), -L1, L1)


def memory_bytes(field):
    """VmRSS, what is in memory now, or VmHWM, the peak since it was reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def reset_peak():
    Path("/proc/self/clear_refs").write_text("5")


def naive_step(X, y, w, rng):
    gradient = X.T @ (X @ w - y)
    scores = np.concatenate([-gradient, gradient]) * EPSILON_STEP / (4 * L1)
    return int(np.argmax(scores + rng.gumbel(size=2 * D)))


def naive_time(X, y, rng):
    w = np.zeros(D)
    start = time.perf_counter()
    for t in range(1, NAIVE_STEPS + 1):
        j = naive_step(X, y, w, rng)
        gamma = 2 / (t + 2)
        w *= 1 - gamma
        w[j % D] += gamma * (L1 if j < D else -L1)
    return (time.perf_counter() - start) / NAIVE_STEPS


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1000)
    steps = parser.parse_args().steps
    rng = np.random.default_rng(1)
    X, y = problem(rng)
    csr_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes

    reset_peak()
    before = memory_bytes("VmRSS")
    start = time.perf_counter()
    design = _core.SparseUnitDesign(X.indptr, X.indices, X.data, D)
    gradient = _core.L1Gradient(design, y, l1=L1)
    ready = time.perf_counter()
    bits = _core.SystemBits()
    _core.dp_frank_wolfe(gradient, steps=steps, epsilon_step=EPSILON_STEP, bits=bits)
    done = time.perf_counter()
    memory = 1 + (memory_bytes("VmHWM") - before) / csr_bytes

    active = np.ones(D, dtype=np.uint8)
    pass_start = time.perf_counter()
    for _ in range(20):
        _core.draw_vertex(gradient, active, EPSILON_STEP, bits)
    one_pass = (time.perf_counter() - pass_start) / 20
    ours, naive = (done - start) / steps, naive_time(X, y, rng)
    print(f"set-up {ready - start:.2f} s, {steps} steps {done - ready:.2f} s")
    print(f"a step, set-up included: {1e3 * ours:.2f} ms; naive loop: {1e3 * naive:.1f} ms")
    print(f"ratio naive / ours: {naive / ours:.0f}")
    print(f"of a step, the pass over d is {1e3 * one_pass:.2f} ms: the draw of a vertex")
    print(f"peak memory, X included, in units of its CSR arrays: {memory:.2f} (goal: at most 2)")


if __name__ == "__main__":
    main()
