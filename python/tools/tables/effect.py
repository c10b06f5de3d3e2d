"""Make `effect_table.csv`: what estimates of treatment effects give, by simulation.

Run as ``python -m tables.effect`` in `python/tools` (four minutes on one core).

Treatment is independent of normal covariates, which explain half of the variance of the outcome
without treatment, and has the same effect on all.  The estimates are those of `dpreg.dp_effect` at
eps = 1.  For each number of treated rows over covariates and the effect (`each`), number of
covariates and share of the treated, width and lost are as in `tables.survival`, beside the standard
error of a difference of means of residuals.
"""

from __future__ import annotations

import itertools

import numpy as np
from tables.auto import FOLDER, write
from tables.survival import DELTA, EPS, summary

import dpreg

TABLE = FOLDER / "effect_table.csv"
EACH = (60, 150, 350, 800, 2_000)
COVARIATES = (2, 6, 18)
TREATED = (0.05, 0.2, 0.5)
# Rows of all fits of a cell, and the most and fewest fits.
ROWS, RUNS = 800_000, (4, 30)
COLUMNS = ("each", "d", "treated", "width", "lost")


def simulate(n: int, treated: float, d: int, effect: float, eps: float, seed: int) -> np.ndarray:
    """Return an estimate, its standard error, and this over that without noise; NaN: none."""
    rng = np.random.default_rng([20261126, n, d, seed])
    x, t = rng.standard_normal((n, d)), (rng.random(n) < treated).astype(float)
    y = x.sum(axis=1) / np.sqrt(d) + effect * t + rng.standard_normal(n)
    names = [f"x{j}" for j in range(d)]
    data = {"y": y, "t": t, **dict(zip(names, x.T, strict=True))}
    formula = f"y ~ {' + '.join(names)}"
    fit = dpreg.dp_effect(formula, data, eps, DELTA, treatment="t", rng=seed)
    if not fit.released:
        return np.full(3, np.nan)
    return np.array([fit.effect, fit.se, fit.se * np.sqrt(n * treated * (1 - treated))])


def rows_of(cell: tuple[int, int, float]) -> list[tuple[object, ...]]:
    """Return the row of the table for these numbers and this share of the treated."""
    each, d, treated = cell
    n = round(each * (d + 1) / treated)
    runs = min(RUNS[1], max(RUNS[0], ROWS // n))
    ratios = [simulate(n, treated, d, 0.0, EPS, seed)[2] for seed in range(runs)]
    return [(each, d, treated, *summary(np.array(ratios)))]


if __name__ == "__main__":
    write(TABLE, COLUMNS, itertools.product(EACH, COVARIATES, TREATED), rows_of)
