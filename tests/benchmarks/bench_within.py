"""Do intervals of models with effects of persons hold?  Simulated, at the level of persons.

Run as ``python tests/benchmarks/bench_within.py [--runs 200] [--persons 4000] [--eps 1] [--out
FILE]``.  Each person has 1 to 9 rows, an effect of its own that goes with the regressors, errors
that follow one another (an autoregression of .5), and is protected as a whole.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import dpreg

TRUTH = {"x": 1.0, "z": -0.5, "late": 0.3}
METHODS = {
    "boosted_adassp, 5 rows": dpreg.BoostedAdaSSP(max_rows=5),
    "adassp, 5 rows": dpreg.AdaSSP(max_rows=5),
    "boosted_adassp, 1 row": dpreg.BoostedAdaSSP(),
}


def draw(rng, persons):
    rows = rng.integers(1, 10, persons)
    person = np.repeat(np.arange(persons), rows)
    effect = rng.standard_normal(persons)
    n = len(person)
    x = rng.standard_normal(n) + effect[person]
    z = 0.5 * x + rng.standard_normal(n) - effect[person]
    late = (rng.random(n) < 0.4) * 1.0
    errors = rng.standard_normal(n)
    for i in range(1, n):
        if person[i] == person[i - 1]:
            errors[i] = 0.5 * errors[i - 1] + np.sqrt(0.75) * errors[i]
    y = 10 + 5 * effect[person] + x - 0.5 * z + 0.3 * late + errors
    return pd.DataFrame({"y": y, "x": x, "z": z, "late": late, "person": person})


def measured(runs, persons, eps, delta=1e-6):
    found = {}
    for name, method in METHODS.items():
        covered, widths, blank = [], [], []
        for seed in range(runs):
            data = draw(np.random.default_rng([seed, persons]), persons)
            fit = dpreg.dp_lm("y ~ x + z + late | person", data, eps, delta, unit="person",
                              method=method, rng=seed)  # fmt: skip
            if not fit.released:
                continue
            error = fit.bse.to_numpy()
            blank.append(np.isnan(error))
            miss = np.abs(fit.params.to_numpy() - list(TRUTH.values()))
            covered.append(np.where(np.isnan(error), np.nan, miss < 1.96 * error))
            widths.append(error)
        found[name] = (
            len(covered) / runs, float(np.nanmean(covered)),
            np.nanmean(covered, axis=0).min(), np.nanmedian(widths, axis=0)[0], np.mean(blank),
        )  # fmt: skip
        print(name, found[name], flush=True)
    return found


def report(found, runs, persons, eps):
    lines = [
        f"# Effects of persons: {persons:,} persons of 1 to 9 rows, eps = {eps:g}, delta = 1e-06",
        "",
        f'`dp_lm("y ~ x + z + late | person", unit="person")`, {runs} simulated tables. The effect '
        "of a person goes with the regressors, so without it slopes would be wrong. Made by "
        "`tests/benchmarks/bench_within.py`.",
        "",
        "| method | released | covered | worst slope | error of x | blank |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, (released, covered, worst, width, blank) in found.items():
        cells = f"{released:.3f} | {covered:.3f} | {worst:.3f} | {width:.3g} | {blank:.3f}"
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--persons", type=int, default=4000)
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = measured(options.runs, options.persons, options.eps)
    text = report(found, options.runs, options.persons, options.eps)
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
