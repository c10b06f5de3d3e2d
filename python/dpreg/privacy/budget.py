"""An allowance over many releases: what was charged, by whom and for what, and what is left."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from typing import Any

from dpreg.base.errors import BudgetError, got
from dpreg.base.keywords import hinted
from dpreg.base.later import Axes, pd
from dpreg.base.levels import Level
from dpreg.base.text import counted, drawn
from dpreg.privacy.account import Account, Spendable, composed, now, shares_of
from dpreg.privacy.charge import Charge, columns_of
from dpreg.privacy.ledger import FileLedger, MemoryLedger
from dpreg.privacy.partition import Partition, declaration
from dpreg.privacy.totals import accounting_from, accounting_of, check_header

# When nobody says.
DELTA = 1e-5


class Budget(Spendable):
    """An allowance over many releases from one data set.

    Parameters
    ----------
    eps : float, optional
        Total epsilon.
    delta : float, default 1e-5
        Total delta.
    accounting : {"basic", "gdp", "zcdp"}, optional
        Composition of releases.  ``"basic"``, the default: eps and delta add up.  Under ``"gdp"``
        (Gaussian differential privacy) and ``"zcdp"`` (zero-concentrated) the squares of the noise
        levels add up: ten fits by ``"boosted_adassp"`` with eps=0.3 and delta=1e-6 cost eps=3.0
        under basic composition and eps=0.9 under ``"gdp"``, at delta=1e-5.
    mu, rho : float, optional
        Instead of `eps`: the total of ``"gdp"``, or of ``"zcdp"``.
    ledger : path, optional
        File that records the charges, shared by all processes that open it.  It is created if it
        does not exist; if it exists, its totals must be the same.  A relative path is resolved
        once, in the working directory of this call.  Without a ledger only the process that made
        the budget can charge it.
    name : str, optional
        Name of the data set, recorded in the ledger.
    user : str, optional
        Name recorded with each charge.  Default: the user of the operating system.

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
    Amounts are added exactly, as decimal numbers.  A release is charged its maximal cost before
    the first record is read, so a release that fails later is paid for; with ``"gdp"`` and
    ``"zcdp"`` the charge is reduced to the actual cost when it is known.  Half of delta is then
    reserved for failures, which TukeyEM may have.

    ``dp_lm(..., budget=budget)`` without a delta uses the same fraction of the budget's delta as
    its eps is of the budget's eps, so that both are used up together.

    A process refuses a ledger from which charges that it has seen are missing.  Changed or removed
    entries are detected in any process, but **anyone who can write the file can replace it with
    an older copy** and spend again: keep it where analysts cannot write, and note `seal`
    elsewhere, for `verify`.

    The file must be on a **local** file system (ext4, xfs, btrfs, zfs, APFS, NTFS).  On network
    file systems (NFS, SMB, sshfs) locks are unreliable, so that two processes may charge at once,
    and synchronised folders may restore an older copy.

    Privacy
    -------
    guarantee : all releases charged to one budget are jointly (eps, delta)-DP, even if each is
        chosen by the results of those before it
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
            raise BudgetError("name", ("must be a string, got ", got(name)))
        if ledger is None:
            self.account, self._name = Account(found, MemoryLedger(), user), name
            return
        header = {"accounting": found.name, **found.typed, "name": name, "made": now()}
        file = FileLedger(ledger, header)
        check_header(file, header)
        self.account, self._name = Account(found, file, user), file.header["name"]

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, user: str | None = None) -> Budget:
        """Open the budget that a ledger keeps, with the totals that it was made with."""
        ledger = FileLedger(path)
        budget = cls.__new__(cls)
        budget.account = Account(accounting_of(ledger), ledger, user)
        budget._name = str(ledger.header.get("name", ""))
        return budget

    @property
    def accounting(self) -> str:
        """How releases add up: "basic", "gdp" or "zcdp"."""
        return self.account.accounting.name

    @property
    def name(self) -> str:
        """Of the data set."""
        return self._name

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges so far, oldest first."""
        return self.account.charges

    @property
    def seal(self) -> str:
        """The last hash of the ledger, to be noted elsewhere; empty without a ledger."""
        return next(reversed(self.account.hashes), "")

    def verify(self, seal: str | None = None) -> int:
        """Read the whole ledger again; return the number of its entries.

        Parameters
        ----------
        seal : str, optional
            A seal noted earlier: the entries up to it must still be in the ledger.

        Raises
        ------
        BudgetError
            If the ledger cannot be trusted.
        """
        return self.account.verify(seal)

    def partition(self, column: str, levels: Any = None) -> Partition:
        """Divide the units into strata, with parallel composition of their releases.

        A unit is in one stratum only, so releases from all strata cost as much as the most
        expensive stratum, not the sum.  Charges to the whole budget, and to strata of other
        columns, are added.

        Parameters
        ----------
        column : str
            Name of a column of every table that is charged; a unit must have the same value in
            all of them.
        levels : list, array, index or Series, optional
            Public values of `column`, one per stratum.  A ledger keeps them unchanged, so they may
            be omitted later.

        Returns
        -------
        Partition
            A mapping from level to `StratumBudget`, for ``budget=`` of `dp_lm` and `dp_select`.

        Raises
        ------
        BudgetError, SchemaError
            If the levels cannot be used, or are not those that were declared before.

        Notes
        -----
        Each call is given the whole table and uses the rows with the level of its stratum.  Rows
        with another level, or none, are in no stratum.  With ``unit=`` a unit whose rows have
        several of the levels is in no stratum either, and none of its rows is used.

        Examples
        --------
        >>> import dpreg
        >>> regions = dpreg.Budget(eps=1.0).partition("region", levels=["north", "south"])
        >>> regions["north"].spend("a count", 0.75)
        >>> regions["south"].spend("a count", 0.5)
        >>> regions["south"].remaining, regions["south"].budget.remaining
        ((0.5, 1e-05), (0.25, 1e-05))

        Privacy
        -------
        guarantee : that of the budget
        neighbours : add or remove one unit
        public : the name of the column and the levels
        proof : privacy/composition.md, section 4
        """
        column, public = declaration(column, levels, self.partitions)
        self.account.declare(column, public)
        return Partition(self, column, declaration(column, public, self.partitions)[1])

    @property
    def partitions(self) -> Mapping[str, tuple[Level, ...]]:
        """The levels of each column that was declared to divide the units."""
        return self.account.partitions

    def to_frame(self) -> pd.DataFrame:
        """Return one row per charge, oldest first.

        Returns
        -------
        DataFrame
            Columns time, user, data, label, formula, method, eps, delta, mu, rho, failure, status,
            stratum and unit; mu and rho hold except for events of probability `failure`.
        """
        return pd.DataFrame(columns_of(self.charges))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the cost of each release, and what is left; needs matplotlib."""
        charges = self.charges
        name, shares = shares_of(self.account.accounting, charges)
        return drawn("plans.plot_shares", [c.label for c in charges], shares, name, repr(self), ax)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>\n" + self.to_frame().to_html(na_rep="")

    def __repr__(self) -> str:
        accounting, charges = self.account.accounting, self.charges
        found = composed(accounting, charges)
        totals = ", ".join(f"{name}={value:g}" for name, value in accounting.typed.items())
        left = "eps={:.6g}, delta={:g} left".format(*accounting.remaining(found))
        after = f"after {counted(len(charges), 'charge')}"
        if accounting.name == "basic":
            return f"Budget({totals}): {left} {after}"
        spent = "eps={:.4g}, delta={:g} spent".format(*accounting.spent(found))
        return f"Budget({totals}, accounting={accounting.name!r}): {spent}, {left} {after}"
