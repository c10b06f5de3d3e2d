"""Does a sampler follow its law?  One level for all tests, seeds fixed besides."""

from __future__ import annotations

import numpy as np
from scipy import stats

# Chance that a correct sampler fails, were the seed not fixed.
ALPHA = 1e-6


def assert_follows(observed, expected_probabilities):
    """Chi-square test of counts against probabilities; cells that expect under 10 are pooled."""
    observed = np.asarray(observed, dtype=float)
    expected = np.asarray(expected_probabilities, dtype=float) * observed.sum()
    assert expected.sum() > 0.999999 * observed.sum()
    assert observed[expected == 0].sum() == 0
    order = np.argsort(expected)
    pooled_o, pooled_e, o, e = [], [], 0.0, 0.0
    for i in order:
        o, e = o + observed[i], e + expected[i]
        if e >= 10:
            pooled_o.append(o)
            pooled_e.append(e)
            o = e = 0.0
    pooled_o[-1] += o
    pooled_e[-1] += e
    assert len(pooled_e) > 1, "nothing to compare"
    pooled_e = np.array(pooled_e) * sum(pooled_o) / sum(pooled_e)
    assert stats.chisquare(pooled_o, pooled_e).pvalue > ALPHA


def hockey_stick(p, q, epsilon):
    """HS_epsilon(P || Q) of two probability vectors on the same points."""
    return np.maximum(np.asarray(p) - np.exp(epsilon) * np.asarray(q), 0).sum()


def worst_loss(here, there):
    """Largest loss between two laws, which are {outcome: probability}."""
    return max(abs(np.log(here[y] / there[y])) for y in here)


def discrete_laplace(x, epsilon):
    """Probability of each whole number."""
    q = np.exp(-epsilon)
    return (1 - q) / (1 + q) * q ** np.abs(x)
