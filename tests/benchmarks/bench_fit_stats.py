"""Do intervals of R squared, sigma and new observations hold?  Simulated.

Run as ``python tests/benchmarks/bench_fit_stats.py [--runs 100] [--eps 1] [--out FILE]``.  Truths
are the R squared and sigma of the model; new observations are 2,000 a run.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from measure import options, write_table

import dpreg

ERRORS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "t(5)": lambda rng, n: rng.standard_t(5, n) / np.sqrt(5 / 3),
    "skewed": lambda rng, n: rng.standard_exponential(n) - 1,
}
NEW = 2_000


def draw(kind, n, d, explained, seed):
    rng = np.random.default_rng([seed, n, d])
    x = rng.standard_normal((n + NEW, d))
    x[:, 0] = rng.standard_exponential(n + NEW) - 1
    size = np.sqrt(explained / (1 - explained) / d)
    y = 5 + size * x.sum(axis=1) + ERRORS[kind](rng, n + NEW)
    data = pd.DataFrame({f"x{j}": x[:, j] for j in range(d)}).assign(y=y)
    return data.head(n), data.tail(NEW)


def measured(kind, n, d, explained, eps, runs, method):
    formula = "y ~ " + " + ".join(f"x{j}" for j in range(d))
    truth = np.array([explained, 1.0])
    covered, widths, new = [], [], []
    for seed in range(runs):
        data, fresh = draw(kind, n, d, explained, seed)
        fit = dpreg.dp_lm(formula, data, eps, method=method, fit_stats=True, rng=seed)
        table = fit.fit_stats()
        covered.append((table.lower <= truth) & (truth <= table.upper))
        widths.append(table["std err"])
        found = fit.predict(fresh, interval="prediction", winsorise=False)
        inside = (found.lower <= fresh.y) & (fresh.y <= found.upper)
        new.append(inside[found.lower.notna()].mean())
    return *np.mean(covered, axis=0), *np.nanmedian(widths, axis=0), float(np.nanmean(new))


def main() -> None:
    given = options(__doc__, runs=100, eps=1.0, out="")
    rows = []
    for method in ("boosted_adassp", "adassp"):
        for kind in ERRORS:
            for n, d, explained in [(10_000, 3, 0.3), (10_000, 3, 0.9), (100_000, 10, 0.6)]:
                found = measured(kind, n, d, explained, given.eps, given.runs, method)
                shown = [f"{value:.3f}" for value in found]
                rows.append((method, kind, f"{n:,}", d, explained, *shown))
                print(*rows[-1], flush=True)
    write_table(
        f"R squared, sigma, new observations: eps = {given.eps:g}, delta = 1e-05",
        f"`fit_stats=True`, {given.runs} runs per row: shares of 95% intervals that contain "
        "the R squared and the sigma (1) of the model, median standard errors, and the share of "
        "new observations within 95% prediction intervals. Made by "
        "`tests/benchmarks/bench_fit_stats.py`.",
        ("method", "errors", "n", "d", "R squared", "covered", "sigma covered",
         "error of R squared", "of sigma", "new"),
        rows, given.out, words=2,
    )  # fmt: skip


if __name__ == "__main__":
    main()
