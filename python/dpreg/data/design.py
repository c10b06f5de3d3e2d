"""The private side of a regression problem: numbers, one row a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpreg.data.formula import FormulaSpec
from dpreg.data.observations import Collector, InMemory, Observations
from dpreg.data.partitioned import PartitionedRows, PartitionedSource
from dpreg.data.source import RowSource
from dpreg.data.strata import StratumRows
from dpreg.data.units import UnitNumbers, Units
from dpreg.families import GAUSSIAN, Family
from dpreg.privacy.stratum import Stratum

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
    within : bool
        Rows are deviations from the means of their unit.
    family : Family
    """

    response: str
    names: tuple[str, ...]
    intercept: bool
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    within: bool = False
    family: Family = GAUSSIAN

    @property
    def given(self) -> tuple[int, ...]:
        """Places, in `names`, of offsets: their coefficient is 1."""
        return tuple(j for j, name in enumerate(self.names) if name.startswith("offset("))

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
    spec: FormulaSpec,
    source: RowSource,
    unit: str | None,
    terms: Terms,
    memory: float,
    stratum: Stratum | None = None,
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
    stratum : Stratum, optional
        Whose rows are wanted; None: all.
    """
    if unit is None and stratum is None and isinstance(source, PartitionedSource):
        return Design(PartitionedRows(spec, source, memory), terms)
    named = [unit, None if stratum is None else stratum.column]
    columns = [*spec.needed(response=True), *(name for name in named if name is not None)]
    collector, labels = Collector(memory), [_NO_LABELS]
    number = UnitNumbers()
    wanted = StratumRows(0 if stratum is None else stratum.position)
    for batch in source.batches(tuple(dict.fromkeys(columns))):
        evaluated = spec.rows(batch, response=True)
        X, y = evaluated.X, evaluated.y
        assert y is not None
        mine = None if unit is None else number.labels(batch.cells[unit].keys())
        taken = np.ones(batch.rows, dtype=bool) if mine is None else mine >= 0
        if stratum is not None:
            taken &= wanted.inside(batch.cells[stratum.column].codes(stratum.levels), mine)
        taken = taken[evaluated.kept]
        collector.append(X if taken.all() else X[taken], y if taken.all() else y[taken])
        if mine is not None:
            labels.append(mine[evaluated.kept][taken])
    rows = collector.observations(len(spec.names))
    if unit is None:
        return Design(rows, terms)
    units = np.concatenate(labels)
    if stratum is not None:
        alone = wanted.of_one_stratum(units)
        rows, units = rows.where(alone), units[alone]
    return Design(rows, terms, Units.from_labels(units))
