"""Private Frank-Wolfe on sparse data, as a ratio to a loop in numpy and scipy in the same run.

Run as ``python tests/benchmarks/bench_frank_wolfe.py [--steps 1000] [--quick] [--json FILE]``:
n = 1e5, d = 1e6, 100 non-zeros a row, a tenth of the steps if quick.  Not a test: it
measures time and memory, and fails on nothing.

The loop it is compared with does what a step needs and no more: one product with X for the
residual, one with X' for the gradient, and one Gumbel variable for each of the 2 d vertices.
It is timed for a few steps; its steps all cost the same.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from measure import Sheet, arguments, seconds

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


def naive_times(X, y, rng):
    w, times = np.zeros(X.shape[1]), []
    for t in range(1, NAIVE_STEPS + 1):
        start = time.perf_counter()
        j = naive_step(X, y, w, rng)
        gamma = 2 / (t + 2)
        w *= 1 - gamma
        w[j % X.shape[1]] += gamma * (L1 if j < X.shape[1] else -L1)
        times.append(time.perf_counter() - start)
    return np.array(times)


def pass_times(gradient, d, bits, repeats):
    """Seconds of three passes over d and of the update after a draw, shape (repeats, 4).

    The passes: ``numpy.exp``, our draw late in a run, and a textbook draw in numpy.
    """
    active, times = np.ones(d, dtype=np.uint8), []
    values, scores, rng = np.zeros(d), np.zeros(2 * d), np.random.default_rng(8)
    for _ in range(repeats):
        exponentials = seconds(lambda: np.exp(values))
        textbook = seconds(lambda: np.argmax(scores + rng.gumbel(size=2 * d)))
        start = time.perf_counter()
        vertex = _core.draw_vertex(gradient, active, EPSILON_STEP, bits)
        middle = time.perf_counter()
        gradient.step(abs(vertex) - 1, vertex > 0)
        times.append((exponentials, middle - start, textbook, time.perf_counter() - middle))
    return np.array(times)


def main():
    options = arguments(__doc__, steps=1000)
    steps = options.steps // 10 if options.quick else options.steps
    rng = np.random.default_rng(1)
    X, y = problem(rng)
    csr_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    sheet, bits, made = Sheet(), _core.SystemBits(), []

    reset_peak()
    before = memory_bytes("VmRSS")
    set_up = seconds(lambda: made.append(_core.SparseUnitDesign(X.indptr, X.indices, X.data, D)))
    set_up += seconds(lambda: made.append(_core.L1Gradient(made[0], y, l1=L1)))
    run = seconds(
        lambda: _core.dp_frank_wolfe(made[1], steps=steps, epsilon_step=EPSILON_STEP, bits=bits)
    )
    memory = 1 + (memory_bytes("VmHWM") - before) / csr_bytes
    naive = naive_times(X, y, rng)
    parts = pass_times(made[1], D, bits, 50)
    print(f"n = {N:,}, d = {D:,}, {PER_ROW} a row, {steps} steps")
    print(f"set-up {set_up:.2f} s, steps {run:.2f} s")
    sheet.add(
        "frank_wolfe", naive / ((set_up + run) / steps), "naive sparse loop over DP-FW, a step",
        f"[{1e3 * (set_up + run) / steps:.3g} ms, set-up included]",
    )  # fmt: skip
    # What "one pass over d" costs depends on what is done in it: all three are reported.
    for column, (key, name) in enumerate((
        ("exp", "numpy.exp over d"), ("draw", "our draw, late in the run"),
        ("textbook", "Gumbel noise and maximum in numpy"),
    )):  # fmt: skip
        sheet.add(
            f"frank_wolfe_step_{key}", run / steps / (parts[:, column] + parts[:, 3]),
            f"a step over {name}, and the touch of its non-zeros",
            f"[step {1e3 * run / steps:.3g} ms; {1e3 * np.median(parts[:, column]):.3g} ms]",
        )  # fmt: skip
    sheet.add("frank_wolfe_memory", memory, "peak memory over the CSR arrays, these included")
    sheet.write(options.json)


if __name__ == "__main__":
    main()
