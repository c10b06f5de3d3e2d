"""Do intervals of `dp_survival` hold, and what does noise cost?  Simulated persons.

Run as ``python tests/benchmarks/bench_survival_coverage.py [--runs 20] [--eps 1] [--out FILE]``.
"""

from __future__ import annotations

import itertools

import numpy as np
import statsmodels.api as sm
from measure import options, write_table

import dpreg

RATIOS = np.array([0.5, -0.7])
# Hazard where covariates are 0, by the share that is censored; the study ends between 0.5 and 4.
RATES = {"30%": 0.9, "60%": 0.33, "90%": 0.055}
LAST = 3.2
PERSON = {"x": [0.5], "z": [0.0]}
# Of equal length; or shorter at first, so that each has many persons at risk.
CUTS = {"equal": np.linspace(0, LAST, 7)[1:], "early": np.array([0.15, 0.35, 0.6, 1.0, 1.6, LAST])}
# Persons, censored, intervals.
SIZES = (2_000, 5_000, 20_000, 100_000)
DESIGNS = [
    *itertools.product(SIZES, RATES, ("equal",)),
    *itertools.product(SIZES[1:3], ("30%",), ("early",)),
]


def persons(n, rate, rng):
    x, z = rng.normal(size=n), (rng.random(n) < 0.4).astype(float)
    time = rng.exponential(1 / (rate * np.exp(np.column_stack([x, z]) @ RATIOS)))
    end = rng.uniform(0.5, 4, n)
    return {"time": np.minimum(time, end), "event": time <= end, "x": x, "z": z}


def exact_errors(data, cuts):
    """Standard errors of the same model without noise."""
    low = np.concatenate([[0], cuts[:-1]])
    person, k = np.nonzero(data["time"][:, None] > low)
    stay = np.minimum(data["time"][person], cuts[k]) - low[k]
    event = data["event"][person] & (data["time"][person] <= cuts[k])
    columns = [data["x"][person], data["z"][person], k[:, None] == np.arange(len(cuts))]
    fit = sm.GLM(event.astype(float), np.column_stack(columns).astype(float),
                 family=sm.families.Poisson(), offset=np.log(stay)).fit()  # fmt: skip
    return fit.bse[:2]


def measured(n, design, intervals, eps, runs):
    cuts, rate = CUTS[intervals], RATES[design]
    rng = np.random.default_rng(n + len(cuts))
    true = np.exp(-rate * np.exp(RATIOS[0] * PERSON["x"][0]) * cuts)
    censored, held, width, curves = [], [], [], []
    for seed in range(runs):
        data = persons(n, rate, rng)
        censored.append(1 - data["event"].mean())
        fit = dpreg.dp_survival("Surv(time, event) ~ x + z", data, eps, 1e-6, cuts=cuts, rng=seed)
        error = fit.bse[["x", "z"]].to_numpy() if fit.released else np.full(2, np.nan)
        found = fit.params[["x", "z"]].to_numpy() if fit.released else np.full(2, np.nan)
        held.append(np.where(np.isnan(error), np.nan, np.abs(found - RATIOS) < 1.959964 * error))
        width.append(error / exact_errors(data, cuts))
        if fit.released:
            table = fit.predict_survival(PERSON)
            inside = (table.lower <= true) & (true <= table.upper)
            curves.append(np.where(table.lower.isna(), np.nan, inside))
    width = np.array(width)
    row = (f"{n:,}", f"{np.mean(censored):.0%}", intervals, f"{np.nanmean(held):.3f}",
           f"{np.nanmedian(width[:, 0]):.2f}", f"{np.nanmedian(width[:, 1]):.2f}",
           f"{np.nanquantile(width, 0.9):.2f}", f"{np.isnan(width).mean():.0%}",
           f"{np.nanmean(curves):.3f}")  # fmt: skip
    print(*row, flush=True)
    return row


def main() -> None:
    given = options(__doc__, runs=20, eps=1.0, out="")
    rows = [measured(*design, given.eps, given.runs) for design in DESIGNS]
    write_table(
        f"Proportional hazards: eps = {given.eps:g}",
        f"Exponential times, one normal and one binary covariate, {given.runs} runs per row, "
        "delta = 1e-6; six intervals up to 3.2, of equal length or shorter at first: share of "
        "95% intervals that contain the true log hazard ratios; median and upper decile of "
        "standard errors relative to the same model without noise; share without a standard "
        "error; share of pointwise limits of a survival curve that contain the truth, where "
        "there are limits. Made by `tests/benchmarks/bench_survival_coverage.py`.",
        ("persons", "censored", "intervals", "covered", "width of x", "width of z", "widest tenth",
         "blank", "curve"),
        rows, given.out, words=0,
    )  # fmt: skip


if __name__ == "__main__":
    main()
