# %% [markdown]
# # Do the intervals hold on real data?
#
# Where a model is true, [simulations](coverage.py) show that 95% intervals cover in 95% of samples.
# Real tables have no true model. They have a least-squares fit, however, which is what `lm()` would
# report. So treat a real table as the population, draw rows from it, call `dp_lm` with all defaults
# on the sample, and count how often the intervals contain the least-squares slopes of the whole
# table.
#
# ## Diamonds
#
# Twelve samples of 20,000 diamonds, three models.

# %%
from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import statsmodels.formula.api as smf
from matplotlib import pyplot as plt

import dpreg

EPS, DELTA, N, SAMPLES = 1.0, 1e-6, 20_000, 12
diamonds = dpreg.load_diamonds()
MODELS = {
    "one regressor": "price ~ carat",
    "logarithms": "np.log(price) ~ np.log(carat) + depth + table",
    "a factor": "np.log(price) ~ C(clarity) + np.log(carat)",
}


def intervals(formula, seed):
    """Return estimates and half widths from one sample."""
    rng = np.random.default_rng(seed)
    sample = diamonds.iloc[rng.integers(0, len(diamonds), N)].reset_index(drop=True)
    private = formula.replace("np.", "").replace("C(clarity)", "clarity")
    fit = dpreg.dp_lm(private, sample, EPS, DELTA, rng=seed)
    return fit.params.to_numpy()[1:], 1.96 * fit.bse.to_numpy()[1:]


drawn = {}
for name, formula in MODELS.items():
    truth = smf.ols(formula, diamonds).fit().params.to_numpy()[1:]
    found = [intervals(formula, seed) for seed in range(SAMPLES)]
    drawn[name] = truth, np.array(found)
    # A slope that cannot be told at this eps has no interval.
    half = drawn[name][1][:, 1]
    told = np.isfinite(half)
    covered = (np.abs(drawn[name][1][:, 0] - truth) <= half)[told].mean()
    print(f"{name:>13}: {len(truth)} slopes, {covered:.0%} of {told.sum()} intervals cover; "
          f"{(~told).sum()} slopes without one")  # fmt: skip

# %% [markdown]
# The slope of `log(carat)` in each sample, and the least-squares slope of all diamonds:

# %%
truth, found = drawn["logarithms"]
ax = plt.subplots(figsize=(6, 3), layout="constrained")[1]
ax.axhline(truth[0], color="0.6", linewidth=1)
ax.errorbar(range(1, SAMPLES + 1), found[:, 0, 0], found[:, 1, 0], fmt="o", markersize=3)
ax.set(xlabel="sample", ylabel="slope of log(carat)", xticks=range(1, SAMPLES + 1))
ax.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# ## Fifteen tables
#
# The same for fifteen public tables with all their numeric columns, untransformed, made by
# `tests/benchmarks/bench_populations.py`. "Least squares" is the coverage of the least-squares
# slopes of the table, "within" the coverage when `clipping`, the largest effect of clipping, is
# added on both sides, and "named" the coverage of the estimand of the fit: the slopes of the whole
# table with the same clipping thresholds. "Contrasts" are random combinations of slopes, "none" is
# the share of slopes without a standard error, "reach" the largest `clipping` in standard errors,
# and "width" the width of an interval relative to least squares with sandwich standard errors.

# %%
here = Path(__file__).parent if "__file__" in globals() else Path()
with (here / "populations.csv").open() as file:
    rows = [
        {key: value if key == "population" else float(value) for key, value in row.items()}
        for row in csv.DictReader(file)
    ]
sizes = sorted({row["n"] for row in rows})
for n in sizes:
    print(f"\nn = {n:,.0f}, eps = 1\n")
    print(f"{'population':>20} slopes  least squares within  named   contrasts  named   none  "
          "reach  width")  # fmt: skip
    for row in rows:
        if row["n"] == n:
            print(f"{row['population']:>20} {row['slopes']:6.0f} {row['covered']:14.2f} "
                  f"{row['within']:6.2f} {row['named']:6.2f} {row['contrasts']:11.2f} "
                  f"{row['contrasts_named']:6.2f} {row['blank']:6.2f} {row['reach']:6.1f} "
                  f"{row['width']:6.2f}")  # fmt: skip

# %%
figure, panels = plt.subplots(
    1, len(sizes), figsize=(8, 4), sharey=True, layout="constrained", squeeze=False
)
order = sorted((row for row in rows if row["n"] == sizes[0]), key=lambda row: row["covered"])
names = [row["population"] for row in order]
for ax, n in zip(panels[0], sizes, strict=True):
    of = {row["population"]: row for row in rows if row["n"] == n}
    ax.axvline(0.95, color="0.8", linewidth=1)
    for key, mark, label in (("covered", "o", "least squares"), ("named", "x", "named")):
        ax.plot([of[name][key] for name in names], names, mark, markersize=5, label=label)
    ax.set(title=f"n = {n:,.0f}", xlabel="share of intervals that cover", xlim=(-0.03, 1.03))
    ax.spines[["top", "right"]].set_visible(False)
panels[0][0].legend(frameon=False, loc="lower left")

# %% [markdown]
# ## Where they miss
#
# Least squares follows its most influential rows. In `diamonds` with all columns a few stones whose
# width or depth was mistyped determine the slopes of `y` and `z`; in `keggdirected` and `house_8L`
# one row in a hundred has most of the leverage. No private method can follow single rows; that is
# the guarantee. So the scores of such rows are clipped, and the summary says "Estimand: clipped
# least squares", with a note if noisy counts show that rows were clipped and that it matters;
# mostly there are too few to be counted. The interval is for that estimand ("named" above: the
# whole table with the same thresholds, without noise), and `tidy()["clipping"]` is the distance of
# least squares from it, estimated from noisy counts ("within"). Where a few rows hidden by the
# noise determine a slope, as in `abalone` with two mistyped heights, no private method can detect
# it: one row can change a slope of least squares by any amount. The same holds for a cubic in
# carats, which is determined by a handful of stones of four and five carats. Least squares, least
# squares without the ten most influential stones, and a private fit of all:

# %%
cubic = smf.ols("price ~ carat + I(carat ** 2) + I(carat ** 3)", diamonds).fit()
pull = np.sqrt(cubic.get_influence().hat_matrix_diag) * np.abs(cubic.resid)
without = smf.ols(cubic.model.formula, diamonds.drop(index=pull.nlargest(10).index)).fit()
private = dpreg.dp_lm("price ~ poly(carat, 3, raw=True)", diamonds, EPS, DELTA, rng=1)
for name, of_all, of_most, ours, error in zip(
    ("Intercept", "carat", "carat^2", "carat^3"),
    cubic.params, without.params, private.params, private.bse, strict=True,
):  # fmt: skip
    print(f"{name:>9} {of_all:10,.0f} {of_most:10,.0f} {ours:10,.0f} (std err {error:,.0f})")

# %% [markdown]
# What helps is what helps in any regression: logarithms of skewed columns, public limits beyond
# which values must be errors (`bounds=`), and leaving out redundant columns.
