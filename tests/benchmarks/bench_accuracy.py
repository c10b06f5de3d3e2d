"""Test R squared of every method, and of the automatic choice, on real data.

Run as ``python tests/benchmarks/bench_accuracy.py DATA [--eps 1.0986] [--out FILE]
[--json FILE]``, DATA being a folder of Parquet files with a column ``target`` and a
``manifest.json`` that lists them.
Medians, and quartiles of ``auto``, of random 90/10 splits; no bounds are given, nothing is
tuned.  Splits and noise are seeded, so the table can be made again.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
from held_out import r_squared, split
from measure import write_page

import dpreg

METHODS = ("tukey", "adassp", "boosted_adassp", "dpsgd", "auto")
DELTA = 1e-5
LEAST_ROWS = 2_000


def least_squares(train, test, columns):
    X = np.column_stack([np.ones(len(train)), train[columns]])
    solution = np.linalg.lstsq(X, train["target"].to_numpy(), rcond=None)[0]
    return np.column_stack([np.ones(len(test)), test[columns]]) @ solution


def scores(data, eps, splits, *, inference):
    columns = [c for c in data.columns if c != "target"]
    formula = "target ~ " + " + ".join(f"`{c}`" for c in columns)
    result = {name: [] for name in ("ols", *METHODS)}
    for seed in range(splits):
        train, test = split(data, seed)
        y = test["target"].to_numpy()
        result["ols"].append(r_squared(y, least_squares(train, test, columns)))
        for method in METHODS:
            fit = dpreg.dp_lm(
                formula, train, eps, DELTA, method=method, inference=inference, rng=seed
            )
            predicted = fit.predict(test).to_numpy() if fit.released else None
            result[method].append(np.nan if predicted is None else r_squared(y, predicted))
    return result


def cell(values):
    """Return the median, or in how many splits the method declined."""
    declined = int(np.isnan(values).sum())
    if declined > len(values) / 2:
        return "declined"
    return f"{np.nanmedian(values):.3f}" + (f" ({declined} declined)" if declined else "")


def quartiles(values):
    if np.isnan(values).all():
        return "declined"
    low, high = np.nanquantile(values, [0.25, 0.75])
    return f"{low:.3f} to {high:.3f}"


def report(table, eps, splits):
    lines = [
        f"# Test R squared at eps = {eps:.4g}, delta = {DELTA:g}",
        "",
        f"Medians of {splits} random 90/10 splits; no bounds, no tuning, "
        "coefficients only (`inference=False`). Made by `tests/benchmarks/bench_accuracy.py`.",
        "",
        "| data | n | d | OLS | " + " | ".join(METHODS) + " | auto, quartiles | worst of all |",
        "|---|--:|--:|--:|" + "--:|" * (len(METHODS) + 2),
    ]
    ratios = []
    for name, n, d, found in table:
        released = [value for m in METHODS for value in found[m] if not np.isnan(value)]
        worst = f"{min(released):.3f}" if released else "declined"
        lines.append(
            f"| {name} | {n:,} | {d} | {cell(found['ols'])} | "
            + " | ".join(cell(found[m]) for m in METHODS)
            + f" | {quartiles(found['auto'])} | {worst} |"
        )
        ratios.append((n, float(np.nanmedian(found["auto"]) / np.median(found["ols"]))))
    large = [ratio for n, ratio in ratios if n >= 5_000]
    mean = np.nanmean([ratio for _, ratio in ratios])
    lines += [
        "",
        f"auto over OLS, n >= 5,000: at least 0.95 on {sum(r >= 0.95 for r in large)} of "
        f"{len(large)}, least {min(large):.3f}; all: mean {mean:.3f}.",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--eps", type=float, default=math.log(3))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--inference", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", type=Path, help="where to write all scores")
    options = parser.parse_args()
    table = []
    for entry in json.loads((options.data / "manifest.json").read_text()):
        name, n, d = entry["name"], entry["n"], entry["d"]
        if entry["kind"] != "tabular" or n < LEAST_ROWS:
            continue
        data = pd.read_parquet(options.data / f"{name}.parquet")
        found = scores(data, options.eps, options.splits, inference=options.inference)
        table.append((name, n, d, found))
        print(name, {m: cell(v) for m, v in found.items()}, flush=True)
    text = report(table, options.eps, options.splits)
    write_page(text, options.out)
    if options.json is not None:
        keys = ("name", "n", "d", "scores")
        rows = [dict(zip(keys, row, strict=True)) for row in table]
        content = {"eps": options.eps, "table": rows}
        options.json.write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main()
