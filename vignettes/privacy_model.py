# %% [markdown]
# # The privacy model
#
# What dpreg guarantees, to whom, under which assumptions, and what it does not guarantee. Each
# statement names its proof or test. Run it as `python vignettes/privacy_model.py`, or open it as a
# notebook (percent format).

# %%
from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import dpreg
from dpreg.audit import CHECKS, Effort, replay

diamonds = dpreg.load_diamonds()

# %% [markdown]
# ## The guarantee
#
# A result of `dp_lm` or `dp_select` is (eps, delta)-differentially private: for any two data sets
# that differ by the addition or removal of one **unit**, and any set S of results, Pr[result in S]
# is at most e^eps times the same probability for the other data set, plus delta. A unit is a row,
# or all rows of one person when `unit=` names a column. The guarantee holds whatever else an
# attacker knows, all other records included.
#
# Every result has a certificate with the budget, the noise of each part and what was treated as
# public.

# %%
fit = dpreg.dp_lm("price ~ carat + depth", diamonds, eps=1.0, method="adassp")
print(fit.privacy)

# %% [markdown]
# eps bounds what anybody can learn about one unit *because that unit took part*. Suppose that
# before the release someone believes with odds 1:1 that you are in the data; after it the odds are
# at most e^eps : 1, except for events of probability delta. It does not prevent inferences about
# you from general facts, which would be the same without your data.

# %%
for eps in (0.1, 0.5, 1.0, 3.0):
    print(f"eps = {eps}: odds of 1:1 become at most {np.exp(eps):.2f}:1")

# %% [markdown]
# ## What is public, what is private
#
# Public: the formula, the names, types and declared levels of columns, eps, delta, and every
# option, bounds included. Private: every value, **and the number of rows**. `nobs` is a noisy
# count, paid for from the budget.
#
# Most containers declare types; a Python list does not, so it is read as numbers unless `levels=`
# is given, whatever its contents, and a note says so. Levels are declared by `levels=`, by an
# explicit `pd.CategoricalDtype([...])`, or by a polars `Enum`. A pandas category made with
# `astype("category")` lists what occurs in the data and cannot be distinguished from a declared
# one, so a note names it. An Arrow dictionary, in memory or in a Parquet file, declares nothing: it
# lists what occurred when it was written. A reader that infers types (`read_csv`) may turn a
# numeric column into text because of one value: pass it the types.

# %%
text = pd.DataFrame({"price": diamonds["price"], "cut": diamonds["cut"].astype(str)})
try:
    dpreg.dp_lm("price ~ cut", text, eps=1.0)
except ValueError as error:
    print(error)

# %% [markdown]
# ## Nothing else depends on the data
#
# No exception, warning, log line or shape depends on a value or on the number of rows; a mechanism
# that declines returns `NotReleased`, which is one of its outputs and is paid for like any other. A
# row with a missing or infinite value is dropped, and extreme values are clipped.
# tests/test_hostile.py and the fuzzers of tests/fuzz look for violations.

# %%
hostile = diamonds.assign(carat=np.where(diamonds.index == 0, 1e308, diamonds["carat"]))
with warnings.catch_warnings():
    warnings.simplefilter("error")
    for data in (hostile, diamonds.iloc[:0], diamonds.iloc[:1]):
        print(bool(dpreg.dp_lm("price ~ carat", data, eps=1.0)))

# %% [markdown]
# ## Many releases
#
# Guarantees add up: ten releases at eps = 0.1 cost eps = 1 together. A `Budget` keeps the total,
# charges before a record is read, and refuses what it cannot cover. With a file, the budget is
# shared by processes; the file is written before the release that a charge pays for, so the charge
# of a killed process remains spent. Steps within one call are composed by Gaussian differential
# privacy or by privacy loss distributions where these are tighter.

# %%
with tempfile.TemporaryDirectory() as folder:
    budget = dpreg.Budget(1.0, 1e-5, ledger=Path(folder) / "ledger")
    dpreg.dp_lm("price ~ carat", diamonds, eps=0.7, budget=budget)
    try:
        dpreg.dp_lm("price ~ carat", diamonds, eps=0.7, budget=budget)
    except dpreg.BudgetError as error:
        print(error)

