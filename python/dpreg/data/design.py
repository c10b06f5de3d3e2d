"""The private side of a regression problem: numbers, one row a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpreg.data.formula import FormulaSpec
from dpreg.data.observations import Collector, InMemory, Observations
from dpreg.data.source import RowSource
from dpreg.data.units import UnitNumbers, Units

__all__ = ["Design", "Terms", "read_design"]

_NO_LABELS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Terms:
    """What is public about a regression problem.

    Attributes
    ----------
    response : str
    names : tuple of str, length d
        Of the columns of X, the intercept not among them.
    intercept : bool
    ranges : mapping of str to pair
        Limits of those columns that are known from declared levels.
    dropped : tuple of str
        Columns that the formula makes and a private selection left out.
    """

    response: str
    names: tuple[str, ...]
    intercept: bool
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of the coefficients, the intercept first if there is one."""
        return (("Intercept",) if self.intercept else ()) + self.names


@dataclass(frozen=True, slots=True)
class Design:
    """Records as numbers.  Private, all but `terms`.

    Attributes
    ----------
    rows : Observations
    terms : Terms
    units : Units or None
        None: a unit is a row.
    """

    rows: Observations
    terms: Terms
    units: Units | None = None

    @classmethod
    def of(
        cls,
        X: NDArray[np.float64],
        y: NDArray[np.float64],
        terms: Terms,
        units: Units | None = None,
    ) -> Design:
        """Return the design of arrays of shape (n, d) and (n,)."""
        return cls(InMemory(X, y), terms, units)

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802
        """Regressors without the intercept, shape (n, d), all of them in memory."""
        return self.rows.arrays()[0]

    @property
    def y(self) -> NDArray[np.float64]:
        """The response, shape (n,)."""
        return self.rows.arrays()[1]

    @property
    def columns(self) -> int:
        """The number of regressors, without the intercept.  Public."""
        return len(self.terms.names)

    @property
    def unit_count(self) -> int:
        """The number of protected units.  Private."""
        return self.rows.count if self.units is None else len(self.units.offsets) - 1

    def keep(self, columns: Sequence[int]) -> Design:
        """Return the design with these columns only, in the order they have here."""
        kept = sorted(columns)
        names = tuple(self.terms.names[j] for j in kept)
        terms = replace(
            self.terms,
            names=names,
            ranges={name: pair for name, pair in self.terms.ranges.items() if name in names},
            dropped=tuple(name for name in self.terms.names if name not in names),
        )
        return replace(self, rows=self.rows.columns(kept), terms=terms)


def read_design(
    spec: FormulaSpec, source: RowSource, unit: str | None, terms: Terms, memory: float
) -> Design:
    """Read the records: evaluate the formula on every complete row.

    Parameters
    ----------
    spec : FormulaSpec
    source : RowSource
    unit : str or None
        Column that names the protected unit; rows without one are incomplete.
    terms : Terms
        Of `spec`.
    memory : float
        Bytes that rows may take before they go to a temporary file.
    """
    columns = spec.needed(response=True)
    if unit is not None:
        columns = (*columns, unit)
    collector, labels = Collector(memory), []
    number = UnitNumbers()
    for batch in source.batches(columns):
        evaluated = spec.rows(batch, response=True)
        X, y = evaluated.X, evaluated.y
        assert y is not None
        if unit is not None:
            mine = number.labels(batch.cells[unit].keys())[evaluated.kept]
            named = mine >= 0
            X, y = X[named], y[named]
            labels.append(mine[named])
        collector.append(X, y)
    rows = collector.observations(len(spec.names))
    if unit is None:
        return Design(rows, terms)
    return Design(rows, terms, Units.from_labels(np.concatenate([*labels, _NO_LABELS])))
