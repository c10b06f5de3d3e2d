"""Poisson-sampled Gaussian releases, by privacy loss distributions (dp-accounting)."""

from __future__ import annotations

import math
from functools import cache, lru_cache

from dpreg.base.errors import Argument, BudgetError

# Privacy losses are rounded up to multiples of this, times epsilon when that is above 1.
_DISCRETISATION = 1e-4
# Logarithm of the least noise multiplier that is looked for, and of the largest.
_LEAST, _MOST = -4.0, 18 * math.log(2)
# Below this share of epsilon a loss need not be told from 0, which has no logarithm.
_NONE = 1e-3


@lru_cache(maxsize=256)
def sampled_epsilon(
    multiplier: float,
    rate: float,
    steps: int,
    beside: float,
    delta: float,
    *,
    discretisation: float = _DISCRETISATION,
) -> float:
    """Return an epsilon of `steps` sampled Gaussian releases beside one plain release.

    multiplier: noise over sensitivity of each step.
    rate: of Poisson sampling.
    beside: mu of Gaussian releases that are composed with them; may be 0.
    discretisation: losses are rounded up to multiples of this.
    Returns: an upper bound, as dp-accounting's privacy loss distributions are pessimistic.
    """
    import dp_accounting
    from dp_accounting import pld

    accountant = pld.PLDAccountant(
        dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        value_discretization_interval=discretisation,
    )
    step = dp_accounting.GaussianDpEvent(multiplier)
    accountant.compose(dp_accounting.PoissonSampledDpEvent(rate, step), steps)
    if beside > 0:
        accountant.compose(dp_accounting.GaussianDpEvent(1 / beside))
    return float(accountant.get_epsilon(delta))


@lru_cache(maxsize=256)
def noise_multiplier(epsilon: float, delta: float, rate: float, steps: int, beside: float) -> float:
    """Return the least noise multiplier, to one part in 10^4 and rounded up.

    See `sampled_epsilon` for the other parameters.

    Raises BudgetError if no multiplier below 2^18 is enough; this depends on public numbers only.
    """
    from scipy import optimize

    step = _DISCRETISATION * max(1.0, epsilon)

    @cache  # a root is looked for between points, and at one, that were looked at before
    def excess(log_multiplier: float) -> float:
        found = sampled_epsilon(
            math.exp(log_multiplier), rate, steps, beside, delta, discretisation=step
        )
        return math.log(max(found / epsilon, _NONE))

    high = 0.0
    while excess(high) > 0:
        high += math.log(2)
        if high > _MOST:
            raise BudgetError(
                "eps",
                f"{epsilon:.4g} at delta {delta:.3g} cannot be reached with {steps} steps, with "
                "the precision at which losses are added up",
                "write fewer steps",
                ("a larger ", Argument("eps"), " or ", Argument("delta")),
            )
    low = high - math.log(2)
    while high > _LEAST and excess(low) <= 0:
        low, high = low - math.log(2), low
    root = high if high <= _LEAST else float(optimize.brentq(excess, low, high, xtol=1e-5))
    while excess(root) > 0:
        root += 2e-5
    return math.exp(root)
