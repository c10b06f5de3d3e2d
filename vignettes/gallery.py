# %% [markdown]
# # Gallery: four questions, with and without privacy
#
# Each study has a question, a model, a plot of the private and the exact intervals, a conclusion,
# and its cost. The data are public, so the exact answer can be shown here; with data that need
# protection only the private answer is available. The data come with `statsmodels` and with this
# repository: nothing is downloaded. Private numbers differ each time this page is built.
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
from dpreg.results.plots import plot_beside


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
# ## 1. A survey on a sensitive subject
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
# ## 2. A randomised experiment
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
# ## 3. A panel
#
# **Question.** What is the union wage premium within the same woman? The National
# Longitudinal Survey of Young Women interviewed 4,134 women 19,010 times in 1970 to 1988.
#
# **Model.** Log wage on union membership and years in the job, with a fixed effect of each woman.
# All interviews of a woman are protected together, and at most six of each are used.

# %%
here = Path(__file__).parent if "__file__" in globals() else Path()
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
# **Conclusion.** A union job and each year in a job pay more, within the same woman. The private
# interval of the union premium is wide: it shows that there is a premium, but not its size to a
# percentage point. [Persons and periods](panels.py) continues this example.

# %%
for title, fit in (("private", private), ("exact", exact)):
    low, high = 100 * (np.exp(fit.conf_int().loc["union"]) - 1)
    print(f"Union premium, {title}: {low:.0f}% to {high:.0f}%")
cost(private, exact)

# %% [markdown]
# ## 4. Where privacy is too expensive
#
# **Question.** Engel's law: does the share of food in the budget decrease with income? Engel (1857)
# had 235 Belgian households.
#
# **Before a record is read**, `dp_plan` shows that 235 households are too few at eps = 1, how many
# would be enough, and which eps 235 households would need.

# %%
print(dpreg.dp_plan(n=235, d=1, eps=1.0, delta=1e-4))

# %% [markdown]
# In R:
#
# ```r
# dp_plan(n = 235, d = 1, eps = 1, delta = 1e-4)
# ```
#
# **Conclusion.** None, and no budget was spent. An estimate from a few hundred rows depends
# strongly on each row, which differential privacy does not allow. More rows help most: noise
# decreases as 1 / n, the sampling error only as 1 / sqrt(n).
