"""Do limits of `dp_curve` hold, and what does noise cost?  Simulated persons in two arms.

Run as ``python tests/benchmarks/bench_curve_coverage.py [--runs 400] [--eps 1] [--out FILE]``.
"""

from __future__ import annotations

import numpy as np
from measure import options, write_table

import dpreg

SHAPE = 1.3
CUTS = np.linspace(0.1, 1.0, 10)
# By the share that is censored: rate of events in the first arm, of dropping out, and of entries
# after the beginning.  The study ends between 0.8 and 1.3.
DESIGNS = {"30%": (3.0, 1.15, 0.0), "60%": (0.55, 0.5, 0.0), "90%": (0.12, 0.5, 0.0),
           "60%, entry": (0.55, 0.5, 0.5)}  # fmt: skip


def persons(design, n, ratio, rng):
    """Persons whose hazards in the second arm are `ratio` times as large."""
    rate, dropout, late = DESIGNS[design]
    found = {}
    while len(found.get("time", ())) < n:
        arm = rng.integers(0, 2, 2 * n)
        days = (rng.exponential(1, 2 * n) / (rate * ratio**arm)) ** (1 / SHAPE)
        end = np.minimum(rng.exponential(1, 2 * n) / dropout, rng.uniform(0.8, 1.3, 2 * n))
        start = np.where(rng.random(2 * n) < late, rng.uniform(0, 0.7, 2 * n), 0.0)
        # Who has the event, or is lost, before entering is never seen.
        seen = start < np.minimum(days, end)
        rows = {"start": start, "time": np.minimum(days, end), "event": days <= end, "arm": arm}
        found = {name: values[seen][:n] for name, values in rows.items()}
    return found


def curve(design, data, eps, seed):
    surv = "Surv(start, time, event)" if DESIGNS[design][2] else "Surv(time, event)"
    return dpreg.dp_curve(f"{surv} ~ arm", data, eps, cuts=CUTS, levels={"arm": [0, 1]}, rng=seed)


def measured(design, n, eps, runs):
    rng = np.random.default_rng(n)
    rates = DESIGNS[design][0] * np.array([1, 1.5])
    true = np.exp(-np.outer(rates, CUTS**SHAPE)).ravel()
    fine = np.linspace(0, 1, 20_001)
    means = np.trapezoid(np.exp(-np.outer(rates, fine**SHAPE)), fine, axis=1)
    point, whole, area, width, censored, rejected, blank = [], [], [], [], [], [], []
    for seed in range(runs):
        data = persons(design, n, 1.5, rng)
        censored.append(1 - data["event"].mean())
        found = curve(design, data, eps, seed)
        table, band = found.tidy(), found.tidy(simultaneous=True)
        point.append((table.lower <= true) & (true <= table.upper))
        blank.append(table.survival.isna().mean())
        inside = (band.lower <= true) & (true <= band.upper)
        whole.append(inside.to_numpy().reshape(2, -1).all(axis=1))
        mean = found.rmst()
        blanks = mean.rmst.isna()
        area.append(np.where(blanks, np.nan, (mean.lower <= means) & (means <= mean.upper)))
        exact = curve(design, data, 400.0, seed)
        width.append(np.nanmedian(table["std err"] / exact.tidy()["std err"]))
        rejected.append(curve(design, persons(design, n, 1.0, rng), eps, seed).logrank().pvalue)
    times = np.mean(point, axis=0)
    rejects = np.mean(np.array(rejected) < 0.05)
    shares = (times.mean(), times.min(), times.max(), np.mean(whole), np.nanmean(area), rejects)
    ends = f"{np.median(width):.2f}", f"{np.mean(blank):.0%}"
    return f"{np.mean(censored):.0%}", *(f"{share:.3f}" for share in shares), *ends


def main() -> None:
    given = options(__doc__, runs=400, eps=1.0, out="")
    rows = []
    for design in DESIGNS:
        for n in (2000, 5000, 20_000):
            rows.append((design, f"{n:,}", *measured(design, n, given.eps, given.runs)))
            print(*rows[-1], flush=True)
    write_table(
        f"Survival curves: eps = {given.eps:g}",
        f"Weibull times in two arms, ten intervals, {given.runs} runs per row: coverage of 95% "
        "pointwise limits (and at the times with lowest and highest coverage), of simultaneous "
        "bands, and of the restricted mean; share of log-rank tests of equal "
        "arms that reject at 5%; standard errors relative to those without noise; share "
        "that is not estimable. Made by `tests/benchmarks/bench_curve_coverage.py`.",
        ("design", "persons", "censored", "pointwise", "fewest", "most", "simultaneous",
         "restricted mean", "log-rank", "width", "blank"),
        rows, given.out, words=1,
    )  # fmt: skip


if __name__ == "__main__":
    main()
