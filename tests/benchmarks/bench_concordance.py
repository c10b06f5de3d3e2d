"""Do intervals of the concordance of `dp_curve` hold?  Simulated persons in groups of risk.

Run as ``python tests/benchmarks/bench_concordance.py [--runs 200] [--eps 1] [--out FILE]``.
"""

from __future__ import annotations

import itertools

import numpy as np
from measure import options, write_table

import dpreg

GROUPS = list("abcd")
# Hazard where the risk is 0, by the share that is censored; the study ends between 0.5 and 4.
RATES = {"30%": 0.9, "60%": 0.33, "90%": 0.055}
CUTS = np.linspace(0, 3.5, 11)[1:]
SIZES = (2_000, 5_000, 20_000)
# Noise is 0 at this eps; persons that the truth is known from.
EXACT, MANY = 400.0, 2_000_000


def persons(n, rate, rng):
    x = rng.normal(size=n)
    time, end = rng.exponential(1 / (rate * np.exp(0.7 * x))), rng.uniform(0.5, 4, n)
    risk = np.array(GROUPS)[np.digitize(x, [-0.7, 0, 0.7])]
    return {"time": np.minimum(time, end), "event": time <= end, "risk": risk}


def concordance(data, eps, seed):
    levels = {"risk": GROUPS}
    curve = dpreg.dp_curve(
        "Surv(time, event) ~ risk", data, eps, cuts=CUTS, levels=levels, rng=seed
    )
    return curve.concordance()


def measured(n, censored, eps, runs):
    rng = np.random.default_rng([n, list(RATES).index(censored)])
    true = concordance(persons(MANY, RATES[censored], rng), EXACT, 1).estimate
    held, found, width = [], [], []
    for seed in range(runs):
        data = persons(n, RATES[censored], rng)
        private, exact = concordance(data, eps, seed), concordance(data, EXACT, seed)
        found.append(private.estimate)
        width.append(private.std_error / exact.std_error)
        blank = np.isnan(private.estimate)
        held.append(np.nan if blank else private.lower < true < private.upper)
    row = (f"{n:,}", censored, f"{true:.3f}", f"{np.nanmean(held):.3f}",
           f"{np.nanmean(found) - true:+.4f}", f"{np.nanmedian(width):.2f}",
           f"{np.isnan(found).mean():.0%}")  # fmt: skip
    print(*row, flush=True)
    return row


def main() -> None:
    given = options(__doc__, runs=200, eps=1.0, out="")
    designs = itertools.product(SIZES, RATES)
    write_table(
        f"Concordance of groups of risk: eps = {given.eps:g}",
        f"Exponential times, four groups of risk, ten intervals, {given.runs} runs per row: "
        f"concordance of {MANY:,} persons without noise; share of 95% intervals that contain it; "
        "mean error; median standard error relative to that without noise; share that is not "
        "estimable. Made by `tests/benchmarks/bench_concordance.py`.",
        ("persons", "censored", "concordance", "covered", "bias", "width", "blank"),
        [measured(*design, given.eps, given.runs) for design in designs], given.out, words=0,
    )  # fmt: skip


if __name__ == "__main__":
    main()
