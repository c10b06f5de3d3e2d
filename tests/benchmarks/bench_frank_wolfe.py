"""Private Frank-Wolfe on sparse rows of the shape of KDDA, as ratios to loops in numpy and scipy.

Run as ``python tests/benchmarks/bench_frank_wolfe.py [--steps 1000] [--eighths 1] [--quick]
[--json FILE]``: as many eighths of 8.4 million rows and 20.2 million columns, 36 entries a row,
all 1; an eighth of that and a tenth of the steps if quick.  Not a test: it measures time, memory
and accuracy, and fails on nothing.

KDDA itself is not here.  The columns of the entries are drawn with probability proportional to
rank^-skew: with a skew of 1 the first column stands in most of the rows and a step that takes it
touches most of the data; with 0.6 no column has more than some thousands of rows.

A run is compared, a step of it, with two loops:

- the *dense step* keeps all d gradients: it adds the rows that the chosen column touches and goes
  through all d once, for the largest score of each 64 columns, of which it draws.  That is what
  our step was before it kept bounds.  It takes the vertices of our run at ten places, so
  that both touch the same.
- the *naive step* keeps nothing: a product with X, one with X', a Gumbel variable per vertex.

All run on one thread and are timed by its own clock, which other jobs change less.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from measure import Sheet, arguments, seconds

from dpreg import _core
from dpreg.privacy.zcdp import bounded_range_epsilon, zcdp_rho

ROWS, COLS, PER_ROW = 8_400_000, 20_200_000, 36
SKEWS = {"": 1.0, "_even": 0.6}
L1, EPS, DELTA, HELD_OUT = 5.0, (1.0, 5.0), 1e-6, 20_000
DENSE_STEPS, NAIVE_STEPS, RUN = 10, 3, 64


def ranks(uniform, d, skew):
    """Numbers below d with probabilities about proportional to (1 + number)^-skew."""
    power = 1 - skew
    drawn = (
        np.expm1(uniform * np.log1p(d))
        if power == 0
        else (1 + uniform * ((d + 1.0) ** power - 1)) ** (1 / power) - 1
    )
    return np.minimum(drawn.astype(np.int32), d - 1)


def problem(n, d, skew, rng):
    """Rows, and a response that 20 of the 100 most frequent columns make, in the l1 ball."""
    columns = np.sort(ranks(rng.random((n, PER_ROW)), d, skew), axis=1)
    once = np.diff(columns, axis=1, prepend=-1) > 0
    starts = np.concatenate([[0], np.cumsum(once.sum(axis=1))])
    places = rng.permutation(d).astype(np.int32)
    X = sp.csr_array((np.ones(starts[-1]), places[columns[once]], starts), shape=(n, d))
    X.sort_indices()
    w = np.zeros(d)
    w[places[rng.choice(100, 20, replace=False)]] = L1 / 20 * rng.choice([-1.0, 1.0], 20)
    return X, np.clip(X @ w + 0.1 * rng.standard_normal(n), -L1, L1)


def memory_bytes(field):
    """VmRSS, what is in memory now, or VmHWM, the peak since it was reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def reset_peak():
    Path("/proc/self/clear_refs").write_text("5")


def design_of(X):
    return _core.SparseUnitDesign(X.indptr, X.indices, X.data, X.shape[1])


