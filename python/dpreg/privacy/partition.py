"""A budget divided over strata: each has its own charges, and the largest sum counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dpreg.base.errors import BudgetError, Choice, SchemaError, closest, got, write
from dpreg.base.levels import Level, listed
from dpreg.privacy.account import Spendable
from dpreg.privacy.charge import Charge, Stratum


class StratumBudget(Spendable):
    """What releases from one stratum are charged to; of `Budget.partition`.

    Give it to `dp_lm` or `dp_select` as ``budget=``, with the whole table: the call itself takes
    the rows of the stratum and no others.

    Attributes
    ----------
    budget : Budget
        The whole.
    stratum : Stratum
    """

    def __init__(self, budget: Spendable, stratum: Stratum) -> None:
        self.budget, self.account, self.stratum = budget, budget.account, stratum

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Those of this stratum alone, oldest first."""
        return tuple(c for c in self.account.charges if c.stratum == self.stratum)

    def __repr__(self) -> str:
        left = "eps={:.6g}, delta={:g} left".format(*self.remaining)
        return f"StratumBudget({self.stratum}): {left}, {len(self.charges)} of its own charges"


class Partition(Mapping[Level, StratumBudget]):
    """The strata of a budget, by level; of `Budget.partition`."""

    def __init__(self, budget: Spendable, column: str, levels: tuple[Level, ...]) -> None:
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
    such = write("levels", ["first", "second", ...])
    if levels is None:
        if column not in declared:
            raise BudgetError("levels", f"those of {column!r} were not declared", such)
        return column, declared[column]
    try:
        public = listed(column, levels)
    except SchemaError as error:
        raise SchemaError("levels", error.problem, such) from None
    before = declared.get(column, public)
    if set(before) != set(public):
        others = (f"those of {column!r} were declared before, as ", Choice(before))
        raise BudgetError("levels", others, "leave them out", "name another column")
    return column, before
