"""Do the intervals hold on real data?  Real tables as populations, drawn from with replacement.

Run as ``python tests/benchmarks/bench_populations.py DATA [--n 20000] [--eps 1] [--runs 10]
[--out FILE] [--csv FILE]``, DATA being a folder of Parquet files with a column ``target``
and a ``manifest.json`` that lists them.  ``dp_lm`` is called with all defaults; its 95% intervals
are compared with the least-squares slopes of the whole table, also with `clipping` added to each
side, and with the estimand that the header names.  Left out are columns with one value in more than
98% of the rows, and those that the columns before them explain to 99.99%.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
from measure import write_page
from named_estimand import watched

import dpreg

DELTA = 1e-6
LEAST_ROWS = 2_000
FIELDS = (
    "slopes", "covered", "named", "within", "contrasts", "contrasts_named", "blank", "reach",
    "width",
)  # fmt: skip


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
    size[size == 0] = 1.0  # no row of a level
    A = A / size
    solution = np.linalg.lstsq(A, y, rcond=None)[0]
    residual = y - A @ solution
    inverse = np.linalg.pinv(A.T @ A)
    scores = A * residual[:, None]
    variances = np.diag(inverse @ (scores.T @ scores) @ inverse)
    return solution / size, np.sqrt(np.maximum(variances, 0.0)) / size


def measured(data, n, eps, runs):
    """What `FIELDS` names, of one table, the number of slopes first."""
    names = usable(data.drop(columns="target"))
    data = data[[*names, "target"]].astype(float)
    X, y = data[names].to_numpy(), data["target"].to_numpy()
    formula = "target ~ " + " + ".join(f"`{name}`" for name in names)
    least, _ = least_squares(X, y)
    blank, widths, slopes, contrasts, within, reach = [], [], [], [], [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        sample = data.iloc[rng.integers(0, len(data), n)].reset_index(drop=True)
        with watched() as found:
            fit = dpreg.dp_lm(formula, sample, eps, DELTA, rng=seed)
        if not fit.released:
            blank.append(np.ones(len(names)))
            continue
        error = fit.bse.to_numpy()
        _, plain = least_squares(sample[names].to_numpy(), sample["target"].to_numpy())
        known = np.isfinite(error[1:])
        blank.append(~known)
        widths += list((error / plain)[1:][known])
        of = np.array([least, found.estimand(X, y)]) - fit.params.to_numpy()
        clipping = np.nan_to_num(fit.tidy()["clipping"].to_numpy())
        within += list((np.abs(of[0]) < 1.96 * error + clipping)[1:][known])
        reach.append(np.nanmax(clipping / error))
        slopes += list((np.abs(of / error) < 1.96)[:, 1:][:, known].T)
        weights = np.zeros((10, len(least)))
        weights[:, 1:] = rng.standard_normal((10, len(names))) / data[names].std().to_numpy()
        if known.all():
            spread = np.sqrt(
                np.einsum("ij,jk,ik->i", weights, fit.cov_params().to_numpy(), weights)
            )
            contrasts += list(np.abs(weights @ of.T) < 1.96 * spread[:, None])
    shares = [*share_of_each(slopes), np.mean(within) if within else np.nan]
    shares += [*share_of_each(contrasts), float(np.mean(blank))]
    return len(names), *shares, median_of(reach), median_of(widths)


def median_of(values):
    return float(np.median(values)) if values else np.nan


def share_of_each(covered):
    """Of least squares, and of what the header names."""
    return np.mean(covered, axis=0).tolist() if covered else [np.nan, np.nan]


def over_all(table, place):
    """Share of all slopes with an interval that is covered, and the least of a table."""
    values = np.array([row[1:] for row in table])
    told = values[:, 0] * (1 - values[:, FIELDS.index("blank")])
    known = np.isfinite(values[:, place])
    return np.nansum(values[:, place] * told) / told[known].sum(), np.nanmin(values[:, place])


def report(table, n, eps, runs):
    lines = [
        f"# Real tables as populations: n = {n:,}, eps = {eps:g}, delta = {DELTA:g}",
        "",
        f"{runs} samples each, drawn with replacement; `dp_lm` with all defaults. Made by "
        "`tests/benchmarks/bench_populations.py`. Coverage is given for the least-squares "
        "slopes of the table, for the estimand named in the header of the fit (least "
        "squares with clipped rows and scores), for least squares by intervals with `clipping` "
        "added on both sides (within), and for random contrasts of the first two. Reach "
        "is the median over fits of the largest reported effect of clipping, in standard errors.",
        "",
        "| population | slopes | least squares | estimand named | within | contrasts "
        "| contrasts named | blank | reach | width over a sandwich's |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, d, *shares, reach, width in table:
        cells = " | ".join(f"{share:.3f}" for share in shares)
        lines.append(f"| {name} | {d} | {cells} | {reach:.1f} | {width:.2f} |")
    (least, worst), (named, worst_named) = over_all(table, 1), over_all(table, 2)
    within, worst_within = over_all(table, FIELDS.index("within"))
    blank, width = (np.array([row[1 + FIELDS.index(f)] for row in table])
                    for f in ("blank", "width"))  # fmt: skip
    lines += [
        "",
        f"Of all slopes with an interval {least:.3f} of those of least squares are covered, "
        f"{worst:.3f} in the worst population; of the estimand named {named:.3f}, "
        f"{worst_named:.3f} in the worst; of least squares within intervals and clipping "
        f"{within:.3f}, {worst_within:.3f} in the worst; blank on average {blank.mean():.3f}; "
        f"median width {np.nanmedian(width):.2f}.",
    ]
    return "\n".join(lines) + "\n"


def append(table, n, path):
    """Add the rows of one n to what `vignettes/real_populations.py` shows."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(["population", "n", *FIELDS])
        for name, slopes, *shares in table:
            writer.writerow([name, n, slopes, *(f"{share:.3f}" for share in shares)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    table = []
    for entry in json.loads((options.data / "manifest.json").read_text()):
        if entry["kind"] != "tabular" or entry["n"] < LEAST_ROWS:
            continue
        data = pd.read_parquet(options.data / f"{entry['name']}.parquet").dropna()
        row = (entry["name"], *measured(data, options.n, options.eps, options.runs))
        table.append(row)
        print(row, flush=True)
    text = report(table, options.n, options.eps, options.runs)
    write_page(text, options.out)
    if options.csv is not None:
        append(table, options.n, options.csv)


if __name__ == "__main__":
    main()
