"""Slow and obvious definitions, each with its source."""

from __future__ import annotations

import itertools

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
    """M of the header stats/safety.hpp, from depths of all grid points."""
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
