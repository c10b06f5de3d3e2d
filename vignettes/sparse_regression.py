# %% [markdown]
# # Sparse coefficients, and very many columns
#
# Private Frank-Wolfe minimises squared error over coefficients with l1 norm at most `l1`. Each step
# moves towards one coefficient, selected privately, so after T steps at most T coefficients are
# nonzero. The noise of a step grows only with the logarithm of the number of columns.
#
# Run it as `python vignettes/sparse_regression.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

import time

import numpy as np
import pandas as pd
import scipy.sparse as sp
from matplotlib import pyplot as plt

import dpreg
from dpreg.mechanisms import dp_frank_wolfe

# %% [markdown]
# ## With a formula
#
# Columns are scaled to [-1, 1], privately or by public `bounds`. Coefficients are reported in the
# original units.

# %%
diamonds = dpreg.load_diamonds()
FORMULA = "price ~ carat + depth + table + x + y + z + cut + color + clarity"
fit = dpreg.dp_lm(FORMULA, diamonds, eps=1.0, delta=1e-6, method="frank_wolfe")
print(fit.params[fit.params != 0].round(2))
print(*fit.notes, sep="\n")

# %% [markdown]
# There are no standard errors, and the result has the reason:

# %%
print(fit.no_errors)

# %% [markdown]
# `l1` is public and bounds the coefficients. With `l1` = 1, moving every column from the middle to
# the end of its range changes the prediction by at most half the range of the response; a smaller
# value shrinks the coefficients, a larger one needs more noise. On these data, medians of three
# fits (R2 is **not private**; the data are public):


# %%
def explained(fit, data=diamonds):
    error = data["price"] - fit.predict(data)
    return 1 - (error**2).mean() / data["price"].var(ddof=0)


rows = []
for eps in (0.1, 1.0):
    for l1 in (0.5, 1.0, 2.0, 4.0):
        method = dpreg.FrankWolfe(l1=l1)
        fits = [dpreg.dp_lm(FORMULA, diamonds, eps, 1e-6, method=method) for _ in range(3)]
        kept = [int((f.params.drop("Intercept") != 0).sum()) for f in fits]
        rows.append({"eps": eps, "l1": l1, "R2": np.median([explained(f) for f in fits]),
                     "not 0": np.median(kept)})  # fmt: skip
print(pd.DataFrame(rows).round(3).to_string(index=False))
dense = dpreg.dp_lm(FORMULA, diamonds, 1.0, 1e-6, inference=False)
print(f"{dense.method}, all columns, eps=1: R2 {explained(dense):.3f}")

# %% [markdown]
# With 23 columns and this many rows a dense method is better. Frank-Wolfe is for many columns.
#
# ## Sparse matrices
#
# `dp_frank_wolfe` accepts a scipy sparse matrix: nothing is centred, entries are clipped to [-1, 1]
# and the response to [-l1, l1]. Below are 100,000 rows with 20,000 columns of 0 and 1: forty
# frequent words, and many rare ones. Five words matter.

# %%
rng = np.random.default_rng(1)
N, D, FREQUENT, RARE = 100_000, 20_000, 40, 10
TRUTH = np.zeros(D)
TRUTH[[3, 11, 17, 24, 38]] = [0.3, -0.25, 0.2, -0.15, 0.1]

frequent = sp.csr_array((rng.random((N, FREQUENT)) < 0.2).astype(float))
places = rng.integers(0, D - FREQUENT, (N, RARE))
rare = sp.csr_array(
    (np.ones(N * RARE), places.ravel(), np.arange(0, N * RARE + 1, RARE)), shape=(N, D - FREQUENT)
)
X = sp.csr_array(sp.hstack([frequent, rare]))
y = X @ TRUTH + 0.1 * rng.standard_normal(N)
print(f"{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} entries; "
      f"R2 of the true weights {1 - np.var(y - X @ TRUTH) / np.var(y):.3f}")  # fmt: skip

# %% [markdown]
# The number of steps is public, like l1. With few steps the fit has not converged; with many, each
# has a smaller share of eps and more noise. The R2 of the true weights is the best possible.

# %%
rows, found = [], {}
for eps in (0.3, 1.0, 3.0):
    for steps in (10, 30, 100):
        start = time.perf_counter()
        run = dp_frank_wolfe(X, y, eps, 1e-7, l1=1.0, steps=steps)
        seconds = time.perf_counter() - start
        found[eps, steps] = run
        true = np.flatnonzero(TRUTH)
        rows.append({
            "eps": eps, "steps": steps, "not 0": len(run.support),
            "of the five": len(np.intersect1d(run.support, true)),
            "R2": 1 - np.var(y - X @ run.weights) / np.var(y), "seconds": seconds,
        })  # fmt: skip
print(pd.DataFrame(rows).round(3).to_string(index=False))

# %% [markdown]
# The cost is in the certificate:

# %%
print(found[1.0, 30].privacy)

# %% [markdown]
# Weights of the frequent words, at three budgets. Steps selected by noise went mostly to rare
# words, which are the most numerous, and leave less of the l1 norm to the others.

# %%
figure, axes = plt.subplots(3, 1, figsize=(7, 6), sharex=True, sharey=True, layout="constrained")
for ax, eps in zip(axes, (0.3, 1.0, 3.0), strict=True):
    weights = found[eps, 100].weights
    ax.plot(np.flatnonzero(TRUTH), TRUTH[TRUTH != 0], "o", color="0.4", label="truth",
            fillstyle="none")  # fmt: skip
    ax.vlines(range(FREQUENT), 0, weights[:FREQUENT], color="#0072B2", linewidth=3, label="private")
    ax.axhline(0, color="0.6", linewidth=0.8)
    others = np.abs(weights[FREQUENT:]).sum()
    ax.set_title(f"eps={eps}, 100 steps; rare words hold {others:.2f} of l1 = 1", loc="left")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False, ncols=2)
axes[-1].set_xlabel("column")
