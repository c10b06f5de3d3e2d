"""The cost of a release, and three ways of adding costs up against a total.

A method says what it costs before a record is read, from public numbers alone.  What a release
costs may depend on what the ones before it gave, and so may the choice of the next one: the limits
of a total are fixed at the outset, and sums against them stay right then (``composition.md``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import ClassVar, Self

from dpreg.privacy.gdp import bounded_range_mu, gdp_epsilon, gdp_mu, pure_mu
from dpreg.privacy.zcdp import bounded_range_rho, pure_rho, zcdp_epsilon, zcdp_rho

# Far above the rounding of the sums of two costs.
_UP = 1 + 1e-12

# What discrete noise may cost beyond Gaussian noise, as a share of epsilon or mu.
_DISCRETE_SHARE = 1e-3
# An epsilon that is to be paid must not be rounded up.
_DOWN = 1 - 1e-6

Pair = tuple[float, float]
Sums = Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class Cost:
    """What a release costs at most."""

    # epsilon, delta: it is (epsilon, delta)-DP.
    epsilon: float
    delta: float
    # But for an event of probability `failure` at most, it is mu-GDP, up to factors of
    # probabilities whose logarithms add up to `discreteness`.
    mu: float
    rho: float  # But for such an event, it is rho-zCDP.
    failure: float = 0.0
    discreteness: float = 0.0  # What discrete noise differs by from rounded Gaussian noise.

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> Cost:
        """Return the cost of a release that is only known to be (epsilon, delta)-DP."""
        return cls(epsilon, delta, pure_mu(epsilon), pure_rho(epsilon), failure=delta)

    @classmethod
    def pure(cls, epsilon: float) -> Cost:
        """Return the cost of an epsilon-DP release."""
        return cls.approximate(epsilon, 0.0)

    @classmethod
    def choices(cls, each: float, times: int, epsilon: float, delta: float) -> Cost:
        """Return the cost of choices that have bounded range, (epsilon, delta)-DP together.

        each: bounded range of one choice.
        """
        mu = math.sqrt(times) * bounded_range_mu(each) * _UP
        return cls(epsilon, delta, mu, times * bounded_range_rho(each))

    @classmethod
    def concentrated(
        cls, rho: float, epsilon: float, delta: float, failure: float, discreteness: float
    ) -> Cost:
        """Return the cost of Gaussian, pure and bounded-range releases of `rho` together.

        Each has mu^2 <= pi rho (composition.md, Lemma 3).
        """
        return cls(epsilon, delta, math.sqrt(math.pi * rho) * _UP, rho, failure, discreteness)

    def __add__(self, other: Cost) -> Cost:
        """Both releases; the choice of the second may depend on the result of the first."""
        return Cost(
            self.epsilon + other.epsilon,
            self.delta + other.delta,
            math.hypot(self.mu, other.mu) * _UP,
            (self.rho + other.rho) * _UP,
            (self.failure + other.failure) * _UP,
            (self.discreteness + other.discreteness) * _UP,
        )

    def or_else(self, other: Cost) -> Cost:
        """One of two releases, known when it is made or decided by a coin of the unit."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(Cost))
        return Cost(*(max(pair) for pair in pairs))

    def within(self, other: Cost) -> bool:
        """Whether this costs no more than `other` in any respect."""
        return self.or_else(other) == other

    def claimed(self, epsilon: float, delta: float) -> Cost:
        """Return the same, with (epsilon, delta) as the call that makes the release states it."""
        return Cost(epsilon, delta, self.mu, self.rho, self.failure, self.discreteness)


def _typed(value: float) -> Fraction:
    """Return the shortest decimal, which is what the user typed: ten charges of 0.1 are 1."""
    return Fraction(repr(value))


# What a cost adds to each sum that there may be.
_ADDED: dict[str, Callable[[Cost], Fraction]] = {
    "eps": lambda cost: _typed(cost.epsilon),
    "delta": lambda cost: _typed(cost.delta),
    "mu^2": lambda cost: _typed(cost.mu) ** 2,
    "rho": lambda cost: _typed(cost.rho),
    "failure": lambda cost: _typed(cost.failure),
    "discreteness": lambda cost: _typed(cost.discreteness),
}


@dataclass(frozen=True, slots=True)
class Accounting(ABC):
    """A total, and how costs add up against it."""

    name: ClassVar[str]  # As `Budget(accounting=...)` spells it.

    # With `delta`, what all releases together are differentially private with.
    epsilon: float
    delta: float
    typed: Mapping[str, float] = field(compare=False)  # The numbers that it was made of.
    limits: Sums = field(compare=False)  # Name and limit of each sum.

    def amounts(self, cost: Cost) -> Sums:
        """Return what a cost adds to each sum."""
        return {name: _ADDED[name](cost) for name in self.limits}

    def spent(self, found: Sums) -> Pair:
        """Return (epsilon, delta) of releases with these sums, had they been planned at once."""
        amounts = {name: float(amount) for name, amount in found.items()}
        return self._together(amounts) if any(amounts.values()) else (0.0, 0.0)

    def remaining(self, found: Sums) -> Pair:
        """Return (epsilon, delta) of the largest release that can be paid for beside them."""
        limits = self.limits.items()
        return self._largest({n: float(max(most - found[n], Fraction(0))) for n, most in limits})

    @abstractmethod
    def _together(self, amounts: Mapping[str, float]) -> Pair:
        """Return (epsilon, delta) of releases that come to these amounts, not all 0."""

    @abstractmethod
    def _largest(self, left: Mapping[str, float]) -> Pair:
        """Return (epsilon, delta) of the largest release, where so much is left."""


