"""Test R squared of what a user could pick instead, beside `auto`, over n eps / d.

Run as ``python tests/benchmarks/bench_peers.py DATA [--splits 10] [--eps ...] [--out FILE]
[--plot FILE] [--json FILE]``; DATA as in `bench_accuracy.py`.

- diffprivlib 0.6.6, which imports with scikit-learn 1.5 only and so gets an environment of its
  own in build/peers; bounds from `public_bounds.py`, and without bounds, where it reads them off
  the data with a warning.  Pure eps-DP; delta is not used.
- OpenDP's LinearRegression (Theil-Sen) takes one regressor: the one that knowledge of the subject
  suggests; `auto` with that column alone stands beside it.  Its claim holds for data of even
  length only (opendp issue 2950).
- AdaSSP as printed (`dpreg.reference`), bounds 1, 3 and 10 times the largest absolute value of
  each column, which nobody knows.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from bench_accuracy import DELTA, LEAST_ROWS, least_squares, r_squared
from public_bounds import KNOWN, bounds_of

import dpreg
from dpreg import reference

HERE = Path(__file__).parent
EPS = (0.1, 0.5, math.log(3), 3.0)
REQUIREMENTS = ("scikit-learn==1.5.2", "diffprivlib==0.6.6", "pandas", "pyarrow")
WIDTHS = (1, 3, 10)
OPENDP = "opendp, one column"
METHODS = ("auto", "auto, one column", "diffprivlib", "diffprivlib, no bounds", OPENDP,
           *(f"plain adassp x{w}" for w in WIDTHS))  # fmt: skip
# Seconds of all fits are no concern here; nothing is timed.
GUESSES = (
    "Guessed bounds are by someone who had seen the ranges of the data, which is in favour of the "
    "tools that need them."
)
MANY_ROWS, FEW_SPLITS = 60_000, 4


def environment(folder):
    """Return the interpreter of an environment with diffprivlib, making it if need be."""
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        (folder / "ready").touch()
    return python


def diffprivlib(python, path, bounds, splits, eps):
    task = {"path": str(path), "bounds": bounds.tolist(), "splits": splits, "eps": list(eps)}
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(task, file)
        file.flush()
        done = subprocess.run([python, HERE / "peers_worker.py", file.name], check=True,
                              capture_output=True, text=True)  # fmt: skip
    return json.loads(done.stdout)


def opendp_fit(train, test, column, bounds, eps):
    """Fit OpenDP's regression on one column; its noise is asked for by scale: 2 / eps."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    x_bounds, y_bounds = (tuple(map(float, b)) for b in bounds)
    model = dp.sklearn.linear_model.LinearRegression(
        dp.max_divergence(), x_bounds=[x_bounds], y_bounds=y_bounds, scale=2 / eps
    )
    claimed = model.measurement.map(1)
    assert claimed <= eps * (1 + 1e-9), claimed
    fit = model.fit(train[[column]].to_numpy(float), train["target"].to_numpy(float))
    return fit.predict(test[[column]].to_numpy(float))


def plain_adassp(train, test, columns, limits, eps, seed):
    """AdaSSP on columns over their limits, so that a row has at most norm sqrt(d + 1)."""
    A, B = (np.column_stack([t[columns].to_numpy(float) / limits[:-1], np.ones(len(t))])
            for t in (train, test))  # fmt: skip
    y = train["target"].to_numpy(float) / limits[-1]
    fit = reference.adassp(A, y, eps, DELTA, x_bound=math.sqrt(A.shape[1]), y_bound=1.0, rng=seed)
    return B @ fit.params * limits[-1]


def automatic(train, test, columns, eps, seed):
    formula = "target ~ " + " + ".join(f"`{c}`" for c in columns)
    fit = dpreg.dp_lm(formula, train, eps, DELTA, inference=False, rng=seed)
    return fit.predict(test).to_numpy() if fit.released else None


