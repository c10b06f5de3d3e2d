"""Rows held out, and scores of predictions of them."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats


def split(data, seed):
    """Return nine tenths of the rows to fit, and a tenth to predict."""
    order = np.random.default_rng(seed).permutation(len(data))
    cut = len(data) // 10
    return data.iloc[order[cut:]], data.iloc[order[:cut]]


def r_squared(y, predicted):
    return 1 - ((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def log_loss(y, eta):
    return float(np.mean(np.logaddexp(0, eta) - y * eta))


def auc(y, eta):
    ranks, ones = stats.rankdata(eta), y.sum()
    return float((ranks[y == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(y) - ones)))


def quantile(values, q):
    """Return a quantile of scores, of which -inf stands for no result."""
    found = np.quantile(np.maximum(values, -1e300), q)
    return -math.inf if found < -1e250 else float(found)
