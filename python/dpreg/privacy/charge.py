"""What one release costs, and how costs add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

__all__ = ["Charge", "decimal", "spent"]


@dataclass(frozen=True, slots=True)
class Charge:
    """What one release costs.

    Attributes
    ----------
    label : str
        What was released, for the reader of a ledger.
    epsilon : float
        Privacy loss in nats.
    delta : float
        Failure probability.
    """

    label: str
    epsilon: float
    delta: float


def decimal(value: float) -> Decimal:
    """Return the shortest decimal, which is what the user typed: ten charges of 0.1 are 1."""
    return Decimal(repr(value))


def spent(charges: Iterable[Charge]) -> tuple[Decimal, Decimal]:
    """Add up epsilon and delta, by basic composition."""
    made = list(charges)
    epsilon = sum((decimal(c.epsilon) for c in made), Decimal(0))
    return epsilon, sum((decimal(c.delta) for c in made), Decimal(0))
