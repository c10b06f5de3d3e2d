"""Do the intervals of models from one `dp_moments` hold where the truth is known?

Run as ``python tests/benchmarks/bench_moments_coverage.py [--runs 400] [--n 20000] [--eps 1]
[--out FILE]``.  Tables of six regressors of four kinds: normal ones; a factor whose reference has
3% of the rows; skewed ones with heavy tails; and errors whose spread grows with a regressor.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from measure import write_page

import dpreg

NAMES = [f"x{j}" for j in range(6)]
FULL = "y ~ " + " + ".join(NAMES)


def normal(rng, n):
    x = rng.standard_normal((n, 6))
    return x, np.array([1, -0.5, 0.3, 0, 0.2, 0]), rng.standard_normal(n)


def dummies(rng, n):
    g = rng.choice(5, n, p=[0.03, 0.09, 0.22, 0.26, 0.4])
    x = [rng.standard_normal(n) * (1 + 2 * (g == 0)), rng.lognormal(0, 0.5, n)]
    x = np.column_stack([*x, *[(g == j) * 1.0 for j in range(1, 5)]])
    return x, np.array([1, 0.5, 0.1, 0.3, 0.2, 0.4]), rng.standard_normal(n)


def heavy(rng, n):
    x = [rng.lognormal(0, 1, n), rng.gamma(1, 1, n), rng.standard_t(4, n), rng.standard_normal(n)]
    x = np.column_stack([*x, (rng.random(n) < 0.05) * 1.0, 3 * x[3] + rng.standard_normal(n)])
    return x, np.array([1, 0.5, 0.3, 0, 1, 0.2]), rng.standard_t(5, n)


def uneven(rng, n):
    x = [rng.lognormal(0, 0.8, n), rng.gamma(1, 1, n), *rng.standard_normal((2, n))]
    x = np.column_stack([*x, (rng.random(n) < 0.1) * 1.0, rng.standard_normal(n)])
    spread = 0.5 + 0.3 * x[:, 0]
    return x, np.array([1, 0.5, 0.3, 0, 1, 0.2]), (rng.gamma(2, 1, n) - 2) * spread


KINDS = {
    "normal": normal,
    "a rare reference": dummies,
    "skewed, heavy tails": heavy,
    "uneven errors": uneven,
}


def measured(make, runs, n, eps, delta=1e-6):
    covered, widths, tests, squares = [], [], [], []
    for seed in range(runs):
        x, theta, errors = make(np.random.default_rng([seed, n]), n)
        y = 1 + x @ theta + errors
        m = dpreg.dp_moments(FULL, pd.DataFrame({**dict(zip(NAMES, x.T, strict=True)), "y": y}),
                             eps, delta, rng=seed)  # fmt: skip
        fit = m.lm(FULL)
        limits = fit.conf_int().to_numpy()[1:]
        inside = (limits[:, 0] <= theta) & (theta <= limits[:, 1])
        covered.append(np.where(np.isfinite(limits[:, 0]), inside, np.nan))
        widths.append(fit.bse.to_numpy()[1:] / fit.sampling[1:])
        if theta[3] == theta[5] == 0:
            true = fit.wald_test([[0.0, *(1.0 * (np.arange(6) == j))] for j in (3, 5)])
            tests.append(true.pvalue < 0.05)
        share = m.rsquared(FULL)
        X = np.column_stack([np.ones(n), x])
        plain = 1 - ((y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2).sum() / n / y.var()
        squares.append((plain, share["lower"], share["upper"]))
    plain, low, high = np.array(squares).T
    truth = plain.mean()
    return (
        float(np.nanmean(covered)), float(np.nanmean(covered, axis=0).min()),
        float(np.isnan(covered).mean()),
        float(np.nanmedian(widths)), float(np.mean((low <= truth) & (truth <= high))),
        float(np.mean(tests)) if tests else np.nan,
    )  # fmt: skip


def report(table, runs, n, eps):
    lines = [
        f"# Intervals from one `dp_moments`: n = {n:,}, eps = {eps:g}, delta = 1e-06",
        "",
        f"{runs} simulated tables of each kind, six regressors. Shares of 95% intervals that "
        "cover, of all slopes and of the worst; slopes without one (blank); standard errors "
        "relative to those without privacy, as reported by the fit; shares of intervals for R "
        "squared that cover; and how often a true hypothesis on two slopes is rejected at 5%. R "
        "squared is compared with that of least squares on all rows, which tails beyond the "
        "limit of the rows raise. Made by `tests/benchmarks/bench_moments_coverage.py`.",
        "",
        "| table | slopes covered | worst slope | blank | width | R squared covered | rejected |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, (covered, worst, blank, width, squared, test) in table.items():
        rejected = "" if np.isnan(test) else f"{test:.3f}"
        lines.append(
            f"| {name} | {covered:.3f} | {worst:.3f} | {blank:.3f} | {width:.2f} | {squared:.3f} "
            f"| {rejected} |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    table = {}
    for name, make in KINDS.items():
        table[name] = measured(make, options.runs, options.n, options.eps)
        print(name, table[name], flush=True)
    text = report(table, options.runs, options.n, options.eps)
    write_page(text, options.out)


if __name__ == "__main__":
    main()
