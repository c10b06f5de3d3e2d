"""Do the intervals hold on real data?  Real tables as populations, drawn from with replacement.

Run as ``python tests/benchmarks/bench_populations.py DATA [--n 20000] [--eps 1] [--runs 10]
[--out FILE] [--picture FILE]``, DATA being a folder of Parquet files with a column ``target``
and a ``manifest.json`` that lists them.  ``dp_lm`` is called with all defaults; its 95% intervals
are compared with the least-squares slopes of the whole table.  Left out are columns with one value
in more than 98% of the rows, and those that the columns before them explain to 99.99%.

Least squares can hang on one row: it may move a slope by more than a private interval is wide, and
then no private interval of that width can cover, whatever the method: two samples that differ in
that row have nearly the same law of results.  So slopes are counted apart which one row of the
population, once in the sample, moves by more than half of the private standard error.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import dpreg

DELTA = 1e-6
LEAST_ROWS = 2_000


def usable(X):
    """Columns with a spread of their own."""
    names, basis = [], np.empty((len(X), 0))
    for name in X:
        column = X[name].to_numpy(dtype=float)
        if pd.Series(column).value_counts(normalize=True).iloc[0] > 0.98:
            continue
        z = (column - column.mean()) / column.std()
        rest = z - basis @ (basis.T @ z)
        if (rest**2).mean() > 1e-4:
            names.append(name)
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
    return names


def least_squares(X, y):
    """Coefficients and sandwich standard errors."""
    A = np.column_stack([np.ones(len(X)), X])
    size = np.abs(A).max(axis=0)
    A = A / size
    solution = np.linalg.lstsq(A, y, rcond=None)[0]
    residual = y - A @ solution
    inverse = np.linalg.pinv(A.T @ A)
    scores = A * residual[:, None]
    return solution / size, np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse)) / size


def largest_influence(X, y, n):
    """By how much the row that matters most to each coefficient moves it in n rows like these."""
    A = np.column_stack([np.ones(len(X)), X])
    size = np.abs(A).max(axis=0)
    A = A / size
    scores = A * (y - A @ np.linalg.lstsq(A, y, rcond=None)[0])[:, None]
    return np.abs(scores @ np.linalg.pinv(A.T @ A / len(A))).max(axis=0) / n / size


@dataclass(frozen=True)
class Measured:
    """Shares, and the median width of an interval over that of a sandwich."""

    slopes: int
    covered: float
    contrasts: float
    blank: float
    width: float
    hanging: float
    others_covered: float


def measured(data, n, eps, runs):
    """Compare the intervals of samples with the least-squares values of all of `data`."""
    names = usable(data.drop(columns="target"))
    data = data[[*names, "target"]].astype(float)
    formula = "target ~ " + " + ".join(f"`{name}`" for name in names)
    X, y = data[names].to_numpy(), data["target"].to_numpy()
    truth, _ = least_squares(X, y)
    influence = largest_influence(X, y, n)[1:]
    covered, blank, widths, contrasts, hanging = [], [], [], [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        sample = data.iloc[rng.integers(0, len(data), n)].reset_index(drop=True)
        fit = dpreg.dp_lm(formula, sample, eps, DELTA, rng=seed)
        if not fit.released:
            blank.append(np.ones(len(names)))
            continue
        error = fit.bse.to_numpy()
        _, plain = least_squares(sample[names].to_numpy(), sample["target"].to_numpy())
        known = np.isfinite(error[1:])
        blank.append(~known)
        miss = np.abs(fit.params.to_numpy() - truth) / error
        covered += list(miss[1:][known] < 1.96)
        widths += list((error / plain)[1:][known])
        hanging += list(influence[known] > error[1:][known] / 2)
        weights = np.zeros((10, len(truth)))
        weights[:, 1:] = rng.standard_normal((10, len(names))) / data[names].std().to_numpy()
        if known.all():
            spread = np.sqrt(
                np.einsum("ij,jk,ik->i", weights, fit.cov_params().to_numpy(), weights)
            )
            contrasts += list(np.abs(weights @ (fit.params.to_numpy() - truth)) < 1.96 * spread)
    others = [hit for hit, hangs in zip(covered, hanging, strict=True) if not hangs]
    share = [
        float(np.mean(x)) if len(x) else np.nan
        for x in (covered, contrasts, blank, hanging, others)
    ]
    width = float(np.median(widths)) if widths else np.nan
    return Measured(len(names), *share[:3], width, *share[3:])


def report(table, n, eps, runs):
    lines = [
        f"# Real tables as populations: n = {n:,}, eps = {eps:g}, delta = {DELTA:g}",
        "",
        f"{runs} samples each, drawn with replacement; `dp_lm` with all defaults. Made by "
        "`tests/benchmarks/bench_populations.py`.",
        "",
        "Hanging: slopes that one row moves by more than half of the standard error, which no "
        "private interval of that width can cover; covered too, of the others.",
        "",
        "| population | slopes | covered | contrasts | blank | width over a sandwich's "
        "| hanging | others covered |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, m in table:
        lines.append(
            f"| {name} | {m.slopes} | {m.covered:.3f} | {m.contrasts:.3f} | {m.blank:.3f} "
            f"| {m.width:.2f} | {m.hanging:.3f} | {m.others_covered:.3f} |"
        )
    told = np.array([m.slopes * (1 - m.blank) for _, m in table])
    others = told * (1 - np.array([m.hanging for _, m in table]))
    covered = np.array([m.covered for _, m in table])
    apart = np.array([m.others_covered for _, m in table])
    lines += [
        "",
        f"Of all slopes with an interval {_mean(covered, told):.3f} are covered, of those that do "
        f"not hang on one row {_mean(apart, others):.3f}; worst population "
        f"{np.nanmin(covered):.3f} and {np.nanmin(apart):.3f}; blank on average "
        f"{np.mean([m.blank for _, m in table]):.3f}; median width "
        f"{np.nanmedian([m.width for _, m in table]):.2f}.",
    ]
    return "\n".join(lines) + "\n"


def _mean(values, weights):
    told = np.isfinite(values) & (weights > 0)
    return float(values[told] @ weights[told] / weights[told].sum())


def picture(table, path):
    import matplotlib.pyplot as plt

    rows = sorted(table, key=lambda row: row[1].covered)
    names = [name for name, _ in rows]
    figure, axes = plt.subplots(figsize=(6, 0.3 * len(rows) + 1), layout="constrained")
    axes.axvline(0.95, color="grey", linewidth=1)
    axes.plot([m.covered for _, m in rows], names, "o", label="slopes")
    axes.plot([m.others_covered for _, m in rows], names, "|", markersize=12,
              label="those that do not hang on one row")  # fmt: skip
    axes.plot([m.contrasts for _, m in rows], names, "x", label="contrasts")
    axes.set_xlabel("share of 95% intervals that cover")
    axes.set_xlim(min(0.5, *(m.covered for _, m in rows)) - 0.02, 1.01)
    axes.legend(loc="lower left")
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    table = []
    for entry in json.loads((options.data / "manifest.json").read_text()):
        if entry["kind"] != "tabular" or entry["n"] < LEAST_ROWS:
            continue
        data = pd.read_parquet(options.data / f"{entry['name']}.parquet").dropna()
        row = (entry["name"], measured(data, options.n, options.eps, options.runs))
        table.append(row)
        print(row, flush=True)
    text = report(table, options.n, options.eps, options.runs)
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
    if options.picture is not None:
        picture(table, options.picture)


if __name__ == "__main__":
    main()
