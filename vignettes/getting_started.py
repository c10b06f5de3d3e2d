# %% [markdown]
# # Getting started
#
# A private regression for the prices of 53,940 diamonds: the fit, its summary, a plot, predictions
# with intervals, and several fits side by side.
#
# Run it as `python vignettes/getting_started.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

import numpy as np
import pandas as pd

import dpreg

diamonds = dpreg.load_diamonds()
print(diamonds.dtypes)

# %% [markdown]
# ## One fit
#
# A formula, a table and a privacy budget. `eps` bounds what the result can reveal about any one
# row: odds change by a factor of at most e^eps. `delta` is the probability with which that may
# fail; it should be far below one over the number of rows. No bounds on the data are needed, and
# none are read from them. Price and carat are skewed, so both are taken in logarithms. The value of
# a term in one row may depend on that row only.

# %%
FORMULA = "log(price) ~ log(carat) + depth + table + cut"
fit = dpreg.dp_lm(FORMULA, diamonds, eps=1.0, delta=1e-6)
print(fit.summary())

# %% [markdown]
# Standard errors have two components: `sampling` is the standard error of least squares without
# privacy, `privacy` the standard deviation of the noise; their squares add up. z, p-values and
# intervals use the total. The head has the estimand; `fit.estimand` has the largest estimated
# effect of clipping on a coefficient. Below the table is the privacy guarantee; `fit.privacy` has
# its steps.
#
# The default, `method="auto"`, is `"boosted_adassp"` for fits with standard errors. The numbers
# differ when this page is run again, because a reproducible result would not be private.

# %%
table = fit.tidy()
wide = (table["std err"] / table["sampling"]).drop("Intercept")
print(f"{fit.method}: standard errors are {wide.min():.2f} to {wide.max():.2f} times "
      "those of least squares")  # fmt: skip
print(fit.conf_int(alpha=0.1).round(3))

# %% [markdown]
# Each line of the plot is a coefficient divided by its standard error: blue is the interval without
# noise, orange the part added by privacy. An arrow points to coefficients beyond the axis; the
# coefficients themselves are on the right.

# %%
fit.plot()

# %% [markdown]
# ## Predictions
#
# Predictions use released numbers only and cost nothing. These intervals are for the mean response;
# `interval="prediction"` gives intervals for one new diamond, after a fit with `fit_stats=True`,
# which also releases the variance of the errors. New rows, and then predictions, are clipped to
# `fit.limits` to avoid extrapolation; `winsorise=False` gives the unclipped linear predictor.

# %%
new = pd.DataFrame({"carat": [0.5, 1.0, 2.0], "depth": 61.8, "table": 57.0, "cut": "Ideal"})
predicted = fit.predict(new, interval="confidence")
print(new.join(np.exp(predicted[["mean", "lower", "upper"]]).round()))

# %% [markdown]
# ## Several fits
#
# Each fit spends its own budget on the same rows: the three below cost eps = 3, and the one above
# cost 1. A `Budget` keeps the total and refuses a fit that exceeds it (vignettes/custodian.py).

# %%
budget = dpreg.Budget(eps=3.0, delta=1e-5)
small = dpreg.dp_lm("log(price) ~ log(carat)", diamonds, 0.5, 1e-6, budget=budget)
more = dpreg.dp_lm("log(price) ~ log(carat) + depth + table", diamonds, 0.5, 1e-6, budget=budget)
all_of_it = dpreg.dp_lm(FORMULA, diamonds, 2.0, 1e-6, budget=budget)
print(dpreg.compare({"carat": small, "and shape": more, "and cut": all_of_it}))

# %% [markdown]
# `compare(...)` and `summary()` have `as_latex()` and `as_html()`; a notebook shows the latter.
#
# ## Comparison with least squares
#
# These data are public, so least squares without privacy can be shown. It has the same sampling
# error as the private fit, so most differences are below 2 in units of the privacy component of the
# standard errors. That of log(carat) is about 3 in most runs, which is not noise: the relation is
# not linear, and `boosted_adassp` clips influential rows (see the estimand in the summary), so it
# estimates a different line. `method="tukey"` does not clip, but the median of small fits is yet
# another line.

# %%
y = np.log(diamonds["price"].to_numpy(float))
levels = diamonds["cut"].cat.categories[1:]
X = np.column_stack([np.ones(len(y)), np.log(diamonds["carat"]), diamonds[["depth", "table"]],
                     *(diamonds["cut"] == level for level in levels)]).astype(float)  # fmt: skip
exact = np.linalg.lstsq(X, y, rcond=None)[0]
off = (fit.params - exact) / table["privacy"]
for title, beta in (("least squares", exact), ("the private fit", fit.params.to_numpy())):
    print(f"R2 of {title}: {1 - ((y - X @ beta) ** 2).mean() / y.var():.4f}")
print(off.round(2).to_string())

# %% [markdown]
# ## What to keep
#
# `to_json()` saves the whole result; `DPResults.from_json` reads it, and the copy predicts as
# before.

# %%
again = dpreg.DPResults.from_json(fit.to_json())
assert again.predict(new).equals(fit.predict(new))

# %% [markdown]
# Next: vignettes/method_and_epsilon.py (is my eps enough for my n?), vignettes/selection.py (many
# columns), vignettes/privacy_model.py (what is promised, and what is not).
