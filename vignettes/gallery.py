# %% [markdown]
# # Gallery: eight questions, with and without privacy
#
# Each study has a question, a model, a plot of the private and the exact intervals, a conclusion,
# and its cost. The data are public, so the exact answer can be shown here; with data that need
# protection only the private answer is available. The data come with `statsmodels` and with this
# repository: nothing is downloaded. Private numbers differ each time this page is built.
# In R data can be a data frame or the path of a Parquet file: `sales <- "homes.parquet"`.
#
# Run it as `python vignettes/gallery.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

import dpreg
from dpreg.faces.plots import plot_beside

here = Path(__file__).parent if "__file__" in globals() else Path()
log, log1p = np.log, np.log1p  # formulas of statsmodels look for them here


def exact_table(fit):
    """Return coefficients and intervals of a statsmodels fit in the form for `plot_beside`."""
    limits = fit.conf_int().set_axis(["lower", "upper"], axis=1)
    return limits.assign(coef=fit.params)


def cost(private, exact):
    """Print the budget spent, and the width of private relative to exact intervals."""
    wide = (private.bse / exact.bse.reindex(private.bse.index)).drop("Intercept", errors="ignore")
    spent = f"eps = {private.privacy.epsilon:g}, delta = {private.privacy.delta:g}"
    print(f"Cost: {spent}; intervals {wide.min():.1f} to {wide.max():.1f} times as wide")


# %% [markdown]
# ## 1. Wages and schooling
#
# **Question.** How much more does one earn for one more year of schooling? The Current Population
# Survey of March 2005 has the hourly earnings of 61,395 workers (`CPSSW8` of the R package AER).
#
# **Model.** Log earnings on years of education and sex, with a quadratic curve in age. The curve
# needs public bounds of age, and the survey states them: 18 to 64.

# %%
workers = pd.read_parquet(here / "wages.parquet")
model = "log(earnings) ~ education + female + poly(age, 2)"
private = dpreg.dp_lm(model, workers, eps=1.0, delta=1e-6, bounds={"age": (18, 64)})
workers = workers.assign(female=1 * workers["female"])
same = smf.ols("log(earnings) ~ education + female + age + I(age**2)", workers)
exact = same.fit(cov_type="HC1")
both = {"exact": exact_table(exact), "private, eps = 1": private}
plot_beside(both, terms=["education", "female"])

# %% [markdown]
# In R:
#
# ```r
# dp_lm(log(earnings) ~ education + female + poly(age, 2), workers, eps = 1, delta = 1e-6,
#       bounds = list(age = c(18, 64)))
# ```
#
# **Conclusion.** Each year of schooling is associated with about a tenth more per hour, and women
# of the same age and schooling earn about a fifth less. With this many rows privacy costs very
# little.

# %%
for title, fit in (("private", private), ("exact", exact)):
    low, high = 100 * (np.exp(fit.conf_int().loc["education"]) - 1)
    print(f"One more year of schooling, {title}: {low:.1f}% to {high:.1f}% more per hour")
cost(private, exact)

# %% [markdown]
# ## 2. House prices
#
# **Question.** How does the price of a house depend on its size, its lot and its age? The auditor
# of Lucas County, Ohio, recorded 25,357 sales of single family homes in 1993 to 1998 (`house` of
# the R package spData). In many countries such prices are confidential.
#
# **Model.** Log price on log living area, log lot size and age in years: the first two coefficients
# are elasticities.

# %%
sales = pd.read_parquet(here / "homes.parquet")
model = "log(price) ~ log(area) + log(lot) + age"
private = dpreg.dp_lm(model, sales, eps=1.0, delta=1e-6)
exact = smf.ols(model, sales).fit(cov_type="HC1")
plot_beside({"exact": exact_table(exact), "private, eps = 1": private})

# %% [markdown]
# In R:
#
# ```r
# dp_lm(log(price) ~ log(area) + log(lot) + age, sales, eps = 1, delta = 1e-6)
# ```
#
# **Conclusion.** Price increases less than in proportion to living area, and much less with the
# lot; older houses sell for less. An appraiser would draw the same conclusions from either fit.

# %%
for title, fit in (("private", private), ("exact", exact)):
    low, high = 100 * (1.1 ** fit.conf_int().loc["log(area)"] - 1)
    print(f"10% more living area, {title}: {low:.1f}% to {high:.1f}% higher price")
cost(private, exact)

# %% [markdown]
# ## 3. A randomised experiment
#
# **Question.** The RAND Health Insurance Experiment assigned people at random to insurance plans
# with different coinsurance rates. Does coinsurance keep people from seeing a doctor at all? The
# data have 20,190 person-years, and the unit of privacy is one person-year; with an identifier of
# persons, which this copy lacks, `unit=` would protect all years of a person.
#
# **Model.** A logistic regression of at least one visit in the year on log(coinsurance + 1), a
# physical limitation, and an index of chronic diseases.