def sums(accounting: Accounting, costs: Iterable[Cost]) -> Sums:
    """Add up, exactly."""
    found = dict.fromkeys(accounting.limits, Fraction(0))
    for cost in costs:
        for name, amount in accounting.amounts(cost).items():
            found[name] += amount
    return found


class Basic(Accounting):
    """Epsilons and deltas add up."""

    __slots__ = ()
    name = "basic"

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Self:
        """Return the accounting with this total."""
        typed = {"eps": epsilon, "delta": delta}
        return cls(epsilon, delta, typed, {name: _typed(value) for name, value in typed.items()})

    def _together(self, amounts: Mapping[str, float]) -> Pair:
        return amounts["eps"], amounts["delta"]

    def _largest(self, left: Mapping[str, float]) -> Pair:
        return left["eps"], left["delta"]


class Gaussian(Accounting):
    """Squares of mu add up (Gaussian differential privacy).

    But for failures, which have half of delta, all releases together are mu-GDP, and so (epsilon,
    delta)-DP with the other half.  What discrete noise may cost in all is part of epsilon.
    """

    __slots__ = ()
    name = "gdp"

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Self:
        """Return the accounting with this total."""
        more = _DISCRETE_SHARE * epsilon
        mu = gdp_mu(epsilon - more, _half(delta, more))
        return cls(epsilon, delta, {"eps": epsilon, "delta": delta}, cls._limits(mu, delta, more))

    @classmethod
    def of_mu(cls, mu: float, delta: float) -> Self:
        """Return the accounting of this mu; its epsilon is that for `delta`."""
        more = _DISCRETE_SHARE * mu
        epsilon = gdp_epsilon(mu, _half(delta, more)) + more
        return cls(epsilon, delta, {"mu": mu, "delta": delta}, cls._limits(mu, delta, more))

    @staticmethod
    def _limits(mu: float, delta: float, discreteness: float) -> Sums:
        failure = _typed(_half(delta, discreteness))
        return {"mu^2": _typed(mu) ** 2, "failure": failure, "discreteness": _typed(discreteness)}

    def _together(self, amounts: Mapping[str, float]) -> Pair:
        discreteness = amounts["discreteness"]
        tail = self.delta * math.exp(-discreteness) - amounts["failure"]
        return gdp_epsilon(_root(amounts["mu^2"]), tail) + discreteness, self.delta

    def _largest(self, left: Mapping[str, float]) -> Pair:
        return gdp_epsilon(_root(left["mu^2"]), self.delta) * _DOWN, self.delta


def _half(delta: float, discreteness: float) -> float:
    """Return what failures may have of delta, and what is left for the tails of the noise."""
    return delta / 2 * math.exp(-discreteness)


def _root(square: float) -> float:
    return math.sqrt(square) * (1 + 1e-15)


class Concentrated(Accounting):
    """Rhos add up (zero-concentrated differential privacy).

    But for failures, which have half of delta, all releases together are rho-zCDP, and so (epsilon,
    delta)-DP with the other half.
    """

    __slots__ = ()
    name = "zcdp"

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Self:
        """Return the accounting with this total."""
        rho = zcdp_rho(epsilon, _half(delta, 0.0))
        return cls(epsilon, delta, {"eps": epsilon, "delta": delta}, cls._limits(rho, delta))

    @classmethod
    def of_rho(cls, rho: float, delta: float) -> Self:
        """Return the accounting of this rho; its epsilon is that for `delta`."""
        epsilon = zcdp_epsilon(rho, _half(delta, 0.0))
        return cls(epsilon, delta, {"rho": rho, "delta": delta}, cls._limits(rho, delta))

    @staticmethod
    def _limits(rho: float, delta: float) -> Sums:
        return {"rho": _typed(rho), "failure": _typed(_half(delta, 0.0))}

    def _together(self, amounts: Mapping[str, float]) -> Pair:
        return zcdp_epsilon(amounts["rho"], self.delta - amounts["failure"]), self.delta

    def _largest(self, left: Mapping[str, float]) -> Pair:
        # A Gaussian release is mu^2/2-zCDP, and spends as much as its mu says.
        return gdp_epsilon(math.sqrt(2 * left["rho"]), self.delta) * _DOWN, self.delta
