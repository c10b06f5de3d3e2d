# %% [markdown]
# # One release, many questions
#
# After a fit you may want tests, contrasts, a second model, R squared. This page shows which of
# these are free, which are not, and how accurate they are, with the diamonds that come with the
# package.
#
# Run it as `python vignettes/one_release.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy import stats

import dpreg

diamonds = dpreg.load_diamonds()
levels = {"cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"]}

# %% [markdown]
# ## Tests and contrasts of a fit: free
#
# A released fit has its coefficients and their covariance, which includes sampling error and
# privacy noise. Everything computed from these is post-processing. The syntax is that of
# statsmodels:

# %%
fit = dpreg.dp_lm("log(price) ~ log(carat) + color", diamonds, 1.0, 1e-6)
print(fit.t_test("log(carat) = 1.7, color[T.E] - color[T.F]"))
print(fit.wald_test("color[T.E] = color[T.F], color[T.F] = color[T.G]"))
print(fit.anova())

# %% [markdown]
# Tests of one restriction have about the nominal level. Joint tests of four restrictions reject 9%
# of true hypotheses at the 5% level, because covariances are noisy too: see
# `tests/benchmarks/tests.md`. `method="tukey"` releases no covariances: its standard errors of
# combinations are upper bounds, and its joint tests are Bonferroni tests.
#
# ## Several models: one `dp_moments`
#
# Five calls of `dp_lm` for five models have to share one eps. `dp_moments` instead spends all of
# eps on the noisy second moments of all columns, from which any model among them is computed at no
# further cost:

# %%
m = dpreg.dp_moments(
    ["price", "carat", "cut", "log(price)", "log(carat)"], diamonds, 1.0, 1e-6, levels=levels
)
for formula in ("log(price) ~ log(carat)", "log(price) ~ log(carat) + cut", "price ~ carat"):
    mine, plain = m.lm(formula), smf.ols(formula.replace("log", "np.log"), diamonds).fit()
    share = m.rsquared(formula)
    print(f"{formula}: slope {mine.params.iloc[1]:.4g} +- {1.96 * mine.bse.iloc[1]:.2g}, "
          f"not private {plain.params.iloc[-1]:.4g}; "
          f"R squared {share['rsquared']:.4f} [{share['lower']:.4f}, {share['upper']:.4f}], "
          f"not private {plain.rsquared:.4f}")  # fmt: skip

# %%
print(m.anova("log(price) ~ log(carat)", "log(price) ~ log(carat) + cut"))
print(m.subsets("log(price) ~ log(carat) + carat + cut", best=4).round(3).to_string())
print(m.vif("log(price) ~ log(carat) + carat"))
m.plot()

# %% [markdown]
# The disadvantages: rows with a large norm, response included, are clipped, because there are no
# residuals to clip instead, and sampling errors assume a constant variance, enlarged by the
# kurtosis of the rows. On fifteen real tables (`tests/benchmarks/moments.md`; n = 20,000, eps = 1,
# five models each) the median coverage of intervals is .94, their width is 2.8 times that of a
# sandwich interval, and none is missing; for five calls with a fifth of eps each these are .93, 4.9
# times, and 12%. Where a few rows determine the coefficients, moments cover less (diamonds .56,
# house_8L .66) than five calls do (.88 and .79).
#
# As after any selection, private or not, the intervals of the model that `subsets` ranks first are
# too narrow.
#
# ## Two-stage least squares
#
# On simulated data, since diamonds have no instrument: `ability` affects schooling and wages and is
# not observed. The least squares slope is about .15, the true value .1:

# %%
rng = np.random.default_rng(1)
n = 30_000
ability, near = rng.standard_normal(n), rng.random(n) < 0.4
school = 12 + 1.5 * near + ability + rng.standard_normal(n)
wage = 1 + 0.1 * school + 0.15 * ability + 0.4 * rng.standard_normal(n)
survey = pd.DataFrame({"wage": wage, "school": school, "near": near.astype(float)})
s = dpreg.dp_moments("wage ~ school + near", survey, 1.0, 1e-6)
print(s.lm("wage ~ school").conf_int().loc["school"].to_numpy().round(3))
iv = s.iv("wage ~ school", "~ near")
print(iv.conf_int().loc["school"].to_numpy().round(3), iv.notes[0])

# %% [markdown]
# ## Any test, without bounds
#
# `dp_test` needs a function that returns a p-value: it counts small p-values over blocks of rows,
# adds noise, and compares the count with its exact null distribution. It is pure eps-DP and valid
# for small tables; the price is power.

# %%


def depth_goes_with_price(rows: pd.DataFrame) -> float:
    return float(stats.spearmanr(rows["depth"], rows["price"]).pvalue)


def carat_goes_with_price(rows: pd.DataFrame) -> float:
    return float(stats.spearmanr(rows["carat"], rows["price"]).pvalue)


few = diamonds.sample(500, random_state=1)
for question in (depth_goes_with_price, carat_goes_with_price):
    print(dpreg.dp_test(question, few, 1.0))

# %% [markdown]
# ## In scikit-learn
#
# `dpreg.sklearn` has the estimators of a pipeline. Each `fit` is a release: five folds cost five
# times eps, and a budget keeps the total and refuses a fit that exceeds it.

# %%
from sklearn.model_selection import KFold, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

from dpreg.sklearn import DPFeatureSelector, DPLinearRegression  # noqa: E402

budget = dpreg.Budget(3.0, 1e-5)
chain = make_pipeline(
    DPFeatureSelector(2, eps=0.1, budget=budget),
    DPLinearRegression(eps=0.4, delta=1e-6, budget=budget),
)
folds = KFold(5, shuffle=True, random_state=1)  # the file is sorted by price
X, y = diamonds[["carat", "depth", "table", "x", "y"]], diamonds["price"]
print(cross_val_score(chain, X, y, cv=folds).round(3), f"{budget.remaining[0]:.2f} of eps is left")
