"""Poisson-sampled Gaussian releases, by privacy loss distributions (dp-accounting)."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["noise_multiplier", "sampled_epsilon"]

# Privacy losses are rounded up to multiples of this.
_DISCRETISATION = 1e-4


def sampled_epsilon(
    multiplier: float, rate: float, steps: int, beside: float, delta: float
) -> float:
    """Return an epsilon of `steps` sampled Gaussian releases beside one plain release.

    Parameters
    ----------
    multiplier : float
        Noise over sensitivity of each step.
    rate : float
        Of Poisson sampling.
    steps : int
    beside : float
        mu of Gaussian releases that are composed with them; may be 0.
    delta : float

    Notes
    -----
    An upper bound: dp-accounting's privacy loss distributions are pessimistic.
    """
    import dp_accounting
    from dp_accounting import pld

    accountant = pld.PLDAccountant(
        dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        value_discretization_interval=_DISCRETISATION,
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
    """
    low, high = 0.1, 1.0
    while sampled_epsilon(high, rate, steps, beside, delta) > epsilon:
        low, high = high, 2 * high
    while high > low * (1 + 1e-4):
        middle = (low * high) ** 0.5
        if sampled_epsilon(middle, rate, steps, beside, delta) > epsilon:
            low = middle
        else:
            high = middle
    return high
