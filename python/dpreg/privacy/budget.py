"""An allowance over many releases: what was charged, by whom and for what, and what is left."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context, Decimal
from typing import TYPE_CHECKING

from dpreg.errors import BudgetError, Value
from dpreg.keywords import hinted
from dpreg.privacy.accounting import Accounting, Sums, sums
from dpreg.privacy.charge import Charge, Entry, Status, charges_from, outcome_of
from dpreg.privacy.cost import Cost
from dpreg.privacy.ledger import FileLedger, Ledger, MemoryLedger, untrusted
from dpreg.privacy.totals import (
    accounting_from,
    accounting_of,
    check_header,
    cost_from,
    shortage,
)
from dpreg.text import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["DELTA", "Budget"]

# When nobody says.
DELTA = 1e-5


class Budget:
    """An allowance over many releases from one data set.

    Parameters
    ----------
    eps : float, optional
        Total privacy loss in nats.
    delta : float, default 1e-5
        Total failure probability.
    accounting : {"basic", "gdp", "zcdp"}, optional
        How releases add up.  ``"basic"``, the default: eps and delta do.  ``"gdp"`` (Gaussian
        differential privacy) and ``"zcdp"`` (zero-concentrated) know that Gaussian noise and
        choices add up in squares: ten fits with eps=0.3 and delta=1e-6 by ``"boosted_adassp"``
        cost 3.0 by basic composition and 0.9 by the first of these, at delta=1e-5.
    mu, rho : float, optional
        Instead of `eps`: the total of ``"gdp"``, or of ``"zcdp"``.
    ledger : path, optional
        A file that keeps the charges, shared by all processes that name it.  It is made
        when missing; when it is there, its totals must be the same.  A relative path
        is taken from the working directory of this call, once and for all.
    name : str, optional
        Of the data set, for those who read the ledger.
    user : str, optional
        Who is charged.  Default: the user of the operating system.

    Raises
    ------
    BudgetError
        If the totals are not valid, or the ledger cannot be used or trusted.

    Examples
    --------
    >>> import dpreg
    >>> budget = dpreg.Budget(eps=2.0, delta=1e-5)
    >>> budget.spend("a count", 0.5)
    >>> budget.remaining
    (1.5, 1e-05)

    Notes
    -----
    Amounts are added up exactly, as the decimal numbers that were typed.  A release is charged
    what it may cost at most before its first record is read, so one that fails on the way is
    paid for all the same; with ``"gdp"`` and ``"zcdp"`` the charge comes down to what was
    released when that is known.  Half of delta is for failures then, which TukeyEM may have.

    ``dp_lm(..., budget=budget)`` without a delta takes the share of the budget's delta that its
    eps is of the budget's eps, so that both are used up together.

    A ledger from which charges have gone, or that is gone itself, is refused by a process that
    has seen them.  Between processes it is noticed when an entry was changed or taken out, but
    **whoever can write the file can also put an older copy in its place**, and spend again: keep
    it where analysts cannot write, and note `seal` elsewhere, for `verify`.

    The file must be on a **local** file system (ext4, xfs, btrfs, zfs, APFS, NTFS).  On network
    file systems (NFS, SMB, sshfs) locks may not hold and two processes may charge at once, and
    folders that are synchronised may bring an older copy back.

    Privacy
    -------
    guarantee : all releases charged to one budget are (eps, delta)-DP together, however each of
        them was chosen by what the ones before it gave
    neighbours : add or remove one unit, the same in all releases
    public : the totals
    proof : privacy/composition.md
    """

    @hinted("Budget")
    def __init__(
        self,
        eps: float | None = None,
        delta: float | None = None,
        *,
        accounting: str | None = None,
        mu: float | None = None,
        rho: float | None = None,
        ledger: str | os.PathLike[str] | None = None,
        name: str = "",
        user: str | None = None,
    ) -> None:
        found = accounting_from(eps, DELTA if delta is None else delta, accounting, mu, rho)
        if not isinstance(name, str):
            raise BudgetError("name", ("must be a text, got ", Value(name)))
        if ledger is None:
            self._set(found, MemoryLedger(), name, user)
            return
        header = {"accounting": found.name, **found.typed, "name": name, "made": _now()}
        file = FileLedger(ledger, header)
        check_header(file, header)
        self._set(found, file, file.header["name"], user)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, user: str | None = None) -> Budget:
        """Open the budget that a ledger keeps, with the totals that it was made with."""
        ledger = FileLedger(path)
        budget = cls.__new__(cls)
        budget._set(accounting_of(ledger), ledger, str(ledger.header.get("name", "")), user)
        return budget

    def _set(self, accounting: Accounting, ledger: Ledger, name: str, user: str | None) -> None:
        if user is not None and (not isinstance(user, str) or not user):
            raise BudgetError("user", ("must be a name, got ", Value(user)))
        self._accounting, self._ledger, self._name = accounting, ledger, name
        self._user = _who() if user is None else user
        self._charges(ledger.entries())

    @property
    def eps(self) -> float:
        """The total epsilon; of `mu` and `rho`, what they come to with `delta`."""
        return self._accounting.epsilon

    @property
    def delta(self) -> float:
        """The total delta."""
        return self._accounting.delta

    @property
    def accounting(self) -> str:
        """How releases add up: "basic", "gdp" or "zcdp"."""
        return self._accounting.name

    @property
    def name(self) -> str:
        """Of the data set."""
        return self._name

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges so far, oldest first."""
        return self._charges(self._ledger.entries())

    @property
    def spent(self) -> tuple[float, float]:
        """Epsilon and delta of all releases so far together, had they been planned at once."""
        return self._accounting.spent(_costs(self.charges))

    @property
    def remaining(self) -> tuple[float, float]:
        """Epsilon and delta of the largest release that can still be paid for.

        With "gdp" and "zcdp" that of one release by Gaussian noise, such as a fit by
        ``"boosted_adassp"``; several smaller ones have more.
        """
        return self._accounting.remaining(_costs(self.charges))

    @property
    def seal(self) -> str:
        """The last hash of the ledger, to be noted elsewhere; empty without a ledger."""
        return self._ledger.hashes()[-1] if isinstance(self._ledger, FileLedger) else ""

    def verify(self, seal: str | None = None) -> int:
        """Read the whole ledger again; return the number of its entries.

        Parameters
        ----------
        seal : str, optional
            That was noted earlier: what the ledger held then must be in it still.

        Raises
        ------
        BudgetError
            If the ledger cannot be trusted.
        """
        hashes = self._ledger.hashes()
        self._charges(self._ledger.entries())
        if seal is not None and seal not in hashes:
            why = f"what it held when {seal!r} was its seal is not in it"
            raise untrusted(self._path, why)
        return max(0, len(hashes) - 1)

    def spend(
        self, label: str, eps: float | None = None, delta: float = 0.0, *, mu: float | None = None
    ) -> None:
        """Charge a release that is made elsewhere, or raise `BudgetError` and charge nothing.

        Parameters
        ----------
        label : str
            What it is, for those who read the ledger.
        eps, delta : float
            The release is (eps, delta)-DP.
        mu : float, optional
            Instead of `eps`: it is mu-GDP, such as Gaussian noise of scale sensitivity / mu.
        """
        self.reserve(label, cost_from(eps, delta, mu, self.delta))

    def reserve(
        self, label: str, cost: Cost, *, data: str = "", formula: str = "", method: str = ""
    ) -> int:
        """Charge what a release may cost at most; return the number of the charge.

        Raises
        ------
        BudgetError
            If the budget cannot cover it; nothing is charged then.
        """
        charge = Charge(label, cost, 0, _now(), self._user, data, formula, method)
        number = self._ledger.append(charge.entry(), self._allows)
        if number is None:
            needed, spent = self._accounting.amounts(cost), self._sums(self.charges)
            raise shortage(label, self._accounting, needed, spent)
        return number

    def settle(self, number: int, status: Status, paid: Cost, certificate: str = "") -> None:
        """Enter what became of a charge, and what it costs in the end: no more than was charged.

        Parameters
        ----------
        number : int
            Of the charge.
        status : {"released", "declined"}
        paid : Cost
        certificate : str
            JSON.
        """
        entry = outcome_of(number, status, paid, certificate, _now())
        self._ledger.append(entry, self._allows)

    def delta_for(self, epsilon: float) -> float:
        """Return the share of `delta` that `epsilon` is of `eps`, rounded down."""
        context = Context(prec=12, rounding=ROUND_DOWN)
        share = context.divide(Decimal(repr(epsilon)), Decimal(repr(self.eps)))
        return float(context.multiply(Decimal(repr(self.delta)), min(share, Decimal(1))))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per charge, oldest first.

        Returns
        -------
        DataFrame
            Columns time, user, data, label, formula, method, eps, delta, mu, rho, failure and
            status; mu and rho are upper bounds, but for events of probability `failure`.
        """
        import pandas as pd

        columns = ["time", "user", "data", "label", "formula", "method", "eps", "delta", "mu",
                   "rho", "failure", "status"]  # fmt: skip
        rows = [
            (c.time, c.user, c.data, c.label, c.formula, c.method, c.epsilon, c.delta,
             c.paid.mu, c.paid.rho, c.paid.failure, c.status)
            for c in self.charges
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what each release took, and what is left; needs matplotlib."""
        from dpreg.plots import plot_shares

        limits = self._accounting.limits
        first = next(iter(limits))
        charges = self.charges
        shares = [float(self._accounting.amounts(c.paid)[first] / limits[first]) for c in charges]
        return plot_shares([c.label for c in charges], shares, first, repr(self), ax)

    def _charges(self, entries: tuple[Entry, ...]) -> tuple[Charge, ...]:
        try:
            return charges_from(entries)
        except ValueError as error:
            raise untrusted(self._path, str(error)) from None

    @property
    def _path(self) -> str:
        return self._ledger.path if isinstance(self._ledger, FileLedger) else "memory"

    def _allows(self, entries: tuple[Entry, ...]) -> bool:
        spent = self._sums(self._charges(entries))
        return all(spent[name] <= limit for name, limit in self._accounting.limits.items())

    def _sums(self, charges: Iterable[Charge]) -> Sums:
        return sums(self._accounting, _costs(charges))

    def _repr_html_(self) -> str:
        import html

        return f"<p>{html.escape(repr(self))}</p>\n" + self.to_frame().to_html(na_rep="")

    def __repr__(self) -> str:
        charges = self.charges
        totals = ", ".join(f"{name}={value:g}" for name, value in self._accounting.typed.items())
        left = "eps={:.6g}, delta={:g} left".format(*self._accounting.remaining(_costs(charges)))
        after = f"after {counted(len(charges), 'charge')}"
        if self.accounting == "basic":
            return f"Budget({totals}): {left} {after}"
        spent = "eps={:.4g}, delta={:g} spent".format(*self._accounting.spent(_costs(charges)))
        return f"Budget({totals}, accounting={self.accounting!r}): {spent}, {left} {after}"


def _costs(charges: Iterable[Charge]) -> list[Cost]:
    return [charge.paid for charge in charges]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _who() -> str:
    """Return the user of the operating system; who may not have a name there."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return os.environ.get("USERNAME", "") or str(getattr(os, "getuid", int)())
