"""What each of k choices may spend, so that all of them together stay within a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rounds:
    """The epsilon of each round and how the rounds add up."""

    epsilon: float  # Of one round, which must be an exponential mechanism (epsilon-bounded range).
    composition: str
    delta: float  # What is used of the delta of the budget.


def plan_rounds(epsilon: float, delta: float, k: int) -> Rounds:
    """Split (epsilon, delta) over k rounds by the better of two compositions.

    Basic: epsilon / k each, and no delta.  By concentrated privacy: a mechanism of
    epsilon_0-bounded range is epsilon_0^2 / 8-zCDP (Cesar and Rogers, 2021), so k of them are
    rho-zCDP with rho = k epsilon_0^2 / 8, and rho-zCDP gives (epsilon, delta)-DP by
    `_delta_of` (Canonne, Kamath and Steinke, 2020).  The second is better for many rounds.
    """
    basic = Rounds(epsilon / k, "basic", 0.0)
    if delta == 0:
        return basic
    low, high = 0.0, epsilon  # at rho = epsilon no useful delta is left
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta_of(middle, epsilon) <= delta else (low, middle)
    concentrated = math.sqrt(8 * low / k) * (1 - 1e-9)  # what bisection may be off by
    if concentrated <= basic.epsilon:
        return basic
    return Rounds(concentrated, "zero-concentrated", delta)


def _delta_of(rho: float, epsilon: float) -> float:
    """Return a delta such that rho-zCDP implies (epsilon, delta)-DP; increasing in rho.

    min over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1),
    whose logarithm has one minimum; any alpha gives a valid delta.
    """
    if rho <= 0:
        return 0.0

    def log_delta(beta: float) -> float:  # alpha = 1 + e^beta
        alpha = 1 + math.exp(beta)
        return (alpha - 1) * (alpha * rho - epsilon) - beta + alpha * math.log1p(-1 / alpha)

    low, high = -30.0, math.log1p((epsilon + 60) / rho)
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if log_delta(a) <= log_delta(b) else (a, high)
    return math.exp(min(0.0, log_delta((low + high) / 2)))
