"""Test R squared of what a user could pick instead, beside `auto`, over n eps / d.

Run as ``python tests/benchmarks/bench_peers.py DATA [--splits 10] [--eps ...] [--out FILE]
[--plot FILE] [--json FILE]``; DATA as in `bench_accuracy.py`.  Peers and what they are given
are in `peers.py`, bounds in `public_bounds.py`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from bench_accuracy import DELTA, LEAST_ROWS, least_squares
from held_out import quantile, r_squared, split
from peers import ABOUT, BOUNDED, BROKEN, OPENDP, Bounded, diffprivlib, environment, opendp_fit
from public_bounds import KNOWN, bounds_of

import dpreg

EPS = (0.1, 0.5, 1.0, 3.0)
OURS, DIFFPRIVLIB = ("auto", "auto, one column"), "diffprivlib"
METHODS = (*OURS, *BOUNDED, DIFFPRIVLIB, OPENDP)
GUESSES = (
    "Guessed bounds are by someone who had seen the ranges of the data, which is in favour of the "
    "tools that need them."
)
MANY_ROWS, FEW_SPLITS = 60_000, 4


def automatic(train, test, columns, eps, seed):
    formula = "target ~ " + " + ".join(f"`{c}`" for c in columns)
    fit = dpreg.dp_lm(formula, train, eps, DELTA, inference=False, rng=seed)
    return fit.predict(test).to_numpy() if fit.released else None


def score(y, fit):
    """Return R2 of what `fit` predicts, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predicted = fit()
    said = Counter(w.category.__name__ for w in caught)
    return None if predicted is None else r_squared(y, predicted), said


def one_split(python, name, data, bounds, seed, eps_values):
    """Yield results of all methods."""
    columns = [c for c in data.columns if c != "target"]
    train, test = split(data, seed)
    y, X_new = test["target"].to_numpy(), test[columns].to_numpy(float)

    def result(method, eps, r2, said, setting=None):
        return {"method": method, "eps": eps, "seed": seed, "r2": r2, "said": dict(said),
                "setting": setting}  # fmt: skip

    yield result("OLS", None, r_squared(y, least_squares(train, test, columns)), {})
    best = KNOWN[name].best_column
    one = bounds[[columns.index(best), -1]]
    bounded = Bounded(train[columns].to_numpy(float), train["target"].to_numpy(float), bounds)
    low, high = bounds.T.tolist()
    fits = [{"epsilon": eps, "random_state": seed, "bounds_X": (low[:-1], high[:-1]),
             "bounds_y": (low[-1], high[-1])} for eps in eps_values]  # fmt: skip
    theirs, said = diffprivlib(python, "LinearRegression", bounded.X, bounded.y, fits)
    for eps, row, words in zip(eps_values, theirs, said, strict=True):
        r2 = None if np.isnan(row).any() else r_squared(y, row[0] + X_new @ row[1:])
        yield result(DIFFPRIVLIB, eps, r2, words)
        fits = {
            "auto": lambda e=eps: automatic(train, test, columns, e, seed),
            "auto, one column": lambda e=eps: automatic(train, test, [best], e, seed),
            OPENDP: lambda e=eps: opendp_fit(train, test, best, one, e),
        }
        for method, fit in fits.items():
            yield result(method, eps, *score(y, fit))
        for method, setting in bounded.settings():
            fitted = bounded.fit(method, setting, eps, DELTA, seed)
            yield result(method, eps, r_squared(y, fitted(X_new)), {}, setting)


def data_set(python, folder, name, n, splits, eps):
    data = pd.read_parquet(folder / f"{name}.parquet")
    bounds = bounds_of(name, data)
    splits = splits if n <= MANY_ROWS else min(splits, FEW_SPLITS)
    return splits, [
        r for seed in range(splits) for r in one_split(python, name, data, bounds, seed, eps)
    ]


def scores(results, method, eps):
    """Return R2 of the splits, of the best setting; -inf where there is none."""
    by_setting = {}
    for r in results:
        if r["method"] == method and r["eps"] in (eps, None):
            value = -np.inf if r["r2"] is None else r["r2"]
            by_setting.setdefault(r.get("setting"), []).append(value)
    return max(map(np.array, by_setting.values()), key=lambda found: quantile(found, 0.5))


def number(value):
    if not math.isfinite(value):
        return "none"
    return f"{value:.3f}" if value > -10 else f"{value:.0e}"


def cell(values):
    middle, low, high = (number(quantile(values, q)) for q in (0.5, 0.25, 0.75))
    return middle if middle == "none" else f"{middle} ({low} to {high})"


def said(table):
    """List what each method raised or warned of, with how many of its fits."""
    lines = []
    for method in METHODS:
        results = [r for row in table for r in row["results"] if r["method"] == method]
        count = Counter()
        for r in results:
            count.update(r["said"].keys())
            count["no result"] += r["r2"] is None
        words = "; ".join(f"{k} {v}" for k, v in count.most_common() if v)
        if words:
            lines.append(f"- {method}, {len(results)} fits: {words}.")
    return lines or ["- Nothing."]