def one_split(name, data, bounds, seed, eps_values):
    """Yield results of all that runs in this process."""
    columns = [c for c in data.columns if c != "target"]
    order = np.random.default_rng(seed).permutation(len(data))
    cut = len(data) // 10
    test, train = data.iloc[order[:cut]], data.iloc[order[cut:]]
    y = test["target"].to_numpy()
    ols = r_squared(y, least_squares(train, test, columns))
    yield {"method": "OLS", "eps": None, "seed": seed, "r2": ols, "said": {}}
    limits = data[[*columns, "target"]].abs().max().to_numpy()
    limits = np.where(limits > 0, limits, 1.0)
    best = KNOWN[name].best_column
    one = bounds[[columns.index(best), -1]]
    for eps in eps_values:
        fits = {
            "auto": lambda e=eps: automatic(train, test, columns, e, seed),
            "auto, one column": lambda e=eps: automatic(train, test, [best], e, seed),
            OPENDP: lambda e=eps: opendp_fit(train, test, best, one, e),
            **{f"plain adassp x{w}": lambda e=eps, w=w: plain_adassp(
                train, test, columns, w * limits, e, seed) for w in WIDTHS},
        }  # fmt: skip
        for method, fit in fits.items():
            said = Counter()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                predicted = fit()
            said.update({w.category.__name__ for w in caught})
            found = None if predicted is None else r_squared(y, predicted)
            yield {"method": method, "eps": eps, "seed": seed, "r2": found, "said": dict(said)}


def data_set(python, folder, name, n, splits, eps):
    path = folder / f"{name}.parquet"
    data = pd.read_parquet(path)
    bounds = bounds_of(name, data)
    splits = splits if n <= MANY_ROWS else min(splits, FEW_SPLITS)
    found = [r for seed in range(splits) for r in one_split(name, data, bounds, seed, eps)]
    found += diffprivlib(python, path, bounds, splits, eps)
    return splits, found


def scores(results, method, eps):
    """Return R2 of the splits, -inf where there is none."""
    found = [r["r2"] for r in results if r["method"] == method and r["eps"] in (eps, None)]
    return np.array([-np.inf if r is None else r for r in found])


def quantile(values, q):
    """Of scores of which some may be -inf."""
    found = np.quantile(np.maximum(values, -1e300), q)
    return -math.inf if found < -1e250 else float(found)


def number(value):
    if not math.isfinite(value):
        return "none"
    return f"{value:.3f}" if value > -10 else f"{value:.1e}"


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
        lines.append(f"- {method}, {len(results)} fits: {words or 'nothing'}.")
    return lines


def shares(table, eps_values, method):
    """Yield n eps / d and the share of the R2 of OLS, by medians."""
    for row in table:
        ols = np.median(scores(row["results"], "OLS", None))
        for eps in eps_values:
            middle = quantile(scores(row["results"], method, eps), 0.5)
            yield row["n"] * eps / row["d"], middle / ols


def summary(table, eps_values):
    lines = [
        "| share of OLS R2, all eps | at least 0.95 | at least 0.8 | above 0 | below 0 or none |",
        "|---|--:|--:|--:|--:|",
    ]
    for method in METHODS:
        found = np.array([share for _, share in shares(table, eps_values, method)])
        counts = [(found >= 0.95).sum(), (found >= 0.8).sum(), (found > 0).sum()]
        counts.append(len(found) - counts[-1])
        lines.append(f"| {method} | " + " | ".join(f"{c} of {len(found)}" for c in counts) + " |")
    return lines


def losses(table, eps_values):
    """Return where a peer's median is above that of auto, and by how much."""
    lines = []
    for row in table:
        for eps in eps_values:
            ours = quantile(scores(row["results"], "auto", eps), 0.5)
            for method in METHODS[2:]:
                theirs = quantile(scores(row["results"], method, eps), 0.5)
                if theirs > ours:
                    lines.append(
                        f"- {row['name']}, eps = {eps:.3g}: {method} {number(theirs)}, "
                        f"auto {number(ours)}."
                    )
    return lines or ["- Nowhere in this table."]


def report(table, eps_values):
    lines = [
        f"# Test R squared of what a user could pick instead, delta = {DELTA:g}",
        "",
        "Medians and quartiles of random 90/10 splits. Made by `tests/benchmarks/bench_peers.py`, "
        "which says what each method is and gets.",
        "",
        *summary(table, eps_values),
        "",
        "## Where `auto` loses",
        "",
        *losses(table, eps_values),
        "",
        "## What was raised or warned of",
        "",
        *said(table),
        "",
        "## All medians and quartiles",
        "",
        "| data | n | d | splits | eps | n eps / d | OLS | " + " | ".join(METHODS) + " |",
        "|---|--:|--:|--:|--:|--:|--:|" + "--:|" * len(METHODS),
    ]
    for row in table:
        ols = np.median(scores(row["results"], "OLS", None))
        for eps in eps_values:
            lines.append(
                f"| {row['name']} | {row['n']:,} | {row['d']} | {row['splits']} | {eps:.3g} | "
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
