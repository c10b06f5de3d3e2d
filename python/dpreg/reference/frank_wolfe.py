"""Frank-Wolfe, DP-FW, ADP-Screen and RNM-Screen as printed by Khanna et al. (2025)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers
from dpreg.privacy.bits import bit_source
from dpreg.reference._published import NOT_CLAIMED, Rng, laplace

Start = Literal["zero", "random"]


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

    def zero(self, columns: Integers) -> None:
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


Choose = Callable[[LeastSquares], tuple[int, float]]
Rule = Callable[[LeastSquares], Integers]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedRun:
    """Result of a published algorithm.

    Attributes
    ----------
    weights : ndarray, shape (d,)
    gaps : ndarray, shape (steps,)
        Wolfe gaps after the steps.  Functions of the data: **not private**.
    screened : int
        How often a coordinate that was not 0 was set to 0.
    claim : str
    """

    weights: Doubles
    gaps: Doubles
    screened: int
    claim: str

    def __str__(self) -> str:
        return f"{np.count_nonzero(self.weights)} weights are not 0; {self.claim}"


def _run(
    X: Any, y: Any, l1: float, steps: int, start: Start, choose: Choose, rule: Rule | None,
    after: Collection[int], bits: _core.BitSource, claim: str,
) -> PublishedRun:  # fmt: skip
    problem = LeastSquares(X, y)
    if start == "random":
        problem.move_to(l1 * _core.random_start(problem.d, bits) / _core.START_WEIGHT)
    gaps, screened = np.empty(steps), 0
    for t in range(1, steps + 1):
        j, sign = choose(problem)
        problem.step_towards(j, sign * l1, 2 / (t + 2))
        if rule is not None and t in after:
            before = np.count_nonzero(problem.w)
            problem.zero(rule(problem))
            screened += int(before - np.count_nonzero(problem.w))
        gaps[t - 1] = problem.wolfe_gap(l1)
    return PublishedRun(problem.w, gaps, screened, claim)


def _best_vertex(problem: LeastSquares) -> tuple[int, float]:
    j = int(np.argmax(np.abs(problem.gradient)))
    return j, -1.0 if problem.gradient[j] > 0 else 1.0


def _noisy_vertex(
    eps: float, delta: float, steps: int, rows: int, lipschitz: float, bits: _core.BitSource
) -> Choose:
    """Report noisy min over the 2 d vertices, Laplace noise on <vertex, gradient> / l1."""
    scale = lipschitz * math.sqrt(8 * steps * math.log(1 / delta)) / (rows * eps)

    def choose(problem: LeastSquares) -> tuple[int, float]:
        g, d = problem.gradient, problem.d
        k = int(np.argmin(np.concatenate([g, -g]) + laplace(scale, 2 * d, bits)))
        return k % d, 1.0 if k < d else -1.0

    return choose


def np_frank_wolfe(
    X: Any,
    y: Any,
    *,
    l1: float,
    steps: int,
    screen_after: Collection[int] = (),
    start: Start = "zero",
    rng: Rng = None,
) -> PublishedRun:
    """NP-FW: Frank-Wolfe for (Xw - y)'(Xw - y) / 2n on the l1 ball.

    **Not private.**  With `screen_after` the rule of Raj et al. is applied after those steps.
    """
    return _run(
        X, y, l1, steps, start, _best_vertex,
        lambda problem: np.flatnonzero(problem.raj_scores(l1) < 0),
        screen_after, bit_source(rng), "not private",
    )  # fmt: skip


def dp_frank_wolfe(
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    l1: float,
    steps: int,
    lipschitz: float = 1.0,
    start: Start = "random",
    rng: Rng = None,
) -> PublishedRun:
    """DP-FW of Talwar et al. (2015) with the advanced composition of the paper.

    Laplace noise of scale l1 L sqrt(8 T log(1/delta)) / (n eps) on <vertex, gradient>.

    Parameters
    ----------
    lipschitz : float, default 1.0
        L, the Lipschitz constant of the loss in the l1 norm.  Khanna et al. (2025), Appendix B,
        take 1.  That of (w.x - y)^2 / 2 with ``|x| <= 1``, ``|y| <= l1`` is 2 l1.
    """
    bits = bit_source(rng)
    choose = _noisy_vertex(eps, delta, steps, len(y), lipschitz, bits)
    return _run(X, y, l1, steps, start, choose, None, (), bits, NOT_CLAIMED)


def rnm_screen(
    X: Any,
    y: Any,
    eps: tuple[float, float],
    delta: tuple[float, float],
    *,
    l1: float,
    steps: int,
    lipschitz: float = 1.0,
    start: Start = "random",
    rng: Rng = None,
) -> PublishedRun:
    """RNM-Screen: Khanna et al. (2025), Algorithm 2, as printed.

    Parameters
    ----------
    eps, delta : pair of float
        Of the Frank-Wolfe steps and of screening.
    lipschitz : float
        See `dp_frank_wolfe`.
    """
    bits, n = bit_source(rng), len(y)
    epsilon_step = eps[1] / math.sqrt(8 * steps * math.log(1 / delta[1]))
    noise = screening_sensitivity(n, l1) / epsilon_step

    def rule(problem: LeastSquares) -> Integers:
        scores = problem.raj_scores(l1) + laplace(noise, problem.d, bits)
        j = int(np.argmin(scores))
        return np.array([j] if scores[j] < 0 else [], dtype=np.int64)

    choose = _noisy_vertex(eps[0], delta[0], steps, n, lipschitz, bits)
    after = range(1, steps + 1)
    return _run(X, y, l1, steps, start, choose, rule, after, bits, NOT_CLAIMED)


def adp_screen(
    X: Any,
    y: Any,
    eps: tuple[float, float],
    delta: tuple[float, float],
    *,
    l1: float,
    steps: int,
    after: Collection[int],
    lipschitz: float = 1.0,
    start: Start = "random",
    rng: Rng = None,
) -> PublishedRun:
    """ADP-Screen: Khanna et al. (2025), Algorithm 1, as printed.

    Parameters
    ----------
    eps, delta : pair of float
        Of the Frank-Wolfe steps and of screening.
    after : collection of int
        The set I of iterations in which coordinates are screened.
    lipschitz : float
        See `dp_frank_wolfe`.
    """
    bits, n = bit_source(rng), len(y)
    delta_step = delta[1] / (len(after) + 1)
    epsilon_step = eps[1] / (2 * math.sqrt(2 * len(after) * math.log(1 / delta_step)))
    spread = math.sqrt(2 * math.log(1.25 / delta_step)) / epsilon_step

    def rule(problem: LeastSquares) -> Integers:
        sigma = spread * screening_sensitivity(n, l1) * math.sqrt(problem.d)
        noise = sigma * special.ndtri(_core.uniform_open(bits, problem.d))
        return np.flatnonzero(problem.raj_scores(l1) + noise < 0)

    choose = _noisy_vertex(eps[0], delta[0], steps, n, lipschitz, bits)
    return _run(X, y, l1, steps, start, choose, rule, set(after), bits, NOT_CLAIMED)
