"""Make `auto_table.csv`: how well each method does, by simulation on public designs.

Run as ``python -m tables.auto [METHOD ...]`` in `python/tools` (about 20 minutes on two cores);
with methods, the rows of the others stay as they are.  Those of boosted_adassp were made last, by
fewer repetitions: 5 of up to 3,000 rows, 3 of up to 30,000, 2 of more; all but the losses of
300,000 rows are older.

Two designs, each with equally important regressors that explain 60% of the response:
correlated Gaussian regressors, and a mixture of binary, skewed and heavy-tailed ones with
heavy-tailed errors.  For each number of rows, dimension, epsilon (delta = 1e-5) and method,
the medians over repetitions of

- loss: the excess prediction error of the release as a share of the explained variance, at
  most 1, which is also the loss of a release that is declined; of AdaSSP and Boosted AdaSSP that of
  fits without inference, which are others and what `auto` chooses among;
- width: the standard error of a slope over that of least squares, released ones only;
- released: the share of slopes with a standard error, of all runs;
- declined: the share of runs that were declined.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.data.design import Design, Terms
from dpreg.estimation.base import Allowance, Declined, Release
from dpreg.estimation.methods import method_from

METHODS = ("tukey", "adassp", "boosted_adassp")
ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
DIMENSIONS = (1, 2, 4, 8, 16, 32, 64)
EPSILONS = (0.1, 0.17, 0.3, 0.55, 1.0, 3.0, 10.0)
DELTA = 1e-5
# Of the largest number of rows fewer: they take most of the time.
REPETITIONS, REPETITIONS_LARGEST = 7, 3
EXPLAINED = 0.6
COLUMNS = (
    "method", "design", "rows", "dimension", "epsilon", "loss", "width", "released", "declined"
)  # fmt: skip
FOLDER = Path(__file__).parents[2] / "dpreg" / "estimation" / "planning"
TABLE = FOLDER / "auto_table.csv"

Cell = tuple[int, int, float]
T = TypeVar("T")


def gaussian(n: int, d: int, rng: np.random.Generator) -> tuple[Doubles, Doubles]:
    """Regressors with correlations 0.5^|i - j|, and standard errors of the response."""
    x = rng.standard_normal((n, d))
    for j in range(1, d):
        x[:, j] = 0.5 * x[:, j - 1] + np.sqrt(0.75) * x[:, j]
    return x, rng.standard_normal(n)


def mixed(n: int, d: int, rng: np.random.Generator) -> tuple[Doubles, Doubles]:
    """Regressors of standard deviation 1: binary, exponential and t(5) in turn; t(4) errors."""
    x = np.empty((n, d))
    for j in range(d):
        if j % 3 == 0:
            x[:, j] = (rng.random(n) < 0.3) / np.sqrt(0.21)
        elif j % 3 == 1:
            x[:, j] = rng.standard_exponential(n)
        else:
            x[:, j] = rng.standard_t(5, n) / np.sqrt(5 / 3)
    return x, rng.standard_t(4, n) / np.sqrt(2)


def simulate(n: int, d: int, epsilon: float, method: str, design: str, seed: int) -> list[float]:
    """One release: loss, width, share of slopes with a standard error, whether declined."""
    rng = np.random.default_rng([20260101, n, d, seed])
    x, noise = (gaussian if design == "gaussian" else mixed)(n, d, rng)
    signal = x.sum(axis=1)
    size = np.sqrt(EXPLAINED / (1 - EXPLAINED)) / signal.std()
    y = 7 + size * signal + noise
    terms = Terms("y", tuple(f"x{j}" for j in range(d)), intercept=True)
    allowance = Allowance(epsilon, DELTA, _core.TestBits(seed))
    table = Design.of(x, y, terms)
    release = method_from(method).release(table, allowance, inference=True)
    other: Release | Declined = release
    if method != "tukey":
        again = Allowance(epsilon, DELTA, _core.TestBits(seed))
        other = method_from(method).release(table, again, inference=False)
    loss = 1.0 if isinstance(other, Declined) else loss_of(other.params, x, size)
    if isinstance(release, Declined):
        return [loss, np.nan, 0.0, 1.0]
    centred = x - x.mean(axis=0)
    assert release.covariance is not None
    released = np.sqrt(np.diag(release.covariance)[1:])
    least_squares = np.sqrt(np.diag(np.linalg.inv(centred.T @ centred)))
    known = np.isfinite(released)
    ratio = np.nan if not known.any() else float(np.median((released / least_squares)[known]))
    return [loss, ratio, float(known.mean()), 0.0]


def loss_of(params: Doubles, x: Doubles, size: float) -> float:
    """Return the excess prediction error as a share of the explained variance, at most 1."""
    error = (x - x.mean(axis=0)) @ (params[1:] - size)
    bias = params[0] - 7 + x.mean(axis=0) @ (params[1:] - size)
    return min(1.0, float(error.var() + bias**2) * (1 - EXPLAINED) / EXPLAINED)


def summary(runs: list[list[float]]) -> list[str]:
    """Return the loss, width, share released and share declined of runs, as the table has them."""
    loss, width, released, declined = np.array(runs).T
    known = width[np.isfinite(width)]
    middle = f"{np.median(known):.4g}" if len(known) else ""
    return [f"{np.median(loss):.4g}", middle, f"{released.mean():.3g}", f"{declined.mean():.3g}"]


def rows_of(cell: Cell, kept: Mapping[tuple[str, ...], list[str]]) -> list[list[object]]:
    """Return the rows of the table for one number of rows, dimension and epsilon.

    Those of `kept`, by their first five columns, are not made again.
    """
    n, d, epsilon = cell
    repetitions = REPETITIONS_LARGEST if n == ROWS[-1] else REPETITIONS
    rows: list[list[object]] = []
    for design, method in itertools.product(("gaussian", "mixed"), METHODS):
        place = (method, design, str(n), str(d), str(epsilon))
        if place in kept:
            rows.append([*place, *kept[place]])
            continue
        runs = [simulate(n, d, epsilon, method, design, s) for s in range(repetitions)]
        rows.append([*place, *summary(runs)])
    return rows


def others(methods: Sequence[str]) -> dict[tuple[str, ...], list[str]]:
    """Return the rows of the table that are not of these methods, by their first five columns."""
    if not methods:
        return {}
    with TABLE.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return {tuple(row[:5]): row[5:] for row in rows if row[0] not in methods}


def write(
    table: Path,
    columns: Sequence[str],
    cells: Iterable[T],
    rows_of: Callable[[T], Sequence[Sequence[object]]],
) -> None:
    """Write the rows of all cells, as they are found."""
    with table.open("w", newline="") as file, ProcessPoolExecutor() as pool:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for rows in pool.map(rows_of, cells):
            writer.writerows(rows)
            file.flush()


if __name__ == "__main__":
    kept = others(sys.argv[1:])
    cells = itertools.product(ROWS, DIMENSIONS, EPSILONS)
    write(TABLE, COLUMNS, cells, partial(rows_of, kept=kept))