# %%
years = sm.datasets.randhie.load_pandas().data
private = dpreg.dp_glm("I(mdvis > 0) ~ lncoins + physlm + disea", years, eps=1.0, delta=1e-5)
any_visit = years.assign(any_visit=1.0 * (years["mdvis"] > 0))
exact = smf.logit("any_visit ~ lncoins + physlm + disea", any_visit).fit(disp=0)
plot_beside({"exact": exact_table(exact), "private, eps = 1": private})

# %% [markdown]
# In R:
#
# ```r
# dp_glm(I(mdvis > 0) ~ lncoins + physlm + disea, years, eps = 1)
# ```
#
# **Conclusion.** Yes: with a higher coinsurance rate fewer people see a doctor; those with
# limitations or chronic diseases see one more often. The private and the exact analysis of the
# trial lead to the same conclusion.

# %%
full, free = np.log(96), np.log(1)
for title, fit in (("private", private), ("exact", exact)):
    ratio = np.exp(fit.params["lncoins"] * (full - free))
    print(f"Odds ratio of a visit, coinsurance of 95% against free care, {title}: {ratio:.2f}")
cost(private, exact)

# %% [markdown]
# ## 4. A panel
#
# **Question.** What is the union wage premium within the same woman? The National
# Longitudinal Survey of Young Women interviewed 4,134 women 19,010 times in 1970 to 1988.
#
# **Model.** Log wage on union membership and years in the job, with a fixed effect of each woman.
# All interviews of a woman are protected together, and at most six of each are used.

# %%
panel = pd.read_parquet(here / "nlswork.parquet")
private = dpreg.dp_lm(
    "ln_wage ~ union + tenure | person", panel, 1.0, 1e-5, unit="person",
    method=dpreg.BoostedAdaSSP(max_rows=6),
)  # fmt: skip
columns = ["ln_wage", "union", "tenure"]
apart = panel[columns] - panel.groupby("person")[columns].transform("mean")
by_woman = {"cov_type": "cluster", "cov_kwds": {"groups": panel["person"]}}
exact = smf.ols("ln_wage ~ union + tenure - 1", apart).fit(**by_woman)
plot_beside({"exact": exact_table(exact), "private, eps = 1": private})

# %% [markdown]
# In R:
#
# ```r
# dp_lm(ln_wage ~ union + tenure | person, panel, eps = 1, unit = "person",
#       method = BoostedAdaSSP(max_rows = 6))
# ```
#
# **Conclusion.** A union job and each year in a job pay more, within the same woman. Private
# intervals are about 1.2 times as wide as the exact ones (median of 16 fits), and lead to the same
# conclusion. [Persons and periods](panels.py) continues this example.

# %%
for title, fit in (("private", private), ("exact", exact)):
    low, high = 100 * (np.exp(fit.conf_int().loc["union"]) - 1)
    print(f"Union premium, {title}: {low:.0f}% to {high:.0f}%")
cost(private, exact)

# %% [markdown]
# ## 5. Counts with exposure
#
# **Question.** Do women with more schooling have children at a lower rate? The General Social
# Survey asked 9,120 women between 1974 and 2002 how many children they had (`GSS7402` of the R
# package AER).
#
# **Model.** A Poisson regression on years of education and number of siblings. The exposure is the
# number of years since the age of 15, up to the age of 45; its logarithm is an offset.

# %%
women = pd.read_parquet(here / "births.parquet")
model = "kids ~ education + siblings"
exposure = "offset(log(minimum(age, 45) - 15))"
private = dpreg.dp_glm(f"{model} + {exposure}", women, eps=1.0, delta=1e-5, family="poisson")
years = np.log(np.minimum(women["age"], 45) - 15)
exact = smf.glm(model, women, family=sm.families.Poisson(), offset=years).fit(cov_type="HC1")
plot_beside(
    {"exact": exact_table(exact), "private, eps = 1": private}, terms=["education", "siblings"]
)

# %% [markdown]
# In R:
#
# ```r
# dp_glm(kids ~ education + siblings + offset(log(pmin(age, 45) - 15)), women, eps = 1,
#        family = poisson())
# ```
#
# **Conclusion.** Yes: each year of schooling is associated with a rate that is several percent
# lower, and women with many siblings have more children. Private intervals are about 1.3 times as
# wide as the exact ones, and in 24 fits none contained 0: 9,120 rows at eps = 1 are enough for both
# effects.

