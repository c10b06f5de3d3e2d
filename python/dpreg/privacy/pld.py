"""Poisson-sampled Gaussian releases, by privacy loss distributions (dp-accounting)."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import Argument, BudgetError

# Privacy losses are rounded up to multiples of this, times epsilon when that is above 1.
_DISCRETISATION = 1e-4
# Logarithm of the least noise multiplier that is looked for, and of the largest.
_LEAST, _MOST = -4.0, 18 * math.log(2)
# Below this share of epsilon a loss need not be told from 0, which has no logarithm.
_NONE = 1e-3


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
    from dp_accounting.pld import privacy_loss_distribution

    nothing = privacy_loss_distribution.identity(value_discretization_interval=discretisation)
    found = nothing.compose(_losses(multiplier, rate, discretisation).self_compose(steps))
    if beside > 0:
        found = found.compose(_plain(beside, discretisation))
    return float(found.get_epsilon_for_delta(delta))


@lru_cache(maxsize=4)
def _plain(mu: float, step: float) -> Any:
    """Return the distribution for plain releases, with which a search composes each candidate."""
    return _losses(1 / mu, 1.0, step)


def _losses(multiplier: float, rate: float, step: float) -> Any:
    """Return the privacy loss distribution of one Gaussian release on a Poisson sample.

    It equals dp-accounting's `from_gaussian_mechanism` to the bit, but evaluates all losses as one
    array; there they are inverted one by one, in most of the time of a search.
    """
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution, privacy_loss_mechanism

    either = privacy_loss_mechanism.AdjacencyType
    masses = []
    for change in (either.REMOVE,) if rate == 1 else (either.REMOVE, either.ADD):
        law = privacy_loss_mechanism.GaussianPrivacyLoss(
            multiplier, sampling_prob=rate, adjacency_type=change
        )
        bounds = law.connect_dots_bounds()
        least, most = (
            math.floor(bounds.epsilon_lower / step),
            math.ceil(bounds.epsilon_upper / step),
        )
        deltas = _deltas(law, np.arange(least, most + 1) * step, added=change == either.ADD)
        masses.append(
            pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, least, most, deltas)
        )
    return privacy_loss_distribution.PrivacyLossDistribution(*masses)


def _deltas(law: Any, losses: Doubles, *, added: bool) -> Doubles:
    """Return `law.get_delta_for_epsilon(losses)` for the addition or removal of a record."""
    removed = -losses if added else losses
    # Losses at removal are above log(1 - rate), and losses at addition below its negative.
    deltas = np.zeros_like(losses) if added else -np.expm1(losses)
    above = removed > (math.log1p(-law.sampling_prob) if law.sampling_prob < 1 else -math.inf)
    whole = _without_sampling(removed[above], law.sampling_prob)
    outcomes = -0.5 - (-whole if added else whole) * law.standard_deviation**2
    if added:
        outcomes = 1 + outcomes
    deltas[above] = law.mu_upper_cdf(outcomes) - np.exp(
        losses[above] + law.mu_lower_log_cdf(outcomes)
    )
    return np.clip(deltas, 0, 1)


def _without_sampling(losses: Doubles, rate: float) -> Doubles:
    """Return log(1 + (exp(loss) - 1) / rate): the loss given that the record is sampled."""
    if rate == 1:
        return losses
    least = math.log(1 - rate)
    whole = np.full_like(losses, -math.inf)
    apart = np.abs(losses - least) > 1e-9 * np.maximum(np.abs(losses), abs(least))
    scaled = losses[apart] + np.log(1 / rate)
    whole[apart] = scaled + np.log1p(-np.exp(np.log(1 / rate - 1) - scaled))
    whole[losses == 0] = np.log(1 / rate + (1 - 1 / rate))
    return whole


@lru_cache(maxsize=256)
def noise_multiplier(epsilon: float, delta: float, rate: float, steps: int, beside: float) -> float:
    """Return the least noise multiplier, to one part in 10^4 and rounded up.

    See `sampled_epsilon` for the other parameters.

    Raises BudgetError if no multiplier below 2^18 will do; it depends on public numbers only.
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
                f"{epsilon:.4g} at delta {delta:.3g} cannot be reached with {steps} steps, as "
                "precisely as losses can be added up",
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