# %% [markdown]
# The ledger detects a changed, inserted or missing entry in its middle by a chain of hashes.
# Entries removed from its end, an older copy in its place or a deleted file are detected only by a
# process that has seen the entries: anyone who can write the file can spend again. Keep it where
# analysts cannot write.
#
# ## Randomness
#
# Noise comes from ChaCha20, keyed by the operating system, with a new key for each call and again
# after a fork; without entropy an `EntropyError` is raised and nothing is released. With `rng=` an
# integer the result can be reproduced by anyone who has the integer, so it is **not private**, and
# every form of it says so.

# %%
print(dpreg.dp_lm("price ~ carat", diamonds, eps=1.0, rng=1).privacy.claim)

# %% [markdown]
# ## Arithmetic
#
# Noise is added to integers, by samplers that are exact in integers
# (cpp/src/noise/discrete_gaussian.md). Sums are exact and independent of order and thread count;
# coefficients of TukeyEM are points of a public grid drawn by integer uniforms. So the low bits of
# a double, which reveal additive noise in other implementations, reveal nothing here.
#
# ## What is idealised
#
# - The 64-bit words of ChaCha20 are assumed independent and uniform, and the entropy from the
#   operating system fresh.
# - `exp`, `expm1`, `log` and `log1p` of the C library are assumed accurate to 1 unit in the last
#   place in the weights of the exponential mechanism; the rounding error is bounded and paid for
#   (cpp/src/mechanisms/tukey_em.md, section 6; bounded_choice.md).
# - The canonical Lipschitz mechanism draws its noise as a logarithm in double precision
#   (canonical_lipschitz.md).
# - scipy's `log_ndtr` is assumed accurate to 1e-10, and dp-accounting's privacy loss distributions
#   are assumed to be upper bounds, as documented.
# - Each proof names its idealisations with its assumptions.
#
# ## Out of scope
#
# - **Time, memory, power, caches.** Fits of neighbouring data sets take about the same time, and
#   `make audit` prints the difference, but nothing is guaranteed. `dpreg.padded(seconds)` makes the
#   duration of calls a multiple of a public time.
# - **Access to the process or the disk.** Records are in memory during a call.
# - **Queries beyond the ledger.** A budget limits only the releases that are charged to it. An
#   analyst who has the data can compute anything without dpreg.
# - **Decisions made by looking at the data**: a formula, levels or bounds that were chosen from the
#   records are not public. Nor is `n` in "delta = 1 / n" if n is known from the records only.
# - **Groups.** Two units together are protected at 2 eps, and so on; correlated units (a family)
#   are a group.
# - **Predictions for new rows** are post-processing; the new rows themselves are not protected.
#
# ## How it is checked
#
# `dpreg audit` runs three kinds of audit on the installed package: exact distributions over all
# neighbours of small worlds; runs of the shipped functions with a Clopper-Pearson lower bound on
# the privacy loss between neighbours; and replays in which both neighbours take the same public
# path, so that the loss of each stage is measured and anything that is not a function of released
# numbers is detected. Two of them:

# %%
for name in ("choice worlds", "adassp"):
    finding = CHECKS[name].run(Effort(0.1, 1))
    print(
        finding.mechanism, finding.how, f"claimed {finding.epsilon}, at least {finding.lower:.3f}"
    )
    assert finding.holds

