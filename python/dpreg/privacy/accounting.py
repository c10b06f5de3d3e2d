"""Three ways of adding costs up against a total, each with limits that are fixed at the outset.

What a release costs may depend on what the ones before it gave, and so may the choice of the next
release.  Sums against fixed limits stay right then (``composition.md``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from dpreg.privacy.cost import Cost
from dpreg.privacy.gdp import gdp_epsilon, gdp_mu
from dpreg.privacy.zcdp import zcdp_epsilon, zcdp_rho

Pair = tuple[float, float]
Sums = Mapping[str, Fraction]

# What discrete noise may cost beyond Gaussian noise, as a share of epsilon or mu.
_DISCRETE_SHARE = 1e-3
# An epsilon that is to be paid must not be rounded up.
_DOWN = 1 - 1e-6


class Accounting(Protocol):
    """A total, and how costs add up against it."""

    @property
    def name(self) -> str:
        """As `Budget(accounting=...)` spells it."""

    @property
    def epsilon(self) -> float:
        """With `delta`, what all releases together are differentially private with."""

    @property
    def delta(self) -> float: ...

    @property
    def limits(self) -> Sums:
        """Name and limit of each sum."""

    @property
    def typed(self) -> Mapping[str, float]:
        """The numbers that it was made of."""

    def amounts(self, cost: Cost) -> Sums:
        """Return what a cost adds to each sum."""

    def spent(self, found: Sums) -> Pair:
        """Return (epsilon, delta) of releases with these sums, had they been planned at once."""

    def remaining(self, found: Sums) -> Pair:
        """Return (epsilon, delta) of the largest release that can be paid for beside them."""


def sums(accounting: Accounting, costs: Iterable[Cost]) -> Sums:
    """Add up, exactly."""
    found = dict.fromkeys(accounting.limits, Fraction(0))
    for cost in costs:
        for name, amount in accounting.amounts(cost).items():
            found[name] += amount
    return found


def _left(accounting: Accounting, found: Sums) -> dict[str, Fraction]:
    limits = accounting.limits.items()
    return {name: max(limit - found[name], Fraction(0)) for name, limit in limits}


def _typed(value: float) -> Fraction:
    """Return the shortest decimal, which is what the user typed: ten charges of 0.1 are 1."""
    return Fraction(repr(value))


@dataclass(frozen=True, slots=True)
class Basic:
    """Epsilons and deltas add up."""

    name = "basic"
    epsilon: float
    delta: float

    @property
    def typed(self) -> Mapping[str, float]:
        return {"eps": self.epsilon, "delta": self.delta}

    @property
    def limits(self) -> Sums:
        return {"eps": _typed(self.epsilon), "delta": _typed(self.delta)}

    def amounts(self, cost: Cost) -> Sums:
        return {"eps": _typed(cost.epsilon), "delta": _typed(cost.delta)}

    def spent(self, found: Sums) -> Pair:
        return float(found["eps"]), float(found["delta"])

    def remaining(self, found: Sums) -> Pair:
        left = _left(self, found)
        return float(left["eps"]), float(left["delta"])


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Squares of mu add up (Gaussian differential privacy)."""

    name = "gdp"
    # epsilon, delta, mu: but for failures, which have half of delta, all releases together are
    # mu-GDP, and so (epsilon, delta)-DP with the other half.
    epsilon: float
    delta: float
    mu: float
    discreteness: float  # What discrete noise may cost in all; it is part of epsilon.
    typed: Mapping[str, float] = field(compare=False)

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Gaussian:
        """Return the accounting with this total."""
        discreteness = _DISCRETE_SHARE * epsilon
        mu = gdp_mu(epsilon - discreteness, _half(delta, discreteness))
        return cls(epsilon, delta, mu, discreteness, {"eps": epsilon, "delta": delta})

    @classmethod
    def of_mu(cls, mu: float, delta: float) -> Gaussian:
        """Return the accounting of this mu; its epsilon is that for `delta`."""
        discreteness = _DISCRETE_SHARE * mu
        epsilon = gdp_epsilon(mu, _half(delta, discreteness)) + discreteness
        return cls(epsilon, delta, mu, discreteness, {"mu": mu, "delta": delta})

    @property
    def limits(self) -> Sums:
        return {
            "mu^2": _typed(self.mu) ** 2,
            "failure": _typed(_half(self.delta, self.discreteness)),
            "discreteness": _typed(self.discreteness),
        }

    def amounts(self, cost: Cost) -> Sums:
        return {
            "mu^2": _typed(cost.mu) ** 2,
            "failure": _typed(cost.failure),
            "discreteness": _typed(cost.discreteness),
        }

    def spent(self, found: Sums) -> Pair:
        amounts = {name: float(amount) for name, amount in found.items()}
        if not any(amounts.values()):
            return 0.0, 0.0
        discreteness = amounts["discreteness"]
        tail = self.delta * math.exp(-discreteness) - amounts["failure"]
        return gdp_epsilon(_root(amounts["mu^2"]), tail) + discreteness, self.delta

    def remaining(self, found: Sums) -> Pair:
        left = _left(self, found)
        return gdp_epsilon(_root(float(left["mu^2"])), self.delta) * _DOWN, self.delta


def _half(delta: float, discreteness: float) -> float:
    """Return what failures may have of delta, and what is left for the tails of the noise."""
    return delta / 2 * math.exp(-discreteness)


def _root(square: float) -> float:
    return math.sqrt(square) * (1 + 1e-15)


@dataclass(frozen=True, slots=True)
class Concentrated:
    """Rhos add up (zero-concentrated differential privacy)."""

    name = "zcdp"
    # epsilon, delta, rho: but for failures, which have half of delta, all releases together are
    # rho-zCDP, and so (epsilon, delta)-DP with the other half.
    epsilon: float
    delta: float
    rho: float
    typed: Mapping[str, float] = field(compare=False)

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Concentrated:
        """Return the accounting with this total."""
        rho = zcdp_rho(epsilon, _half(delta, 0.0))
        return cls(epsilon, delta, rho, {"eps": epsilon, "delta": delta})

    @classmethod
    def of_rho(cls, rho: float, delta: float) -> Concentrated:
        """Return the accounting of this rho; its epsilon is that for `delta`."""
        return cls(zcdp_epsilon(rho, _half(delta, 0.0)), delta, rho, {"rho": rho, "delta": delta})

    @property
    def limits(self) -> Sums:
        return {"rho": _typed(self.rho), "failure": _typed(_half(self.delta, 0.0))}

    def amounts(self, cost: Cost) -> Sums:
        return {"rho": _typed(cost.rho), "failure": _typed(cost.failure)}

    def spent(self, found: Sums) -> Pair:
        amounts = {name: float(amount) for name, amount in found.items()}
        if not any(amounts.values()):
            return 0.0, 0.0
        return zcdp_epsilon(amounts["rho"], self.delta - amounts["failure"]), self.delta

    def remaining(self, found: Sums) -> Pair:
        rho = float(_left(self, found)["rho"])
        # A Gaussian release is mu^2/2-zCDP, and spends as much as its mu says.
        return gdp_epsilon(math.sqrt(2 * rho), self.delta) * _DOWN, self.delta
