"""Privacy parameters, what was charged, and what is left."""

from __future__ import annotations

import math
import numbers
import os
from typing import TYPE_CHECKING

from dpreg.errors import BudgetError
from dpreg.privacy.charge import Charge, decimal, spent
from dpreg.privacy.ledger import FileLedger, Ledger, MemoryLedger
from dpreg.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Budget", "budget_for", "check_delta", "check_epsilon"]


def _real(name: str, value: object) -> float:
    # numbers.Real also admits numpy's scalars; a bool is a number by accident only.
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise BudgetError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise BudgetError(f"{name} must be a number that is not beyond all doubles") from None


def check_epsilon(value: object, name: str = "eps") -> float:
    """Return `value` as a float if it is a valid epsilon: at least 1e-9, at most 500.

    Raises
    ------
    BudgetError
        Otherwise, naming the argument and what to write instead.
    """
    epsilon = _real(name, value)
    if not 0 < epsilon < math.inf:
        raise BudgetError(
            f"{name} must be finite and greater than 0, got {value!r}; "
            f"a usual choice is {name}=1.0, smaller is more private"
        )
    if not 1e-9 <= epsilon <= 500:
        raise BudgetError(
            f"{name} must be between 1e-9 and 500, got {value!r}; beyond, nothing is promised"
        )
    return epsilon


def check_delta(value: object, name: str = "delta") -> float:
    """Return `value` as a float if it is a valid delta: 0, or in [1e-15, 1).

    Raises
    ------
    BudgetError
        Otherwise, naming the argument and what to write instead.
    """
    delta = _real(name, value)
    if not 0 <= delta < 1:
        raise BudgetError(
            f"{name} must be in [0, 1), got {value!r}; "
            f"use a value far below 1 / (number of rows), such as {name}=1e-6"
        )
    if 0 < delta < 1e-15:
        raise BudgetError(f"{name} must be 0 or at least 1e-15, got {value!r}")
    return delta


class Budget:
    """An allowance over many releases from one data set, with basic composition.

    Parameters
    ----------
    eps : float
        Total privacy loss in nats that the releases may add up to.
    delta : float, default 0.0
        Total failure probability.
    ledger : path, optional
        A file that keeps the charges, shared by all processes that name it.  It is made
        when missing; when it is there, its totals must be `eps` and `delta`.  A relative path
        is taken from the working directory of this call, once and for all.

    Examples
    --------
    >>> import dpreg
    >>> budget = dpreg.Budget(eps=2.0, delta=1e-5)
    >>> budget.spend("a count", 0.5)
    >>> budget.remaining
    (1.5, 1e-05)

    Notes
    -----
    Amounts are added as the decimal numbers that were typed, without rounding.  A
    release is charged before its first record is read, so one that fails on the way is
    paid for all the same.

    A ledger from which charges have gone, or that is gone itself, is refused by a process that
    has seen them.  **Between processes that cannot be noticed**: whoever can delete the file, or
    put an older copy in its place, can spend again.  Keep it where analysts cannot write.
    """

    def __init__(
        self, eps: float, delta: float = 0.0, *, ledger: str | os.PathLike[str] | None = None
    ) -> None:
        self._eps = check_epsilon(eps)
        self._delta = check_delta(delta)
        self._ledger: Ledger = (
            MemoryLedger()
            if ledger is None
            else FileLedger(ledger, {"eps": self._eps, "delta": self._delta})
        )

    @property
    def eps(self) -> float:
        """The total epsilon."""
        return self._eps

    @property
    def delta(self) -> float:
        """The total delta."""
        return self._delta

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges so far, oldest first."""
        return self._ledger.charges()

    @property
    def remaining(self) -> tuple[float, float]:
        """What epsilon and delta are left."""
        epsilon, delta = spent(self.charges)
        return float(decimal(self._eps) - epsilon), float(decimal(self._delta) - delta)

    def _allows(self, charges: tuple[Charge, ...]) -> bool:
        epsilon, delta = spent(charges)
        return epsilon <= decimal(self._eps) and delta <= decimal(self._delta)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what each release took of epsilon, and what is left; needs matplotlib."""
        from dpreg.plots import plot_budget

        return plot_budget(self, ax)

    def spend(self, label: str, eps: float, delta: float = 0.0) -> None:
        """Charge a release, or raise `BudgetError` and leave the budget as it was."""
        charge = Charge(label, check_epsilon(eps), check_delta(delta))
        if not self._ledger.append(charge, self._allows):
            left_epsilon, left_delta = self.remaining
            raise BudgetError(
                f"budget: {label} needs eps={charge.epsilon:g}, delta={charge.delta:g}, but only "
                f"eps={left_epsilon:g}, delta={left_delta:g} is left of "
                f"eps={self._eps:g}, delta={self._delta:g}; ask for less"
            )

    def __repr__(self) -> str:
        left_epsilon, left_delta = self.remaining
        made = counted(len(self.charges), "charge")
        return (
            f"Budget(eps={self._eps:g}, delta={self._delta:g}): "
            f"eps={left_epsilon:g}, delta={left_delta:g} left after {made}"
        )


def budget_for(budget: object, epsilon: float, delta: float) -> Budget:
    """Return the budget that a call is charged to; one of its own if there is none.

    Raises
    ------
    BudgetError
        If `budget` is something else.
    """
    if budget is None:
        return Budget(epsilon, delta)
    if not isinstance(budget, Budget):
        raise BudgetError(
            "budget must be a dpreg.Budget, such as dpreg.Budget(eps=2.0, delta=1e-5), "
            f"got a {type(budget).__name__}"
        )
    return budget
