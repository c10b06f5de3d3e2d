"""The cost of many small releases together: zero-concentrated differential privacy (zCDP).

Closed forms only, each rounded against the user of the budget.
"""

from __future__ import annotations

import functools
import math

from dpreg.base.errors import BudgetError, write

# Above the rounding of what is computed here, by far.
_UP, _DOWN = 1 + 1e-12, 1 - 1e-12
_GOLDEN = (math.sqrt(5) - 1) / 2


def bounded_range_rho(epsilon: float) -> float:
    """Return the rho of an epsilon-bounded-range mechanism: epsilon**2 / 8.

    A mechanism has bounded range epsilon if log P(o) - log P'(o) varies by at most epsilon
    over the outcomes o; the exponential mechanism has the range of its log-weights' changes.
    Cesar and Rogers (2021), "Bounding, concentrating, and truncating: unifying privacy loss
    composition for data analytics", Lemma 3.4; Dong, Durfee and Rogers (2020).
    """
    return epsilon * epsilon / 8 * _UP


def bounded_range_epsilon(rho: float, times: int) -> float:
    """Return the bounded range of each of `times` mechanisms that cost `rho` together."""
    return math.sqrt(8 * rho / times) * _DOWN


def pure_rho(epsilon: float) -> float:
    """Return the rho of an epsilon-DP mechanism: epsilon**2 / 2 (Bun and Steinke, 2016)."""
    return epsilon * epsilon / 2 * _UP


def _log_delta(log_order: float, rho: float, epsilon: float) -> float:
    """Logarithm of the bound at order alpha = 1 + exp(log_order)."""
    above = math.exp(log_order)
    order = 1 + above
    # alpha log(1 - 1/alpha) = -alpha log(1 + 1/(alpha - 1))
    return above * (order * rho - epsilon) - order * math.log1p(1 / above) - log_order


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return a delta such that rho-zCDP implies (epsilon, delta)-DP.

    The infimum over alpha > 1 of
    exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)**alpha / (alpha - 1), to
    the precision of a search: every alpha gives a valid delta.
    Canonne, Kamath and Steinke (2020), "The discrete Gaussian for differential privacy",
    Proposition 12 with Corollary 13.
    """
    if rho == 0:
        return 0.0
    # Golden section in log(alpha - 1): the bound falls, then rises.
    best = math.log(max(epsilon / (2 * rho) - 0.5, 1e-3))
    low, high = best - 25.0, best + 25.0
    low, high = max(low, -300.0), min(high, 300.0)
    for _ in range(120):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if _log_delta(left, rho, epsilon) < _log_delta(right, rho, epsilon):
            high = right
        else:
            low = left
    log_delta = min(_log_delta(x, rho, epsilon) for x in (low, high))
    return min(1.0, math.exp(min(log_delta, 0.0)) * (1 + 1e-9))


@functools.lru_cache  # searching takes longer than many a mechanism
def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho for which `zcdp_delta` is at most `delta`, rounded down.

    Raises BudgetError if delta is 0: no rho above 0 implies pure differential privacy.
    """
    if delta <= 0:
        steps = "the steps are composed by concentrated differential privacy"
        such = (*write("delta", 1e-6), ", for example")
        raise BudgetError("delta", f"must be greater than 0 here: {steps}", such)
    low, high = 0.0, epsilon + 2 * math.log(1 / delta) + 2
    while zcdp_delta(high, epsilon) <= delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if zcdp_delta(middle, epsilon) <= delta:
            low = middle
        else:
            high = middle
    return low


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the least epsilon for which `zcdp_delta` is at most `delta`, rounded up."""
    if zcdp_delta(rho, 0.0) <= delta:
        return 0.0
    low, high = 0.0, rho + 2 * math.sqrt(rho * math.log(1 / delta))
    while zcdp_delta(rho, high) > delta:
        high = 2 * high + 1e-9
    for _ in range(100):
        middle = (low + high) / 2
        if zcdp_delta(rho, middle) > delta:
            low = middle
        else:
            high = middle
    return high
