"""Selectors: public options, a choice in rounds, and the first stage of a regression."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

from dpreg import _core
from dpreg.base.errors import (
    Argument,
    ArgumentError,
    BudgetError,
    Setting,
    add,
    leave_out,
    unusable,
)
from dpreg.base.options import Limit, is_whole
from dpreg.data.design import Design, Terms
from dpreg.data.sampling import split_units
from dpreg.estimation.base import Allowance, Procedure, after_basic
from dpreg.estimation.inference.clarity import Clarity
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost
from dpreg.privacy.zcdp import bounded_range_epsilon, zcdp_rho

# The core requires at least 2^-38; this leaves room for k roundings.
_LEAST_CHOICE = 4e-12
SHARE = Limit("in (0, 1)", lambda share: 0 < share < 1)
WINS = "a term wins a round with probability 95% when it leads all others by"


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice that may be published."""

    chosen: tuple[int, ...]  # Length k: indices into `terms.candidates`.
    ordered: bool  # True: in the order of choice.  False: the order has no meaning.
    parts: tuple[Part, ...]  # How the budget was used, with every noise scale.
    clarity: Clarity  # The lead that scores needed, from public numbers.
    composition: str = "basic"  # How the parts add up.
    units: float | None = None  # Private estimate of the number of units, if one was made.
    notes: tuple[str, ...] = field(default=())

    def of(self, terms: Terms) -> dict[str, tuple[int, ...]]:
        """Return the chosen terms and their columns, by formula order unless `ordered`."""
        candidates = list(terms.candidates.items())
        return dict(candidates[j] for j in (self.chosen if self.ordered else sorted(self.chosen)))


class Selector(Procedure):
    """A private feature selection: frozen options and `select`.

    The candidates are the terms of the formula, each with all of its columns.  The score of a term
    is the largest score of its columns: if the scores of all columns change by amounts in [a, b],
    so does the maximum of each term (cpp/include/dpreg/stats/groups.hpp), and noise for columns is
    sufficient for terms.
    """

    __slots__ = ()

    share: float  # Share of eps that `dp_lm(select=...)` gives to the selection.
    max_rows: int  # Per unit, for selections in rounds.

    def check(self, terms: Terms, k: int, epsilon: float, delta: float) -> None:
        """Raise a ValueError if the options cannot be used; called before records are read."""
        check_k(k, len(terms.candidates))
        check_choice(plan_rounds(epsilon, delta, k).epsilon / self.max_rows)

    def cost(self, k: int, epsilon: float, delta: float) -> Cost:
        """Return the largest cost of a selection with this allowance, from public numbers alone."""
        return Cost.choices(plan_rounds(epsilon, delta, k).epsilon, k, epsilon, delta)

    @abstractmethod
    def select(self, design: Design, k: int, allowance: Allowance) -> Selection:
        """Spend the allowance."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """The budget of each of k choices, and their composition."""

    epsilon: float  # Of one round, which must be an exponential mechanism (epsilon-bounded range).
    composition: str
    delta: float  # Part of delta that is used.


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
        wanted = "1" if d == 1 else f"an integer between 1 and {d}"
        raise unusable("k", f"{wanted}, the number of {of}", k)
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
    """Return the first column of each candidate."""
    return [columns[0] for columns in terms.candidates.values()]


def check_choice(epsilon: float) -> None:
    """Raise an error if the epsilon of one choice underflows."""
    if epsilon < _LEAST_CHOICE:
        raise BudgetError("eps", f"is too small for so many columns: {epsilon:.3g} for each choice")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The release of a first stage."""

    names: tuple[str, ...] | None = None  # Of the terms; None: there was no selection.
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstStage:
    """A selection that has been checked, or none.  Public."""

    selector: Selector | None
    kept: int  # Number of terms for the regression.
    epsilon: float  # Of the selection.
    epsilon_fit: float  # Of the regression.
    # Probability that a unit is used for the selection instead of the regression.
    split: float | None = None

    @property
    def label(self) -> str:
        """Prefix of the name of the method in a certificate."""
        return "" if self.selector is None else f"{self.selector.name}, then "

    def composition(self, of_fit: str) -> str:
        """Composition of its parts with those of the fit."""
        if self.split is not None:
            return f"selection and fit on different units; {of_fit} in the fit"
        return of_fit if self.selector is None else after_basic(of_fit)

    def cost(self, fit: Cost) -> Cost:
        """Return the cost of both stages, given that of the fit."""
        if self.selector is None:
            return fit
        selection = self.selector.cost(self.kept, self.epsilon, 0.0)
        # A unit is in one of the two parts of a split.
        return selection + fit if self.split is None else selection.or_else(fit)

    def run(self, design: Design, bits: _core.BitSource) -> tuple[Design, Chosen]:
        """Choose terms and drop the columns of the others."""
        if self.selector is None:
            return design, Chosen()
        first, second = design, design
        if self.split is not None:
            first, second = split_units(design, self.split, bits)
        found = self.selector.select(first, self.kept, Allowance(self.epsilon, 0.0, bits))
        chosen = found.of(design.terms)
        notes = (self._meaning(tuple(chosen)), *found.notes)
        return second.keep(sum(chosen.values(), ())), Chosen(tuple(chosen), found.parts, notes)

    def _meaning(self, names: tuple[str, ...]) -> str:
        verb = "was" if len(names) == 1 else "were"
        chosen = f"{', '.join(names)} {verb} selected privately"
        if self.split is None:
            return (
                f"{chosen} from the same data; standard errors and intervals do not account for "
                "the selection"
            )
        return (
            f"{chosen} from {100 * self.split:.3g}% of the units; the fit and its standard errors "
            "use the others"
        )


def first_stage(
    selector: Selector | None, k: int | None, split: float | None, terms: Terms, epsilon: float
) -> FirstStage:
    """Check a selector, `k` and `split` of `dp_lm` and divide epsilon.

    Raises ValueError before a record is read.
    """
    d = len(terms.candidates)
    if selector is None:
        if k is not None:
            advice = add("select", "kendall"), leave_out("k")
            raise ArgumentError("k", "says how many terms to select", *advice)
        if split is not None:
            problem = ("sets units aside for ", Argument("select"))
            raise ArgumentError("split", problem, add("select", "kendall"), leave_out("split"))
        return FirstStage(None, d, 0.0, epsilon)
    if k is None:
        missing = (Argument("select"), " needs the number of terms to keep")
        raise ArgumentError("k", missing, (Setting("k", 5), " is a good first choice"))
    kept = check_k(k, d)
    if split is None:
        left = epsilon - selector.share * epsilon
        # So that this and what is left add up to epsilon exactly (Sterbenz).
        spent = epsilon - left
    elif isinstance(split, (int, float)) and 0 < split < 1:
        spent = left = epsilon
    else:
        raise unusable("split", "a number between 0 and 1", split)
    selector.check(terms, kept, spent, 0.0)
    return FirstStage(selector, kept, spent, left, split)
