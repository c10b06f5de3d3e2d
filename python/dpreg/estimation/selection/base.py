"""What every selector is: public options, and one function that chooses columns."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Protocol

from dpreg.base.errors import ArgumentError, BudgetError, unusable
from dpreg.data.design import Design, Terms
from dpreg.estimation.base import Allowance
from dpreg.estimation.inference.clarity import Clarity
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost

# The core draws at 2^-38 nats or more; with a little room for k roundings.
_LEAST_CHOICE = 4e-12


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice that may be published."""

    chosen: tuple[int, ...]  # Length k: places among `terms.candidates`.
    ordered: bool  # True: in the order they were chosen.  False: the order says nothing.
    parts: tuple[Part, ...]  # How the budget was used, with every noise scale.
    clarity: Clarity  # How far apart scores had to be, from public numbers.
    composition: str = "basic"  # How the parts add up.
    units: float | None = None  # Private estimate of the number of units, if one was made.
    notes: tuple[str, ...] = field(default=())

    def of(self, terms: Terms) -> dict[str, tuple[int, ...]]:
        """Return what was chosen and its columns, as the formula has it if there is no order."""
        candidates = list(terms.candidates.items())
        return dict(candidates[j] for j in (self.chosen if self.ordered else sorted(self.chosen)))


class Selector(Protocol):
    """A private feature selection: frozen options and `select`.

    What it chooses from are the terms of the formula, each with all of its columns.  The score of
    a term is the largest of its columns: where the scores of all columns change by amounts in
    [a, b], so do the largest of each term (cpp/include/dpreg/stats/groups.hpp), and noise
    that is made for the columns is enough for the terms.
    """

    @property
    def name(self) -> str:
        """As `dp_select(method=...)` spells it."""

    @property
    def share(self) -> float:
        """Share of eps that `dp_lm(select=...)` gives to the selection."""

    @property
    def holds_rows(self) -> bool:
        """Whether all rows have to be in memory."""

    @property
    def uses_bounds(self) -> bool:
        """Whether public bounds of columns are used."""

    def check(self, terms: Terms, k: int, epsilon: float, delta: float) -> None:
        """Raise a ValueError if the options cannot be used; called before records are read."""

    def cost(self, k: int, epsilon: float, delta: float) -> Cost:
        """Say what a selection with this allowance costs at most, from public numbers alone."""

    def select(self, design: Design, k: int, allowance: Allowance) -> Selection:
        """Spend the allowance."""


def check_k(k: object, d: int, of: str = "terms of the formula") -> int:
    """Return k as an int if it is between 1 and `d`, the number of `of`.

    Raises ValueError otherwise, naming the argument and what to write instead.
    """
    try:
        count = -1 if isinstance(k, bool) else operator.index(k)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if d == 0:
        raise ArgumentError("k", f"there is nothing to choose from, the number of {of} is 0")
    if not 1 <= count <= d:
        raise unusable("k", f"an integer between 1 and {d}, the number of {of}", k)
    return count


def starts_of(terms: Terms) -> list[int]:
    """Return at which column of the design each candidate begins."""
    return [columns[0] for columns in terms.candidates.values()]


def check_share(name: str, share: float) -> None:
    """Refuse a share outside (0, 1)."""
    if not 0 < share < 1:
        raise unusable(name, "in (0, 1)", share)


def check_choice(epsilon: float) -> None:
    """Refuse an epsilon of one choice that the core could not tell from 0."""
    if epsilon < _LEAST_CHOICE:
        raise BudgetError("eps", f"is too small for so many columns: {epsilon:.3g} for each choice")
