# %% [markdown]
# # Dick, Gillenwater and Joseph (2023): better private regression through feature selection
#
# Figure 4 (k = 5) on the tasks whose data are available, and Theorem 3.8 by simulation: the printed
# results, and those of `dpreg`. Run as `python vignettes/reproductions/dick2023.py [--quick]`.
#
# **What differs from the paper.** Selection is by `dpreg.DPKendall` and `dpreg.SubLasso`, whose
# guarantee holds with ties and without public n; regression is by the corrected TukeyEM, and by
# `boosted_adassp` on privately standardised columns instead of rows clipped to norm 1. The printed
# R2 far below 0 come from that clipping and from coefficients drawn one by one; the corrected
# methods avoid both, so the printed column is not the target. The tasks are encoded slightly
# differently, so some R2 of plain least squares differ.
#
# Shares: selection 5% of eps as printed (a noisy count for SubLasso comes out of it); TukeyEM
# takes 2% of the rest for its count, where the paper takes 5%.

# %%
from __future__ import annotations

import argparse
import math
import time
import warnings
from pathlib import Path

import numpy as np

import dpreg
from dpreg import _core, mechanisms, reference

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
EPS, DELTA, K = math.log(3), 1e-5, 5
# Printed medians at k = 5: NonDP, BAS, Tukey, L-BAS, L-Tukey, K-BAS, K-Tukey; NaN for failure.
FAIL = math.nan
PRINTED = {
    "elevators": (0.80, -4.5e4, -6.6e2, -8.2e2, -1.7e2, -5.6e5, 0.31),
    "analcatdata_supreme": (0.43, -0.056, FAIL, -0.046, FAIL, -0.049, FAIL),
    "visualizing_soil": (0.83, 0.42, -3.8e5, -1.0, -4.2e5, -2.4, -3.0e5),
    "diamonds": (0.97, -910, -1e8, -4.9, 0.91, 0.71, 0.88),
    "brazilian_houses": (0.86, -29, FAIL, -3.9, -3.1, -0.22, -5.6),
    "bike_sharing": (0.40, -0.44, -4.8e10, -0.48, -0.0098, -0.42, 0.32),
}
BARS = {"diamonds": 0.85, "brazilian_houses": 0.93, "bike_sharing": 0.25, "elevators": 0.2}


def show(title, columns, rows, width=11):
    print(f"\n## {title}")
    print(f"{'':34}" + "".join(f"{c:>{width}}" for c in columns))
    for name, values in rows:
        print(f"{name:34}" + "".join(f"{v:{width}.3g}" for v in values), flush=True)


# %% [markdown]
# ## Figure 4: test R2, medians over random 90-10 splits
#
# A fit that is not released is printed as nan and counts as the worst.


