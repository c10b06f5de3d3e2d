"""Make `family_table.csv`: the other families, and one release of moments.

Run as ``python -m tables.families`` in `python/tools` (about half an hour on one core).

Designs and columns are those of `auto.py`, with linear predictors of standard
deviation 1.5 about 0 for a binomial response, half of which are 1, and of .7 about .5 for a Poisson
one.  The median is that of responses as `auto.py` has them.  Standard errors are relative to those
of maximum likelihood, of median regression, and of least squares for moments; the loss is
the excess deviance as a share of what the regressors explain of it, and for linear predictors of a
response as `auto.py` has it.  Rows of binomial and Poisson responses were made last.
"""

from __future__ import annotations

import itertools

import numpy as np
from tables import auto
from tables.auto import DELTA, DIMENSIONS, EXPLAINED, Cell, gaussian, mixed, summary

import dpreg
from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.base.families import BINOMIAL, POISSON, Family, Quantile
from dpreg.data.design import Design, Terms
from dpreg.estimation.base import Allowance, Declined
from dpreg.estimation.methods.boosted_adassp import BoostedAdaSSP

FAMILIES = {"binomial": BINOMIAL, "poisson": POISSON, "quantile": Quantile()}
WHAT = (*FAMILIES, "moments")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
# Beyond the last, what noise adds is known: the table is continued (estimation/planning/auto.py).
ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
REPETITIONS = 5
# Mean and standard deviation of linear predictors.
PREDICTORS = {"binomial": (0.0, 1.5), "poisson": (0.5, 0.7)}
LARGEST_PREDICTOR = 30.0
# Density of errors at their median, by design.
DENSITY = {"gaussian": 1 / np.sqrt(2 * np.pi), "mixed": 0.375 * np.sqrt(2)}


def deviance(family: Family, mean: Doubles, predictor: Doubles) -> float:
    """Twice the expected loss of a row, but for a constant."""
    eta = np.clip(predictor, -LARGEST_PREDICTOR, LARGEST_PREDICTOR)
    total = np.logaddexp(0, eta) if family.link == "logit" else np.exp(eta)
    return float(2 * np.mean(total - mean * eta))


def response(
    what: str, design: str, x: Doubles, error: Doubles, rng: np.random.Generator
) -> tuple[Doubles, Doubles, Doubles]:
    """Return a response, linear predictors and the information of each row."""
    signal = x.sum(axis=1)
    if what not in PREDICTORS:
        size = np.sqrt(EXPLAINED / (1 - EXPLAINED)) / signal.std()
        variance = 0.25 / DENSITY[design] ** 2 if what == "quantile" else 1.0
        eta = 7 + size * signal
        return eta + error, eta, np.full(len(x), 1 / variance)
    centre, deviation = PREDICTORS[what]
    size = deviation / signal.std()
    centre -= size * signal.mean()
    eta = centre + size * signal
    mean = FAMILIES[what].mean(eta)
    drawn = rng.random(len(x)) < mean if what == "binomial" else rng.poisson(mean)
    return drawn.astype(float), eta, FAMILIES[what].slope(eta)


def released(what: str, x: Doubles, y: Doubles, epsilon: float, seed: int) -> list[Doubles] | None:
    """Return coefficients, the intercept first, and standard errors."""
    names = [f"x{j}" for j in range(x.shape[1])]
    if what == "moments":
        data = {**dict(zip(names, x.T, strict=True)), "y": y}
        moments = dpreg.dp_moments(["y", *names], data, epsilon, DELTA, rng=seed)
        try:
            fit = moments.lm("y ~ " + " + ".join(names))
        except ValueError:  # the response was not found
            return None
        return [fit.params.to_numpy(), fit.bse.to_numpy()]
    terms = Terms("y", tuple(names), intercept=True, family=FAMILIES[what])
    allowance = Allowance(epsilon, DELTA, _core.TestBits(seed))
    found = BoostedAdaSSP().release(Design.of(x, y, terms), allowance, inference=True)
    if isinstance(found, Declined):
        return None
    assert found.covariance is not None
    return [found.params, np.sqrt(np.diag(found.covariance))]


def simulate(n: int, d: int, epsilon: float, what: str, design: str, seed: int) -> list[float]:
    """One release: loss, width, share of slopes with a standard error, whether declined."""
    rng = np.random.default_rng([20260102, n, d, seed])
    x, error = (gaussian if design == "gaussian" else mixed)(n, d, rng)
    y, eta, weight = response(what, design, x, error, rng)
    found = released(what, x, y, epsilon, seed)
    if found is None:
        return [1.0, np.nan, 0.0, 1.0]
    params, errors = found
    guess = params[0] + x @ params[1:]
    if what in PREDICTORS:
        family = FAMILIES[what]
        mean = family.mean(eta)
        least, null = (
            deviance(family, mean, at)
            for at in (eta, np.full(n, family.predictor(float(mean.mean()))))
        )
        loss = (deviance(family, mean, guess) - least) / (null - least)
    else:
        loss = float(np.mean((guess - eta) ** 2)) * (1 - EXPLAINED) / EXPLAINED
    full = np.column_stack([np.ones(n), x])
    least_errors = np.sqrt(np.diag(np.linalg.inv(full.T @ (weight[:, None] * full))))
    known = np.isfinite(errors[1:])
    ratios = (errors / least_errors)[1:][known]
    middle = float(np.median(ratios)) if known.any() else np.nan
    return [float(np.clip(loss, 0, 1)), middle, float(known.mean()), 0.0]


def rows_of(cell: Cell) -> list[list[object]]:
    """Return the rows of the table for one number of rows, dimension and epsilon."""
    n, d, epsilon = cell
    rows: list[list[object]] = []
    for design, what in itertools.product(("gaussian", "mixed"), WHAT):
        runs = [simulate(n, d, epsilon, what, design, s) for s in range(REPETITIONS)]
        rows.append([what, design, n, d, epsilon, *summary(runs)])
    return rows


if __name__ == "__main__":
    cells = itertools.product(ROWS, DIMENSIONS, EPSILONS)
    auto.write(auto.FOLDER / "family_table.csv", auto.COLUMNS, cells, rows_of)
