"""A hundred rounds of Boosted AdaSSP, as a ratio to the same in numpy, in the same run.

Run as ``python tests/benchmarks/bench_boosted.py [--quick] [--json FILE]``: n = 515,345, d = 91,
a tenth of the rows if quick.  numpy computes ``X @ v`` and ``X.T @ r`` a round; ours also clips
and adds up exactly.  Then the
same, and the Gram matrix, with each instruction set.  Not a test: it measures time, and fails on
nothing.
"""

from __future__ import annotations

import resource

import numpy as np
from measure import Sheet, arguments, instructions, processor, seconds, with_better_blas

from dpreg import _core

N, D, ROUNDS, CLIP = 515_345, 91, 100, 2.5


def quantised(x, y):
    how = _core.Standardisation()
    d = x.shape[1]
    how.columns = list(range(d))
    how.low, how.high = [-10.0] * d, [10.0] * d
    how.centre, how.inverse_scale = [0.0] * d, [1.0] * d
    how.y_centre, how.y_inverse_scale = 0.0, 1.0
    how.intercept, how.row_limit, how.response_limit = True, 1.2 * np.sqrt(d + 1), 0.0
    return _core.QuantisedRows(x, y, how)


def main():
    options = arguments(__doc__)
    n = N // 10 if options.quick else N
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, D))
    y = x @ rng.standard_normal(D) / 10 + rng.standard_normal(n)
    made = []
    preparation = seconds(lambda: made.append(quantised(x, y)))
    rows, theta = made[0], rng.standard_normal(D + 1) / 100
    sheet = Sheet()

    def ours(rounds=ROUNDS):
        for _ in range(rounds):
            rows.round(theta.tolist(), CLIP)

    def one_round():
        residual = y - x @ theta[1:]
        x.T @ residual

    better = with_better_blas(one_round)

    def loop(rounds=ROUNDS):
        for _ in range(rounds):
            better()

    print(f"n = {n:,}, d = {D}, {ROUNDS} rounds; {processor()}")
    times = sheet.ratio(
        "boosted", ours, loop, 3, "Boosted AdaSSP over a loop in numpy", faster=False
    )
    sheet.add(
        "boosted_whole", (times[:, 0] + preparation) / times[:, 1],
        "the same, rows made ready included", f"[{preparation:.3g} s]", better="less",
    )  # fmt: skip
    product = with_better_blas(lambda: x.T @ x)
    for choice in _core.testing.instruction_sets():
        with instructions(choice):
            sheet.ratio(
                f"boosted_{choice.name}",
                lambda: ours(ROUNDS // 10),
                lambda: loop(ROUNDS // 10),
                3,
                f"  rounds with {choice.name}",
                faster=False,
            )
            sheet.ratio(
                f"gram_{choice.name}", rows.gram, product, 5,
                f"  Gram matrix over X.T @ X with {choice.name}", faster=False,
            )  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sheet.add("boosted_memory", peak / x.nbytes, "peak memory, X and numpy included, over X",
              better="less")  # fmt: skip
    sheet.write(options.json)


if __name__ == "__main__":
    main()
