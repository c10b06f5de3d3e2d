"""What is a number of the engine worth?  The same fits, with the same seeds, with another one.

Run as ``python tests/benchmarks/bench_ablation.py newton.secant.WIDER=1e9 [...] [--data FOLDER]
[--runs 2] [--quick] [--out FILE]``.  What is changed is a private name of a module of
``dpreg.estimation``, to a number or a tuple, each for itself.  Fits are those of `bench_limit.py`
(simulated, and of a folder of real tables), of 1,000 to 20,000 rows at eps = 1.

A change of which little can be told from chance earns nothing; one that saves blanks or keeps
errors honest in few fits may be there for these.  Tests of methods have cases that no corpus has:
run them too.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
from bench_limit import KINDS, drawn, fitted
from bench_populations import LEAST_ROWS, least_squares, usable
from measure import write_table

ROWS, DIMENSIONS, EPS, FAR = (1_000, 2_000, 5_000, 20_000), (3, 10), 1.0, 4.0
MOST_COLUMNS = 12


def simulated(runs, *, quick):
    """Yield family, table, names of regressors, true slopes and seed."""
    some = slice(1, 2) if quick else slice(None)
    grid = (("gaussian", "binomial"), KINDS[some], ROWS[some], DIMENSIONS[some], range(runs))
    for family, kind, n, d, seed in itertools.product(*grid):
        X, y, slope = drawn(family, kind, n, d, np.random.default_rng([n, d, seed]))
        names = [f"x{j}" for j in range(d)]
        table = pd.DataFrame(X, columns=names).assign(y=y)
        yield family, table, names, np.full(d, slope), seed


def real(folder, runs):
    """The same of samples of real tables, which are populations."""
    for entry in json.loads((folder / "manifest.json").read_text()):
        if entry["kind"] != "tabular" or entry["n"] < LEAST_ROWS:
            continue
        data = pd.read_parquet(folder / f"{entry['name']}.parquet").dropna()
        kept = usable(data.drop(columns="target"))[:MOST_COLUMNS]
        names = [f"x{j}" for j in range(len(kept))]
        data = data[[*kept, "target"]].astype(float).set_axis([*names, "y"], axis="columns")
        truth = least_squares(data[names].to_numpy(), data["y"].to_numpy())[0][1:]
        for n in ROWS:
            for seed in range(runs):
                rng = np.random.default_rng([n, seed])
                sample = data.iloc[rng.integers(0, len(data), n)].reset_index(drop=True)
                yield "gaussian", sample, names, truth, seed


def errors(case):
    """Standard errors of slopes, NaN where there is none, and how many of them each is off by."""
    family, table, names, truth, seed = case
    fit, *_ = fitted(family, table, names, EPS, seed)
    if not fit.released:
        return np.full((2, len(truth)), np.nan)
    error = fit.bse.to_numpy()[1:]
    return np.stack([error, np.abs(fit.params.to_numpy()[1:] - truth) / error])


def changed(setting):
    """Set a number; return what was there, and a call that puts it back."""
    where, _, text = setting.partition("=")
    module, _, name = where.rpartition(".")
    module = importlib.import_module(f"dpreg.estimation.{module}")
    before = getattr(module, name)
    setattr(module, name, ast.literal_eval(text))
    return before, lambda: setattr(module, name, before)


def summed(name, found, usual):
    """A row of the table, of all fits beside those with nothing changed."""
    found, usual = np.concatenate(found, axis=1), np.concatenate(usual, axis=1)
    known, both = np.isfinite(found[0]), np.isfinite(found[0]) & np.isfinite(usual[0])
    moved = both & (found[0] != usual[0])
    ratio = np.log(found[0, both] / usual[0, both]).mean() if both.any() else math.nan
    cells = [
        f"{moved.mean():.2f}", f"{(found[1, known] < 1.96).mean():.3f}",
        f"{(found[1, known] > FAR).sum()}", f"{1 - known.mean():.3f}", f"{math.exp(ratio):.3f}",
    ]  # fmt: skip
    return [name, *cells]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="+", help="module._NAME=number")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="smaller, for a first look")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    cases = list(simulated(options.runs, quick=options.quick))
    if options.data is not None:
        cases += real(options.data, options.runs)
    usual = [errors(case) for case in cases]
    rows = [summed("as it is", usual, usual)]
    for setting in options.settings:
        before, put_back = changed(setting)
        rows.append(summed(f"{setting}, for {before}", [errors(case) for case in cases], usual))
        put_back()
        print(rows[-1], flush=True)
    write_table(
        "What numbers of the engine are worth", f"{len(cases)} fits; eps = {EPS:g}.",
        ("change", "other errors", "covered", f"off by over {FAR:g}", "blank", "errors, times"),
        rows, options.out,
    )  # fmt: skip


if __name__ == "__main__":
    main()