# %% [markdown]
# ### Replays
#
# `dpreg audit --replay --pairs 5000 --json replay.json` makes random calls of all public functions
# (families, weights, offsets, bounds, factors with rare levels, units of several rows, panels,
# strata, selections) on small random tables, in memory, in Parquet files or in partitions. Each
# call is repeated on a neighbouring table with one unit more or less: an extreme row, a missing
# value, an undeclared level, a person with six rows. The second call receives the numbers that the
# first one released, so both take the same public path. Then
#
# - every exact sum may differ by at most the sensitivity that its noise was calibrated to;
# - the releases, their noise scales and the final result must be equal;
# - the privacy loss of all parts together may be at most epsilon.
#
# A third call, on an unrelated table, receives the same released numbers and must return the same
# result, so anything computed from exact numbers instead of released ones is detected.
#
# Any noise can occur, so every path must be safe: some replays release sums as if the table were
# 100,000 times as large, some without noise, and some with four times the noise. Where the analysis
# assumes it, random draws are coupled: for units in both tables the same rows are sampled, and they
# are in the same models and in the same samples of DP-SGD, whose steps are repeated row by row. A
# failure is reduced to a few rows and printed with the call. The report can be filed: it has the
# version, the seed, the number of pairs per call and option, and the largest change per release. A
# run that is stopped reports the pairs completed so far, and `--first` continues from there.

# %%
replayed = replay(5, seed=1)
print(replayed)
assert replayed.holds

# %% [markdown]
# A change of exactly 1 is the sensitivity itself. A replay covers sums and their accounting; the
# noise distributions are the subject of the other audits.
#
# ### Whole calls as black boxes
#
# `dpreg audit --black-box --full` calls each method thousands of times on two tables that differ in
# one row, the canary, and guesses from each result which table was used. The attacker knows the
# code and all other rows. The share of correct guesses bounds mu of Gaussian differential privacy
# from below, and so eps at delta; if the noise is not Gaussian, the probabilities of one event give
# the bound. The tables are chosen so that the canary moves the result by as much as any row can. A
# bound of at least half of eps shows that the audit would have noticed a method with half of its
# noise.
#
# The claim is eps = 1. Each bound holds with probability 0.99; tests/audit/report.md has the
# numbers of runs and the options.
#
# | call | delta | eps is at least |
# |---|---|---|
# | `dp_lm()` | 1e-5 | 0.66 |
# | `dp_lm(method=AdaSSP(...), inference=False)` | 1e-5 | 0.54 |
# | `dp_lm(method=BoostedAdaSSP(rounds=1), inference=False)` | 1e-5 | 0.58 |
# | `dp_lm(method=DPSGD(steps=20))` | 1e-5 | 0.63 |
# | `dp_lm(method=TukeyEM(count_share=0.9))` | 1e-5 | 0.81 |
# | `dp_glm(family="binomial")` | 0.01 | 0.77 |
# | `dp_glm(family="gamma")` | 0.01 | 0.66 |
# | `dp_glm(family="negativebinomial")` | 0.01 | 0.65 |
# | `dp_glm(family="quantile")` | 0.01 | 0.57 |
# | `dp_effect(method="difference")` | 0.01 | 0.71 |
# | `dp_survival()` | 0.01 | 0.52 |
# | `dp_ordinal()` | 0.01 | 0.58 |
# | `dp_multinomial()` | 0.01 | 0.53 |
# | `dp_moments()` | 1e-5 | 0.79 |
# | `dp_curve()` | 0 | 0.89 |
# | `dp_test()` | 0 | 0.88 |
# | `dp_select(method=TwoStage(models=6))` | 0 | 0.72 |
# | `mechanisms.dp_kendall()` | 0 | 0.73 |
# | `mechanisms.dp_sis(k=2)` | 0 | 0.53 |
# | `mechanisms.sub_lasso()` | 0 | 0.78 |
# | `mechanisms.dp_frank_wolfe()`, of its rho | 1e-5 | 0.53 |
#
# An audit must be able to fail: tests/audit/mutants has 180 defects, including those of published
# papers and code, and the audit must reject each of them. `vignettes/errors_found.py` lists their
# sources.
#
# `make audit` does all this at full size, and also runs fuzzers, test batteries on the random
# number generator, a ledger under kill -9, and timings of fits of neighbouring data sets. Its
# report is tests/audit/report.md.
#
# ## Reporting a flaw
#
# See .github/SECURITY.md: privately, with a script on simulated data.