def middles(row, eps):
    """Return the median R2 of OLS and, by method, of the others."""
    found = {m: quantile(scores(row["results"], m, eps), 0.5) for m in METHODS}
    return float(np.median(scores(row["results"], "OLS", None))), found


def shares(table, eps_values, method):
    """Yield n eps / d and the share of the R2 of OLS, by medians."""
    for row in table:
        for eps in eps_values:
            ols, found = middles(row, eps)
            yield row["n"] * eps / row["d"], found[method] / ols


def summary(table, eps_values):
    lines = [
        "| share of OLS R2, all eps | at least 0.95 | at least 0.8 | above 0 | below 0 or none |",
        "|---|--:|--:|--:|--:|",
    ]
    for method in METHODS:
        found = np.array([share for _, share in shares(table, eps_values, method)])
        counts = [(found >= 0.95).sum(), (found >= 0.8).sum(), (found > 0).sum()]
        counts.append(len(found) - counts[-1])
        cells = " | ".join(f"{c} of {len(found)}" for c in counts)
        lines.append(f"| {marked(method)} | {cells} |")
    return lines


def marked(method):
    return f"{method} †" if method in BROKEN else method


def losses(table, eps_values):
    """Return where the median of a peer is above 0 and that of auto, and by how much."""
    lines = []
    for row in table:
        for eps in eps_values:
            ols, found = middles(row, eps)
            for method in METHODS[2:]:
                if found[method] > max(found["auto"], 0):
                    near = "; within 1% of OLS" if found["auto"] >= 0.99 * ols else ""
                    lines.append(
                        f"- {row['name']}, n = {row['n']:,}, eps = {eps:g}: {marked(method)} "
                        f"{number(found[method])}, auto {number(found['auto'])}, OLS "
                        f"{ols:.3f}{near}."
                    )
    return lines or ["- Nowhere in this table."]


def report(table, eps_values):
    lines = [
        f"# Test R squared of alternatives to dpreg, delta = {DELTA:g}",
        "",
        "Medians and quartiles of random 90/10 splits, the same for all. Made by "
        "`tests/benchmarks/bench_peers.py`. `auto` gets no bounds; all others get those at the "
        "end of this page.",
        "",
        *ABOUT,
        "",
        *summary(table, eps_values),
        "",
        "## Where `auto` loses to a peer whose R squared is above 0",
        "",
        *losses(table, eps_values),
        "",
        "## What was raised or warned of",
        "",
        *said(table),
        "",
        "## All medians and quartiles",
        "",
        "| data | n | d | splits | eps | n eps / d | OLS | "
        + " | ".join(map(marked, METHODS)) + " |",
        "|---|--:|--:|--:|--:|--:|--:|" + "--:|" * len(METHODS),
    ]  # fmt: skip
    for row in table:
        ols = np.median(scores(row["results"], "OLS", None))
        for eps in eps_values:
            lines.append(
                f"| {row['name']} | {row['n']:,} | {row['d']} | {row['splits']} | {eps:g} | "
                f"{row['n'] * eps / row['d']:,.0f} | {ols:.3f} | "
                + " | ".join(cell(scores(row["results"], m, eps)) for m in METHODS)
                + " |"
            )
    lines += ["", "## Where the bounds come from", "", GUESSES, ""]
    lines += [
        f"- {row['name']}: {KNOWN[row['name']].source}; one column: "
        f"`{KNOWN[row['name']].best_column}`."
        for row in table
    ]
    return "\n".join(lines) + "\n"


def plot(table, eps_values, file):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
    for method, marker in zip(METHODS, "ohsv^xd+", strict=True):
        x, share = np.array(sorted(shares(table, eps_values, method))).T
        ax.plot(x, np.clip(share, -0.25, 1.3), marker, ms=4, alpha=0.8, label=method)
    ax.axhline(1, color="grey", lw=0.8)
    ax.set(xscale="log", xlabel="n eps / d", ylim=(-0.3, 1.35),
           ylabel="share of the R2 of OLS (below: -0.25 or none)")  # fmt: skip
    figure.legend(fontsize=7, ncol=4, loc="outside upper center")
    figure.savefig(file, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--eps", type=float, nargs="+", default=EPS)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", nargs="+", help="names of data sets")
    parser.add_argument("--environment", type=Path, default=Path("build/peers"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    python = environment(options.environment)
    table = []
    for entry in json.loads((options.data / "manifest.json").read_text()):
        name, n = entry["name"], entry["n"]
        if name not in KNOWN or n < LEAST_ROWS or name not in (options.only or [name]):
            continue
        splits, results = data_set(python, options.data, name, n, options.splits, options.eps)
        row = {"name": name, "n": n, "d": entry["d"], "splits": splits, "results": results}
        table.append(row)
        print(name, {m: cell(scores(results, m, options.eps[-1])) for m in METHODS},
              file=sys.stderr, flush=True)  # fmt: skip
    text = report(table, options.eps)
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
    if options.json is not None:
        options.json.write_text(json.dumps(table), encoding="utf-8")
    if options.plot is not None:
        plot(table, options.eps, options.plot)


if __name__ == "__main__":
    main()
