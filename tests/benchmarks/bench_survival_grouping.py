"""What do intervals of time cost `dp_survival`, beside Cox's model?  Simulated persons.

Run as ``python tests/benchmarks/bench_survival_grouping.py [--runs 40] [--eps 1] [--out FILE]``.
"""

from __future__ import annotations

import itertools

import numpy as np
import statsmodels.api as sm
from bench_survival_coverage import LAST, RATES, RATIOS, SIZES, persons
from measure import options, write_table

import dpreg

COUNTS = (4, 8, 16, 32)
# Runs that Cox's model is fitted to as well; its standard errors barely vary, and it is slow.
BESIDE_COX = 3


def covariates(data):
    return np.column_stack([data["x"], data["z"]])


def cox_errors(data):
    at = np.minimum(data["time"], LAST)
    event = data["event"] & (data["time"] <= LAST)
    return sm.PHReg(at, covariates(data), status=event, ties="breslow").fit().bse


def grouped_errors(data, cuts):
    """Standard errors of the piecewise exponential model, whose hazards are profiled out."""
    X, low, slopes = covariates(data), np.concatenate([[0], cuts[:-1]]), np.zeros(2)
    stay = np.clip(data["time"][:, None] - low, 0, cuts - low)
    event = data["event"] & (data["time"] <= cuts[-1])
    events = np.bincount(np.searchsorted(cuts, data["time"][event]), minlength=len(cuts))
    for _ in range(12):
        weighted = stay * np.exp(X @ slopes)[:, None]
        weighted *= events / weighted.sum(axis=0)
        mean = (weighted.T @ X) / np.maximum(events, 1)[:, None]
        expected = weighted.sum(axis=1)
        information = (X.T * expected) @ X - (mean.T * events) @ mean
        slopes = slopes + np.linalg.solve(information, X[event].sum(axis=0) - expected @ X)
    return np.sqrt(np.diag(np.linalg.inv(information)))


def measured(n, design, eps, runs):
    rng = np.random.default_rng([n, len(design), list(RATES).index(design)])
    held, over, loss = (np.full((runs, len(COUNTS), 2), np.nan) for _ in range(3))
    for seed in range(runs):
        data = persons(n, RATES[design], rng)
        beside = cox_errors(data) if seed < BESIDE_COX else np.full(2, np.nan)
        for k, count in enumerate(COUNTS):
            cuts = np.linspace(0, LAST, count + 1)[1:]
            exact = grouped_errors(data, cuts)
            loss[seed, k] = exact / beside
            fit = dpreg.dp_survival("Surv(time, event) ~ x + z", data, eps, 1e-6, cuts=cuts,
                                    rng=seed)  # fmt: skip
            if not fit.released:
                continue
            found, error = (of[["x", "z"]].to_numpy() for of in (fit.params, fit.bse))
            inside = np.abs(found - RATIOS) < 1.959964 * error
            held[seed, k] = np.where(np.isnan(error), np.nan, inside)
            over[seed, k] = error / exact
    for k, count in enumerate(COUNTS):
        grouped, private = (float(np.nanmedian(of[:, k])) for of in (loss, over))
        row = (f"{n:,}", design, count, f"{np.nanmean(held[:, k]):.3f}", f"{grouped:.3f}",
               f"{private:.2f}", f"{private * grouped:.2f}",
               f"{np.isnan(over[:, k]).mean():.0%}")  # fmt: skip
        print(*row, flush=True)
        yield row


def main() -> None:
    given = options(__doc__, runs=40, eps=1.0, out="")
    designs = itertools.product(SIZES, RATES)
    rows = [row for at in designs for row in measured(*at, given.eps, given.runs)]
    write_table(
        f"Proportional hazards, by number of intervals: eps = {given.eps:g}",
        f"The persons of [proportional hazards](survival_coverage.md), {given.runs} runs per row "
        "and delta = 1e-6, with 4 to 32 intervals of equal length up to 3.2: share of 95% "
        "intervals that contain the true log hazard ratios; median standard errors of the model "
        "of intervals without noise relative to Cox's (statsmodels' `PHReg`, in the first "
        f"{BESIDE_COX} runs), of private ones relative to the same model without noise, and the "
        "product, relative to Cox's; share without a standard error. Made by "
        "`tests/benchmarks/bench_survival_grouping.py`.",
        ("persons", "censored", "intervals", "covered", "intervals over Cox",
         "private over intervals", "private over Cox", "blank"),
        rows, given.out, words=0,
    )  # fmt: skip


if __name__ == "__main__":
    main()
