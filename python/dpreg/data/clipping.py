"""Values beyond the public bounds of their column count as the bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.data.bounds import column_bounds
from dpreg.data.changed_rows import changed
from dpreg.data.design import Design
from dpreg.data.observations import Doubles


@dataclass(frozen=True, slots=True, eq=False)
class _Clipped:
    """Rows within the limits of regressors and, last, of the response.  Public."""

    # low, high: shape (d + 1,).
    low: Doubles
    high: Doubles

    def __call__(self, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
        """Return regressors and response."""
        low, high = self.low, self.high
        return np.clip(X, low[:-1], high[:-1]), np.clip(y, low[-1], high[-1])


def clipped(design: Design) -> Design:
    """Move values beyond public bounds to these; the same design if no bounds were given.

    Each row is a function of what it was, so a unit that comes or goes changes no other rows.
    """
    if not design.terms.bounds:
        return design
    bounds = column_bounds(design.terms)
    unknown = np.isnan(bounds[:, 0])
    low, high = (np.where(unknown, end, bounds[:, j]) for j, end in enumerate((-np.inf, np.inf)))
    return changed(design, _Clipped(low, high), design.terms)
