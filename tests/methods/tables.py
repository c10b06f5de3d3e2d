"""Tables that several tests of methods fit, and rows made of them by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from scipy import special

from dpreg.base.families import NegativeBinomial

COUNTS = NegativeBinomial(0.8)


def survivors(n, seed=1):
    rng = np.random.default_rng(seed)
    x, arm, site = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 2, n)
    time = rng.exponential(1 / (0.6 * np.exp(0.5 * x - 0.7 * arm + 0.4 * site)))
    end = rng.uniform(0.3, 3, n)
    stop = np.minimum(time, end)
    return pd.DataFrame({
        "time": stop, "event": (time <= end).astype(int), "x": x,
        "arm": np.array(["a", "b"])[arm], "site": np.array(["u", "v"])[site],
        "start": stop * rng.uniform(0, 0.5, n) * (rng.random(n) < 0.4),
        "w": rng.uniform(0.5, 2, n), "who": np.arange(n) // 2,
    })  # fmt: skip


def rows_by_hand(start, stop, event, edges):
    """Return (interval, exposure, response) of each row of one record, one after another."""
    if event not in (0, 1) or start >= edges[-1] or stop < edges[0]:
        return []
    found = []
    for k, (low, high) in enumerate(itertools.pairwise(edges)):
        begin, end = max(start, low), min(stop, high)
        at_first = k == 0 and stop == edges[0] and event == 1 and start == -np.inf
        if end > begin or at_first:
            happened = (event == 1 and low < stop <= high) or at_first
            found.append((k, max(100 * (end - begin) / (high - low), 1.0), float(happened)))
    return found


def treated(n, seed=1, trial=False):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), (rng.random(n) < 0.3).astype(float)
    chance = 0.5 if trial else 1 / (1 + np.exp(-(0.2 + 0.7 * a - 0.6 * b)))
    t = (rng.random(n) < chance).astype(float)
    y = 0.5 + 0.8 * a + 0.5 * b + t * (1 + 0.5 * a) + rng.normal(size=n)
    return pd.DataFrame({
        "y": y, "hit": (y > 1).astype(float), "a": a, "b": b, "t": t,
        "arm": np.array(["placebo", "drug"])[t.astype(int)], "who": np.arange(n) // 2,
    })  # fmt: skip


def trial(n, seed=1, *, ratio=1.5, whole=False):
    """Persons in two arms; `whole`: times are 1, 2, ..., 12, and so many are tied."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, 2, n)
    days, lost = rng.exponential(6 / ratio**arm), rng.uniform(1, 16, n)
    time, event = np.minimum(days, lost), days <= lost
    if whole:
        time = np.minimum(np.ceil(time), 12)
    start = np.where(rng.random(n) < 0.3, rng.uniform(0, 1, n) * time, 0.0)
    start = np.floor(start) if whole else start
    return pd.DataFrame({"time": time, "event": event.astype(int), "start": start,
                         "arm": np.array(["a", "b"])[arm], "who": np.arange(n) // 2})  # fmt: skip


def responses(family, n, seed=1, share=0.5):
    """A table whose model is true, and its coefficients."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal(n), rng.random(n) < 0.3
    truth = np.array([special.logit(share) if family == "binomial" else 0.5, 0.6, -0.4])
    eta = truth[0] + truth[1] * a + truth[2] * b
    if family == "binomial":
        y = (rng.random(n) < special.expit(eta)).astype(float)
    elif family == "poisson":
        y = rng.poisson(np.exp(eta)).astype(float)
    elif family == "gamma":
        y = rng.gamma(2.0, np.exp(eta) / 2)
    elif family == COUNTS:
        y = rng.poisson(rng.gamma(1 / 0.8, 0.8 * np.exp(eta))).astype(float)
    else:
        y = eta + rng.standard_normal(n)
        truth[0] += special.ndtri(family.level)
    return pd.DataFrame({"a": a, "b": b.astype(float), "y": y}), truth


def steep(n, family, rng):
    """Correlated covariates, one of them skewed, and a treatment that some hardly ever have."""
    a, b = rng.normal(size=n), rng.exponential(size=n) - 1
    X = np.column_stack([np.ones(n), a + 0.5 * b, b])
    t = rng.random(n) < 1 / (1 + np.exp(1 - X @ [0.0, 1.3, 0.2]))
    means = X @ np.array([0.5, 0.8, 0.5]), X @ np.array([1.0, 1.2, 0.2])
    mean = np.where(t, means[1], means[0])
    if family == "gaussian":
        return X, t, mean + rng.normal(size=n)
    return X, t, (rng.random(n) < 1 / (1 + np.exp(-mean))).astype(float)