# %%
def r2(y, prediction):
    return 1 - ((y - prediction) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def splits(name, trials):
    import pandas as pd

    data = pd.read_parquet(DATA / f"{name}.parquet")
    for seed in range(trials):
        order = np.random.default_rng(seed).permutation(len(data))
        cut = len(data) // 10
        yield seed, data.iloc[order[cut:]], data.iloc[order[:cut]]


def least_squares(train, test, columns):
    """R2 of plain least squares on some columns: not private."""
    A, B = (np.column_stack([np.ones(len(t)), t[columns].to_numpy(float)]) for t in (train, test))
    w = np.linalg.lstsq(A, train["target"].to_numpy(float), rcond=None)[0]
    return r2(test["target"].to_numpy(float), B @ w)


METHODS = {
    "Tukey": ("tukey", None),
    "BAS": ("boosted_adassp", None),
    "L-Tukey": ("tukey", "sub_lasso"),
    "L-BAS": ("boosted_adassp", "sub_lasso"),
    "K-Tukey": ("tukey", "kendall"),
    "K-BAS": ("boosted_adassp", "kendall"),
    "K-Tukey, 10% on selection": ("tukey", dpreg.DPKendall(share=0.1)),
}


def one_fit(train, test, method, select):
    formula = "target ~ " + " + ".join(f"`{c}`" for c in train.columns if c != "target")
    k = None if select is None or len(train.columns) <= K else K
    fit = dpreg.dp_lm(formula, train, EPS, DELTA, method=method, inference=False,
                      select=None if k is None else select, k=k)  # fmt: skip
    if not fit.released:
        return math.nan, math.nan
    on_them = least_squares(train, test, list(fit.selected)) if fit.selected else math.nan
    return r2(test["target"].to_numpy(float), fit.predict(test).to_numpy()), on_them


def median(values):
    """Of scores of which nan is the worst."""
    values = np.where(np.isnan(values), -np.inf, values)
    middle = np.median(values)
    return middle if np.isfinite(middle) else math.nan


def figure_4(trials):
    printed = dict(zip(("NonDP", "BAS", "Tukey", "L-BAS", "L-Tukey", "K-BAS", "K-Tukey"),
                       range(7), strict=True))  # fmt: skip
    for name, published in PRINTED.items():
        rows = []
        plain = [least_squares(a, b, [c for c in a.columns if c != "target"])
                 for _, a, b in splits(name, trials)]  # fmt: skip
        rows.append(("NonDP", (published[0], np.median(plain), math.nan, math.nan, math.nan)))
        for label, (method, select) in METHODS.items():
            found = [one_fit(a, b, method, select) for _, a, b in splits(name, trials)]
            scores, limits = np.array(found).T
            spread = [np.nanquantile(scores, q) if np.isfinite(scores).any() else math.nan
                      for q in (0.25, 0.75)]  # fmt: skip
            ceiling = np.nanmedian(limits) if np.isfinite(limits).any() else math.nan
            known = published[printed[label]] if label in printed else math.nan
            rows.append((label, (known, median(scores), *spread, ceiling)))
        show(f"{name}, k = {K}, {trials} splits", ("printed", "obtained", "quartile", "quartile",
             "OLS on them"), rows, 13)  # fmt: skip
        if name in BARS:
            print(f"bar for K-Tukey: {BARS[name]}")


# %% [markdown]
# ## The columns alone: the published scores against ours
#
# Least squares on the five columns selected by each form at 5% of eps; only the selection is
# private here. (n/2) tau_b with the published scales 3 and 6 (a constant column would win; there is
# none here), the published tau, and `dpreg.mechanisms.dp_kendall` with 5/2 and 5.


# %%
def selections(trials):
    rows = []
    for name in BARS:
        found = []
        for seed, train, test in splits(name, trials):
            columns = [c for c in train.columns if c != "target"]
            X, y = train[columns].to_numpy(float), train["target"].to_numpy(float)
            picks = [
                reference.dp_kendall(X, y, K, 0.05 * EPS, scores="tau_b", rng=seed).columns,
                reference.dp_kendall(X, y, K, 0.05 * EPS, scores="tau", rng=seed).columns,
                mechanisms.dp_kendall(X, y, K, 0.05 * EPS),
                mechanisms.dp_kendall(X, y, K, 400.0),
            ]
            found.append([least_squares(train, test, [columns[j] for j in p]) for p in picks])
        rows.append((name, np.median(found, axis=0)))
    show(f"Least squares on the chosen columns, {trials} splits",
         ("tau_b", "tau", "dpreg", "no noise"), rows)  # fmt: skip


# %% [markdown]
# ## Theorem 3.8
#
# Independent Gaussian features, each with copies, and additional useless ones: n of the order of k
# ln(dk/eta) / (eps min arctan) is enough to pick exactly one of each group. The share of runs that
# do should therefore depend on eps n alone once noise dominates, and rise to 1. One coefficient is
# negative, which absolute values allow.


# %%
def groups(n, seed, k=3, copies=2, useless=11):
    rng = np.random.default_rng([38, seed, n])
    base = rng.standard_normal((n, k))
    y = base @ np.array([1.0, -1.0, 1.0])[:k] + rng.standard_normal(n)
    return np.column_stack([*[base] * (1 + copies), rng.standard_normal((n, useless))]), y


def one_of_each(X, y, k, eps, ranges, bits):
    chosen = _core.dp_kendall(
        X, y, k=k, epsilon_round=eps / k, bits=bits, first_range=ranges[0], later_range=ranges[1]
    )
    return len({int(j) % k for j in chosen if j < 3 * k}) == k


def theorem_3_8(repeats):
    k, d, eta = 3, 20, 0.05
    bits = _core.SystemBits()
    signal = math.atan(1 / math.sqrt(k))  # b_j s_j / root of the other variances and the noise
    rows = []
    for eps in (0.2, 0.5, 2.0):
        for units in (1, 4, 8, 16, 32):
            n = int(units * k * math.log(d * k / eta) / (eps * signal))
            shares = [
                np.mean([one_of_each(*groups(n, s), k, eps, ranges, bits) for s in range(repeats)])
                for ranges in ((3.0, 6.0), (2.5, 5.0))
            ]
            no_noise = np.mean([
                one_of_each(*groups(n, s), k, 1e6, (2.5, 5.0), bits) for s in range(repeats)
            ])  # fmt: skip
            rows.append((f"eps = {eps}, {units} times the order", (n, *shares, no_noise)))
    show(f"Theorem 3.8: share of {repeats} runs that pick one of each group",
         ("n", "3 and 6", "5/2 and 5", "no noise"), rows)  # fmt: skip
    print("printed: 1 - O(eta) from a constant times the order on; the constant is not given")


# %%
def main():
    parser = argparse.ArgumentParser(description="Experiments of Dick et al. (2023)")
    parser.add_argument("--quick", action="store_true", help="few trials")
    quick, start = parser.parse_args().quick, time.perf_counter()
    theorem_3_8(5 if quick else 200)
    if DATA.exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figure_4(1 if quick else 30)
            selections(1 if quick else 10)
    else:
        print("\nthe shared data sets are not beside the checkout: no Figure 4")
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
