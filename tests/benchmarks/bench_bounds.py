"""What do public bounds give, and what do generous ones take?

Run as ``python tests/benchmarks/bench_bounds.py [--runs 40] [--eps 1] [--out FILE]``.  `dp_lm` with
no bounds, with bounds of all columns, and with bounds that are ten times as wide.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from measure import options, write_table

import dpreg

DELTA, SLOPE = 1e-6, 0.5
DESIGNS = [(200, 1), (300, 1), (500, 2), (1_000, 3), (1_000, 6), (5_000, 6), (20_000, 10)]
BOUNDS = {"none": None, "right": 1.0, "ten times as wide": 10.0}


def sample(kind, n, d, seed):
    rng = np.random.default_rng([n, d, seed])
    if kind == "normal":
        X = rng.standard_normal((n, d))
    else:
        X = (rng.random((n, d)) < np.linspace(0.1, 0.5, d)) * 1.0
    y = 1 + SLOPE * X.sum(axis=1) + rng.standard_normal(n)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(d)]).assign(y=y)


def bounds(kind, d, wide):
    """Four deviations; indicators are from 0 to 1 whatever is wide."""
    limits = (-4 * wide, 4 * wide) if kind == "normal" else (0, 1)
    y = 1 + SLOPE * d * (kind != "normal") / 2
    far = 4 * np.sqrt(1 + SLOPE**2 * d)
    return {**{f"x{j}": limits for j in range(d)}, "y": (y - far * wide, y + far * wide)}


def measured(kind, n, d, wide, given):
    widths, held, blank = [], [], []
    for seed in range(given.runs):
        data = sample(kind, n, d, seed)
        known = None if wide is None else bounds(kind, d, wide)
        formula = "y ~ " + " + ".join(data.columns[:-1])
        fit = dpreg.dp_lm(formula, data, given.eps, DELTA, bounds=known, rng=seed)
        A = np.column_stack([np.ones(n), data.iloc[:, :-1]])
        residual = data["y"] - A @ np.linalg.lstsq(A, data["y"], rcond=None)[0]
        plain = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * (residual @ residual) / (n - d - 1))
        error = fit.bse.to_numpy()[1:] if fit.released else np.full(d, np.nan)
        told = np.isfinite(error)
        blank += list(~told)
        if fit.released:
            widths += list((error / plain[1:])[told])
            held += list((np.abs(fit.estimates[1:] - SLOPE) < 1.96 * error)[told])
    shown = [f"{np.median(widths):.2f}", f"{np.mean(held):.2f}"] if widths else ["none", "none"]
    return [*shown, f"{np.mean(blank):.2f}"]


def main():
    given = options(__doc__, runs=40, eps=1.0, out="")
    rows = []
    for n, d in DESIGNS:
        for kind in ("normal", "indicators"):
            for name, wide in BOUNDS.items():
                rows.append([kind, name, f"{n:,}", d, *measured(kind, n, d, wide, given)])
                print(rows[-1], flush=True)
    about = (
        f"{given.runs} samples per row, defaults, eps = {given.eps:g}, delta = {DELTA:g}. Width: "
        "median standard error of slopes relative to least squares; covered: share of 95% "
        "intervals that contain the slope; blank: share of slopes without an interval. Right "
        "bounds are four standard deviations to both sides; those of indicators are 0 and 1 in "
        "all rows. Made by `tests/benchmarks/bench_bounds.py`."
    )
    header = ["columns", "bounds", "n", "regressors", "width", "covered", "blank"]
    write_table("Public bounds", about, header, rows, given.out, words=2)


if __name__ == "__main__":
    main()
