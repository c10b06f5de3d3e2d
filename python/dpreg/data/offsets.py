"""Offsets of a linear predictor in units of the response: they are taken off the response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.errors import FormulaError
from dpreg.data.changed_rows import changed
from dpreg.data.design import Design, Terms
from dpreg.data.observations import Doubles


@dataclass(frozen=True, slots=True)
class _LessOffsets:
    """Rows without some columns, which are taken off the response.  Public, and can be pickled."""

    offsets: tuple[int, ...]
    kept: tuple[int, ...]

    def __call__(self, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
        """Return regressors and response; a response that overflows is 0."""
        # Column by column, so that what a row gets does not depend on its place; and an
        # overflow is no news, as it would be of a record.
        with np.errstate(all="ignore"):
            for j in self.offsets:
                y = y - X[:, j]
        return np.ascontiguousarray(X[:, list(self.kept)]), np.where(np.isfinite(y), y, 0.0)


def refuse_offsets(terms: Terms, function: str) -> None:
    """Refuse offsets where no model is fitted."""
    if terms.given:
        problem = f"{function} does not support {terms.names[terms.given[0]]}"
        raise FormulaError("formula", problem, "leave it out")


def without_offset_terms(terms: Terms) -> Terms:
    """Return the terms of a design without its offsets; the same ones if there are none."""
    if not terms.given:
        return terms
    return terms.keeping([j for j in range(len(terms.names)) if j not in terms.given])


def without_offsets(design: Design) -> Design:
    """Take offsets off the response.

    Each row is a function of what it was, so a unit that comes or goes changes no other rows.
    """
    terms = design.terms
    if not terms.given:
        return design
    kept = tuple(j for j in range(len(terms.names)) if j not in terms.given)
    changes = _LessOffsets(terms.given, kept)
    return changed(design, changes, without_offset_terms(terms))
