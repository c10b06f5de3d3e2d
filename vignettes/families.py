# %% [markdown]
# # Odds, counts and quantiles
#
# `dp_lm` fits means of a response. `dp_glm` fits the odds of an outcome, the mean of a count, and
# quantiles, with the same guarantee and the same arguments: no bounds, no tuning, and intervals
# that include the privacy noise.
#
# Run it as `python vignettes/families.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import dpreg

diamonds = dpreg.load_diamonds()

# %% [markdown]
# ## An outcome: which stones are of the best cut?
#
# About two of five are. A response that is true or false, or 1 or 0, needs no bounds, because
# residuals are at most 1.

# %%
FORMULA = "I(cut == 'Ideal') ~ log(carat) + table + color"
fit = dpreg.dp_glm(FORMULA, diamonds, eps=1.0, delta=1e-6)
print(fit.summary())

# %% [markdown]
# Exponentials of the coefficients are odds ratios, and exponentials of their limits are limits of
# odds ratios.

# %%
print(fit.tidy(exp=True)[["coef", "lower", "upper"]].drop("Intercept").round(3))

# %% [markdown]
# Predictions are probabilities; their intervals stay between 0 and 1.

# %%
widths = np.linspace(52, 65, 53)
color = pd.Categorical(["G"] * len(widths), categories=diamonds["color"].cat.categories)
new = pd.DataFrame({"carat": 0.7, "table": widths, "color": color})
predicted = fit.predict(new, interval="confidence")

_, ax = plt.subplots()
ax.fill_between(widths, predicted["lower"], predicted["upper"], alpha=0.3)
ax.plot(widths, predicted["mean"])
ax.set(xlabel="table, % of the width", ylabel="P(ideal cut)", title="0.7 carat, colour G, eps = 1")

# %% [markdown]
# If only predictions matter, `inference=False` spends the whole budget on them, which is better
# with many columns. The next block compares the log-loss of both on the (public) data, for 224
# coefficients, many of which depend on few rows. With inference most of these have no standard
# error and are mostly noise. The log-loss of a model without regressors and without privacy is
# 0.673.

# %%
outcome = (diamonds["cut"] == "Ideal").to_numpy()


def log_loss(fit):
    eta = fit.predict(diamonds, which="linear").to_numpy()
    return float(np.mean(np.logaddexp(0, eta) - outcome * eta))


MANY = "I(cut == 'Ideal') ~ (log(carat) + table + depth) * color * clarity"
for inference in (True, False):
    many = dpreg.dp_glm(MANY, diamonds, eps=1.0, delta=1e-6, inference=inference)
    print(f"inference={inference}: log-loss {log_loss(many):.3f}, {len(many.names)} coefficients")

# %% [markdown]
# ## A count: visits to a doctor
#
# Simulated, since no such data come with the package: 20,000 people were followed for different
# times, and some visit more often than others for unobserved reasons, so that counts are
# overdispersed. `offset(log(years))` makes it a model of visits per year, and standard errors allow
# for the overdispersion.

# %%
rng = np.random.default_rng(20261122)
n = 20_000
people = pd.DataFrame({"age": rng.uniform(20, 80, n), "years": rng.uniform(0.5, 4, n)})
rate = 0.5 * np.exp(0.02 * (people["age"] - 50)) * rng.gamma(2, 0.5, n)
people["visits"] = rng.poisson(rate * people["years"])
visits = dpreg.dp_glm(
    "visits ~ I((age - 50) / 10) + offset(log(years))",
    people,
    eps=1.0,
    delta=1e-6,
    family="poisson",
)
print(visits.summary(exp=True))

# %% [markdown]
# In the simulation ten years of age multiply visits by exp(0.2) = 1.22. A note below the table has
# the value at which counts are clipped; the head has the effect of clipping scores.
#
# ## A quantile: the price that nine of ten stones of a given size do not exceed

# %%
for q in (0.1, 0.5, 0.9):
    family = dpreg.Quantile(q)
    line = dpreg.dp_glm("log(price) ~ log(carat)", diamonds, 1.0, 1e-6, family=family)
    one_carat = line.predict(pd.DataFrame({"carat": [1.0]}), interval="confidence")
    middle, low, high = np.exp(one_carat.loc[0, ["mean", "lower", "upper"]])
    print(
        f"{q:.0%} of stones of one carat cost less than {middle:,.0f} ({low:,.0f} to {high:,.0f})"
    )

# %% [markdown]
# The three fits are three releases: together they cost eps = 3. A `Budget` adds them up and refuses
# a call that exceeds it.
