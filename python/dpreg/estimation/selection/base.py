"""What every selector is: public options, and one function that chooses columns, in rounds."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

from dpreg.base.errors import ArgumentError, BudgetError, unusable
from dpreg.base.options import is_whole
from dpreg.data.design import Design, Terms
from dpreg.estimation.base import Allowance, Procedure
from dpreg.estimation.inference.clarity import Clarity
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost
from dpreg.privacy.zcdp import bounded_range_epsilon, zcdp_rho

# The core draws at 2^-38 nats or more; with a little room for k roundings.
_LEAST_CHOICE = 4e-12
WINS = "a term wins a round with probability 95% when it leads all others by"


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


class Selector(Procedure):
    """A private feature selection: frozen options and `select`.

    What it chooses from are the terms of the formula, each with all of its columns.  The score of
    a term is the largest of its columns: where the scores of all columns change by amounts in
    [a, b], so do the largest of each term (cpp/include/dpreg/stats/groups.hpp), and noise
    that is made for the columns is enough for the terms.
    """

    __slots__ = ()

    share: float  # Share of eps that `dp_lm(select=...)` gives to the selection.

    @abstractmethod
    def check(self, terms: Terms, k: int, epsilon: float, delta: float) -> None:
        """Raise a ValueError if the options cannot be used; called before records are read."""

    @abstractmethod
    def cost(self, k: int, epsilon: float, delta: float) -> Cost:
        """Say what a selection with this allowance costs at most, from public numbers alone."""

    @abstractmethod
    def select(self, design: Design, k: int, allowance: Allowance) -> Selection:
        """Spend the allowance."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """What each of k choices may spend, and how they add up."""

    epsilon: float  # Of one round, which must be an exponential mechanism (epsilon-bounded range).
    composition: str
    delta: float  # What is used of the delta of the budget.


def plan_rounds(epsilon: float, delta: float, k: int) -> Rounds:
    """Split (epsilon, delta) over k rounds by the better of two compositions.

    Basic: epsilon / k each, and no delta.  By concentrated privacy: a mechanism of
    epsilon_0-bounded range is epsilon_0^2 / 8-zCDP (Cesar and Rogers, 2021), so k of them are
    rho-zCDP with rho = k epsilon_0^2 / 8, and rho-zCDP gives (epsilon, delta)-DP (Canonne, Kamath
    and Steinke, 2020).  The second is better for many rounds.
    """
    basic = Rounds(epsilon / k, "basic", 0.0)
    if delta == 0:
        return basic
    concentrated = bounded_range_epsilon(zcdp_rho(epsilon, delta), k)
    if concentrated <= basic.epsilon:
        return basic
    return Rounds(concentrated, "zero-concentrated", delta)


def check_k(k: object, d: int, of: str = "terms of the formula") -> int:
    """Return k as an int if it is between 1 and `d`, the number of `of`.

    Raises ValueError otherwise, naming the argument and what to write instead.
    """
    if d == 0:
        raise ArgumentError("k", f"there is nothing to choose from, the number of {of} is 0")
    if not is_whole(k) or not 1 <= k <= d:
        raise unusable("k", f"an integer between 1 and {d}, the number of {of}", k)
    return int(k)


def clarity_of(
    score: str, scale: float, log_rivals: float, each: float, what: str, wins: str = WINS
) -> Clarity:
    """Return the clarity of scores that grow with the number n of rows.

    each, what: a score of 1 is `each` / n of `what`.
    """
    margin = Clarity.margin_of(scale, log_rivals)
    at = ", ".join(f"{each * margin / n:.2g} of {n:,.0f}" for n in (1e3, 1e4, 1e5, 1e6))
    return Clarity(score, scale, margin, f"{wins} {margin:,.0f} / {what}, that is {at} rows.")


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
