"""Frank-Wolfe on small matrices: the core's gradient and the slow law of a step."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dpreg import _core

SEED = 20260101


def dense(X):
    return _core.DenseUnitDesign(np.asarray(X, dtype=float))


def sparse(X):
    X = sp.csr_array(np.asarray(X, dtype=float))
    return _core.SparseUnitDesign(X.indptr, X.indices, X.data, X.shape[1])


def gradient(X, y, l1=1.0, start=()):
    start = np.asarray(start, dtype=np.int64)
    return _core.L1Gradient(dense(X), np.asarray(y, float), l1=l1, start=start)


def vertices(d):
    return [s * (j + 1) for j in range(d) for s in (1, -1)]


def step_law(g, epsilon, l1, active=None):
    """The exponential mechanism on the 2 d vertices, in the order of `vertices`."""
    values = np.repeat(g.values(), 2) * np.tile([-1, 1], len(g.values()))
    logits = epsilon * values / _core.vertex_score_range(l1)
    if active is not None:
        logits[np.repeat(np.asarray(active) == 0, 2)] = -np.inf
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def vertex_sampler(g, epsilon, bits, active=None):
    """Draws vertices at the present point; with a mask all active columns are tracked."""
    bounds = (
        _core.VertexBounds(g, epsilon) if active is None else _core.VertexBounds(g, active=active)
    )
    return lambda: _core.draw_vertex(g, bounds, epsilon, bits)


def data(n=400, d=6, seed=SEED):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, np.clip(X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n), -1, 1)
