"""Frank-Wolfe, DP-FW, ADP-Screen and RNM-Screen as printed by Khanna et al. (2025)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpreg import _core
from dpreg.privacy.bits import bit_source
from dpreg.reference.screening import LeastSquares, screening_sensitivity

Start = Literal["zero", "random"]
Choose = Callable[[LeastSquares], tuple[int, float]]
Rule = Callable[[LeastSquares], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedRun:
    """What a published algorithm puts out.

    Attributes
    ----------
    weights : ndarray, shape (d,)
    gaps : ndarray, shape (steps,)
        Wolfe gaps after the steps.  Functions of the data: **not private**.
    screened : int
        How often a coordinate that was not 0 was put to 0.
    claim : str
    """

    weights: NDArray[np.float64]
    gaps: NDArray[np.float64]
    screened: int
    claim: str

    def __str__(self) -> str:
        return f"{np.count_nonzero(self.weights)} weights are not 0; {self.claim}"


_PUBLISHED = "published calibration, guarantee not claimed"


def _laplace(scale: float, size: int, bits: _core.BitSource) -> NDArray[np.float64]:
    return scale * (_core.standard_exponential(bits, size) - _core.standard_exponential(bits, size))


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


def _noisy_vertex(scale: float, bits: _core.BitSource) -> Choose:
    """Report noisy min over the 2 d vertices, Laplace noise on <vertex, gradient> / l1."""

    def choose(problem: LeastSquares) -> tuple[int, float]:
        g, d = problem.gradient, problem.d
        k = int(np.argmin(np.concatenate([g, -g]) + _laplace(scale, 2 * d, bits)))
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
    rng: int | _core.BitSource | None = None,
) -> PublishedRun:
    """NP-FW: Frank-Wolfe for (Xw - y)'(Xw - y) / 2n on the l1 ball.

    **Not private.**  With `screen_after` the rule of Raj et al. is applied after those steps.
    """
    return _run(
        X, y, l1, steps, start, _best_vertex,
        lambda problem: np.flatnonzero(problem.raj_scores(l1) < 0),
        screen_after, bit_source(rng), "not private",
    )  # fmt: skip


def _vertex_scale(eps: float, delta: float, steps: int, rows: int, lipschitz: float) -> float:
    """Of the Laplace noise on a gradient entry, a mean over `rows`."""
    return lipschitz * math.sqrt(8 * steps * math.log(1 / delta)) / (rows * eps)


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
    rng: int | _core.BitSource | None = None,
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
    scale = _vertex_scale(eps, delta, steps, len(y), lipschitz)
    return _run(X, y, l1, steps, start, _noisy_vertex(scale, bits), None, (), bits, _PUBLISHED)


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
    rng: int | _core.BitSource | None = None,
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

    def rule(problem: LeastSquares) -> NDArray[np.int64]:
        scores = problem.raj_scores(l1) + _laplace(noise, problem.d, bits)
        j = int(np.argmin(scores))
        return np.array([j] if scores[j] < 0 else [], dtype=np.int64)

    choose = _noisy_vertex(_vertex_scale(eps[0], delta[0], steps, n, lipschitz), bits)
    after = range(1, steps + 1)
    return _run(X, y, l1, steps, start, choose, rule, after, bits, _PUBLISHED)


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
    rng: int | _core.BitSource | None = None,
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

    def rule(problem: LeastSquares) -> NDArray[np.int64]:
        sigma = spread * screening_sensitivity(n, l1) * math.sqrt(problem.d)
        noise = sigma * special.ndtri(_core.uniform_open(bits, problem.d))
        return np.flatnonzero(problem.raj_scores(l1) + noise < 0)

    choose = _noisy_vertex(_vertex_scale(eps[0], delta[0], steps, n, lipschitz), bits)
    return _run(X, y, l1, steps, start, choose, rule, set(after), bits, _PUBLISHED)
