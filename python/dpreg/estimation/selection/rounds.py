"""What each of k choices may spend, so that all of them together stay within a budget."""

from __future__ import annotations

from dataclasses import dataclass

from dpreg.privacy.zcdp import bounded_range_epsilon, zcdp_rho


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
    rho-zCDP with rho = k epsilon_0^2 / 8, and rho-zCDP gives (epsilon, delta)-DP (Canonne, Kamath
    and Steinke, 2020).  The second is better for many rounds.
    """
    basic = Rounds(epsilon / k, "basic", 0.0)
    if delta == 0:
        return basic
    concentrated = bounded_range_epsilon(zcdp_rho(epsilon, delta), k)
    if concentrated <= basic.epsilon:
        return basic
    return Rounds(concentrated, "zero-concentrated", delta)
