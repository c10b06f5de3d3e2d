"""The screening rule of Raj et al. for linear regression, as Khanna et al. print it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


class LeastSquares:
    """X'X, X'y and a point w: all that the rule and Frank-Wolfe need.

    f(u) = (u - y)'(u - y) / 2n, as in the proof of Khanna et al. (2025), Appendix A, so that
    L = mu = 1/n; the main text has 1/n in place of 1/2n.

    Attributes
    ----------
    n, d : int
    w, gram_w : ndarray, shape (d,)
        The point, and X'X w.
    """

    def __init__(self, X: Any, y: Any) -> None:
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        self.n, self.d = X.shape
        self.gram, self.moment = X.T @ X, X.T @ y
        self.norms = np.sqrt(np.diag(self.gram))
        self.move_to(np.zeros(self.d))

    def move_to(self, w: Doubles) -> None:
        """Put the point at `w`."""
        self.w, self.gram_w = w.copy(), self.gram @ w

    def step_towards(self, j: int, value: float, gamma: float) -> None:
        """Move the point to (1 - gamma) w + gamma value e_j."""
        self.w *= 1 - gamma
        self.gram_w *= 1 - gamma
        self.w[j] += gamma * value
        self.gram_w += gamma * value * self.gram[:, j]

    def zero(self, columns: NDArray[np.int64]) -> None:
        """w_j <- 0 for j in `columns`."""
        columns = columns[self.w[columns] != 0]
        self.gram_w -= self.gram[:, columns] @ self.w[columns]
        self.w[columns] = 0.0

    @property
    def gradient(self) -> Doubles:
        """X'(Xw - y) / n."""
        return np.asarray((self.gram_w - self.moment) / self.n)

    def wolfe_gap(self, l1: float) -> float:
        """G_C(w) = max over z in the l1 ball of (Xw - Xz)' grad f(Xw)."""
        g = self.gradient
        return max(0.0, float(self.w @ g + l1 * np.abs(g).max()))

    def raj_scores(self, l1: float) -> Doubles:
        """The left side of equation 1 for every coordinate."""
        g = self.gradient
        fitted = math.sqrt(max(0.0, float(self.w @ self.gram_w)))
        root = math.sqrt(self.n * self.wolfe_gap(l1))
        return np.asarray(np.abs(g) + self.w @ g + (self.norms + fitted) / self.n * root)


def raj_scores(X: Any, y: Any, w: Any, *, l1: float) -> Doubles:
    """Return s_i of Khanna et al. (2025), equation 1; coordinates below 0 are screened.

    The rule is sound on the unit l1 ball only: for l1 > 1 it screens coordinates that are
    active at the optimum (cpp/src/stats/screening.md, section 5).  **Not private.**

    Parameters
    ----------
    X : array_like, shape (n, d)
    y : array_like, shape (n,)
    w : array_like, shape (d,)
        In the l1 ball.
    l1 : float
    """
    problem = LeastSquares(X, y)
    problem.move_to(np.asarray(w, dtype=np.float64))
    return problem.raj_scores(l1)


def screening_sensitivity(n: int, l1: float) -> float:
    """Theorem 3.1: 2 l1 / n + 2 l1^2 / n + (1 + l1) sqrt(4 l1^2 / n / (1/n)) / n.

    What is printed.  The true value is about 2 l1 (1 + l1) / sqrt(n).
    """
    return (2 * l1 + 2 * l1**2 + 2 * l1 * (1 + l1)) / n
