"""Feature selections exactly as printed, for the tables of the papers.

Randomness comes from the sources of `dpreg.privacy.bits`, in double precision and without the care
for rounding that `dpreg.mechanisms` takes.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.privacy.bits import bit_source
from dpreg.reference._published import NOT_CLAIMED, NOT_PRIVATE, PublishedSelection, Rng

_TIES = (
    f"{NOT_CLAIMED}: (n/2) tau_b of data with ties changes by up to n/4 when one row does, and a "
    "constant column scores NaN, which wins"
)
_NO_TIES = (
    "published calibration, (eps, 0)-DP by Dick et al. (2023), Theorem 3.4, up to the rounding of "
    "continuous noise"
)
_PARTS = (
    f"{NOT_CLAIMED}: m equal parts of the true n rows all change when n crosses a multiple of m"
)
_CLASSES = (
    f"{NOT_CLAIMED}: the printed class sizes count sets several times, which can cost log(k) "
    "beyond eps"
)
_PEELED = "published calibration, (eps, 0)-DP up to the rounding of continuous noise"


def _largest(values: Doubles, k: int) -> NDArray[np.intp]:
    """Return the k largest in descending order, as numpy sorts: NaN is larger than all."""
    return np.argsort(values, kind="stable")[::-1][:k]


def _peeled(scores: Doubles, k: int, eps: float, sensitivity: float, rng: Rng) -> NDArray[np.intp]:
    noise = _core.standard_gumbel(bit_source(rng), len(scores))
    return _largest(scores + 2 * k * sensitivity / eps * noise, k)


def peel(
    scores: Any, k: int, eps: float, sensitivity: float, *, rng: Rng = None
) -> PublishedSelection:
    """Dick et al. (2023), Definition 2.3: Gumbel(2 k sensitivity / eps) noise, k largest."""
    values = np.asarray(scores, dtype=np.float64)
    chosen = _peeled(values, k, eps, sensitivity, rng)
    return PublishedSelection(chosen, "Peel, Dick et al. (2023), Definition 2.3", _PEELED)


def dp_kendall(
    X: Any,
    y: Any,
    k: int,
    eps: float,
    *,
    scores: Literal["tau_b", "tau"] = "tau_b",
    rng: Rng = None,
) -> PublishedSelection:
    """Dick et al. (2023), Algorithm 1, with Gumbel scales 3 k / eps and 6 k / eps.

    Parameters
    ----------
    scores : {"tau_b", "tau"}
        ``"tau_b"`` as the reference code has it: (n / 2) times scipy's tau_b, NaN for a
        constant column, which numpy's sort then puts first.  ``"tau"`` as the paper has it:
        n / 2 - 2 discordant / (n - 1), for data without ties.
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    size = _tau_b if scores == "tau_b" else _tau
    bits = bit_source(rng)
    label = np.array([abs(size(column, y)) for column in X.T])
    between, chosen = np.zeros(X.shape[1]), list[int]()
    while len(chosen) < k:
        noise = (6 if chosen else 3) * k / eps * _core.standard_gumbel(bits, X.shape[1])
        total = label - between / max(1, len(chosen)) + noise
        total[chosen] = -np.inf
        pick = int(_largest(total, 1)[0])
        between += [abs(size(column, X[:, pick])) for column in X.T]
        chosen.append(pick)
    return PublishedSelection(
        np.array(chosen, dtype=np.intp),
        f"DPKendall, Dick et al. (2023), Algorithm 1, scores {scores}",
        _TIES if scores == "tau_b" else _NO_TIES,
    )


def _tau_b(x: Doubles, y: Doubles) -> float:
    from scipy import stats

    return float(len(x) / 2 * stats.kendalltau(x, y).statistic)


def _tau(x: Doubles, y: Doubles) -> float:
    """Definition 3.1; a tied pair is not discordant, so it counts as concordant."""
    n = len(x)
    order = np.lexsort((y, x))
    ranks = np.unique(y[order], return_inverse=True)[1]
    return n / 2 - 2 * _core.count_inversions(ranks.tolist(), n) / (n - 1)


def sub_lasso(
    X: Any, y: Any, k: int, eps: float, models: int, *, penalty: float = 0.1, rng: Rng = None
) -> PublishedSelection:
    """Dick et al. (2023), Algorithm 2: Lasso on `models` equal parts, votes, Peel(V, k, 1, eps).

    The Lasso is on the columns as they are, with an unpenalised intercept, which takes no
    votes.
    """
    X, y, bits = np.asarray(X, np.float64), np.asarray(y, np.float64), bit_source(rng)
    order = np.argsort(_core.uniform_open(bits, len(y)))
    w = _lasso_of_blocks(X[order], y[order], models, penalty)
    chosen = _peeled(_core.count_votes(w, k), k, eps, 1.0, bits)
    return PublishedSelection(chosen, "SubLasso, Dick et al. (2023), Algorithm 2", _PARTS)


