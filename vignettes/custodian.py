# %% [markdown]
# # For a custodian of data
#
# You hold records of people and let analysts publish regressions on them. This page shows a budget
# on disk, persons with several rows each, and which calls are refused and why. `budget_year.py`
# continues from here: three analysts, a crash and a dispute.
#
# Run it as `python vignettes/custodian.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

import tempfile

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import dpreg

# %% [markdown]
# ## The data
#
# The data are simulated: 40,000 people with one to nine visits each. The length of a visit depends
# on age, on the ward and on the person, so visits of one person are correlated.

# %%
rng = np.random.default_rng(1)
PEOPLE, WARDS = 40_000, ["surgery", "medicine", "maternity"]
visits_each = rng.integers(1, 10, PEOPLE)
person = np.repeat(np.arange(PEOPLE), visits_each)
age, ward = rng.uniform(18, 90, PEOPLE)[person], rng.integers(0, 3, len(person))
habit = rng.normal(0, 8, PEOPLE)[person]
visits = pd.DataFrame({
    "minutes": 20 + 0.3 * age + 5 * (ward == 1) + habit + rng.normal(0, 6, len(person)),
    "age": age,
    "ward": pd.Categorical.from_codes(ward, WARDS),
    "person": person,
})  # fmt: skip
print(f"{len(visits):,} visits")

# %% [markdown]
# ## A budget on disk
#
# The file is created on first use, and every charge is written to it before a record is read. All
# processes that open the file share the budget; a charge stands even if its process is killed. Keep
# the file where analysts cannot write.

# %%
folder = tempfile.TemporaryDirectory()
LEDGER = f"{folder.name}/visits.ledger"
budget = dpreg.Budget(eps=3.0, delta=1e-6, ledger=LEDGER)
print(budget)

# %% [markdown]
# ## The unit is a person
#
# Without `unit=` only single visits are protected, and the effective eps of a person with nine
# visits is nine times as large. With `unit="person"` all rows of a person are protected together.
# The unit must be given before a release, and is recorded in its certificate.
#
# **With TukeyEM this costs nothing**: persons, not visits, are assigned to the small fits, so that
# all rows of a person are in one of them. Standard errors then also allow for correlation among the
# visits of a person.

# %%
FORMULA = "minutes ~ age + ward"
by_person = dpreg.dp_lm(FORMULA, visits, 1.0, 1e-7, method="tukey", unit="person", budget=budget)
print(by_person.summary())

# %% [markdown]
# **Methods that sum over rows need a public bound on the number of rows per person**, `max_rows`.
# From persons with more visits a random sample of `max_rows` is used. A larger bound keeps more
# rows but needs more noise, and additional visits of one person add little information where they
# are strongly correlated.

# %%
fits = {"tukey": by_person}
for most in (1, 2, 4):
    method = dpreg.BoostedAdaSSP(max_rows=most)
    fits[f"max_rows={most}"] = dpreg.dp_lm(
        FORMULA, visits, 0.5, 1e-7, method=method, unit="person", budget=budget
    )
print(dpreg.compare(fits))

# %%
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for place, fit in enumerate(fits.values()):
    ax.hlines(place, *fit.conf_int().loc["age"], color="#0072B2", linewidth=5)
    ax.plot(fit.params["age"], place, "o", color="black", markersize=4)
ax.axvline(0.3, color="0.6", linewidth=0.8, zorder=0)
ax.set_yticks(range(len(fits)), list(fits))
ax.set_ylim(len(fits) - 0.5, -0.5)
ax.set_xlabel("effect of a year of age, in minutes")
ax.set_title("95% intervals, and the truth", loc="left")
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# The last line of the table counts persons for TukeyEM and sampled rows for the others. The
# standard errors of the others are clustered: the scores of a person are summed before their
# variance is estimated. Twelve simulations compare the true error with the reported one, to within
# about 20%:


# %%
def alike(method, runs=12):
    """Return the root mean square error of the coefficient of age, in standard errors."""
    found = []
    for _ in range(runs):
        habits = rng.normal(0, 8, PEOPLE)[person]
        ages = rng.uniform(18, 90, PEOPLE)[person]
        minutes = 20 + 0.3 * ages + habits + rng.normal(0, 6, len(person))
        data = visits.assign(age=ages, minutes=minutes)
        fit = dpreg.dp_lm("minutes ~ age", data, 1.0, 1e-7, method=method, unit="person")
        found.append((fit.params["age"] - 0.3) / fit.bse["age"])
    return np.sqrt(np.mean(np.square(found)))


for most in (1, 9):
    ratio = alike(dpreg.BoostedAdaSSP(max_rows=most))
    print(f"max_rows={most}: true error over the reported one, about {ratio:.2f}")

# %% [markdown]
# ## What was spent

# %%
for charge in budget.charges:
    print(f"{charge.label:58} eps={charge.epsilon:g}, delta={charge.delta:g}")
budget.plot()

# %% [markdown]
# ## Strata
#
# Each person lives in one town. If the towns are declared, and therefore public, fits for all towns
# together cost only as much as the most expensive of them. Each call takes the whole table and uses
# the rows of its town. A person with visits in two towns would be excluded from every fit, and no
# result would reveal it. The ledger records which column divides the budget.

# %%
TOWNS = ["Aldham", "Burton"]
homes = visits.assign(town=rng.choice(TOWNS, PEOPLE)[person])
towns = dpreg.Budget(eps=1.0, delta=1e-6).partition("town", levels=TOWNS)
for town, payer in towns.items():
    fit = dpreg.dp_lm("minutes ~ age", homes, 0.9, unit="person", budget=payer)
    print(f"{town}: {fit.params['age']:.2f} ({fit.bse['age']:.2f})")
whole = towns["Aldham"].budget
print(whole)
assert whole.spent[0] == 0.9

# %% [markdown]
# ## What is refused
#
# Each of these calls raises a `ValueError` that names the argument and says what to write instead.
# It is raised before a record is read, so it reveals nothing about any person and costs nothing.


# %%
def refused(**arguments):
    formula = arguments.pop("formula", FORMULA)
    try:
        dpreg.dp_lm(formula, arguments.pop("data", visits), **{"eps": 0.2, **arguments})
    except ValueError as error:
        print(f"- {type(error).__name__}: {error}\n")
    else:
        raise AssertionError("this should have been refused")


refused(eps=1.0, delta=1e-7, budget=budget)  # more than is left
refused(formula="minutes ~ scale(age)")  # its mean is a function of the records
refused(data=visits.assign(ward=visits["ward"].astype(str)))  # levels would be read off the data
refused(unit="patient")  # no such column
refused(unit="person", select="kendall", k=9)  # more columns than there are
refused(delta=0.0, method="adassp")
assert len(budget.charges) == 4

# %% [markdown]
# Opening the ledger again with larger totals is refused too:

# %%
try:
    dpreg.Budget(eps=30.0, delta=1e-6, ledger=LEDGER)
except ValueError as error:
    print(str(error).replace(folder.name, "..."))
print(dpreg.Budget(eps=3.0, delta=1e-6, ledger=LEDGER))
folder.cleanup()
