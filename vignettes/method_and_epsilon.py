# %% [markdown]
# # Which method, and is my eps enough?
#
# Both questions must be answered before the data are touched: looking at the data to choose eps
# would be a release. `dp_plan` uses public numbers only: the approximate number of units, the
# number of regressors, eps and delta. It costs nothing.
#
# Run it as `python vignettes/method_and_epsilon.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

import time

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import dpreg

plan = dpreg.dp_plan(n=20_000, d=5, eps=1.0, delta=1e-6)
print(plan)

# %% [markdown]
# The first line has the smallest slope that a fit detects in the two-sided 5% test with power 0.8.
# Slopes are standardised: the slope times the standard deviation of its regressor, divided by the
# standard deviation of the residuals. With `effect=` the plan has the power for a slope of that
# size, and the plot shows the power with and without privacy.

# %%
dpreg.dp_plan(n=20_000, d=5, eps=0.3, delta=1e-6, effect=0.03).plot(of="power")

# %% [markdown]
# ## How many rows, how much eps
#
# With `effect=` and `power=` but without `n` (or `eps`), the plan finds the smallest `n` (or `eps`)
# that is enough.

# %%
print(dpreg.dp_plan(d=5, eps=1.0, delta=1e-6, effect=0.1, power=0.8))
print(dpreg.dp_plan(n=20_000, d=5, delta=1e-6, effect=0.1, power=0.8).eps)

# %% [markdown]
# Width is the width of intervals relative to least squares without privacy: 1 means no loss, and 2
# is the width with a quarter of the rows. The plot shows it against eps.

# %%
plan.plot()

# %% [markdown]
# The table has the width of a plan with `"auto"`, and the smallest eps that is enough: intervals
# are at most 3 times as wide, and the probability of a release is at least 0.9. A star means that
# more than a tenth of the coefficients have no interval, "-" that more than half have none. Noise
# decreases as 1 / (n eps) and sampling error as 1 / sqrt(n), so with enough rows privacy costs
# almost nothing.


# %%
def shown(plan):
    star = "" if plan.released >= 0.9 else "*"
    return f"{plan.width:.2f}{star}" if plan.released >= 0.5 and np.isfinite(plan.width) else "-"


rows = []
for n in (2_000, 10_000, 50_000, 250_000, 1_000_000):
    for d in (2, 10, 40):
        plans = {eps: dpreg.dp_plan(n, d, eps, delta=1e-7) for eps in (0.1, 0.5, 1.0, 3.0)}
        widths = {f"eps={eps}": shown(p) for eps, p in plans.items()}
        rows.append({"n": n, "d": d, **widths, "least eps": plans[1.0].least_eps})
print(pd.DataFrame(rows).round(2).to_string(index=False))

# %% [markdown]
# d is the number of columns of the design: a category with 8 levels has 7. delta is far below 1 /
# n; it has little effect, because noise grows with the square root of log(1 / delta).
#
# ## The methods
#
# - `"boosted_adassp"`: score equations from noisy sums, iterated. The narrowest intervals almost
#   everywhere. It is a Huber-type regression: with skewed errors the clipped estimate may differ
#   from least squares. Standard errors are robust to heteroscedasticity.
# - `"adassp"`: normal equations from noisy second moments of clipped rows; standard errors are
#   robust too. `dpreg.AdaSSP(cov_type="bootstrap")`, which assumes a constant variance,
#   simulates the estimate from the released values and corrects its small bias.
# - `"tukey"`: the median of many small fits. Needs many rows, a few thousand times d. It does not
#   clip, standard errors are robust, and a person with a thousand rows (`unit=`) needs no more
#   noise than one with a single row. If the relation is not linear or errors are skewed, the median
#   of small fits may differ from one fit to all rows by several standard errors.
# - `"dpsgd"`, `"frank_wolfe"`: no standard errors; the latter is sparse (`sparse_regression.py`).
#
# With standard errors `"auto"` is `"boosted_adassp"`. With `inference=False` it chooses among the
# first three by expected prediction error in public simulations.

