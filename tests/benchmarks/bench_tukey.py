"""TukeyEM from matrix to release, as a ratio to one ``X.T @ X`` in the same run.

Run as ``python tests/benchmarks/bench_tukey.py [--quick] [--json FILE]``: n = 515,345, d = 91,
m = 1000; a tenth of the rows and models if quick.  Not a test: it measures time and memory, and
fails on nothing.
"""

from __future__ import annotations

import resource

import numpy as np
from measure import Sheet, arguments, instructions, processor, seconds, with_better_blas

from dpreg import _core

N, D, MODELS = 515_345, 91, 1000


def release(x, y, models):
    bits = _core.SystemBits()
    n = len(y) + int(_core.discrete_laplace(0.02, bits, 1)[0])
    assignment = _core.assign_to_slots(len(y), models, -(-n // models), bits)
    fits = _core.fit_batches(
        x, y, assignment, ridge=0.03, refinements=4, intercept=True, log_spreads=False
    )
    regions = _core.DepthRegions(fits, -60)
    _core.tukey_em(regions, depth=models // 10, epsilon_test=0.4, epsilon_sample=0.6, delta=1e-5,
                   bits=bits)  # fmt: skip


def sklearn_fits(x, y, models):
    from sklearn.linear_model import LinearRegression

    for rows in np.array_split(np.random.default_rng(2).permutation(len(y)), models):
        LinearRegression().fit(x[rows], y[rows])


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    options = arguments(__doc__)
    n, models = (N // 10, MODELS // 10) if options.quick else (N, MODELS)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, D))
    y = x @ rng.standard_normal(D) + rng.standard_normal(n)
    sheet = Sheet()
    print(f"n = {n:,}, d = {D}, m = {models}; {processor()}")
    before = peak()
    release(x, y, models)
    sheet.add("tukey_memory", 1 + (peak() - before) / x.nbytes, "TukeyEM, peak memory over X",
              better="less")  # fmt: skip
    times = sheet.ratio(
        "tukey", lambda: release(x, y, models), with_better_blas(lambda: x.T @ x), 7,
        "TukeyEM over one X.T @ X", faster=False,
    )  # fmt: skip
    for choice in _core.testing.instruction_sets():
        with instructions(choice):
            sheet.ratio(
                f"tukey_{choice.name}", lambda: release(x, y, models),
                with_better_blas(lambda: x.T @ x), 3, f"  with {choice.name}", faster=False,
            )  # fmt: skip
    few = max(2, models // 20)
    part = slice(0, n * few // models)
    fits = with_better_blas(lambda: sklearn_fits(x[part], y[part], few))
    theirs = seconds(fits) * models / few
    sheet.add(
        "tukey_sklearn", theirs / times[:, 0], "sklearn.LinearRegression a batch over TukeyEM",
        f"[{theirs:.3g} s, from {few} of the batches]", better="more",
    )  # fmt: skip
    sheet.write(options.json)


if __name__ == "__main__":
    main()
