"""Do intervals for means of skewed responses hold in small studies?

Run as ``python tests/benchmarks/bench_skewed.py [--runs 60] [--eps 1] [--out FILE]``.  The
intercept is the mean; regressors are normal and have no effect.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from measure import options, write_table

import dpreg

DELTA = 1e-6
ROWS, REGRESSORS = (1_000, 2_000, 5_000), (0, 2)
# A response by its name: how it is drawn, and its mean.
RESPONSES = {
    "normal": (lambda rng, n: rng.standard_normal(n), 0.0),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "lognormal": (lambda rng, n: np.exp(rng.standard_normal(n)), float(np.exp(0.5))),
    "Poisson, mean 0.5": (lambda rng, n: 1.0 * rng.poisson(0.5, n), 0.5),
    "0 and 1, 30% ones": (lambda rng, n: 1.0 * (rng.random(n) < 0.3), 0.3),
    "0 and 1, 10% ones": (lambda rng, n: 1.0 * (rng.random(n) < 0.1), 0.1),
    "0 and 1, 5% ones": (lambda rng, n: 1.0 * (rng.random(n) < 0.05), 0.05),
}


def measured(response, n, d, eps, runs):
    draw, mean = RESPONSES[response]
    names = [f"x{j}" for j in range(d)]
    formula = "y ~ " + (" + ".join(names) or "1")
    held, exact, width, far = [], [], [], []
    for seed in range(runs):
        rng = np.random.default_rng([n, d, seed])
        y, x = draw(rng, n), rng.standard_normal((n, d))
        fit = dpreg.dp_lm(formula, pd.DataFrame(x, columns=names).assign(y=y), eps, DELTA, rng=seed)
        if not fit.released or not np.isfinite(fit.bse.iloc[0]):
            continue
        error = y.std(ddof=1) / np.sqrt(n)
        far.append(abs(fit.params.iloc[0] - mean) / fit.bse.iloc[0])
        held.append(far[-1] < 1.96)
        exact.append(abs(y.mean() - mean) < 1.96 * error)
        width.append(fit.bse.iloc[0] / error)
    blank = f"{1 - len(held) / runs:.2f}"
    if not held:
        return ["none", "none", "none", "none", blank]
    return [f"{np.mean(held):.2f}", f"{np.mean(exact):.2f}", f"{np.median(width):.2f}",
            f"{max(far):.1f}", blank]  # fmt: skip


def main():
    given = options(__doc__, runs=60, eps=1.0, out="")
    rows = [
        [response, f"{n:,}", d, *measured(response, n, d, given.eps, given.runs)]
        for response, n, d in itertools.product(RESPONSES, ROWS, REGRESSORS)
    ]
    about = (
        f"{given.runs} samples per row, defaults, delta = {DELTA:g}. Share of 95% intervals "
        "that contain the mean, and of those without privacy on the same samples; "
        "median standard error relative to these; largest error, in standard errors; share "
        "of fits without an interval. Clipping of rare large values makes the mean too small; "
        "`fit.clipping`, which is not part of the intervals, estimates the largest effect. Made by "
        "`tests/benchmarks/bench_skewed.py`."
    )
    header = ("response", "n", "regressors", "covered", "exact", "width", "largest error",
              "blank")  # fmt: skip
    title = f"Means of skewed responses in small studies: eps = {given.eps:g}"
    write_table(title, about, header, rows, given.out)


if __name__ == "__main__":
    main()