# %%
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
epsilons = np.geomspace(0.1, 10, 25)
for method, color in (("boosted_adassp", "#0072B2"), ("adassp", "#E69F00"), ("tukey", "#009E73")):
    plans = [dpreg.dp_plan(50_000, 5, float(e), 1e-6, method=method) for e in epsilons]
    widths = [p.width if p.released > 0.9 else np.nan for p in plans]
    ax.plot(epsilons, widths, color=color, linewidth=2)
    place, offset, side = int(np.argmax(np.isfinite(widths))), (6, 4), "left"
    if method == "boosted_adassp":
        place, offset, side = 7, (-6, -8), "right"
    ax.annotate(method, (epsilons[place], widths[place]), offset, textcoords="offset points",
                color=color, ha=side)  # fmt: skip
ax.axhline(1, color="0.6", linewidth=0.8)
ax.set(xscale="log", yscale="log", xlabel="eps", ylabel="interval width / least squares")
ax.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
ax.set_yticks([1, 1.5, 2, 3, 5, 10], ["1", "1.5", "2", "3", "5", "10"])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.set_title("50,000 units, 5 regressors", loc="left")

# %% [markdown]
# ## Is the plan right?
#
# Simulated data, with correlated normal regressors that explain 60% of the variance: the plan, and
# the median of ten fits. Real data are less regular: with outliers, nearly collinear columns, or a
# response that is explained almost completely (noise is proportional to the response, sampling
# error to the residuals) intervals are wider.

# %%
rng = np.random.default_rng(1)
n, d = 20_000, 5
FORMULA = "y ~ " + " + ".join(f"x{j}" for j in range(d))
CORRELATION = 0.5 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))


def simulate():
    X = rng.multivariate_normal(np.zeros(d), CORRELATION, n)
    y = X.sum(axis=1) * np.sqrt(0.6 / 0.4 / CORRELATION.sum()) + rng.standard_normal(n)
    return {**{f"x{j}": X[:, j] for j in range(d)}, "y": y}


least_squares = np.sqrt(np.diag(np.linalg.inv(CORRELATION)) / n)  # standard errors of slopes
for method in ("boosted_adassp", "adassp", "tukey"):
    expected = dpreg.dp_plan(n, d, 1.0, 1e-6, method=method)
    fits = [dpreg.dp_lm(FORMULA, simulate(), 1.0, 1e-6, method=method) for _ in range(10)]
    widths = [fit.bse.iloc[1:] / least_squares for fit in fits if fit.released]
    found = f"{np.nanmedian(widths):.2f}" if widths else "none"
    print(f"{method:15} planned {expected.width:.2f}, found {found}; "
          f"{len(widths)} of {len(fits)} released")  # fmt: skip

# %% [markdown]
# ## When it is not enough
#
# A method that declines says so, but the budget of the call is spent, so use `dp_plan` first. What
# helps, in order of cost: fewer regressors, `select=`, more data, a larger eps.

# %%
little = {name: values[:1_000] for name, values in simulate().items()}
print(dpreg.dp_plan(1_000, d, 0.2, 1e-6, method="tukey"))
print(dpreg.dp_lm(FORMULA, little, 0.2, 1e-6, method="tukey"))

# %% [markdown]
# A fit may also have coefficients that are not estimable: they have no standard error, and a note
# names them. Here a column is 1 in 1% of the rows.

# %%
rows = {name: values[:5_000] for name, values in simulate().items()}
rows["x0"] = 1.0 * (rng.random(5_000) < 0.01)
lost = dpreg.dp_lm(FORMULA, rows, 0.5, 1e-6, method="adassp")
print(lost.tidy().drop(columns="clipping").round(3))

# %% [markdown]
# A plan is arithmetic on tables that come with the package:

# %%
start = time.perf_counter()
dpreg.dp_plan(n=123_456, d=7, eps=0.7)
print(f"{1000 * (time.perf_counter() - start):.0f} ms")
