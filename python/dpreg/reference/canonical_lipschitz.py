"""The canonical Lipschitz mechanism exactly as printed by Swope et al. (2024), appendix A."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.privacy.bits import bit_source
from dpreg.reference._published import NOT_CLAIMED, PublishedSelection

_CLASSES = (
    f"{NOT_CLAIMED}: the printed class sizes count sets several times, which can cost log(k) "
    "beyond eps"
)


def canonical_lipschitz(
    scores: Any,
    k: int,
    eps: float,
    sensitivity: float,
    gamma: float = 0.5,
    *,
    rng: int | _core.BitSource | None = None,
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


def _noise(log_size: NDArray[np.float64], bits: _core.BitSource) -> NDArray[np.float64]:
    """-log(1 - u^y), y = 1/size; 1 - u^y is -y log u - (y log u)^2 / 2 where y <= 1e-8."""
    log_u = np.log(_core.uniform_open(bits, len(log_size)))
    with np.errstate(divide="ignore"):
        exact = -np.log1p(-np.exp(np.exp(-log_size) * log_u))
    y = np.exp(-np.maximum(log_size, math.log(1e8)))
    patched = log_size - np.log(-log_u * (1 + y * log_u / 2))
    return np.where(log_size >= math.log(1e8), patched, exact)