def two_stage(
    X: Any, y: Any, k: int, *, eps: float | None = None, penalty: float = 0.1, rng: Rng = None
) -> PublishedSelection:
    """First stage of Kifer et al. (2012), as in Swope et al. (2024), sections 2.2 and 3.

    sqrt(n) blocks of sqrt(n) consecutive rows; the k columns that are most often in the
    support of a Lasso fit.

    Parameters
    ----------
    eps : float, optional
        None: no noise, as in Figure 1 of Swope et al.; else the counts are peeled.
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    bits = bit_source(rng)
    w = _lasso_of_blocks(X, y, max(1, math.isqrt(len(y))), penalty)
    support = (w != 0).sum(axis=0).astype(np.float64)
    form = "two-stage, Swope et al. (2024), section 2.2"
    if eps is None:
        return PublishedSelection(_largest(support, k), form, NOT_PRIVATE)
    # A model may vote for all columns, so Peel's l-infinity sensitivity is 1 here too.
    return PublishedSelection(_peeled(support, k, eps, 1.0, bits), form, _PARTS)


def _lasso_of_blocks(X: Doubles, y: Doubles, models: int, penalty: float) -> Doubles:
    # Equal parts; the remainder of n / models is spread over the first ones.
    offsets = np.linspace(0, len(y), models + 1).astype(int)
    parts = _core.fixed_assignment(range(len(y)), offsets.tolist())
    scaling = _core.BatchScaling.NONE
    return _core.fit_lasso_batches(X, y, parts, penalty=penalty, scaling=scaling)


def sis(X: Any, y: Any, k: int) -> PublishedSelection:
    """Sure independence screening: the k columns with the largest ``|x'y|``, nothing clipped."""
    scores = np.abs(np.asarray(X, dtype=np.float64).T @ np.asarray(y, dtype=np.float64))
    return PublishedSelection(_largest(scores, k), "SIS, Fan and Lv (2008)", NOT_PRIVATE)


def dp_sis(
    X: Any, y: Any, k: int, eps: float, *, gamma: float = 0.5, rng: Rng = None
) -> PublishedSelection:
    """Swope et al. (2024), Algorithm 1: ``|x'y|`` and the canonical Lipschitz mechanism as printed.

    Infinity norms of at most 1 are assumed and not enforced.
    """
    scores = np.abs(np.asarray(X, dtype=np.float64).T @ np.asarray(y, dtype=np.float64))
    found = canonical_lipschitz(scores, k, eps, 1.0, gamma, rng=rng)
    claim = f"{found.claim}; |x| <= 1 and |y| <= 1 are assumed, not enforced"
    return PublishedSelection(found.columns, "DP-SIS, Swope et al. (2024), Algorithm 1", claim)


def canonical_lipschitz(
    scores: Any, k: int, eps: float, sensitivity: float, gamma: float = 0.5, *, rng: Rng = None
) -> PublishedSelection:
    """Algorithm 2, 1 <= k < d, exponential noise: O(dk) classes, each with noise of its own.

    A class has C(t - h - 1, k - h - 1) sets, the utility
    eps gamma / 2 x_[t] - eps (1 - gamma) / 2 x_[h+1], x = scores / sensitivity, and the noise
    -log(1 - U^(1/size)), by Taylor's formula from size 10^8 on.
    """
    bits = bit_source(rng)
    x = np.asarray(scores, dtype=np.float64) / sensitivity
    order = np.argsort(-x, kind="stable")
    x, d = x[order], len(x)
    best = (eps * (2 * gamma - 1) / 2 * x[k - 1] + float(_noise(np.zeros(1), bits)[0]), k - 1, k)
    t = np.arange(k + 1, d + 1)
    log_size = np.zeros(d - k)
    for h in range(k - 1, -1, -1):
        if h < k - 1:
            log_size += np.log((t - h - 1) / (k - h - 1))
        value = eps * gamma / 2 * x[t - 1] - eps * (1 - gamma) / 2 * x[h] + _noise(log_size, bits)
        i = int(np.argmax(value))
        best = max(best, (float(value[i]), h, int(t[i])))
    _, h, last = best
    chosen = [*range(h), last - 1]
    if last > k:
        chosen += [h + int(b) for b in _core.random_subset(last - h - 1, k - h - 1, bits)]
    return PublishedSelection(
        np.sort(order[chosen]), "canonical Lipschitz, Swope et al. (2024), Algorithm 2", _CLASSES
    )


def _noise(log_size: Doubles, bits: _core.BitSource) -> Doubles:
    """-log(1 - u^y), y = 1/size; 1 - u^y is -y log u - (y log u)^2 / 2 where y <= 1e-8."""
    log_u = np.log(_core.uniform_open(bits, len(log_size)))
    with np.errstate(divide="ignore"):
        exact = -np.log1p(-np.exp(np.exp(-log_size) * log_u))
    y = np.exp(-np.maximum(log_size, math.log(1e8)))
    patched = log_size - np.log(-log_u * (1 + y * log_u / 2))
    return np.where(log_size >= math.log(1e8), patched, exact)
