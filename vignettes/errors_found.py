# %% [markdown]
# # Errors found in papers and code
#
# While this package was written, the algorithms it implements were re-derived, and public
# implementations of private linear regression were read and run. This page lists those found to
# give less privacy than stated, each with a counterexample that runs. It is not a judgement of the
# authors: these mechanisms are easy to get wrong, a first version of this package had errors too,
# and most of the slips are a factor of 2 or one forgotten term. The versions are those of November
# 2026 or earlier; some errors may have been corrected since.
#
# Each counterexample is a function that returns the claimed value and the true one.
# tests/test_vignettes.py asserts them, and tests/audit/mutants puts the same defects into dpreg,
# where the audit must reject them.

# %%
from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import stats

from dpreg.privacy.gdp import gdp_delta, gdp_epsilon


def show(*findings):
    for found in findings:
        print(", ".join(f"{name}: {value:.4g}" for name, value in found.items()))


# %% [markdown]
# ## TukeyEM (Amin, Joseph, Ribero and Vassilvitskii, 2023) and its reference code
#
# **Weight of a region.** Depth is not monotone when a model is replaced: it moves by 1 in either
# direction. The exponential mechanism then needs exp(eps q / 2); the main text and the code use
# exp(eps q). If the models {0, c} on [0, 1], c small, are replaced by {c, 1}, the log ratio at a
# deep point tends to 2 eps.


# %%
def tukey_weight(eps=1.0, c=1e-6):
    def density_at_c(low, high):
        # Between the two models depth is 1, outside it is 0.
        inside, outside = (high - low) * math.exp(eps), 1 - (high - low)
        return np.array([math.exp(eps), 1.0]) / (inside + outside)

    first, second = density_at_c(0.0, c), density_at_c(c, 1.0)
    # A point between 0 and c: deep for {0, c}, outside for {c, 1}.
    return {"claimed": eps, "true": math.log(first[0] / second[1])}


show(tukey_weight())

# %% [markdown]
# **Scale of the test.** The reference code adds Laplace(scale = eps) where 1 / eps is meant. A
# distance moves by 1, so the outcome of the test alone has a privacy loss of 1 / eps. At eps =
# ln(3) / 2:


# %%
def laplace_scale():
    eps = math.log(3) / 2
    # Pass when distance + noise > 10; distances 8 and 9.
    law = stats.laplace(scale=eps)
    passes = [law.sf(10 - distance) for distance in (8, 9)]
    return {"claimed": eps, "true": math.log(passes[1] / passes[0])}


show(laplace_scale())

# %% [markdown]
# **Batches of int(n / m) rows.** When n crosses a multiple of m, all batches change, not one.


# %%
def batches(n=1199, m=100):
    def split(rows):
        size = rows // m
        return [tuple(range(g * size, (g + 1) * size)) for g in range(m)]

    changed = sum(a != b for a, b in zip(split(n), split(n + 1), strict=True))
    return {"claimed": 1, "true": changed}


show(batches())

# %% [markdown]
# ## DPKendall (Dick, Gillenwater and Joseph, 2023), reference code
#
# The paper's sensitivity of 3/2 is correct for (C - D) / (n - 1). The code uses scipy's tau_b,
# whose denominator leaves ties out: if a column is nearly constant, one row moves (n / 2) tau_b by
# sqrt(n / 2). The tau_b of a constant column is NaN, which argsort puts last, so such a column is
# chosen with probability 1.


# %%
def tau_b(n=10_000):
    y = np.arange(n)
    column = np.zeros(n)
    column[-1] = 1.0  # the only row that is not 0
    score = [n / 2 * abs(stats.kendalltau(column[:k], y[:k]).statistic) for k in (n - 1, n)]
    chosen = int(np.argsort([0.9, float(score[0])])[-1])
    return {"claimed": 1.5, "true": score[1], "constant column": score[0], "chosen": chosen}


with np.errstate(all="ignore"):
    show(tau_b(1000))

# %% [markdown]
# ## Report noisy maximum with Laplace(Delta / eps)
#
# This is correct if all scores move in the same direction. If one may go up while another goes
# down, the privacy loss is up to 2 eps. Two candidates whose scores (0, s) become (Delta, s -
# Delta):


# %%
def noisy_maximum(eps=1.0):
    def first_wins(gap):
        # Pr[X - Y > gap], X and Y Laplace of scale 1 / eps.
        tail = math.exp(-eps * abs(gap)) * (1 + eps * abs(gap) / 2) / 2
        return tail if gap >= 0 else 1 - tail

    true = max(abs(math.log(first_wins(s) / first_wins(s - 2))) for s in np.linspace(2, 60, 117))
    return {"claimed": eps, "true": true}


show(noisy_maximum())

