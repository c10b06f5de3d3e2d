"""Make `ordinal_table.csv` and `multinomial_table.csv`: what fits of classes give, by simulation.

Run as ``python -m tables.classes`` in `python/tools` (four minutes on one core).

Two independent normal regressors have slopes of .2 and -.2 and, of unordered classes, every other
class; classes are equally frequent where they are 0.  The fits are those of `dpreg.dp_ordinal` and
`dpreg.dp_multinomial` at eps = 1.  For each number of records over coefficients (`each`), and
number of classes, width and lost are as in `tables.survival`.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from tables.auto import FOLDER, write
from tables.survival import DELTA, EPS, summary

import dpreg

FAMILIES = ("ordinal", "multinomial")
EACH = (100, 200, 500, 1_500, 5_000)
CLASSES = (2, 4, 8)
# Records of all fits of a cell, and the most fits.
RECORDS, RUNS = 300_000, 40
COLUMNS = ("each", "classes", "width", "lost")
EFFECTS = np.array([0.2, -0.2])


def coefficients(family: str, d: int, classes: int) -> int:
    """Return how many a model has."""
    return d + classes - 1 if family == "ordinal" else (classes - 1) * (d + 1)


def records(
    family: str, n: int, classes: int, effects: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return standard normal regressors and numbers of classes."""
    x = rng.standard_normal((n, len(effects)))
    if family == "ordinal":
        points = np.arange(1, classes) / classes
        return x, np.digitize(x @ effects + rng.logistic(size=n), np.log(points / (1 - points)))
    utility = np.outer(x @ effects, np.arange(classes) % 2) + rng.gumbel(size=(n, classes))
    return x, utility.argmax(axis=1)


def exact_errors(family: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return standard errors of slopes by maximum likelihood, class by class."""
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    if family == "ordinal":
        fit = OrderedModel(y, x, distr="logit").fit(method="bfgs", disp=0)
        return np.asarray(fit.bse)[: x.shape[1]]
    return np.asarray(sm.MNLogit(y, sm.add_constant(x)).fit(disp=0).bse)[1:].T.ravel()


def simulate(
    family: str, n: int, classes: int, effects: np.ndarray, eps: float, seed: int
) -> np.ndarray:
    """Return estimates of slopes, standard errors, and these over exact ones; NaN: none."""
    rng = np.random.default_rng([20261126, n, len(effects), classes, seed])
    x, y = records(family, n, classes, effects, rng)
    names = [f"x{j}" for j in range(len(effects))]
    data = {"y": y, **dict(zip(names, x.T, strict=True))}
    call = dpreg.dp_ordinal if family == "ordinal" else dpreg.dp_multinomial
    levels = {"y": list(range(classes))}
    fit = call(f"y ~ {' + '.join(names)}", data, eps, DELTA, levels=levels, rng=seed)
    exact = exact_errors(family, x, y)
    if not fit.released:
        return np.full((3, len(exact)), np.nan)
    slopes = [j for j, name in enumerate(fit.names) if name.rpartition(":")[2] in names]
    errors = fit.bse.to_numpy()[slopes]
    return np.array([fit.params.to_numpy()[slopes], errors, errors / exact])


def rows_of(cell: tuple[int, int], family: str) -> list[tuple[object, ...]]:
    """Return the row of the table for a number of records over coefficients, and of classes."""
    each, classes = cell
    n = each * coefficients(family, len(EFFECTS), classes)
    runs = min(RUNS, max(3, RECORDS // n))
    found = [simulate(family, n, classes, EFFECTS, EPS, seed)[2] for seed in range(runs)]
    return [(each, classes, *summary(np.array(found)))]


if __name__ == "__main__":
    for name in FAMILIES:
        cells = itertools.product(EACH, CLASSES)
        write(FOLDER / f"{name}_table.csv", COLUMNS, cells, partial(rows_of, family=name))
