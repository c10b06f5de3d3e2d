"""Do intervals of models with effects of persons hold?  Simulated, at the level of persons.

Run as ``python tests/benchmarks/bench_within.py [--runs 200] [--eps 1] [--out FILE]``.  Persons
have rows in some of ten periods, effects of their own that go with the regressors, and errors that
follow one another; each is protected as a whole.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from measure import write_page

import dpreg

PERIODS = 10


@dataclass(frozen=True)
class Panel:
    """A model, what is true of it, and tables to fit it to."""

    title: str
    formula: str
    truth: dict[str, float]
    draw: Callable
    methods: tuple = (dpreg.BoostedAdaSSP(max_rows=PERIODS),)
    persons: tuple = (4000, 20_000)


def autoregression(rng, shape, correlation):
    """Errors of variance 1 that follow one another along the second axis."""
    errors = rng.standard_normal(shape)
    for t in range(1, shape[1]):
        fresh = np.sqrt(1 - correlation**2) * errors[:, t]
        errors[:, t] = correlation * errors[:, t - 1] + fresh
    return errors


def table(rng, columns, seen):
    """One row for each person and period that was seen, in no order."""
    person, period = np.nonzero(seen)
    columns = {name: values[person, period] for name, values in columns.items()}
    rows = pd.DataFrame({**columns, "person": person, "period": period})
    return rows.sample(frac=1, random_state=rng).reset_index(drop=True)


def effects(rng, persons, correlation):
    """Return an effect of each person, periods, period effects and errors."""
    person = rng.standard_normal((persons, 1))
    period = np.arange(PERIODS)[np.newaxis, :] * np.ones((persons, 1))
    errors = autoregression(rng, (persons, PERIODS), correlation)
    return person, period, 2 * np.sin(period) + 0.2 * period, errors


def one_way(rng, persons):
    """Regressors that go with the effects of persons; 1 to 9 rows each, one after the other."""
    person, period, _, errors = effects(rng, persons, 0.5)
    x = rng.standard_normal(errors.shape) + person
    z = 0.5 * x + rng.standard_normal(errors.shape) - person
    late = (rng.random(errors.shape) < 0.4) * 1.0
    y = 10 + 5 * person + x - 0.5 * z + 0.3 * late + errors
    seen = period < rng.integers(1, PERIODS, (persons, 1))
    return table(rng, {"y": y, "x": x, "z": z, "late": late}, seen)


def two_way(rng, persons):
    """Regressors that go with effects of both; each period of each person seen by chance."""
    person, _, common, errors = effects(rng, persons, 0.5)
    x = rng.standard_normal(errors.shape) + person + 0.5 * common
    z = 0.5 * x + rng.standard_normal(errors.shape) - person
    y = 5 * person + common + x - 0.5 * z + errors
    share = rng.uniform(0.2, 0.9, (persons, 1))
    return table(rng, {"y": y, "x": x, "z": z}, rng.random(errors.shape) < share)


def _staggered(rng, persons, correlation):
    """Those with large effects are treated first, a third never; persons drop out for good."""
    person, period, common, errors = effects(rng, persons, correlation)
    order = person + rng.standard_normal(person.shape)
    start = np.select([order > 1.0, order > 0.4, order > -0.5], [3.0, 5.0, 7.0], np.inf)
    seen = period < rng.integers(4, PERIODS + 4, (persons, 1))
    return 4 * person + common + errors, period - start, seen


def staggered(rng, persons):
    """One effect of a treatment that begins at different times."""
    y, since, seen = _staggered(rng, persons, 0.8)
    treated = (since >= 0) * 1.0
    return table(rng, {"y": y + 0.5 * treated, "treated": treated}, seen)


# The effect of each time since treatment; the period before it is what others are compared with.
EVENT = {"lead3": 0.0, "lead2": 0.0, "lag0": 0.2, "lag1": 0.4, "lag2": 0.6, "lag3": 0.8}


def event_study(rng, persons):
    """Leads, lags, and all that is later than them in the last of each."""
    y, since, seen = _staggered(rng, persons, 0.5)
    columns = {
        "lead3": np.isfinite(since) & (since <= -3), "lead2": since == -2,
        "lag0": since == 0, "lag1": since == 1, "lag2": since == 2, "lag3": since >= 3,
    }  # fmt: skip
    y = y + sum(effect * columns[name] for name, effect in EVENT.items())
    return table(rng, {"y": y, **{name: c * 1.0 for name, c in columns.items()}}, seen)


PANELS = (
    Panel(
        "one way", "y ~ x + z + late | person", {"x": 1.0, "z": -0.5, "late": 0.3}, one_way,
        (dpreg.BoostedAdaSSP(max_rows=5), dpreg.AdaSSP(max_rows=5), dpreg.BoostedAdaSSP()), (4000,),
    ),
    Panel(
        "two ways, gaps", "y ~ x + z | person + period", {"x": 1.0, "z": -0.5}, two_way,
        (dpreg.BoostedAdaSSP(max_rows=PERIODS), dpreg.BoostedAdaSSP(max_rows=4)),
    ),
    Panel("staggered treatment", "y ~ treated | person + period", {"treated": 0.5}, staggered),
    Panel("event study", f"y ~ {' + '.join(EVENT)} | person + period", EVENT, event_study),
)  # fmt: skip


def measured(panel, method, runs, persons, eps, delta=1e-6):
    """Return shares released, covered, of the worst slope, the median error, and blank slopes."""
    covered, widths, blank = [], [], []
    for seed in range(runs):
        rng = np.random.default_rng([seed, persons])
        fit = dpreg.dp_lm(panel.formula, panel.draw(rng, persons), eps, delta, unit="person",
                          levels={"period": range(PERIODS)}, method=method, rng=seed)  # fmt: skip
        if not fit.released:
            continue
        error = fit.bse[list(panel.truth)].to_numpy()
        blank.append(np.isnan(error))
        miss = np.abs(fit.params[list(panel.truth)].to_numpy() - list(panel.truth.values()))
        covered.append(np.where(np.isnan(error), np.nan, miss < 1.96 * error))
        widths.append(error)
    slopes = np.nanmean(covered, axis=0)
    return (
        len(covered) / runs, float(np.nanmean(covered)), slopes.min(),
        float(np.nanmedian(widths)), float(np.mean(blank)),
    )  # fmt: skip


def report(runs, eps):
    noise = 1.96 * math.sqrt(0.95 * 0.05 / runs)
    lines = [
        f"# Effects of persons and periods, eps = {eps:g}, delta = 1e-06",
        "",
        f"{runs} simulated tables each; by chance alone a share of {runs} intervals lies within "
        f"{noise:.3f} of .95. Effects of persons are correlated with the "
        "regressors, so slopes without them are biased; errors are autocorrelated (.5, and .8 "
        "for the staggered treatment); persons have from 1 to 10 rows, drop out, or are "
        "observed at random; treatment begins in period 3, 5, 7 or never, first for those with "
        "large effects. Shares are of the slopes other than those of periods. Made by "
        "`tests/benchmarks/bench_within.py`.",
        "",
        "| panel | persons | method | rows | released | covered | worst slope | median error |"
        " blank |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    for panel, size, method in ((p, n, m) for p in PANELS for n in p.persons for m in p.methods):
        released, covered, worst, error, blank = measured(panel, method, runs, size, eps)
        lines.append(
            f"| {panel.title} | {size:,} | {method.name} | {method.max_rows} | {released:.3f} | "
            f"{covered:.3f} | {worst:.3f} | {error:.3g} | {blank:.3f} |"
        )
        print(lines[-1], flush=True)
    models = [f"`{panel.formula}` ({panel.title})" for panel in PANELS]
    lines += ["", "Models: " + ", ".join(models) + "."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    text = report(options.runs, options.eps)
    write_page(text, options.out)


if __name__ == "__main__":
    main()
