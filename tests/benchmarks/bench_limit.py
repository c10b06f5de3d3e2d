"""How wide are intervals, beside the one-shot limit?  And how many noisy steps does a fit make?

Run as ``python tests/benchmarks/bench_limit.py [--data FOLDER] [--runs 4] [--quick] [--out FILE]
[--json FILE]``.  `dp_lm` and binomial `dp_glm` with all defaults, on simulated designs and, with a
folder of data sets as `bench_populations.py` has them, on samples of real tables.

The limit is the width of an interval, over that of least squares (of maximum likelihood), were
scales, curvature and starting point known and all of the budget spent on one sum of scores, clipped
at a threshold that five rows of a sample exceed.  Noise is the deviation that is added to that of
sampling: what is said is the privacy part of standard errors, and what is made the distance of
slopes from those without noise of the same rows.
"""

from __future__ import annotations

import itertools
import json
from functools import cache

import numpy as np
import pandas as pd
from bench_populations import LEAST_ROWS, least_squares, usable
from measure import Sheet, arguments, write_table
from scipy import special

import dpreg
from dpreg.privacy.gdp import gdp_mu

DELTA = 1e-6
ROWS, DIMENSIONS, EPSILONS = (1_000, 2_000, 5_000, 20_000, 100_000), (2, 5, 10, 30), (0.3, 1.0, 3.0)
KINDS = ("normal", "dummies", "corr", "lognormal")
TABLE_ROWS, TABLE_EPS = (20_000, 100_000), 1.0
POPULATION = 200_000
# Cells of few slopes have more runs, until there are so many: of three runs of two slopes less than
# .9 are covered one time in four, and noise is off by a third, by chance.
LEAST_SLOPES = 30
# Rows of a sample whose scores the limit clips, and what that may move, in standard errors.
BEYOND, HARMLESS = 5, 0.25
# Goals are of cells where the limit is below this, and of noise over that of the limit.
NEAR, MOST, MOST_LOGNORMAL = 1.5, 1.4, 1.8


def design(kind, n, d, rng):
    if kind == "normal":
        return rng.standard_normal((n, d))
    if kind == "corr":
        return rng.standard_normal((n, 1)) + 0.6 * rng.standard_normal((n, d))
    if kind == "dummies":
        return (rng.random((n, d)) < np.linspace(0.1, 0.5, d)).astype(float)
    return np.exp(rng.standard_normal((n, d)))


class Limit:
    """What clipping scores at a norm costs, for scores of a population at its solution."""

    def __init__(self, scores, information):
        """Whiten `scores` by `information`, the matrix of curvature of a row."""
        root = np.linalg.cholesky(np.linalg.pinv(information, hermitian=True))
        self.whitened = scores @ root
        self.norms = np.linalg.norm(self.whitened, axis=1)
        self.size = np.sqrt((self.norms**2).mean() / scores.shape[1])

    def of(self, n, eps):
        """Return the width of an interval, and how far clipping moves it in standard errors."""
        most = np.quantile(self.norms, 1 - BEYOND / n)
        lost = np.maximum(0, 1 - most / np.maximum(self.norms, 1e-300))
        k = self.whitened.shape[1]
        moved = np.linalg.norm((self.whitened * lost[:, None]).mean(axis=0)) * np.sqrt(n / k)
        noise = most / (gdp_mu(eps, DELTA) * np.sqrt(n) * self.size)
        return float(np.sqrt(1 + noise**2)), float(moved / self.size)


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


def limit_of_squares(X, y):
    A = with_ones((X - X.mean(axis=0)) / X.std(axis=0))
    residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return Limit(A * residual[:, None], A.T @ A / len(A))


