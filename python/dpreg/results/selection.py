"""The outcome of a private feature selection, after release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dpreg.estimation.inference.clarity import Clarity
from dpreg.privacy.certificate import Certificate
from dpreg.results.document import Saved
from dpreg.results.summary import Summary, laid_out, said_below


@dataclass(frozen=True, slots=True, repr=False)
class SelectionResult(Saved):
    """Terms chosen privately.  Holds released values only; nothing here costs budget.

    Attributes
    ----------
    formula : str
    response : str
    selected : tuple of str, length k
        The chosen terms.
    ordered : bool
        True: in the order they were chosen.  False: in the order of the formula.
    candidates : tuple of str, length d
        Terms they were chosen from.
    columns : tuple of str
        Of the model matrix, that the chosen terms make.
    method : str
    clarity : Clarity
    privacy : Certificate
    units : float or None
        Private estimate of the number of units, if the method made one.
    notes : tuple of str

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> found = dpreg.dp_select("price ~ carat + depth + table", d, 2, eps=1.0)
    >>> found.candidates
    ('carat', 'depth', 'table')
    >>> len(found.selected)
    2
    """

    _document = ("this is not a dpreg selection", "dpreg_selection", 2)
    # Before there were terms of several columns, the columns were what was selected.
    _older: ClassVar[Mapping[str, str]] = {"columns": "selected"}

    formula: str
    response: str
    selected: tuple[str, ...]
    ordered: bool
    candidates: tuple[str, ...]
    columns: tuple[str, ...]
    method: str
    clarity: Clarity
    privacy: Certificate
    units: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def k(self) -> int:
        """How many terms were chosen."""
        return len(self.selected)

    @property
    def nobs(self) -> float | None:
        """Private estimate of the number of protected units, if the method made one."""
        return self.units

    def summary(self) -> Summary:
        """Return the selected terms, the cost, and the lead that a term needed."""
        terms = [[name] for name in self.selected]
        table = laid_out(terms, ["term"], self._places, self._title)
        return Summary((table,), self._below)

    @property
    def _title(self) -> str:
        how = "in the order they were chosen" if self.ordered else "in no particular order"
        return f"Selected {self.k} of {len(self.candidates)} terms for {self.response}, {how}"

    @property
    def _places(self) -> list[str]:
        return [f"{place}." if self.ordered else "-" for place in range(1, self.k + 1)]

    @property
    def _below(self) -> tuple[str, ...]:
        return (
            f"Clarity: {self.clarity.reading} How far apart the scores were is private.",
            *said_below(self.privacy, self.notes),
        )

    def __str__(self) -> str:
        chosen = (f"  {at} {name}" for at, name in zip(self._places, self.selected, strict=True))
        return Summary((), (f"{self._title}:", *chosen, *self._below)).as_text()

    __repr__ = __str__