# %%
for title, fit in (("private", private), ("exact", exact)):
    low, high = np.exp(fit.conf_int().loc["education"])
    print(f"Rate ratio for one more year of schooling, {title}: {low:.2f} to {high:.2f}")
cost(private, exact)

# %% [markdown]
# ## 6. A selection from many columns
#
# **Question.** Which of 42 terms are associated with the number of visits to a doctor? The terms
# are nine columns of the experiment above and their products, except products of two grades of
# health.
#
# **Model.** A part of the budget selects four terms by their rank correlations; the rest fits a
# linear model of log(1 + visits) on them. The selection is private too, because a non-private one
# could reveal single records.

# %%
visits = sm.datasets.randhie.load_pandas().data
columns = "lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf + hlthp"
terms = f"({columns})**2 - hlthg:hlthf - hlthg:hlthp - hlthf:hlthp"
private = dpreg.dp_lm(f"log1p(mdvis) ~ {terms}", visits, 2.0, 1e-5, select="kendall", k=4)
print("Selected:", ", ".join(private.selected))
chosen = smf.ols("log1p(mdvis) ~ " + " + ".join(private.selected), visits)
exact = chosen.fit(cov_type="HC1")
plot_beside({"exact, same terms": exact_table(exact), "private, eps = 2": private})

# %% [markdown]
# In R:
#
# ```r
# terms <- log1p(mdvis) ~ (lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf + hlthp)^2 -
#   hlthg:hlthf - hlthg:hlthp - hlthf:hlthp
# dp_lm(terms, visits, eps = 2, select = "kendall", k = 4)
# ```
#
# **Conclusion.** The index of chronic diseases (`disea`) is the strongest term; the others describe
# health and the terms of the insurance. Among terms that are nearly equally good, private
# selections differ from run to run. The intervals are for the selected model.

# %%
cost(private, exact)

# %% [markdown]
# ## 7. A survey on a sensitive subject
#
# **Question.** A survey of the magazine *Redbook* asked married women in 1974 whether they had
# had an affair; these data have 6,366 answers (Fair, 1978). Who says yes? No respondent wants her
# answer to be identifiable.
#
# **Model.** A logistic regression on the rating of the marriage (1 to 5), age, years of marriage
# and religiosity (1 to 4).

# %%
women = sm.datasets.fair.load_pandas().data
model = "rate_marriage + age + yrs_married + religious"
private = dpreg.dp_glm(f"I(affairs > 0) ~ {model}", women, eps=1.0, delta=1e-5)
exact = smf.logit(f"had ~ {model}", women.assign(had=1.0 * (women["affairs"] > 0))).fit(disp=0)
plot_beside({"exact": exact_table(exact), "private, eps = 1": private})

# %% [markdown]
# In R:
#
# ```r
# dp_glm(I(affairs > 0) ~ rate_marriage + age + yrs_married + religious, women, eps = 1)
# ```
#
# **Conclusion.** The odds of an affair decrease with the rating of the marriage, with age given the
# years of marriage, and with religiosity; they increase with the years of marriage. The signs
# are the same with and without privacy.

# %%
odds = np.exp([private.params["rate_marriage"], exact.params["rate_marriage"]])
print(f"Odds ratio for one more point of the rating: private {odds[0]:.2f}, exact {odds[1]:.2f}")
cost(private, exact)

# %% [markdown]
# ## 8. Where privacy is too expensive
#
# **Question.** Engel's law: does the share of food in the budget decrease with income? Engel (1857)
# had 235 Belgian households.
#
# **Before a record is read**, `dp_plan` shows that 235 households are too few at eps = 0.1, how
# many would be enough, and which eps 235 households would need.

# %%
print(dpreg.dp_plan(n=235, d=1, eps=0.1, delta=1e-4))

# %% [markdown]
# In R:
#
# ```r
# dp_plan(n = 235, d = 1, eps = 0.1, delta = 1e-4)
# ```
#
# **Conclusion.** None, and no budget was spent. An estimate from a few hundred rows depends
# strongly on each row, which differential privacy does not allow. More rows help most: noise
# decreases as 1 / n, the sampling error only as 1 / sqrt(n).

# %% [markdown]
# ## Where the data come from
#
# `homes.parquet` has six columns of `house` of spData, whose licence is CC0. `wages.parquet` and
# `births.parquet` have columns of `CPSSW8` and `GSS7402` of AER, whose licence is GPL-2 or GPL-3;
# the surveys behind them, of the US Census Bureau and of NORC, are for public use. These two files
# keep that licence and are in the repository only: neither the wheel nor the source distribution
# contains them. `nlswork.parquet` is from the National Longitudinal Surveys of the US Bureau of
# Labor Statistics, for public use. All others come with `statsmodels`.
