"""Make `survival_table.csv`: what fits of proportional hazards give, by simulation.

Run as ``python -m tables.survival`` in `python/tools` (four minutes on one core).

Times are exponential, with two independent normal covariates of hazard ratios exp(.2) and
exp(-.2) for a standard deviation; studies end evenly between .5 and 1.5, and six intervals have
about equally many events.  The fits are those of `dpreg.dp_survival` at eps = 1.  For each number
of events over coefficients (`each`), and share of persons with an event

- width: the median standard error of a log hazard ratio over that of the same model without noise,
  of those that are at most `WIDEST` times as large;
- lost: the share of others and of those without a standard error.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import brentq
from tables.auto import FOLDER, write

import dpreg

TABLE = FOLDER / "survival_table.csv"
EVENTS = (300, 1_000, 3_000, 10_000)
RATES = (0.1, 0.4, 0.7)
INTERVALS, COVARIATES = 6, 2
EPS, DELTA = 1.0, 1e-5
COLUMNS = ("each", "rate", "width", "lost")
WIDEST = 5.0
FIRST, LAST = 0.5, 1.5


def hazard(share: float) -> float:
    """Return the hazard at which this share of persons has an event."""

    def missing(rate: float) -> float:
        return share - 1 + (math.exp(-FIRST * rate) - math.exp(-LAST * rate)) / rate

    return float(brentq(missing, 1e-6, 100.0))


def cuts(rate: float, intervals: int) -> list[float]:
    """Return ends of intervals that have about equally many events."""
    times = np.linspace(0, LAST, 3001)
    events = np.cumsum(np.exp(-rate * times) * np.clip(LAST - times, 0, LAST - FIRST))
    shares = np.arange(1, intervals) / intervals
    return [*times[np.searchsorted(events / events[-1], shares)].tolist(), LAST]


def cohort(n: int, share: float, effects: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Return persons with standard normal covariates x0, x1, ..., of these log hazard ratios."""
    rng = np.random.default_rng([20261125, n, len(effects), seed])
    x, end = rng.standard_normal((n, len(effects))), rng.uniform(FIRST, LAST, n)
    time = rng.exponential(np.exp(-x @ effects) / hazard(share))
    columns = {f"x{j}": x[:, j] for j in range(len(effects))}
    return {"time": np.minimum(time, end), "event": time <= end, **columns}


def exact_errors(data: dict[str, np.ndarray], ends: list[float], d: int) -> np.ndarray:
    """Return standard errors of log hazard ratios without noise."""
    import statsmodels.api as sm

    high, low = np.array(ends), np.array([0.0, *ends[:-1]])
    person, k = np.nonzero(data["time"][:, None] > low)
    stay = np.minimum(data["time"][person], high[k]) - low[k]
    event = data["event"][person] & (data["time"][person] <= high[k])
    x = [data[f"x{j}"][person] for j in range(d)]
    X = np.column_stack([*x, k[:, None] == np.arange(len(ends))]).astype(float)
    family = sm.families.Poisson()
    return np.asarray(sm.GLM(event.astype(float), X, family=family, offset=np.log(stay)).fit().bse)


def simulate(
    events: int, share: float, effects: np.ndarray, intervals: int, eps: float, seed: int
) -> np.ndarray:
    """Return estimates, standard errors, and these over those without noise; NaN: none."""
    d, n = len(effects), round(events / share)
    data, ends = cohort(n, share, effects, seed), cuts(hazard(share), intervals)
    names = [f"x{j}" for j in range(d)]
    formula = f"Surv(time, event) ~ {' + '.join(names)}"
    fit = dpreg.dp_survival(formula, data, eps, DELTA, cuts=ends, rng=seed)
    if not fit.released:
        return np.full((3, d), np.nan)
    errors = fit.bse.loc[names].to_numpy()
    exact = exact_errors(data, ends, d)[:d]
    return np.array([fit.params.loc[names].to_numpy(), errors, errors / exact])


def rows_of(cell: tuple[int, float]) -> list[tuple[object, ...]]:
    """Return the row of the table for one number of events and share of persons with one."""
    events, rate = cell
    runs, effects = 40 if events / rate <= 10_000 else 20, np.array([0.2, -0.2])
    ratios = np.concatenate(
        [simulate(events, rate, effects, INTERVALS, EPS, seed)[2] for seed in range(runs)]
    )
    return [(events / (INTERVALS + COVARIATES), rate, *summary(ratios))]


def summary(ratios: np.ndarray) -> tuple[str, str]:
    """Return the width and the share lost of standard errors over exact ones."""
    known = ratios[ratios <= WIDEST]
    width = f"{np.median(known):.4g}" if len(known) else "nan"
    return width, f"{1 - len(known) / ratios.size:.3g}"


if __name__ == "__main__":
    write(TABLE, COLUMNS, itertools.product(EVENTS, RATES), rows_of)
