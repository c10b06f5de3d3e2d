"""Selection as the first stage of a regression: its share of the budget, its columns."""

from __future__ import annotations

from dataclasses import dataclass

from dpreg import _core
from dpreg.design import Design, Terms
from dpreg.methods._method import Allowance
from dpreg.released.certificate import Part
from dpreg.selection import selector_from
from dpreg.selection._selector import Selector, check_k

__all__ = ["Chosen", "FirstStage", "first_stage"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a first stage released.

    Attributes
    ----------
    names : tuple of str or None
        None: there was no selection.
    parts : tuple of Part
    notes : tuple of str
    """

    names: tuple[str, ...] | None = None
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstStage:
    """A selection that has been checked, or none.  Public.

    Attributes
    ----------
    selector : Selector or None
    kept : int
        How many columns the regression gets.
    epsilon : float
        What the selection spends.
    """

    selector: Selector | None
    kept: int
    epsilon: float

    @property
    def label(self) -> str:
        """What comes before the name of the method in a certificate."""
        return "" if self.selector is None else f"{self.selector.name}, then "

    def composition(self, of_fit: str) -> str:
        """How its parts and those of the fit add up: selection and fit by basic composition."""
        return of_fit if self.selector is None or of_fit == "basic" else f"basic and {of_fit}"

    def run(self, design: Design, bits: _core.BitSource) -> tuple[Design, Chosen]:
        """Choose columns and drop the others."""
        if self.selector is None:
            return design, Chosen()
        found = self.selector.select(design, self.kept, Allowance(self.epsilon, 0.0, bits))
        # A set says nothing about its order.
        columns = found.columns if found.ordered else sorted(found.columns)
        names = tuple(design.terms.names[j] for j in columns)
        return design.keep(found.columns), Chosen(names, found.parts, found.notes)


def first_stage(
    select: str | Selector | None, k: int | None, terms: Terms, epsilon: float, *, grouped: bool
) -> FirstStage:
    """Check `select` and `k` of `dp_lm` and split epsilon.

    Raises
    ------
    ValueError
        Before a record is read.
    """
    d = len(terms.names)
    if select is None:
        if k is not None:
            raise ValueError(
                "k says how many columns to select; add select='kendall', or leave k out"
            )
        return FirstStage(None, d, 0.0)
    selector = selector_from(select)
    if k is None:
        raise ValueError(
            "k: select needs the number of columns to keep; k=5 is a good first choice"
        )
    kept = check_k(k, d)
    # So that this and what is left add up to epsilon exactly (Sterbenz).
    spent = epsilon - (epsilon - selector.share * epsilon)
    selector.check(terms, kept, spent, 0.0, grouped=grouped)
    return FirstStage(selector, kept, spent)
