"""What published forms have in common: outcomes, what may be claimed for them, and noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.mechanisms._inputs import doubles, response_of

Rng = int | _core.BitSource | None

NOT_CLAIMED = "published calibration, guarantee not claimed"
NOT_PRIVATE = "published form without noise: not private"
CONTINUOUS = f"{NOT_CLAIMED}: continuous noise is rounded to doubles"


@dataclass(frozen=True, slots=True, eq=False)
class PublishedSelection:
    """Columns chosen by an algorithm as published.

    Attributes
    ----------
    columns : ndarray of int, shape (k,)
    form : str
        Paper and algorithm.
    claim : str
        What is known of its privacy.
    """

    columns: NDArray[np.intp]
    form: str
    claim: str

    def __str__(self) -> str:
        return f"{self.form}: columns {self.columns.tolist()}\n{self.claim}"

    __repr__ = __str__


@dataclass(frozen=True, slots=True, eq=False)
class PublishedFit:
    """Coefficients by an algorithm as published.

    Attributes
    ----------
    params : ndarray, shape (d,), or None
        No intercept: add a column of ones to X.  None, of TukeyEM, if its test failed.
    form : str
        Paper and algorithm.
    claim : str
        What is known of its privacy.
    """

    params: Doubles | None
    form: str
    claim: str

    def __str__(self) -> str:
        outcome = "not released" if self.params is None else self.params
        return f"{self.form}: {outcome}\n{self.claim}"

    __repr__ = __str__


def gaussian(shape: tuple[int, ...], bits: _core.BitSource) -> Doubles:
    """Return normal numbers, as exact as doubles are."""
    uniforms = _core.uniform_open(bits, math.prod(shape)).reshape(shape)
    return np.asarray(stats.norm.ppf(uniforms))


def laplace(scale: float, size: int, bits: _core.BitSource) -> Doubles:
    """Return Laplace noise."""
    return scale * (_core.standard_exponential(bits, size) - _core.standard_exponential(bits, size))


def clipped_rows(X: Any, bound: float) -> Doubles:
    """Return rows, those longer than `bound` scaled to it."""
    rows = doubles("X", X, 2)
    if not 0 < bound < np.inf:
        raise ValueError(f"x_bound must be finite and greater than 0, got {bound!r}")
    norms = np.linalg.norm(rows, axis=1)
    return np.asarray(rows * (bound / np.maximum(norms, bound))[:, None])


def responses(y: Any, n: int, bound: float) -> Doubles:
    """Return one response for each of n rows, within `bound` of 0."""
    if not 0 < bound < np.inf:
        raise ValueError(f"y_bound must be finite and greater than 0, got {bound!r}")
    return np.clip(response_of(y, n), -bound, bound)
