"""Slow and obvious definitions, each with its source."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np


def axis_depth(point, models):
    """Amin et al. (2023), Definition 2.5, on a grid: ties count on both sides, capped."""
    m = len(models)
    below = (models <= point).sum(axis=0)
    above = (models >= point).sum(axis=0)
    return min(int(np.minimum(below, above).min()), (m + 1) // 2)


def grid_depths(models, values):
    """Depth of every point of the grid values^p; `models` is an integer matrix."""
    p = models.shape[1]
    return np.array([axis_depth(np.array(y), models) for y in itertools.product(values, repeat=p)])


def volumes(depths, m):
    """V_i: the number of grid points of depth at least i, for i = 0, ..., H + 1."""
    return np.array([(depths >= i).sum() for i in range((m + 1) // 2 + 2)], dtype=float)


def safety_by_definition(depths, m, epsilon, t, delta):
    """M of the header mechanisms/tukey_em.hpp, from depths of all grid points."""
    deepest = (m + 1) // 2
    v = volumes(depths, m)
    weight = np.exp(epsilon * depths / 2)
    best = -1
    for k in range(m):
        if t - 1 - k < 1 or t + 1 + k > deepest:
            break
        w = weight[depths >= t + 1 + k].sum()
        rho = np.exp(epsilon * (t + k) / 2) * (v[t - 1 - k] - v[t + 1 + k]) / w
        if rho > delta / (1 - delta):
            break
        best = k
    return best


def restricted_draw(depths, epsilon, t):
    """The exponential mechanism on depth, restricted to depth at least t."""
    weight = np.where(depths >= t, np.exp(epsilon * depths / 2), 0.0)
    return weight / weight.sum()


def iterated_ridge(x, y, ridge, refinements, *, intercept=True):
    """Slopes of stats/batch_fit.hpp by dense linear algebra."""
    if intercept:
        x, y = x - x.mean(axis=0), y - y.mean()
    length = np.sqrt((x**2).sum(axis=0))
    length[length == 0] = 1
    z = x / length
    gram, moment, theta = z.T @ z, z.T @ y, np.zeros(x.shape[1])
    for _ in range(refinements + 1):
        theta = np.linalg.solve(gram + ridge * np.eye(len(gram)), moment + ridge * theta)
    return theta / length


def kendall_by_definition(x, y):
    """tau of Dick et al. (2023), Definition 3.1, ties and NaN on neither side; vectorised over
    leading axes: the last one is the rows."""
    n = x.shape[-1]
    if n < 2:
        return np.zeros(x.shape[:-1])
    first, second = np.triu_indices(n, 1)

    def order(z):  # comparisons with NaN are false
        return (z[..., first] < z[..., second]) * 1.0 - (z[..., first] > z[..., second])

    return (order(x) * order(y)).sum(axis=-1) / (n - 1)


def exponential_choice(scores, scale_range, epsilon):
    """The exponential mechanism for scores whose changes have a range."""
    logits = np.asarray(scores, dtype=float) * epsilon / scale_range
    weight = np.exp(logits - logits.max())
    return weight / weight.sum()


def peeling_law(scores, k, score_range, epsilon):
    """Law of k rounds of `exponential_choice` without replacement, over ordered k-tuples."""
    scores = np.asarray(scores, dtype=float)
    law = {}
    for chosen in itertools.permutations(range(len(scores)), k):
        probability, left = 1.0, list(range(len(scores)))
        for index in chosen:
            choice = exponential_choice(scores[left], score_range, epsilon / k)
            probability *= choice[left.index(index)]
            left.remove(index)
        law[chosen] = probability
    return law


def canonical_loss(scores, subset, gamma):
    """Swope et al. (2024), A.3, for any order of ties: the best score outside counts as at
    least the k-th largest, the convention that makes the k best one class."""
    kth = np.sort(scores)[::-1][len(subset) - 1]
    outside = [scores[i] for i in range(len(scores)) if i not in subset]
    inside = min(scores[i] for i in subset)
    return (1 - gamma) * max([kth, *outside]) - gamma * inside


# Gauss-Legendre nodes: exact for the polynomials below, which have fewer than 127 factors.
_NODES, _WEIGHTS = (a / 2 for a in np.polynomial.legendre.leggauss(64))
_NODES = _NODES + 0.5


def largest_value_law(utilities, noise):
    """Which of utility + noise is the largest, noise exponential or Gumbel.

    For exponential noise, Pr[y] is the integral over s in [0, 1] of a_y times the product over
    the others of (1 - a s), with a = exp(utility - largest utility) and s = e^-(value).
    """
    a = np.exp(np.asarray(utilities) - np.max(utilities))
    if noise == "gumbel":
        return a / a.sum()
    below = 1 - a[:, None] * _NODES
    return (a[:, None] * _WEIGHTS * below.prod(axis=0) / below).sum(axis=1)


def canonical_law(scores, k, score_range, epsilon, gamma=0.5, noise="exponential"):
    """Law of the canonical Lipschitz mechanism over all k-subsets, by enumeration."""
    subsets = list(itertools.combinations(range(len(scores)), k))
    utilities = [-epsilon / score_range * canonical_loss(scores, y, gamma) for y in subsets]
    return dict(zip(subsets, largest_value_law(utilities, noise), strict=True))


def unit_cells(X):
    """Cells of stats/unit_design.hpp: clipped to [-1, 1], in steps of 2^-14, NaN is 0."""
    scaled = np.clip(np.nan_to_num(np.asarray(X, dtype=float), nan=0.0), -1, 1) * 2**14
    return (np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)).astype(object).astype(int)


def unit_responses(y, l1):
    """Responses of stats/unit_design.hpp, in steps of l1 2^-16."""
    scaled = np.clip(np.nan_to_num(np.asarray(y, dtype=float), nan=0.0), -l1, l1) / l1 * 2**16
    return (np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)).astype(int)


def exact_gradient(X, y, l1, w):
    """g_j / l1 = sum_i x_ij (w.x_i - y_i) / l1 as fractions; w in units of l1, as fractions."""
    cells, responses = unit_cells(X), unit_responses(y, l1)
    x = [[Fraction(int(c), 2**14) for c in row] for row in cells]
    residual = [
        sum((a * b for a, b in zip(row, w, strict=True)), Fraction(0)) - Fraction(int(v), 2**16)
        for row, v in zip(x, responses, strict=True)
    ]
    return [
        sum((row[j] * r for row, r in zip(x, residual, strict=True)), Fraction(0))
        for j in range(cells.shape[1])
    ]


def l1_least_squares(X, y, l1):
    """The minimiser of |Xw - y|^2 over the l1 ball: the point of the Lasso path of that norm."""
    from sklearn.linear_model import lars_path

    _, _, path = lars_path(X, y, method="lasso")
    norms = np.abs(path).sum(axis=0)
    k = int(np.searchsorted(norms, l1))
    if k == 0 or k == len(norms):
        return path[:, min(k, len(norms) - 1)]
    place = (l1 - norms[k - 1]) / (norms[k] - norms[k - 1])
    return (1 - place) * path[:, k - 1] + place * path[:, k]