# %% [markdown]
# ## Canonical Lipschitz mechanism with eps / (2 Delta) for each unit of gap (Swope et al., 2024)
#
# A gap is a difference of two scores, so it moves by up to 2 Delta. If scores can move in both
# directions, the coefficient must be eps / (4 Delta). Computed exactly over all score vectors on a
# small grid (with Gumbel noise the mechanism is an exponential one):


# %%
def canonical_gap(eps=1.0, candidates=4, k=2):
    sets = list(itertools.combinations(range(candidates), k))

    def log_law(scores, rate):
        top = sorted(scores, reverse=True)[k - 1]
        gaps = []
        for chosen in sets:
            outside = max(s for j, s in enumerate(scores) if j not in chosen)
            gaps.append(max(top, outside) - min(scores[j] for j in chosen))
        weights = -rate * np.array(gaps)
        return weights - math.log(np.exp(weights).sum())

    def worst(rate):
        found = 0.0
        for scores in itertools.product(range(0, 13, 3), repeat=candidates):
            here = log_law(scores, rate)
            for change in itertools.product((-1, 1), repeat=candidates):
                other = [s + c for s, c in zip(scores, change, strict=True)]
                found = max(found, np.abs(here - log_law(other, rate)).max())
        return found

    return {"claimed": eps, "true": worst(eps / 2), "with eps / (4 Delta)": worst(eps / 4)}


show(canonical_gap())

# %% [markdown]
# ## Screening for the Lasso (Khanna et al., 2025)
#
# **Sensitivity.** The paper bounds the change of a product by the product of the changes of its
# factors, which gives 4 lambda (1 + lambda) / n. But one row can move the score by
# 2 lambda (1 + lambda) / sqrt(n): take n rows with x = 1, y = lambda and w = lambda, and add one
# row with y = -lambda.


# %%
def screening_sensitivity(n=3000, bound=50.0):
    def score(y):
        x, rows = np.ones(len(y)), len(y)
        r = x * bound - y
        slack = max(0.0, x * bound @ r + bound * abs(x @ r))
        lengths = np.linalg.norm(x) + np.linalg.norm(x * bound)
        return (abs(x @ r) + x * bound @ r + lengths * math.sqrt(slack)) / rows

    y = np.full(n, bound)
    change = abs(score(np.append(y, -bound)) - score(y))
    return {"claimed": 4 * bound * (1 + bound) / n, "true": change}


show(screening_sensitivity())

# %% [markdown]
# **Soundness.** The rule is valid for the l1-ball of radius 1 only. For X = I, y = (2, 2) and
# lambda = 2 the optimum is (1, 1), and both of its coordinates are screened out.


# %%
def screening_soundness():
    w, y, bound = np.ones(2), np.full(2, 2.0), 2.0
    r = w - y
    slack = w @ r + bound * np.abs(r).max()
    scores = (np.abs(r) + w @ r + (1 + np.linalg.norm(w)) * math.sqrt(slack)) / 2
    return {"claimed": 0, "true": int((scores < 0).sum())}


show(screening_soundness())

# %% [markdown]
# ## Boosted AdaSSP, one public code: sigma = mu
#
# The parameter mu of Gaussian differential privacy is used as the scale of the noise, where 1 / mu
# is meant, and the T rounds, X'X and its smallest eigenvalue are not composed. With T = 100 and
# delta = 1e-6:


# %%
def sigma_is_mu(sigma=0.237, releases=102, delta=1e-6):
    return {"claimed": 1.0, "true": gdp_epsilon(math.sqrt(releases) / sigma, delta)}


show(sigma_is_mu())

# %% [markdown]
# ## Classical Gaussian scale beyond eps = 1
#
# The scale sqrt(2 ln(1.25 / delta)) / eps is proved for eps below 1. At eps = 20 the true delta is
# larger than the stated one:


# %%
def classical_gaussian(eps=20.0, delta=1e-5):
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / eps
    return {"claimed": delta, "true": gdp_delta(1 / sigma, eps)}


show(classical_gaussian())

# %% [markdown]
# ## The same seed for every query
#
# `random_state=int` seeds each query anew. Two queries with different eps then have the same noise
# at two scales, and two linear equations give the exact sum without knowledge of the seed.


# %%
def one_seed(seed=42, total=12345.678):
    released = [
        total + scale * np.random.default_rng(seed).standard_normal() for scale in (413.0, 206.5)
    ]
    recovered = 2 * released[1] - released[0]
    return {"claimed": 413.0, "true": abs(recovered - total)}


show(one_seed())