def predictors(kind, n, d, rng):
    """Rows, and linear predictors of standard deviation about 1 and mean about 0."""
    X = design(kind, n, d, rng)
    away = design(kind, POPULATION // 10, d, np.random.default_rng(d))
    slope = 1 / away.sum(axis=1).std()
    return X, slope * (X.sum(axis=1) - away.sum(axis=1).mean()), slope


def drawn(family, kind, n, d, rng):
    """Rows, responses and the slope of each regressor."""
    if family == "gaussian":
        X = design(kind, n, d, rng)
        return X, 1 + X.sum(axis=1) + 2 * rng.standard_normal(n), 1.0
    X, eta, slope = predictors(kind, n, d, rng)
    return X, (rng.random(n) < special.expit(eta)).astype(float), slope


@cache
def limit_of(family, kind, d):
    rng = np.random.default_rng(0)
    if family == "gaussian":
        X, y, _ = drawn(family, kind, POPULATION, d, rng)
        return limit_of_squares(X, y)
    X, eta, _ = predictors(kind, POPULATION, d, rng)
    mean = special.expit(eta)
    A = with_ones((X - X.mean(axis=0)) / X.std(axis=0))
    residual = (rng.random(len(A)) < mean) - mean
    return Limit(A * residual[:, None], A.T @ (A * (mean * (1 - mean))[:, None]) / len(A))


def without_noise(family, X, y):
    """Slopes and their standard errors: a sandwich's, or those of maximum likelihood."""
    if family == "gaussian":
        slopes, errors = least_squares(X, y)
        return slopes[1:], errors[1:]
    A, theta = with_ones(X), np.zeros(X.shape[1] + 1)
    for _ in range(25):
        mean = special.expit(np.clip(A @ theta, -30, 30))
        weighted = A.T @ (A * (mean * (1 - mean))[:, None])
        theta = theta + np.linalg.lstsq(weighted, A.T @ (y - mean), rcond=None)[0]
    return theta[1:], np.sqrt(np.diag(np.linalg.pinv(weighted, hermitian=True)))[1:]


def fitted(family, table, names, eps, seed):
    """Return a fit, its noisy steps and its passes over the rows."""
    formula = "y ~ " + " + ".join(f"`{name}`" for name in names)
    seen = []
    with dpreg.progress(seen.append):
        if family == "gaussian":
            fit = dpreg.dp_lm(formula, table, eps, DELTA, rng=seed)
        else:
            fit = dpreg.dp_glm(formula, table, eps, DELTA, family=family, rng=seed)
    return fit, len(fit.privacy.to_frame()), len(seen)


class Cell:
    """What fits of one cell gave."""

    def __init__(self):
        self.held, self.widths, self.blank, self.steps, self.passes = [], [], [], [], []
        self.away, self.said = [], []

    def add(self, fit, steps, passes, truth, exact, plain):
        self.steps.append(steps)
        self.passes.append(passes)
        if not fit.released:
            self.blank += [True] * len(plain)
            return
        error = fit.bse.to_numpy()[1:]
        known = np.isfinite(error)
        self.blank += list(~known)
        self.widths += list((error / plain)[known])
        self.said += list((fit.tidy()["privacy"].to_numpy()[1:] / plain)[known])
        slopes = fit.params.to_numpy()[1:]
        self.away += list(((slopes - exact) / plain)[known])
        self.held += list((np.abs(slopes - truth) < 1.96 * error)[known])

    def row(self, least, moved):
        """Width, the limit's, their ratio and those of noise, coverage, blank, steps, passes."""
        width = np.median(self.widths) if self.widths else np.nan
        limits = np.sqrt(max(least**2 - 1, 1e-9))
        noise = np.median(self.said) / limits if self.said else np.nan
        away = np.sqrt(np.mean(np.square(self.away))) if self.away else np.nan
        held = np.mean(self.held) if self.held else np.nan
        return {
            "width": width, "limit": least, "moved": moved, "ratio": width / least, "noise": noise,
            "made": away / limits, "covered": held,
            "blank": np.mean(self.blank), "steps": np.median(self.steps),
            "most": max(self.steps), "passes": np.median(self.passes),
        }  # fmt: skip


def simulated(family, kind, n, d, eps, runs):
    cell, names = Cell(), [f"x{j}" for j in range(d)]
    for seed in range(max(runs, LEAST_SLOPES // d)):
        X, y, slope = drawn(family, kind, n, d, np.random.default_rng([n, d, seed]))
        fit, *counts = fitted(family, pd.DataFrame(X, columns=names).assign(y=y), names, eps, seed)
        cell.add(fit, *counts, np.full(d, slope), *without_noise(family, X, y))
    return cell.row(*limit_of(family, kind, d).of(n, eps))


def real(data, n, eps, runs):
    kept = usable(data.drop(columns="target"))
    names = [f"x{j}" for j in range(len(kept))]
    data = data[[*kept, "target"]].astype(float).set_axis([*names, "y"], axis="columns")
    X, y = data[names].to_numpy(), data["y"].to_numpy()
    truth, cell = least_squares(X, y)[0][1:], Cell()
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        sample = data.iloc[rng.integers(0, len(data), n)].reset_index(drop=True)
        fit, *counts = fitted("gaussian", sample, names, eps, seed)
        exact = without_noise("gaussian", sample[names].to_numpy(), sample["y"].to_numpy())
        cell.add(fit, *counts, truth, *exact)
    return len(names), cell.row(*limit_of_squares(X, y).of(n, eps))


def shown(row):
    """Return the cells of a row of the table."""
    digits = {"moved": 1, "covered": 3, "steps": 0, "most": 0, "passes": 0}
    return ["none" if np.isnan(row[key]) else f"{row[key]:.{digits.get(key, 2)}f}"
            for key in ORDER]  # fmt: skip


ORDER = ("width", "limit", "ratio", "noise", "made", "moved", "covered", "blank", "steps", "most",
         "passes")  # fmt: skip
HEADER = ("width", "limit", "width / limit", "reported noise / limit's", "actual noise / limit's",
          "limit moved", "covered", "blank", "steps", "most steps", "passes")  # fmt: skip


def summed(sheet, found):
    """Add the figures that goals are of; `found` has (family, kind, row)."""
    for family, lognormal in itertools.product(("gaussian", "binomial"), (False, True)):
        these = [row for of, kind, row in found
                 if of == family and (kind == "lognormal") == lognormal]  # fmt: skip
        rows = [row for row in these if row["limit"] < NEAR]
        if not rows:
            continue
        name = f"{family} {'lognormal' if lognormal else 'other'}"
        most = MOST_LOGNORMAL if lognormal else MOST
        text = f"limit below {NEAR:g}, {family}, {'lognormal' if lognormal else 'other designs'}"
        for key, of in (("noise", ""), ("made", " made")):
            noise = np.nan_to_num([row[key] for row in rows], nan=np.inf)
            sheet.add(f"limit {name}{of}", np.mean(noise <= most),
                      f"{text}: cells with at most {most:g} times its noise{of}",
                      f"[of {len(rows)}; median {np.median(noise):.2f} times]")  # fmt: skip
        for field in ("covered", "blank"):
            values = [row[field] for row in rows if np.isfinite(row[field])]
            sheet.add(f"limit {name} {field}", np.mean(values), f"{text}: {field}")
    tables = [row for of, _, row in found if of == "table" and np.isfinite(row["ratio"])]
    if tables:
        ratios = [row["ratio"] for row in tables]
        harmless = [row["ratio"] for row in tables if row["moved"] < HARMLESS]
        covered = [row["covered"] for row in tables]
        sheet.add("limit tables", np.median(ratios), "real tables: median width over the limit's",
                  f"[of {len(ratios)}]")  # fmt: skip
        sheet.add("limit tables worst", max(harmless), "the most where the limit moves little")
        sheet.add("limit tables covered", covered, "real tables: coverage")
    rows = [row for *_, row in found]
    sheet.add("limit steps", np.median([row["steps"] for row in rows]), "noisy steps of a fit")
    sheet.add("limit most steps", max(row["most"] for row in rows), "most noisy steps of a fit")
    sheet.add("limit passes", np.median([row["passes"] for row in rows]), "passes over the rows")


def main():
    given = arguments(__doc__, data="", runs=4, out="")
    sheet, found, lines = Sheet(), [], []
    sizes = ROWS[1:4:2] if given.quick else ROWS
    for family, kind, eps, n, d in itertools.product(
        ("gaussian", "binomial"), KINDS, EPSILONS, sizes, DIMENSIONS
    ):
        row = simulated(family, kind, n, d, eps, given.runs)
        found.append((family, kind, row))
        lines.append([family, kind, f"{n:,}", d, f"{eps:g}", *shown(row)])
        print(*lines[-1], flush=True)
    if given.data:
        with open(f"{given.data}/manifest.json", encoding="utf-8") as file:
            entries = [e for e in json.load(file)
                       if e["kind"] == "tabular" and e["n"] >= LEAST_ROWS]  # fmt: skip
        for n, entry in itertools.product(TABLE_ROWS, entries):
            data = pd.read_parquet(f"{given.data}/{entry['name']}.parquet").dropna()
            d, row = real(data, n, TABLE_EPS, given.runs)
            found.append(("table", entry["name"], row))
            lines.append(["table", entry["name"], f"{n:,}", d, f"{TABLE_EPS:g}", *shown(row)])
            print(*lines[-1], flush=True)
    summed(sheet, found)
    times = "1 run" if given.runs == 1 else f"{given.runs} runs"
    about = (
        f"At least {times} and {LEAST_SLOPES} slopes per row, all defaults, delta = {DELTA:g}; "
        "made by `tests/benchmarks/bench_limit.py`. Width: the median standard error of a slope "
        "relative to a sandwich, or to maximum likelihood (binomial). Limit: the width if "
        "scales, curvature and starting point were known and the whole budget were spent on one "
        "clipped sum of scores; limit moved: its change by clipping, in standard errors. Noise: "
        "the standard deviation added to sampling error, as reported, and the root mean square "
        "distance of slopes from those without noise of the same rows. Covered: the true slopes, "
        "or those of least squares of a whole table, also where clipping moves them. Steps: "
        "noisy releases of a fit, in half of the runs and at most."
    )
    header = ("model", "design", "n", "d", "eps", *HEADER)
    write_table("Widths relative to the one-shot limit", about, header, lines, given.out, words=2)
    sheet.write(given.json)


if __name__ == "__main__":
    main()
