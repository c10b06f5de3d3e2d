"""A budget divided over strata: each has its own charges, and the largest counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from dpreg.base.errors import BudgetError, Choice, SchemaError, closest, got, write
from dpreg.base.levels import Level, listed
from dpreg.privacy.account import Account
from dpreg.privacy.charge import Charge
from dpreg.privacy.stratum import Stratum
from dpreg.privacy.totals import cost_from


class Whole(Protocol):
    """The budget that is divided: `Budget`."""

    @property
    def account(self) -> Account: ...
    @property
    def eps(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def charges(self) -> tuple[Charge, ...]: ...
    def delta_for(self, epsilon: float) -> float: ...


class StratumBudget:
    """What releases from one stratum are charged to; of `Budget.partition`.

    Give it to `dp_lm` or `dp_select` as ``budget=``, with the whole table: the call itself takes
    the rows of the stratum and no others.

    Attributes
    ----------
    budget : Budget
        The whole.
    stratum : Stratum
    """

    def __init__(self, budget: Whole, stratum: Stratum) -> None:
        self.budget = budget
        self.stratum = stratum

    @property
    def account(self) -> Account:
        """Where releases are charged."""
        return self.budget.account

    @property
    def eps(self) -> float:
        """The total epsilon of the whole budget."""
        return self.budget.eps

    @property
    def delta(self) -> float:
        """The total delta of the whole budget."""
        return self.budget.delta

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Those of this stratum alone, oldest first."""
        return tuple(c for c in self.budget.charges if c.stratum == self.stratum)

    @property
    def spent(self) -> tuple[float, float]:
        """Epsilon and delta of all releases that a unit of this stratum may be in."""
        return self.budget.account.spent(self.stratum)

    @property
    def remaining(self) -> tuple[float, float]:
        """Epsilon and delta of the largest release from this stratum that can be paid for."""
        return self.budget.account.remaining(self.stratum)

    def spend(
        self, label: str, eps: float | None = None, delta: float = 0.0, *, mu: float | None = None
    ) -> None:
        """Charge a release that is made elsewhere, from units of this stratum alone.

        See `Budget.spend`.  That the release sees no other unit is for the caller to make sure: of
        a unit that has rows with several levels it must not see any.
        """
        cost = cost_from(eps, delta, mu, self.delta)
        self.account.reserve(label, cost, self.stratum)

    def delta_for(self, epsilon: float) -> float:
        return self.budget.delta_for(epsilon)

    def __repr__(self) -> str:
        left = "eps={:.6g}, delta={:g} left".format(*self.remaining)
        return f"StratumBudget({self.stratum}): {left}, {len(self.charges)} of its own charges"


class Partition(Mapping[Level, StratumBudget]):
    """The strata of a budget, by level.

    Parameters
    ----------
    budget : Budget
    column : str
    levels : tuple
    """

    def __init__(self, budget: Whole, column: str, levels: tuple[Level, ...]) -> None:
        self.column = column
        self._strata = {
            level: StratumBudget(budget, Stratum(column, levels, position))
            for position, level in enumerate(levels)
        }

    def __getitem__(self, level: Level) -> StratumBudget:
        try:
            return self._strata[level]
        except (KeyError, TypeError):
            raise UnknownLevelError(self.column, tuple(self._strata), level) from None

    def __iter__(self) -> Iterator[Level]:
        return iter(self._strata)

    def __len__(self) -> int:
        return len(self._strata)

    def __repr__(self) -> str:
        strata = "\n".join(f"  {budget!r}" for budget in self._strata.values())
        return f"Partition by {self.column}:\n{strata}"


class UnknownLevelError(BudgetError, KeyError):
    """A level that was not declared; a `KeyError` too, as any other mapping raises."""

    def __init__(self, column: str, levels: tuple[Level, ...], level: object) -> None:
        meant = closest(level, [str(known) for known in levels])
        advice = () if meant is None else (f"perhaps {meant!r} was meant",)
        wrong = ("must be one of ", Choice(levels), f" of {column!r}, got ", got(level))
        BudgetError.__init__(self, "level", wrong, *advice)

    __str__ = BudgetError.__str__


def declaration(
    column: object, levels: object, declared: Mapping[str, tuple[Level, ...]]
) -> tuple[str, tuple[Level, ...]]:
    """Return column and levels of a partition: those declared before, in the order of then.

    Raises BudgetError, SchemaError if they cannot be used, or are not those that were declared.
    """
    if not isinstance(column, str) or not column:
        raise BudgetError("column", ("must be the name of a column, got ", got(column)))
    if levels is None:
        if column not in declared:
            problem = f"those of {column!r} were not declared"
            raise BudgetError("levels", problem, write("levels", ["first", "second", ...]))
        return column, declared[column]
    try:
        public = listed(column, levels)
    except SchemaError as error:
        suggestion = write("levels", ["first", "second", ...])
        raise SchemaError("levels", error.problem, suggestion) from None
    before = declared.get(column, public)
    if set(before) != set(public):
        others = (f"those of {column!r} were declared before, as ", Choice(before))
        raise BudgetError("levels", others, "leave them out", "name another column")
    return column, before
