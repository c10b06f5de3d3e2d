# %% [markdown]
# # Beyond the coefficients: fit, residuals, new observations, weights
#
# R squared, residuals and prediction intervals are functions of the private records, so each uses a
# share of the fit's budget, listed in `fit.privacy`. Weights have no additional cost. The examples
# use the diamonds that come with the package.
#
# Run it as `python vignettes/extras.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

import numpy as np
import statsmodels.formula.api as smf
from matplotlib import pyplot as plt

import dpreg

diamonds = dpreg.load_diamonds()
shuffled = np.random.default_rng(20261122).permutation(len(diamonds))
new, old = diamonds.iloc[shuffled[:5000]], diamonds.iloc[shuffled[5000:]]
FORMULA = "log(price) ~ log(carat) + color + clarity"

# %% [markdown]
# ## R squared and sigma
#
# `fit_stats=True` spends 5% of the fit's squared mu on R squared and sigma. Without privacy, for
# comparison:

# %%
fit = dpreg.dp_lm(FORMULA, old, 1.0, 1e-6, fit_stats=True, diagnostics=True)
plain = smf.ols(FORMULA.replace("log", "np.log"), old).fit()
print(fit.fit_stats().round(4))
print(f"not private: {plain.rsquared:.4f}, {np.sqrt(plain.scale):.4f}")
for part in fit.privacy.parts[-2:]:
    print(f"{part.label}: {part.noise}")

# %% [markdown]
# ## What will a stone cost?
#
# With sigma there are intervals for new observations, not only for their mean. The share of 5,000
# stones outside the fitted data whose price is in its interval:

# %%
bands = fit.predict(new, interval="prediction")
inside = (np.log(new["price"]) > bands["lower"]) & (np.log(new["price"]) < bands["upper"])
print(f"{inside.mean():.3f} of new stones lie in their 95% intervals")
print(np.exp(bands[["mean", "lower", "upper"]].head(3)).round())

# %% [markdown]
# ## Residual plots without residuals
#
# `diagnostics=True` spends another 10% on noisy numbers of rows by fitted value and residual. These
# show curvature, growing variance and heavy tails, but no single stone. Here the smallest
# stones cost more than the line predicts, and the tails are slightly heavier than normal ones.

# %%
_, axes = plt.subplots(1, 2, figsize=(10, 4))
fit.plot_residuals(axes[0])
fit.plot_qq(axes[1])
axes[0].figure.tight_layout()

# %% [markdown]
# ## Weights
#
# A dealer records large stones more often than small ones, with a known probability. The relation
# is not linear, so least squares on such a sample estimates the slope for recorded stones; with
# inverse probability weights it estimates the slope for all stones.

# %%
chance = np.clip(diamonds["carat"] / 1.5, 0.25, 1.0)
taken = np.random.default_rng(1).random(len(diamonds)) < chance
sample = diamonds.assign(w=1 / chance)[taken]
LINE = "log(price) ~ carat"
LINE_HERE = "np.log(price) ~ carat"
print(f"all stones, not private: {smf.ols(LINE_HERE, diamonds).fit().params['carat']:.3f}")
for weights in (None, "w"):
    line = dpreg.dp_lm(LINE, sample, 1.0, 1e-6, weights=weights)
    exact = smf.wls(LINE_HERE, sample, weights=1.0 if weights is None else sample["w"])
    print(f"weights={weights!s:5} {line.params['carat']:.3f} +- {1.96 * line.bse['carat']:.3f}, "
          f"not private {exact.fit().params['carat']:.3f}")  # fmt: skip

# %% [markdown]
# The contribution of a row is bounded, whatever its weight; `weight_limit=` clips the weights, and
# without it a limit is estimated privately. `fit_stats` with weights is refused, because
# inverse-variance weights and survey weights need different estimates of sigma.
#
# ## Offsets
#
# Jewellers have a rule that the price is proportional to the square of the weight. Take this as
# given, with a coefficient of 2 that is not estimated: how does the price depend on the cut?

# %%
RULE = "log(price) ~ I(cut == 'Ideal') + offset(2 * log(carat))"
ruled = dpreg.dp_lm(RULE, diamonds, 1.0, 1e-6)
rest = np.log(diamonds["price"]) - 2 * np.log(diamonds["carat"])
ideal = diamonds["cut"] == "Ideal"
print(ruled.conf_int().loc[ruled.names[1]].to_numpy().round(3),
      f"not private {rest[ideal].mean() - rest[~ideal].mean():.3f}")  # fmt: skip
