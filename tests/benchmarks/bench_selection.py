"""Feature selection beside public tools, in one run; ratios of medians.

Run as ``python tests/benchmarks/bench_selection.py [--quick]``.  Not a test: it measures time and
fails on nothing.  Goals are those of the design: Kendall of one pair, n = 1e6, one thread, 4
times scipy; the scores of DPKendall, n = 515,345, d = 90, k = 5, 12 times scipy in a loop;
canonical Lipschitz, d = 1e6, k = 100, 20 times an O(dk) loop in numpy and at most 2 s; SubLasso,
n = 50,000, d = 30, m = 1000, 20 times sklearn.Lasso a batch.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import numpy as np

from dpreg import _core, reference


def median_time(work, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def report(job, ours, public, tool, goal):
    print(
        f"{job}: {ours:.4f} s; {tool}: {public:.4f} s; {public / ours:.1f} times faster "
        f"(goal: {goal})"
    )
    sys.stdout.flush()


def kendall(n, repeats):
    import pandas as pd
    from scipy import stats

    rng = np.random.default_rng(1)
    x = rng.standard_normal(n)
    y = x + rng.standard_normal(n)
    for name, a, b in (
        ("no ties", x, y),
        ("many ties", np.round(3 * x), np.round(3 * y)),
        ("sorted", np.sort(x), y),
    ):
        ours = median_time(lambda a=a, b=b: _core.kendall_tau(a, b), repeats)
        theirs = median_time(lambda a=a, b=b: stats.kendalltau(a, b), repeats)
        report(f"Kendall of one pair, n = {n:,}, {name}", ours, theirs, "scipy", "4")
        pandas = median_time(lambda a=a, b=b: pd.Series(a).corr(pd.Series(b), "kendall"), 1)
        report("  the same", ours, pandas, "pandas", "none")


def counting(n, repeats):
    """The three ways to count inversions, on ranks without and with ties."""
    rng = np.random.default_rng(2)
    for name, bound in (("no ties", n), ("20 values", 20)):
        values = rng.permutation(n) if bound == n else rng.integers(bound, size=n)
        values = values.tolist()
        times = [
            median_time(lambda v=values, b=bound: _core.inversions_by_partition(v, b), repeats),
            median_time(lambda v=values: _core.inversions_by_merging(v), repeats),
            median_time(lambda v=values, b=bound: _core.inversions_by_tree(v, b), repeats),
        ]
        print(
            f"inversions, n = {n:,}, {name}, conversion of a list included: partition "
            f"{times[0]:.3f} s, merging {times[1]:.3f} s, tree {times[2]:.3f} s"
        )


def dp_kendall(n, d, k, sampled):
    """scipy in a loop takes k d calls; a few are timed and the rest taken to be like them."""
    from scipy import stats

    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    X[:, : d // 3] = np.round(4 * X[:, : d // 3])
    y = X[:, 0] + X[:, d // 2] + rng.standard_normal(n)
    bits = _core.SystemBits()
    ranges = {"first_range": 2.5, "later_range": 5.0}

    def choose():
        _core.dp_kendall(X, y, k=k, epsilon_round=0.2, bits=bits, threads=2, **ranges)

    processor = time.process_time()
    ours = median_time(choose, 3)
    processor = (time.process_time() - processor) / 3
    columns = np.linspace(0, d - 1, sampled).astype(int)
    start, start_processor = time.perf_counter(), time.process_time()
    for j in columns:
        stats.kendalltau(X[:, j], y)
    calls = d + sum(d - t for t in range(1, k))
    theirs = (time.perf_counter() - start) / sampled * calls
    their_processor = (time.process_time() - start_processor) / sampled * calls
    report(
        f"DPKendall, n = {n:,}, d = {d}, k = {k}, two threads", ours, theirs,
        f"scipy in a loop ({calls} calls, {sampled} timed)", "12"
    )  # fmt: skip
    print(
        f"  seconds of processor, which other jobs change less: {processor:.2f}, "
        f"scipy {their_processor:.2f}: {2 * their_processor / processor:.1f} times faster on two "
        "free cores"
    )


def canonical(d, k, repeats):
    rng = np.random.default_rng(4)
    bits = _core.SystemBits()
    for name, scores in (
        ("normal scores", np.abs(rng.standard_normal(d)) * 1000),
        ("tied scores", rng.integers(0, 50, d).astype(float)),
        ("all equal", np.zeros(d)),
    ):
        ours = median_time(
            lambda s=scores: _core.canonical_lipschitz(
                s, k=k, range=2.0, epsilon=1.0, gamma=0.5,
                noise=_core.NoiseLaw.EXPONENTIAL, bits=bits,
            ), repeats,
        )  # fmt: skip
        loop = median_time(lambda s=scores: reference.canonical_lipschitz(s, k, 1.0, 1.0), 1)
        report(f"canonical Lipschitz, d = {d:,}, k = {k}, {name}", ours, loop,
               "O(dk) loop in numpy", "20, and at most 2 s")  # fmt: skip


def sub_lasso(n, d, m):
    from sklearn.linear_model import Lasso

    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(n)
    bits = _core.SystemBits()
    assignment = _core.assign_to_slots(n, m, n // m, bits)
    batches = np.array_split(np.asarray(assignment.members, dtype=int), m)

    def sklearn():
        for rows in batches:
            x, v = X[rows], y[rows]
            x = (x - x.mean(axis=0)) / x.std(axis=0)
            Lasso(alpha=0.1, fit_intercept=False).fit(x, (v - v.mean()) / v.std())

    ours = median_time(
        lambda: _core.sub_lasso(X, y, assignment, penalty=0.1, k=5, epsilon=0.1, bits=bits), 5
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = median_time(sklearn, 3)
    report(f"SubLasso, n = {n:,}, d = {d}, m = {m}, two threads", ours, theirs,
           "sklearn.Lasso a batch", "20")  # fmt: skip
    one = median_time(
        lambda: _core.sub_lasso(
            X, y, assignment, penalty=0.1, k=5, epsilon=0.1, bits=bits, threads=1
        ), 5
    )  # fmt: skip
    report("  one thread", one, theirs, "sklearn.Lasso a batch", "20")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    small = parser.parse_args().quick
    kendall(10**5 if small else 10**6, 5)
    counting(10**5 if small else 10**6, 3)
    dp_kendall(50_000 if small else 515_345, 90, 5, 9)
    canonical(10**5 if small else 10**6, 100, 5)
    sub_lasso(5000 if small else 50_000, 30, 100 if small else 1000)


if __name__ == "__main__":
    main()
