# %% [markdown]
# # Who dies sooner? A survival study
#
# Serum free light chains and survival of 7,874 residents of Olmsted County, Minnesota, aged 50 or
# more: a plan, survival curves, and hazard ratios beside those of Cox's model without privacy. The
# data are public, so the exact answer can be shown here.
#
# Run it as `python vignettes/survival.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm

import dpreg

here = Path(__file__).parent if "__file__" in globals() else Path.cwd()
people = pd.read_parquet(here / "flchain.parquet")
SEXES = {"sex": ["F", "M"]}
# Every second year of fourteen, chosen before the data were seen.
CUTS = [731, 1462, 2193, 2924, 3655, 4386, 5117]

# %% [markdown]
# ## Before: is eps enough?
#
# The number of events matters, not the number of persons. Suppose that about a quarter of 8,000
# persons will die during the follow-up. The plan is for six intervals; a seventh costs very little.

# %%
print(dpreg.dp_plan(n=8_000, event_rate=0.25, d=3, eps=3.0, delta=1e-6, family="survival"))

# %% [markdown]
# ## Survival of women and men
#
# One noisy table of events and numbers at risk. It is cheap: a tenth of the budget of the model
# below.

# %%
curve = dpreg.dp_curve("Surv(days, died) ~ sex", people, eps=0.3, cuts=CUTS, levels=SEXES, rng=1)
print(curve.summary())
axes = curve.plot()

# %% [markdown]
# Limits include sampling error and privacy noise; the bands in the plot hold at all cuts of a curve
# together.
#
# ## Hazard ratios
#
# As Dispenzieri and others (2012) found, the hazard increases with age and with the sum of the two
# light chains, and is higher for men. That all persons were at least 50 years old is public.

# %%
fit = dpreg.dp_survival(
    "Surv(days, died) ~ age + sex + log(light_chains)",
    people,
    eps=3.0,
    delta=1e-6,
    cuts=CUTS,
    levels=SEXES,
    bounds={"age": (50, 105)},
    rng=3,
)
names = ["age", "sex[T.M]", "log(light_chains)"]
print(fit.tidy(exp=True).loc[names, ["coef", "std err", "lower", "upper"]].round(3))

# %% [markdown]
# In R:
#
# ```r
# dp_survival(Surv(days, died) ~ age + sex + log(light_chains), people, eps = 3, delta = 1e-6,
#             cuts = 731 * 1:7)
# ```
#
# Cox's model without privacy, by statsmodels; R's `coxph` has the same estimates:

# %%
columns = np.column_stack([people["age"], people["sex"] == "M", np.log(people["light_chains"])])
cox = sm.PHReg(people["days"] + 0.5, columns.astype(float), status=people["died"]).fit()
beside = pd.DataFrame(
    {
        "private": fit.params[names].to_numpy(),
        "Cox": cox.params,
        "errors apart": (fit.params[names].to_numpy() - cox.params) / fit.bse[names].to_numpy(),
        "width": fit.bse[names].to_numpy() / cox.bse,
    },
    index=names,
)
print(beside.round(3))

# %% [markdown]
# **Conclusion.** A year of age increases the hazard by a tenth; men die sooner than women of their
# age, and so do persons with high light chains: the private and the exact analysis agree. In ten
# fits with other random numbers standard errors were 1.10 to 1.21 times those of Cox's model at eps
# = 3, and 1.37 to 1.57 times at eps = 1 (medians), and all of Cox's estimates were in the
# intervals.
#
# The intercept is the logarithm of the hazard per day, in the first two years, of a woman of age 0
# whose light chains add up to 1. Write `I(age - 60)` for the hazard of a woman of 60. The survival
# curves below do not depend on this choice.

# %%
print(fit.baseline_hazard().tail(1).T)

# %% [markdown]
# ## Are hazards proportional?
#
# With `time_varying` the effect of a term may change with the logarithm of time, and the null
# hypothesis of the test is that it does not. This fit is another release, with an eps of its own.

# %%
changing = dpreg.dp_survival(
    "Surv(days, died) ~ age + sex + log(light_chains)",
    people,
    eps=3.0,
    delta=1e-6,
    cuts=CUTS,
    levels=SEXES,
    bounds={"age": (50, 105)},
    time_varying=["log(light_chains)"],
    rng=4,
)
print(changing.ph_test())

# %% [markdown]
# The effect of the light chains does change: without privacy `cox.zph(..., transform = "log")` of R
# has a chi-squared of 12.8 on 1 degree of freedom for them. So the hazard ratio above is an average
# over fourteen years. The next step would be a plot of Schoenfeld residuals, which has no private
# counterpart here: look at the coefficient of `log(light_chains):log(time)` instead.

# %%
shown = ["log(light_chains)", "log(light_chains):log(time)"]
print(changing.tidy().loc[shown, ["coef", "std err", "lower", "upper"]].round(3))

# %% [markdown]
# ## Survival curves for given covariates

# %%
new = {"age": [60.0, 75.0], "sex": ["F", "M"], "light_chains": [2.5, 5.0]}
print(fit.predict_survival(new, simultaneous=True).round(3))

# %% [markdown]
# `flchain.parquet` has columns of `flchain` of R's package survival 3.5, whose licence is the LGPL,
# version 2 or later; `light_chains` is kappa + lambda. It is in the repository only: neither the
# wheel nor the source distribution contains it. Dispenzieri and others (2012), "Use of nonclonal
# serum immunoglobulin free light chains to predict overall survival in the general population".
