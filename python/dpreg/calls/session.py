"""How a call pays: its budget, its share of delta, and a receipt for what it was charged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpreg.errors import BudgetError, Options, SourceError, Value
from dpreg.passes import starting
from dpreg.privacy.account import Account
from dpreg.privacy.budget import DELTA, Budget
from dpreg.privacy.certificate import Certificate, unit_of
from dpreg.privacy.charge import Status
from dpreg.privacy.checks import check_delta
from dpreg.privacy.cost import Cost
from dpreg.privacy.partition import Partition, StratumBudget

if TYPE_CHECKING:
    from dpreg import _core

__all__ = ["Payer", "Receipt", "budget_for", "pay"]

Payer = Budget | StratumBudget

_SPENT = ": the budget is spent and there is no result"
_FAILED = (
    f"the computation failed after the charge{_SPENT}.  The error may contain records and is not "
    "shown; with a seed, whose result is not private, it is shown"
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A charge that was made before a record was read, waiting for its outcome.

    Attributes
    ----------
    account : Account
    number : int
        Of the charge in the ledger.
    most : Cost
        What was charged.
    """

    account: Account
    number: int
    most: Cost

    @contextmanager
    def running(self, bits: _core.BitSource) -> Iterator[None]:
        """Say that the budget is charged, to whoever stops the release or sees it fail.

        What an exception says, where it was raised and what led to it may be about records: it is
        put away, unless the bits are from a seed, whose results are not private either.

        Raises
        ------
        KeyboardInterrupt, SourceError, MemoryError, RuntimeError
            Each with a fixed text, and a `SourceError` with its own.
        """
        try:
            starting()
            yield
            return
        except KeyboardInterrupt:
            failure: BaseException = KeyboardInterrupt()
            failure.add_note(f"dpreg: stopped after the charge{_SPENT}")
        except SourceError as error:  # which says so itself
            failure = SourceError(*error.args)
        except MemoryError:
            # numpy says what the shape was to be, and so how many rows there are.
            failure = MemoryError("there is not enough memory")
            failure.add_note(f"dpreg: this failed after the charge{_SPENT}")
        except BaseException as error:  # a panic of polars is no Exception
            if bits.seeded and isinstance(error, Exception):
                error.add_note(f"dpreg: this failed after the charge{_SPENT}")
                raise
            failure = RuntimeError(_FAILED)
        try:
            raise failure
        finally:
            # Of the caller, who handles what was put away, and `from None` would leave it there.
            failure.__context__ = None

    def settle(
        self, status: Status, certificate: Certificate, paid: Cost | None
    ) -> tuple[str, ...]:
        """Tell the ledger what became of the release, and what it costs in the end.

        Parameters
        ----------
        status : {"released", "declined"}
        certificate : Certificate
        paid : Cost or None
            None: what was charged.

        Returns
        -------
        tuple of str
            A note for the result when the ledger cannot be written any more: what was paid for
            must not be lost, and the charge stays as it was.
        """
        # Of two bounds the first is as good, if the second is not below it throughout.
        cost = paid if paid is not None and paid.within(self.most) else self.most
        try:
            self.account.settle(self.number, status, cost, json.dumps(certificate.to_dict()))
        except BudgetError as error:
            return (f"the ledger has the charge but could not record the outcome: {error}",)
        return ()


def budget_for(budget: object, epsilon: float, delta: float | None) -> tuple[Payer, float]:
    """Return the budget that a call is charged to, one of its own if there is none; and delta.

    Raises
    ------
    BudgetError
        If `budget` is something else, or `delta` no valid one.
    """
    if budget is None:
        delta = check_delta(DELTA if delta is None else delta)
        return Budget(epsilon, delta), delta
    if isinstance(budget, Partition):
        level = next(iter(budget))
        problem = ("must be that of one level, such as ", Value(level), f" of {budget.column!r}")
        raise BudgetError("budget", problem)
    if not isinstance(budget, Payer):
        example = Options("budget", "", "Budget", {"eps": 2.0, "delta": 1e-5})
        given = f", not {type(budget).__name__}"
        raise BudgetError("budget", ("must be a budget, such as ", example, given))
    if delta is None:
        # A budget without delta is to say itself that it has none.
        delta = budget.delta_for(epsilon) or DELTA
    return budget, check_delta(delta)


def pay(
    payer: Payer,
    function: str,
    formula: str,
    method: str,
    data: object,
    most: Cost,
    unit: str | None,
    max_rows: int | None = None,
) -> Receipt:
    """Charge a call, before a record is read.

    Parameters
    ----------
    payer : Budget or StratumBudget
    function : str
        Its name.
    formula, method : str
    data : object
        What it was given; of a file the path is kept, of anything else the type.
    most : Cost
    unit : str or None
        Column that names the protected unit; None: a row is one.
    max_rows : int or None
        The option that says how many rows a unit may give; None: there is none.

    Raises
    ------
    BudgetError
        If the budget cannot cover it; nothing is charged then.
    """
    label = f"{function}({formula!r}, method={method!r})"
    account, told = payer.account, _described(data)
    units = unit_of(unit)
    if unit is not None and max_rows is not None:
        units += f", max_rows={max_rows}"
    number = account.reserve(
        label, most, payer.stratum, data=told, formula=formula, method=method, unit=units
    )
    return Receipt(account, number, most)


def _described(data: object) -> str:
    if isinstance(data, (str, os.PathLike)):
        return os.path.abspath(os.fsdecode(data))
    kind = type(data)
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"
