"""How far each kernel is from what this machine can do, on one thread and on two.

Run as ``python tests/benchmarks/bench_roofline.py [--quick] [--json FILE] [--out FILE]``.  What
it can do is measured in the same run: bytes by a copy in numpy (read and written), multiplications
by a product of two matrices of doubles in its BLAS.  The time in which a kernel's bytes could have
moved, or its multiplications been made, whichever is longer, over its own time is its share of
the roof: 1 is the roof, and more is possible, as 16-bit integers are multiplied faster than
doubles.  Bytes are those that must be read, once; what caches save or lose is in the share.
Times are the least of some.  Not a test: it measures time, and fails on nothing.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench_boosted import quantised
from bench_frank_wolfe import design_of, problem
from measure import Sheet, arguments, instructions, processor, seconds
from threadpoolctl import threadpool_limits

from dpreg import _core

ROWS, D, REPEATS = 1_000_000, 20, 7
PAIRS_ROWS, BATCHES, STEPS = 1_000_000, 1000, 100


@dataclass(frozen=True)
class Work:
    """A kernel, and what it needs at least.

    Attributes
    ----------
    bytes, products : float
        That are read, and multiplications.
    why : str
        What keeps it from the roof.
    run : callable
        Takes nothing.
    """

    name: str
    bytes: float
    products: float
    why: str
    run: object
    threads: tuple[int, ...] = (1, 2)


def least(work, repeats=REPEATS):
    return min(seconds(work) for _ in range(repeats))


def copied(threads):
    """Bytes a second, read and written."""
    source = np.ones(1 << 25)
    target = np.empty_like(source)
    parts = np.array_split(np.arange(len(source)), threads)
    slices = [slice(part[0], part[-1] + 1) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        copy = lambda part: np.copyto(target[part], source[part])  # noqa: E731
        return 2 * source.nbytes / least(lambda: list(pool.map(copy, slices)))


def multiplied(threads):
    """Multiplications, each with an addition, a second."""
    size = 1500
    a, b = np.random.default_rng(1).standard_normal((2, size, size))
    with threadpool_limits(threads, "blas"):
        return size**3 / least(lambda: a @ b)


def works(quick):
    n = ROWS // 10 if quick else ROWS
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, D))
    y = x @ rng.standard_normal(D) + rng.standard_normal(n)
    rows, theta, width = quantised(x, y), rng.standard_normal(D + 1) / 10, D + 1
    how = _core.Standardisation()
    how.columns, how.row_limit = list(range(D)), 6.0
    how.low, how.high = [-9.0] * D, [9.0] * D
    how.centre, how.inverse_scale = [0.0] * D, [1.0] * D
    how.map = np.linalg.qr(rng.standard_normal((width, width)))[0]
    middle, half = np.zeros(D), np.full(D, 4.0)
    cells, held = x.nbytes, rows.bytes
    upper = width * (width + 1) / 2
    pairs = rng.standard_normal((2, PAIRS_ROWS // (10 if quick else 1)))
    bits = _core.SystemBits()
    models = BATCHES // (10 if quick else 1)
    assignment = _core.assign_to_slots(n, models, n // models, bits)
    sparse, response = problem(n // 2, n, 0.6, rng)
    sparse.indptr, sparse.indices = sparse.indptr.astype(np.int64), sparse.indices.astype(np.int32)
    design = design_of(sparse)
    touched = sparse.nnz / sparse.shape[1] * sparse.nnz / sparse.shape[0]
    yield Work("interval_counts", cells, n * D,
               "a counter a cell, at any place",
               lambda: _core.interval_counts(x, middle - half, half, 64))  # fmt: skip
    yield Work("moment_sums", cells, 3 * n * D,
               "a division and two roundings a cell",
               lambda: _core.moment_sums(x, middle, half))  # fmt: skip
    yield Work("mapped_gram", cells + y.nbytes, n * (width * width + upper),
               "the map is in doubles; norm, limits and rounding of each row",
               lambda: _core.mapped_gram(x, y, how))  # fmt: skip
    yield Work("gram", held, n * upper, "widening of sums to 64 bits", lambda: rows.gram())
    yield Work(
        "round",
        held,
        2 * n * width,
        "a division and a rounding a row",
        lambda: rows.round(theta, 2.5),
    )
    yield Work(
        "score",
        held,
        3 * n * width,
        "a root, a division and a rounding a row",
        lambda: rows.score(theta, 20.0),
    )
    yield Work("score_products", held, n * (2 * width + upper),
               "the same, and rows rounded again",
               lambda: rows.score_products(theta, 20.0))  # fmt: skip
    yield Work("fit_batches", cells + y.nbytes, n * upper,
               "rows at any place; four passes over a batch",
               lambda: _core.fit_batches(
                   x, y, assignment, ridge=0.03, refinements=4, intercept=True,
                   log_spreads=False))  # fmt: skip
    yield Work(
        "kendall_tau",
        pairs.nbytes,
        0.0,
        "two sorts and twenty partitions",
        lambda: _core.kendall_tau(*pairs),
        (1,),
    )
    yield Work(
        f"dp_frank_wolfe, set-up and {STEPS} steps", 12.0 * (sparse.nnz + STEPS * touched),
        sparse.nnz + STEPS * touched, "columns are sorted first; entries at any place",
        lambda: _core.dp_frank_wolfe(_core.L1Gradient(design, response, l1=5.0), steps=STEPS,
                                       epsilon_step=0.05, bits=bits), (1,),
    )  # fmt: skip


def measured(quick, sheet):
    """Return rows of the table."""
    roofs = {t: (copied(t), multiplied(t)) for t in (1, 2)}
    lines = []
    for threads, (copy, multiply) in roofs.items():
        sheet.add(f"roof_copy_{threads}", copy / 1e9, f"copy, {threads} threads", "GB/s")
        sheet.add(f"roof_multiply_{threads}", multiply / 1e9, f"multiply, {threads} threads", "G/s")
        lines.append(f"| {threads} | {copy / 1e9:.1f} | {multiply / 1e9:.1f} |")
    table = []
    for work in works(quick):
        for threads in work.threads:
            _core.use_threads(threads)
            with threadpool_limits(1, "blas"):
                time_taken = least(work.run)
            _core.use_threads(0)
            copy, multiply = roofs[threads]
            of_bytes, of_products = work.bytes / copy, work.products / multiply
            share = max(of_bytes, of_products) / time_taken
            roof_of = "bytes" if of_bytes > of_products else "products"
            sheet.add(f"roof_{work.name}_{threads}", share, f"{work.name}, {threads} threads")
            table.append(
                f"| {work.name} | {threads} | {work.bytes / 1e6:.0f} | {work.products / 1e6:.0f} | "
                f"{1e3 * time_taken:.1f} | {work.bytes / time_taken / 1e9:.2f} | "
                f"{work.products / time_taken / 1e9:.2f} | {roof_of} | {share:.2f} | {work.why} |"
            )
    return lines, table


def page(lines, table, quick):
    size = ROWS // 10 if quick else ROWS
    return "\n".join(
        [
            "# Kernels relative to the limits of the machine\n",
            f"Made by `bench_roofline.py` on {processor()}; {size:,} rows of {D} columns; load "
            f"{os.getloadavg()[0]:.1f} at the end: other jobs of a machine slow what is measured, "
            "the roofs too.\n",
            "| threads | copy, GB/s | multiply, 10^9/s |\n|--:|--:|--:|",
            *lines,
            "\nThe roof of a kernel is the longer of the times in which its bytes could have been "
            "copied and its\nmultiplications made in doubles; its share is that over its time.\n",
            "| kernel | threads | MB | 10^6 products | ms | GB/s | 10^9 products/s | roof of "
            "| share | what keeps it from there |\n|---|--:|--:|--:|--:|--:|--:|---|--:|---|",
            *table,
            "",
        ]
    )


def main():
    options = arguments(__doc__, out="")
    sheet = Sheet()
    print(processor(), time.strftime("%Y-%m-%d"))
    with instructions(_core.testing.instruction_sets()[-1]):
        lines, table = measured(options.quick, sheet)
    if options.out:
        Path(options.out).write_text(page(lines, table, options.quick), encoding="utf-8")
    sheet.write(options.json)


if __name__ == "__main__":
    main()
