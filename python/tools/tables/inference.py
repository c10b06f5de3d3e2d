"""Make `inference_table.csv`: what default fits give, by simulation on public designs.

Run as ``python -m tables.inference`` in `python/tools` (five minutes on one core).

Regressors are independent and normal, their slopes are equal, and they explain half of the variance
of a normal response.  The fits are those of `dpreg.dp_lm` with all defaults.  The noise of a fit
depends on n, d, eps and delta mostly through ``mu * sqrt(n / d)``, the resolution, where mu is the
parameter of Gaussian differential privacy of eps and delta: the table is over the resolution,
the dimension and the number of rows.  For each cell

- width: the median standard error of a slope over that of least squares;
- blank: the share of slopes without a standard error, of all runs;
- declined: the share of runs that are not released.

Where no slope of any run has a standard error, runs of a smaller resolution are not made: they
would not have one either.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from tables.auto import FOLDER, write

import dpreg
from dpreg.privacy.gdp import gdp_epsilon

TABLE = FOLDER / "inference_table.csv"
ROWS = (300, 1_500, 10_000)
DIMENSIONS = (1, 4, 16, 60)
RESOLUTIONS = (1.0, 1.6, 2.5, 4.0, 6.5, 10.0, 16.0)
DELTA = 1e-6
COLUMNS = ("rows", "dimension", "resolution", "width", "blank", "declined")


def simulate(n: int, d: int, epsilon: float, delta: float, seed: int) -> np.ndarray | None:
    """Return the standard errors of slopes over those of least squares; None: not released."""
    data, x = design(n, d, math.sqrt(1 / d), seed)
    fit = dpreg.dp_lm(formula(d), data, epsilon, delta, rng=seed)
    if not fit.released:
        return None
    centred = x - x.mean(axis=0)
    return np.asarray(fit.bse)[1:] / np.sqrt(np.diag(np.linalg.inv(centred.T @ centred)))


def formula(d: int) -> str:
    """Return the model of a simulated table with d regressors."""
    return "y ~ " + " + ".join(f"x{j}" for j in range(d))


def design(n: int, d: int, slope: float, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return a table and its regressors; the errors of the response have variance 1."""
    rng = np.random.default_rng([20260104, n, d, seed])
    x = rng.standard_normal((n, d))
    y = 3 + slope * x.sum(axis=1) + rng.standard_normal(n)
    return {**{f"x{j}": x[:, j] for j in range(d)}, "y": y}, x


def summary(runs: list[np.ndarray | None]) -> tuple[float, float, float]:
    """Return the median width, the share of slopes that are blank and that of runs declined."""
    ratios = np.concatenate([r for r in runs if r is not None] or [np.full(1, np.nan)])
    known = ratios[np.isfinite(ratios)]
    declined = sum(ratios is None for ratios in runs) / len(runs)
    blank = sum(float(np.isnan(r).mean()) for r in runs if r is not None) / len(runs)
    return float(np.median(known)) if len(known) else math.nan, blank, declined


def rows_of(cell: tuple[int, int]) -> list[tuple[object, ...]]:
    """Return the rows of the table for one number of rows and dimension."""
    n, d = cell
    fits = 60 if d <= 4 else 24  # Few slopes say less than many.
    rows: list[tuple[object, ...]] = []
    width, blank, declined = 1.0, 0.0, 0.0
    for resolution in reversed(RESOLUTIONS):
        if blank + declined < 1:
            epsilon = gdp_epsilon(resolution / math.sqrt(n / d), DELTA)
            runs = [simulate(n, d, epsilon, DELTA, seed) for seed in range(fits)]
            width, blank, declined = summary(runs)
        shown = "" if math.isnan(width) else f"{width:.4g}"
        rows.append((n, d, resolution, shown, f"{blank:.3g}", f"{declined:.3g}"))
    return rows[::-1]


if __name__ == "__main__":
    write(TABLE, COLUMNS, itertools.product(ROWS, DIMENSIONS), rows_of)
