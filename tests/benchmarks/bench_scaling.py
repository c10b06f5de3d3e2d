"""How time grows with n, d, m, k and T, and what a second thread gives.

Run as ``python tests/benchmarks/bench_scaling.py [--quick] [--json FILE] [--plot FILE]``.  For each
curve four sizes, the least of five times on one thread, and the slope of log time against log
size by least squares: 1 is proportional.  Sizes are large enough that what does not grow is
small beside the rest.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bench_boosted import CLIP, quantised
from measure import Sheet, arguments, paired, seconds

from dpreg import _core

RANGES = {"first_range": 2.5, "later_range": 5.0}


def dense(n, d):
    rng = np.random.default_rng([n, d])
    x = rng.standard_normal((n, d))
    return x, x[:, 0] - x[:, -1] + rng.standard_normal(n)


def tukey(n=100_000, d=10, m=500):
    x, y = dense(n, d)
    bits = _core.SystemBits()

    def run():
        assignment = _core.assign_to_slots(n, m, -(-n // m), bits)
        fits = _core.fit_batches(
            x, y, assignment, ridge=0.03, refinements=4, intercept=True, log_spreads=False,
        )  # fmt: skip
        _core.tukey_em(_core.DepthRegions(fits, -60), depth=m // 10, epsilon_test=0.4,
                       epsilon_sample=0.6, delta=1e-5, bits=bits)  # fmt: skip

    return run


def boosted(n=100_000, d=20, rounds=20):
    rows, theta = quantised(*dense(n, d)), np.full(d + 1, 0.01)

    def run():
        for _ in range(rounds):
            rows.round(theta.tolist(), CLIP)

    return run


def gram(n=100_000, d=20):
    rows = quantised(*dense(n, d))
    return lambda: rows.gram()


def kendall(n=50_000, d=20, k=3):
    x, y = dense(n, d)
    bits = _core.SystemBits()
    return lambda: _core.dp_kendall(x, y, k=k, epsilon_round=0.2, bits=bits, **RANGES)


def canonical(d=200_000, k=50):
    scores, bits = np.abs(np.random.default_rng(4).standard_normal(d)) * 1000, _core.SystemBits()
    return lambda: _core.canonical_lipschitz(
        scores, k=k, range=2.0, epsilon=1.0, gamma=0.5, noise=_core.NoiseLaw.EXPONENTIAL, bits=bits
    )


def sub_lasso(n=50_000, d=20, m=200):
    x, y = dense(n, d)
    bits = _core.SystemBits()
    assignment = _core.assign_to_slots(n, m, n // m, bits)
    return lambda: _core.sub_lasso(x, y, assignment, penalty=0.1, k=5, epsilon=0.1, bits=bits)


def frank_wolfe(n=20_000, d=100_000, steps=200):
    import scipy.sparse as sp

    rng = np.random.default_rng(6)
    x = sp.random_array((n, d), density=100 / d, format="csr", rng=rng)
    design = _core.SparseUnitDesign(
        x.indptr.astype(np.int32), x.indices.astype(np.int32), x.data, d
    )
    gradient, bits = _core.L1Gradient(design, rng.uniform(-1, 1, n), l1=1.0), _core.SystemBits()
    return lambda: _core.dp_frank_wolfe(gradient, steps=steps, epsilon_step=0.01, bits=bits)


# What is run, what grows, the least size, the exponent to be expected and why.
CURVES = (
    (tukey, "n", 100_000, "1: each row is in one batch"),
    (tukey, "d", 10, "1 to 2: a Gram matrix a batch"),
    (tukey, "m", 250, "0 to 1: sorting beside n d^2"),
    (boosted, "n", 100_000, "1"),
    (boosted, "d", 10, "1"),
    (boosted, "rounds", 10, "1"),
    (kendall, "n", 50_000, "1: n log n"),
    (kendall, "d", 10, "1"),
    (kendall, "k", 1, "1: a pass over the columns a round"),
    (canonical, "d", 250_000, "1"),
    (canonical, "k", 50, "0 to 1: classes in order, not all d k"),
    (sub_lasso, "n", 50_000, "1"),
    (sub_lasso, "d", 10, "1 to 2: Gram matrices"),
    (sub_lasso, "m", 100, "0 to 1: problems of d^2 beside n d^2"),
    (frank_wolfe, "n", 10_000, "0: a step touches few rows"),
    (frank_wolfe, "d", 50_000, "1: a pass over d"),
    (frank_wolfe, "steps", 100, "1"),
)
THREADED = (tukey, boosted, gram, kendall, sub_lasso)


def on(threads, work):
    """Return work that is done by so many threads."""

    def run():
        _core.use_threads(threads)
        work()
        _core.use_threads(0)

    return run


def curve(make, size, least, quick):
    sizes = least * 2 ** np.arange(3 if quick else 4)
    times = []
    for value in sizes:
        work = make(**{size: int(value)})
        work = on(1, work) if make in THREADED else work
        times.append(min(seconds(work) for _ in range(2 if quick else 5)))
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    return sizes, np.array(times), float(slope)


def plot(curves, path):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10, 6), layout="constrained")
    for ax, name in zip(axes.flat, dict.fromkeys(c[0] for c in curves), strict=True):
        for _, size, sizes, times, slope in (c for c in curves if c[0] == name):
            ax.loglog(sizes / sizes[0], times, "o-", label=f"{size}: {slope:.2f}")
        ax.set(title=name, xlabel="size over the least", ylabel="seconds")
        ax.legend(fontsize=7)
    figure.savefig(path, dpi=110)


def main():
    options = arguments(__doc__, plot="")
    sheet, curves = Sheet(), []
    for make, size, least, expected in CURVES:
        sizes, times, slope = curve(make, size, least, options.quick)
        note = f"[{', '.join(f'{t:.3g}' for t in times)} s; expected {expected}]"
        text = f"{make.__name__}, exponent of {size}, {sizes[0]:,} to {sizes[-1]:,}"
        sheet.add(f"exponent_{make.__name__}_{size}", slope, text, note)
        curves.append((make.__name__, size, sizes, times, slope))
    for make in THREADED:
        times = paired(on(1, make(n=200_000)), on(2, make(n=200_000)), 5)
        text = f"{make.__name__}, one thread over two"
        sheet.add(f"threads_{make.__name__}", times[:, 0] / times[:, 1], text, better="more")
    if options.plot:
        plot(curves, Path(options.plot))
    sheet.write(options.json)


if __name__ == "__main__":
    main()