# %% [markdown]
# ## Clipping left out, a sensitivity of 0, bounds from the data
#
# One library clips only if there is an intercept; without one, the sum of squares moves by x^2 for
# any x. Another uses the lower bound twice in the sensitivity of the diagonal of X'X, which is then
# 0 for bounds (0, 100) instead of 10,000. A third takes lambda_min(X'X), column ranges and row
# norms from the data, so that the scale of the noise itself reveals one row.


# %%
def clipping_skipped(bound=1.0, x=1e4):
    return {"claimed": bound**2, "true": x**2}


def sensitivity_of_the_diagonal(low=0.0, high=100.0):
    return {"claimed": low * low, "true": max(low * low, high * high)}


def noise_scale_from_the_data():
    x = np.linspace(-1, 1, 100)
    scales = [np.ptp(v) ** 2 for v in (x, np.append(x, 1e6))]
    return {"claimed": 1.0, "true": scales[1] / scales[0]}


show(clipping_skipped(), sensitivity_of_the_diagonal(), noise_scale_from_the_data())

# %% [markdown]
# ## An intercept that is not charged
#
# The means of the d columns cost eps / (d + 1) in total, the mean of y costs eps / (d + 1), and the
# rest costs eps d / (d + 1): for d = 1 that is 1.5 eps.


# %%
def intercept_budget(d=1, eps=1.0):
    return {"claimed": eps, "true": eps / (d + 1) + eps / (d + 1) + eps * d / (d + 1)}


show(intercept_budget())

# %% [markdown]
# ## Curvature of the logistic loss (diffprivlib 0.6.6)
#
# Objective perturbation (Chaudhuri, Monteleoni and Sarwate, 2011) has to account for the curvature
# that a row adds to the objective, a quarter of its squared norm. `LogisticRegression` allows for a
# quarter of `data_norm`, not of its square, so its guarantee holds only for rows of norm 1. (It
# also leaves the intercept unpenalised, while the proof needs a penalty on every coefficient.)
# Compare a table of one row, x = 10 and y = 1, with x = 0: the density of the coefficient at 0 is
# the density of the linear term that makes 0 the minimum, times the curvature there.


# %%
def logistic_curvature(eps=3.0, norm=10.0):
    left = eps - 2 * math.log1p(norm / 4)
    slope, scale = norm / 2, 2 * norm / left
    return {"claimed": eps, "true": math.log1p(norm**2 / 4) - slope / scale}


show(logistic_curvature())

# %% [markdown]
# ## Fixed effects before clipping
#
# Group means are computed from raw values, and only one row is accounted for. In a group of 100 a
# row also moves the other 99, before anything is clipped.


# %%
def fixed_effects(rows=100, bound=2.0, value=1e3):
    def sum_of_squares(x):
        return float((np.clip(x - x.mean(), -bound, bound) ** 2).sum())

    x = np.zeros(rows)
    return {"claimed": bound**2, "true": sum_of_squares(np.append(x, value)) - sum_of_squares(x)}


show(fixed_effects())

# %% [markdown]
# ## Pairs of rows when the number of rows is odd
#
# A Theil-Sen estimator drops the last row before pairing if the number of rows is odd. Removing a
# row from an even number breaks its own pair and, since another row is then dropped, up to one
# more. Only one pair is accounted for.


# %%
def odd_pairs():
    def pairs(rows):
        used = rows[: len(rows) - len(rows) % 2]
        half = len(used) // 2
        return {frozenset(pair) for pair in zip(used[:half], used[half:], strict=True)}

    full, without = list("abcdef"), list("bcdef")
    # Over all pairings of "bcde" that share as much as they can with those of "abcdef".
    fewest = min(
        len(pairs(full) - {frozenset(p) for p in zip(o[::2], o[1::2], strict=True)})
        for o in itertools.permutations(without[:4])
    )
    return {"claimed": 1, "true": fewest}


show(odd_pairs())

# %% [markdown]
# ## Floating-point noise
#
# Laplace noise is drawn as a double and added to a double. Small results that are not a multiple of
# 2^-53 occur when the true value is 0 but cannot occur when it is 1, so one such result
# distinguishes the two.


# %%
def low_bits(draws=20_000):
    noise = np.random.default_rng(1).laplace(size=(2, draws))
    odd = []
    for truth, x in zip((0.0, 1.0), noise, strict=True):
        out = truth + x
        small = out[np.abs(out) < 0.25]
        odd.append(int((np.ldexp(small, 53) % 1 != 0).sum()))
    return {"claimed": 0, "true": odd[0], "the other side": odd[1]}


show(low_bits())

# %% [markdown]
# ## What was found correct
#
# The depth bound in TukeyEM's propose-test-release (with the corrected weight), the sensitivity 3/2
# of DPKendall, the sensitivities of sums and the upper-triangle noise in dp-statsmodels' least
# squares, the objective perturbation of DPpack, and OpenDP's samplers, against which ours are
# tested.
