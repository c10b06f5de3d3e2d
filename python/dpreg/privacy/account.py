"""The account of a budget: charges that are entered in a ledger if its total allows them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context, Decimal
from typing import TypeVar

from dpreg.base.errors import BudgetError, got
from dpreg.base.levels import Level
from dpreg.privacy.charge import (
    Charge,
    Entry,
    Status,
    Stratum,
    charges_from,
    outcome_of,
    partitions_from,
)
from dpreg.privacy.cost import Accounting, Cost, Sums, sums
from dpreg.privacy.ledger import FileLedger, Ledger, untrusted
from dpreg.privacy.totals import cost_from, shortage

T = TypeVar("T")


def composed(accounting: Accounting, charges: Iterable[Charge], of: Stratum | None = None) -> Sums:
    """Return the largest sums of the charges for any one unit, each sum by itself.

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
            strata = {of.position: strata.get(of.position, [])}
        each = [sums(accounting, costs) for costs in strata.values()]
        found = {name: amount + max(one[name] for one in each) for name, amount in found.items()}
    return found


def shares_of(accounting: Accounting, charges: Sequence[Charge]) -> tuple[str, list[float]]:
    """Return the name of the first sum, and by what share of its limit each charge raised it.

    A charge of a stratum that has spent less than another one raises it by nothing.
    """
    name, limit = next(iter(accounting.limits.items()))
    totals = [composed(accounting, charges[:count])[name] for count in range(len(charges) + 1)]
    steps = itertools.pairwise(totals)
    return name, [float((after - before) / limit) for before, after in steps]


class Account:
    """Charges against a total.

    accounting: the total, and how costs add up against it.
    ledger: where the charges are kept.
    user: who is charged.  Default: the user of the operating system.
    Raises BudgetError if the ledger cannot be trusted, or `user` is not a name.
    """

    def __init__(self, accounting: Accounting, ledger: Ledger, user: str | None) -> None:
        if user is not None and (not isinstance(user, str) or not user):
            raise BudgetError("user", ("must be a name, got ", got(user)))
        self.accounting = accounting
        self._ledger = ledger
        self._user = _who() if user is None else user
        self._read(charges_from, ledger.entries())

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges so far, oldest first."""
        return self._read(charges_from, self._ledger.entries())

    @property
    def partitions(self) -> Mapping[str, tuple[Level, ...]]:
        """The levels of each column that was declared to divide the units."""
        return self._read(partitions_from, self._ledger.entries())

    def sums(self, of: Stratum | None) -> Sums:
        """Return what all releases come to that a unit, or one of a stratum, may be in."""
        return composed(self.accounting, self.charges, of)

    def declare(self, column: str, levels: tuple[Level, ...]) -> None:
        """Enter a partition, unless its column was declared already."""
        if column not in self.partitions:
            entry = Entry({"partition": column, "levels": list(levels), "time": now()})
            # Another process may have declared it in between.
            self._ledger.append(entry, lambda entries: column not in partitions_from(entries[:-1]))

    def reserve(
        self,
        label: str,
        cost: Cost,
        of: Stratum | None = None,
        *,
        data: str = "",
        formula: str = "",
        method: str = "",
        unit: str = "",
    ) -> int:
        """Charge what a release may cost at most; return the number of the charge.

        of: the units that the release is of; None: all.
        data, formula, method, unit: for the ledger.
        Raises BudgetError if the total cannot cover it; nothing is charged then.
        """
        told = (now(), self._user, data, formula, method)
        charge = Charge(label, cost, 0, *told, stratum=of, unit=unit)
        number = self._ledger.append(charge.entry(), self._allows)
        if number is None:
            raise shortage(label, self.accounting, self.accounting.amounts(cost), self.sums(of))
        return number

    def settle(self, number: int, status: Status, paid: Cost, certificate: str = "") -> None:
        """Enter the outcome of a charge and its final cost, which is at most what was charged.

        number: of the charge.
        certificate: JSON.
        """
        entry = outcome_of(number, status, paid, certificate, now())
        self._ledger.append(entry, self._allows)

    @property
    def hashes(self) -> tuple[str, ...]:
        """Those of the ledger."""
        return self._ledger.hashes()

    def verify(self, seal: str | None) -> int:
        """Read the whole ledger again; see `Budget.verify`."""
        hashes = self.hashes
        self._read(charges_from, self._ledger.entries())
        if seal is not None and seal not in hashes:
            why = f"the entries up to the seal {seal!r} are missing"
            raise untrusted(self._path, why)
        return max(0, len(hashes) - 1)

    def _read(self, of: Callable[[tuple[Entry, ...]], T], entries: tuple[Entry, ...]) -> T:
        try:
            return of(entries)
        except ValueError as error:
            raise untrusted(self._path, str(error)) from None

    @property
    def _path(self) -> str:
        return self._ledger.path if isinstance(self._ledger, FileLedger) else "memory"

    def _allows(self, entries: tuple[Entry, ...]) -> bool:
        spent = composed(self.accounting, self._read(charges_from, entries))
        return all(spent[name] <= limit for name, limit in self.accounting.limits.items())


class Spendable:
    """What releases are charged to: a budget, or a stratum of one."""

    account: Account
    # The units whose releases are charged; None: all.
    stratum: Stratum | None = None

    @property
    def eps(self) -> float:
        """The total epsilon; of `mu` and `rho`, what they come to with `delta`."""
        return self.account.accounting.epsilon

    @property
    def delta(self) -> float:
        """The total delta."""
        return self.account.accounting.delta

    @property
    def spent(self) -> tuple[float, float]:
        """Epsilon and delta of all releases so far together, had they been planned at once.

        Of a stratum: of all releases that one of its units may be in.
        """
        return self.account.accounting.spent(self.account.sums(self.stratum))

    @property
    def remaining(self) -> tuple[float, float]:
        """Epsilon and delta of the largest release that can still be paid for.

        With "gdp" and "zcdp" that of one release by Gaussian noise, such as a fit by
        ``"boosted_adassp"``; several smaller ones have more.  A stratum may have more too.
        """
        return self.account.accounting.remaining(self.account.sums(self.stratum))

    def spend(
        self, label: str, eps: float | None = None, delta: float = 0.0, *, mu: float | None = None
    ) -> None:
        """Charge a release that is made elsewhere, or raise `BudgetError` and charge nothing.

        The caller must ensure that a release charged to a stratum uses no other unit, and no row of
        a unit that has rows with several levels.

        Parameters
        ----------
        label : str
            Description of the release, for readers of the ledger.
        eps, delta : float
            The release is (eps, delta)-DP.
        mu : float, optional
            Instead of `eps`: it is mu-GDP, such as Gaussian noise of scale sensitivity / mu.
        """
        if not isinstance(label, str):
            raise BudgetError("label", ("must be a string, got ", got(label)))
        self.account.reserve(label, cost_from(eps, delta, mu, self.delta), self.stratum)

    def delta_for(self, epsilon: float) -> float:
        """Return the share of `delta` that `epsilon` is of `eps`, rounded down."""
        context = Context(prec=12, rounding=ROUND_DOWN)
        share = context.divide(Decimal(repr(epsilon)), Decimal(repr(self.eps)))
        return float(context.multiply(Decimal(repr(self.delta)), min(share, Decimal(1))))


def now() -> str:
    """Return the time in UTC, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _who() -> str:
    """Return the user of the operating system, who may have no name."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return os.environ.get("USERNAME", "") or str(getattr(os, "getuid", int)())