def dense_times(X, y, path, epsilon_step, rng):
    """Seconds of dense steps to vertices of `path`, at as many places of it."""
    d = X.shape[1]
    by_column, crossprod, sums = X.tocsc(), X.T @ y, np.zeros(d)
    firsts, slope, times = np.arange(0, d, RUN), epsilon_step / (4 * L1), []
    for vertex in path[:: max(1, len(path) // DENSE_STEPS)][:DENSE_STEPS]:
        j = abs(int(vertex)) - 1
        start = time.process_time()
        scores = slope * np.abs(sums - crossprod)
        bounds = np.maximum.reduceat(scores, firsts)
        weights = np.cumsum(np.exp(bounds - bounds.max()))
        np.searchsorted(weights, rng.random() * weights[-1])
        rows = by_column.indices[by_column.indptr[j] : by_column.indptr[j + 1]]
        sums += L1 / len(path) * (X[rows].T @ np.ones(len(rows)))
        times.append(time.process_time() - start)
    return np.array(times)


def naive_times(X, y, epsilon_step, rng):
    def step(w):
        gradient = X.T @ (X @ w - y)
        scores = np.concatenate([-gradient, gradient]) * epsilon_step / (4 * L1)
        return np.argmax(scores + rng.gumbel(size=scores.size))

    w = rng.standard_normal(X.shape[1])
    return np.array([seconds(lambda: step(w), time.process_time) for _ in range(NAIVE_STEPS)])


def explained(X, y, w):
    return 1 - np.mean((X @ w - y) ** 2) / np.var(y)


def accuracy(sheet, key, design, train, held_out, steps):
    """Explained variance of rows held out, private and not, of runs of the same length."""
    for eps in EPS:
        epsilon_step = bounded_range_epsilon(zcdp_rho(eps, DELTA), steps)
        gradient = _core.L1Gradient(design, train, l1=L1)
        run = _core.dp_frank_wolfe(
            gradient, steps=steps, epsilon_step=epsilon_step, bits=_core.SystemBits()
        )
        sheet.add(f"{key}_explained_{eps:g}", explained(*held_out, run["weights"]),
                  f"explained variance of rows held out, eps = {eps:g}")  # fmt: skip
    run = _core.frank_wolfe(_core.L1Gradient(design, train, l1=L1), steps=steps // 5)
    sheet.add(f"{key}_explained", explained(*held_out, run["weights"]),
              f"the same without privacy, {steps // 5} steps")  # fmt: skip


def measure(sheet, key, skew, share, steps):
    rng = np.random.default_rng(1)
    n, d = int(ROWS * share), int(COLS * share)
    X, y = problem(n + HELD_OUT, d, skew, rng)
    held_out, X, y = (X[n:], y[n:]), X[:n], y[:n]
    X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int32)
    csr_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    epsilon_step, made = bounded_range_epsilon(zcdp_rho(EPS[0], DELTA), steps), []
    most = np.bincount(X.indices, minlength=d).max()
    print(f"n = {n:,}, d = {d:,}, {X.nnz / n:.1f} a row, at most {most:,} a column; {steps} steps")

    reset_peak()
    before = memory_bytes("VmRSS")
    clock = time.process_time
    set_up = seconds(lambda: made.append(design_of(X)), clock)
    set_up += seconds(lambda: made.append(_core.L1Gradient(made[0], y, l1=L1)), clock)
    run = seconds(lambda: made.append(_core.dp_frank_wolfe(
        made[1], steps=steps, epsilon_step=epsilon_step, bits=_core.SystemBits()
    )), clock)  # fmt: skip
    memory = 1 + (memory_bytes("VmHWM") - before) / csr_bytes
    dense = dense_times(X, y, made[2]["path"], epsilon_step, rng)
    naive = naive_times(X, y, epsilon_step, rng)
    ours = f"[ours {1e3 * run / steps:.3g} ms, set-up {set_up:.2f} s for all]"
    # The mean, as few steps touch much: single dense steps would have a range of their own.
    sheet.add(f"{key}_dense", dense.mean() / (run / steps), "dense step over ours", ours)
    sheet.add(f"{key}_naive", naive / ((set_up + run) / steps), "naive step over ours and set-up",
              better="more")  # fmt: skip
    sheet.add(f"{key}_memory", memory, "peak memory over the CSR arrays, these included",
              better="less")  # fmt: skip
    accuracy(sheet, key, made[0], y, held_out, steps)


def main():
    options = arguments(__doc__, steps=1000, eighths=1.0)
    steps = options.steps // 10 if options.quick else options.steps
    share = options.eighths / (64 if options.quick else 8)
    sheet = Sheet()
    for suffix, skew in SKEWS.items():
        measure(sheet, f"frank_wolfe{suffix}", skew, share, steps)
    sheet.write(options.json)


if __name__ == "__main__":
    main()
