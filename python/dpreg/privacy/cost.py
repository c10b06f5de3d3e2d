"""What a release costs, said once for every way of adding costs up.

A method says it before a record is read, from public numbers alone; a budget adds up what its
accounting needs (``composition.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from dpreg.privacy.gdp import bounded_range_mu, pure_mu
from dpreg.privacy.zcdp import bounded_range_rho, pure_rho

# Far above the rounding of the sums below.
_UP = 1 + 1e-12


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
        """Return the cost of a release of which no more is known than (epsilon, delta)."""
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
        """Both releases, the second perhaps chosen by what the first gave."""
        return Cost(
            self.epsilon + other.epsilon,
            self.delta + other.delta,
            math.hypot(self.mu, other.mu) * _UP,
            (self.rho + other.rho) * _UP,
            (self.failure + other.failure) * _UP,
            (self.discreteness + other.discreteness) * _UP,
        )

    def or_else(self, other: Cost) -> Cost:
        """One of two releases: which, is known by then, or decided by a coin of the unit."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(Cost))
        return Cost(*(max(pair) for pair in pairs))

    def within(self, other: Cost) -> bool:
        """Whether this costs no more than `other` in any respect."""
        return self.or_else(other) == other

    def claimed(self, epsilon: float, delta: float) -> Cost:
        """Return the same, with (epsilon, delta) as the call that makes the release states it."""
        return Cost(epsilon, delta, self.mu, self.rho, self.failure, self.discreteness)
