"""Parallel composition: a unit is in one stratum of a partition, and pays for no other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from dpreg.privacy.accounting import Accounting, Sums, sums
from dpreg.privacy.charge import Charge
from dpreg.privacy.cost import Cost
from dpreg.privacy.stratum import Stratum


def composed(accounting: Accounting, charges: Iterable[Charge], of: Stratum | None = None) -> Sums:
    """Return the most that the charges come to for any one unit, each sum by itself.

    Charges of all units count in full, and of each partition the largest of its strata.

    of: for a unit of this stratum.
    """
    shared: list[Cost] = []
    partitions: dict[str, dict[int, list[Cost]]] = {}
    for charge in charges:
        if charge.stratum is None:
            shared.append(charge.paid)
        else:
            strata = partitions.setdefault(charge.stratum.column, {})
            strata.setdefault(charge.stratum.position, []).append(charge.paid)
    found = sums(accounting, shared)
    for column, strata in partitions.items():
        if of is not None and of.column == column:
            counted = [strata.get(of.position, [])]
        else:
            counted = list(strata.values())
        found = _plus(found, [sums(accounting, costs) for costs in counted])
    return found


def _plus(total: Sums, alternatives: list[Mapping[str, Fraction]]) -> Sums:
    """Add the largest of the alternatives, in each sum."""
    return {name: amount + max(a[name] for a in alternatives) for name, amount in total.items()}
