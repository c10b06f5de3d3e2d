# %% [markdown]
# # What does a treatment do?
#
# A health insurance experiment, the wages of graduates, and the wages of union members: average
# effects with privacy, beside the same estimates without. The first is a trial; the others need
# assumptions that the data cannot confirm.
#
# Run it as `python vignettes/effects.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm

import dpreg

here = Path(__file__).parent if "__file__" in globals() else Path.cwd()

# %% [markdown]
# ## A trial: does free care mean more visits?
#
# The RAND Health Insurance Experiment assigned families to plans at random: free care, or a share
# of the costs. `randhie` of statsmodels has 20,190 person-years. The difference in mean numbers of
# visits needs no covariates.

# %%
visits = sm.datasets.randhie.load_pandas().data
visits["free"] = visits["lncoins"] == 0
trial = dpreg.dp_effect(
    "mdvis ~ 1", visits, eps=1.0, delta=1e-6, treatment="free", method="difference", rng=1
)
print(trial)
means = visits.groupby("free")["mdvis"].agg(["mean", "sem"])
print(f"not private: {means['mean'].diff().iloc[1]:.3f} +- {np.hypot(*means['sem']):.3f}")

# %% [markdown]
# ## A comparison: what is a degree worth?
#
# Hourly earnings of 61,395 persons in 2004 (`CPSSW8` of the R package AER). Degrees are not
# assigned at random, so persons of the same age, sex and region are compared: `"aipw"` models the
# earnings and the degree, and is consistent if one of the two models is right.

# %%
wages = pd.read_parquet(here / "wages.parquet")
wages["degree"] = wages["education"] >= 16
REGIONS = ["Northeast", "Midwest", "South", "West"]
found = dpreg.dp_effect(
    "earnings ~ poly(age, 2, raw=True) + female + region",
    wages,
    eps=1.0,
    delta=1e-6,
    treatment="degree",
    levels={"region": REGIONS},
    rng=1,
)
print(found)

# %% [markdown]
# The same without privacy:


# %%
def exact(outcome: pd.Series, treatment: pd.Series, covariates: pd.DataFrame) -> str:
    """Average doubly robust scores."""
    X, t = sm.add_constant(covariates.astype(float)), treatment.astype(float)
    chance = np.clip(sm.Logit(t, X).fit(disp=0).predict(), 0.05, 0.95)
    without, having = (sm.OLS(outcome[t == arm], X[t == arm]).fit().predict(X) for arm in (0, 1))
    score = having - without + t * (outcome - having) / chance
    score = score - (1 - t) * (outcome - without) / (1 - chance)
    return f"not private: {score.mean():.3f} +- {score.sem():.3f}"


columns = wages[["age", "female"]].assign(square=wages["age"].astype(float) ** 2)
columns = columns.join(pd.get_dummies(wages["region"], drop_first=True))
print(exact(wages["earnings"], wages["degree"], columns))

# %% [markdown]
# ## Persons with several rows
#
# Wages of young women over the years (`nlswork`): are union members paid better, at the same tenure
# in the same year? A woman is one unit: all her rows are protected together, four of them are used,
# and standard errors are clustered.

# %%
women = pd.read_parquet(here / "nlswork.parquet")
union = dpreg.dp_effect(
    "ln_wage ~ tenure + I(year - 1980)",
    women,
    eps=2.0,
    delta=1e-6,
    treatment="union",
    unit="person",
    max_rows=4,
    rng=1,
)
print(union.tidy().round(4).iloc[:, :4])
print(exact(women["ln_wage"], women["union"], women[["tenure", "year"]]))

# %% [markdown]
# ## Limitations
#
# - `found.overlap` is the noisy number of rows whose probability of treatment is at a public limit.
#   For these the effect depends on the model of the outcome.
# - The analyst has to justify that all confounders are in the formula. Degrees are not assigned at
#   random, so the number above is a comparison, not an effect.
# - The table of [simulated trials and cohorts](/tests/benchmarks/effect_coverage.md) has the
#   coverage of the intervals, and standard errors relative to those without noise.

# %%
print(f"about {found.overlap.rows:,.0f} rows, standard error {found.overlap.std_err:.0f}")
parts = found.privacy.parts
print(f"{len(parts)} noisy steps, which found.privacy lists; the first: {parts[0].label}")
