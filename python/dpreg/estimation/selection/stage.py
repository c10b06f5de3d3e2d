"""Selection as the first stage of a regression: its share of the budget, its terms."""

from __future__ import annotations

from dataclasses import dataclass

from dpreg import _core
from dpreg.base.errors import Argument, ArgumentError, Setting, add, leave_out, unusable
from dpreg.data.design import Design, Terms
from dpreg.data.sampling import split_units
from dpreg.estimation.base import Allowance, after_basic
from dpreg.estimation.selection.base import Selector, check_k
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a first stage released."""

    names: tuple[str, ...] | None = None  # Of the terms; None: there was no selection.
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstStage:
    """A selection that has been checked, or none.  Public."""

    selector: Selector | None
    kept: int  # How many terms the regression gets.
    epsilon: float  # What the selection spends.
    epsilon_fit: float  # What is left for the regression.
    # Chance of a unit to be used for the selection, and not for the regression.
    split: float | None = None

    @property
    def label(self) -> str:
        """What comes before the name of the method in a certificate."""
        return "" if self.selector is None else f"{self.selector.name}, then "

    def composition(self, of_fit: str) -> str:
        """How its parts and those of the fit add up."""
        if self.split is not None:
            return f"selection and fit on different units; {of_fit} in the fit"
        return of_fit if self.selector is None else after_basic(of_fit)

    def cost(self, fit: Cost) -> Cost:
        """Return what both stages cost at most, or have cost, by the cost of the fit."""
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
                f"{chosen} from the same data; standard errors and intervals are conditional on "
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
