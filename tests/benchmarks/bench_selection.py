"""Feature selection beside public tools, in one run; ratios of medians.

Run as ``python tests/benchmarks/bench_selection.py [--quick] [--json FILE]``.  Not a test: it
measures time, of one-thread work by seconds of processor, and fails on nothing.  Goals are those
of the design: Kendall of one pair, n = 1e6, one thread, 4 times scipy and 3 times R's
pcaPP::cor.fk; the scores of DPKendall, n = 515,345, d = 90, k = 5, 12 times scipy in a loop;
canonical Lipschitz, d = 1e6, k = 100, 20 times an O(dk) loop in numpy and at most 2 s; SubLasso,
n = 50,000, d = 30, m = 1000, 20 times sklearn.Lasso a batch.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
import warnings

import numpy as np
from measure import Sheet, arguments, seconds, with_better_blas

from dpreg import _core, reference


def kendall(sheet, n, repeats):
    import pandas as pd
    from scipy import stats

    rng = np.random.default_rng(1)
    x = rng.standard_normal(n)
    y = x + rng.standard_normal(n)
    for key, name, a, b in (
        ("kendall", "no ties", x, y),
        ("kendall_ties", "many ties", np.round(3 * x), np.round(3 * y)),
        ("kendall_sorted", "sorted", np.sort(x), y),
    ):
        sheet.ratio(
            key, lambda a=a, b=b: _core.kendall_tau(a, b),
            lambda a=a, b=b: stats.kendalltau(a, b), repeats,
            f"scipy over Kendall of one pair, n = {n:,}, {name}", clock=time.process_time,
        )  # fmt: skip
    sheet.ratio(
        "kendall_pandas", lambda: _core.kendall_tau(x, y),
        lambda: pd.Series(x).corr(pd.Series(y), "kendall"), 1, "  pandas over it",
        clock=time.process_time,
    )  # fmt: skip
    kendall_r(sheet, x, y, repeats)


def kendall_r(sheet, x, y, repeats):
    """R's pcaPP::cor.fk, if there is one: times in R, each beside one of ours."""
    script = (
        "a <- commandArgs(TRUE); suppressMessages(library(pcaPP)); n <- as.integer(a[2]);"
        "f <- file(a[1], 'rb'); x <- readBin(f, 0, n); y <- readBin(f, 0, n); close(f);"
        "con <- file('stdin'); open(con);"
        "repeat { if (!length(readLines(con, 1))) break;"
        "cat(sum(system.time(cor.fk(x, y))[1:2]), '\\n'); flush(stdout()) }"
    )
    if shutil.which("Rscript") is None:
        print("R is not installed: no pcaPP::cor.fk")
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(np.concatenate([x, y]).tobytes())
        file.flush()
        with subprocess.Popen(
            ["Rscript", "-e", script, file.name, str(len(x))], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        ) as process:  # fmt: skip
            ratios = []
            for _ in range(repeats):
                try:
                    process.stdin.write("\n")
                    process.stdin.flush()
                    theirs = float(process.stdout.readline() or "nan")
                except (BrokenPipeError, ValueError):
                    break
                ours = seconds(lambda: _core.kendall_tau(x, y), time.process_time)
                ratios.append(theirs / ours)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
    if not ratios or np.isnan(ratios).any():
        print("R has no pcaPP: no cor.fk")
        return
    sheet.add("kendall_r", ratios, "  pcaPP::cor.fk of R over it", better="more")


def seconds_of(work, repeats):
    return float(np.median([seconds(work) for _ in range(repeats)]))


def counting(n, repeats):
    """Inversions of ranks without and with ties."""
    rng = np.random.default_rng(2)
    for name, bound in (("no ties", n), ("20 values", 20)):
        values = rng.permutation(n) if bound == n else rng.integers(bound, size=n)
        values = values.tolist()
        taken = seconds_of(lambda v=values, b=bound: _core.count_inversions(v, b), repeats)
        print(f"inversions, n = {n:,}, {name}, conversion of a list included: {taken:.3f} s")


def dp_kendall(sheet, n, d, k, sampled):
    """scipy in a loop takes k d calls; a few are timed and the rest taken to be like them."""
    from scipy import stats

    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    X[:, : d // 3] = np.round(4 * X[:, : d // 3])
    y = X[:, 0] + X[:, d // 2] + rng.standard_normal(n)
    bits = _core.SystemBits()

    def choose():
        _core.use_threads(2)
        _core.dp_kendall(X, y, k=k, epsilon_round=0.2, bits=bits, first_range=2.5, later_range=5.0)
        _core.use_threads(0)

    # Wall clock, and seconds of processor over two: what two free cores would give.
    wall, processor = [], []
    calls = d + sum(d - t for t in range(1, k))
    for columns in np.array_split(np.linspace(0, d - 1, sampled).astype(int), 3):
        ours = both_clocks(choose)
        theirs = both_clocks(lambda c=columns: [stats.kendalltau(X[:, j], y) for j in c])
        wall.append(theirs[0] / len(columns) * calls / ours[0])
        processor.append(2 * theirs[1] / len(columns) * calls / ours[1])
    text = f"scipy in a loop ({calls} calls) over DPKendall, n = {n:,}, d = {d}, k = {k}"
    sheet.add("dp_kendall", wall, f"{text}, two threads", f"[{ours[0]:.3g} s]", better="more")
    sheet.add("dp_kendall_free", processor, "  by seconds of processor, on two free cores",
              better="more")  # fmt: skip


def both_clocks(work):
    start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def canonical(sheet, d, k, repeats):
    rng = np.random.default_rng(4)
    bits = _core.SystemBits()
    for key, name, scores in (
        ("canonical", "normal scores", np.abs(rng.standard_normal(d)) * 1000),
        ("canonical_ties", "tied scores", rng.integers(0, 50, d // 10).astype(float)),
        ("canonical_equal", "all equal", np.zeros(d // 10)),
    ):
        times = sheet.ratio(
            key,
            lambda s=scores: _core.canonical_lipschitz(
                s, k=k, range=2.0, epsilon=1.0, gamma=0.5,
                noise=_core.NoiseLaw.EXPONENTIAL, bits=bits,
            ),
            lambda s=scores: reference.canonical_lipschitz(s, k, 1.0, 1.0),
            repeats,
            f"O(dk) loop in numpy over canonical Lipschitz, d = {len(scores):,}, k = {k}, {name}",
        )  # fmt: skip
        if key == "canonical":
            sheet.add("canonical_seconds", times[:, 0], "  its seconds")


def sub_lasso(sheet, n, d, m):
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

    def ours(threads):
        _core.use_threads(threads)
        _core.sub_lasso(X, y, assignment, penalty=0.1, k=5, epsilon=0.1, bits=bits)
        _core.use_threads(0)

    text = f"sklearn.Lasso a batch over SubLasso, n = {n:,}, d = {d}, m = {m}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        public = with_better_blas(sklearn)
        sheet.ratio("sub_lasso", lambda: ours(2), public, 3, f"{text}, two threads")
        sheet.ratio("sub_lasso_one", lambda: ours(1), public, 3, "  one thread")


def main():
    options = arguments(__doc__)
    sheet, small = Sheet(), options.quick
    kendall(sheet, 10**5 if small else 10**6, 5)
    counting(10**5 if small else 10**6, 3)
    dp_kendall(sheet, 50_000 if small else 515_345, 90, 5, 9)
    canonical(sheet, 10**5 if small else 10**6, 100, 3)
    sub_lasso(sheet, 5000 if small else 50_000, 30, 100 if small else 1000)
    sheet.write(options.json)


if __name__ == "__main__":
    main()
