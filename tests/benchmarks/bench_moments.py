"""Five models from one `dp_moments`, and from five calls of `dp_lm` with a fifth of eps each.

Run as ``python tests/benchmarks/bench_moments.py DATA [--n 20000] [--eps 1] [--runs 3] [--out
FILE]``, DATA being a folder as for `bench_populations.py`: tables are populations, drawn from with
replacement, and 95% intervals are compared with the least-squares slopes of the whole table.

The models of a table: the target by all columns, by the first half, by the second, by every other
one, and the first column by the target and the others.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from bench_populations import DELTA, LEAST_ROWS, least_squares, usable
from measure import write_page

import dpreg


def models_of(names):
    """Response and regressors of each."""
    half = (len(names) + 1) // 2
    sets = [names, names[:half], names[half:] or names, names[::2]]
    return [("target", s) for s in sets] + [(names[0], ["target", *names[1:]])]


def written(response, regressors):
    return f"`{response}` ~ " + " + ".join(f"`{name}`" for name in regressors)


class Tally:
    """Intervals of one way of fitting, beside those of a sandwich."""

    def __init__(self):
        self.covered, self.blank, self.widths = [], [], []

    def add(self, fit, truth, plain):
        if not fit.released:
            self.blank += [True] * (len(truth) - 1)
            return
        error = fit.bse.to_numpy()[1:]
        known = np.isfinite(error)
        self.blank += list(~known)
        miss = np.abs(fit.params.to_numpy()[1:] - truth[1:])
        self.covered += list(miss[known] < 1.96 * error[known])
        self.widths += list((error / plain[1:])[known])

    def row(self):
        share = [float(np.mean(x)) if x else np.nan for x in (self.covered, self.blank)]
        return (*share, float(np.median(self.widths)) if self.widths else np.nan)


def measured(data, n, eps, runs):
    names = usable(data.drop(columns="target"))
    data = data[[*names, "target"]].astype(float)
    models = models_of(names)
    truths = [least_squares(data[list(X)].to_numpy(), data[y].to_numpy())[0] for y, X in models]
    once, apart = Tally(), Tally()
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        sample = data.iloc[rng.integers(0, len(data), n)].reset_index(drop=True)
        moments = dpreg.dp_moments(written("target", names), sample, eps, DELTA, rng=seed)
        for number, ((y, X), truth) in enumerate(zip(models, truths, strict=True)):
            _, plain = least_squares(sample[list(X)].to_numpy(), sample[y].to_numpy())
            try:
                fit = moments.lm(written(y, X))
            except ValueError:  # no spread was found in the response
                once.blank += [True] * len(X)
            else:
                once.add(fit, truth, plain)
            fifth = dpreg.dp_lm(written(y, X), sample, eps / 5, DELTA / 5, rng=10 * seed + number)
            apart.add(fifth, truth, plain)
    return len(names), once.row(), apart.row()


def report(table, n, eps, runs):
    lines = [
        f"# One release, five models: n = {n:,}, eps = {eps:g}, delta = {DELTA:g}",
        "",
        f"{runs} samples of each table, drawn with replacement. Five models of each sample: from "
        "one `dp_moments` with all of eps, and from five calls of `dp_lm` with a fifth. Coverage "
        "of the slopes with an interval, share without an interval, and median width "
        "relative to sandwich intervals without privacy. Made by "
        "`tests/benchmarks/bench_moments.py`.",
        "",
        "| population | slopes | `dp_moments` covered | blank | width | 5 x `dp_lm` covered | "
        "blank | width |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, d, once, apart in table:
        cells = [f"{value:.3f}" if j % 3 < 2 else f"{value:.2f}"
                 for j, value in enumerate((*once, *apart))]  # fmt: skip
        lines.append(f"| {name} | {d} | {' | '.join(cells)} |")
    both = np.array([[*once, *apart] for _, _, once, apart in table])
    cells = [f"{value:.3f}" if j % 3 < 2 else f"{value:.2f}"
             for j, value in enumerate(np.nanmedian(both, axis=0))]  # fmt: skip
    lines.append(f"| median | | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    table = []
    for entry in json.loads((options.data / "manifest.json").read_text()):
        if entry["kind"] != "tabular" or entry["n"] < LEAST_ROWS:
            continue
        data = pd.read_parquet(options.data / f"{entry['name']}.parquet").dropna()
        table.append((entry["name"], *measured(data, options.n, options.eps, options.runs)))
        print(table[-1], flush=True)
    text = report(table, options.n, options.eps, options.runs)
    write_page(text, options.out)


if __name__ == "__main__":
    main()
