"""The private side of a regression problem: numbers, one row per record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.families import GAUSSIAN, Family
from dpreg.base.later import pa
from dpreg.base.passes import passed
from dpreg.data.cells import by_entry
from dpreg.data.formula import FormulaSpec, Rows
from dpreg.data.observations import Collector, InMemory, Made, Observations, Statistic
from dpreg.data.partitioned import PartitionedRows, PartitionedSource
from dpreg.data.roles import Weights
from dpreg.data.source import RowSource
from dpreg.privacy.charge import Stratum
from dpreg.privacy.sealed import Counts, Sealed, opened

_NO_LABELS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, repr=False)
class Units:
    """The rows of each protected unit.  Private."""

    offsets: NDArray[np.uint64]  # Shape (units + 1,).
    # Shape (n,): unit u has the rows ``rows[offsets[u]:offsets[u + 1]]``, or records in the case
    # of `ExpandedRows`.
    rows: NDArray[np.uint64]
    most: int | None = None  # Largest number of rows of a unit, by construction.  None: not known.

    @classmethod
    def from_labels(cls, labels: Integers) -> Units:
        """Group rows by label; labels are any integers."""
        _, numbers = np.unique(labels, return_inverse=True)
        counts = np.bincount(numbers) if len(labels) else np.zeros(0, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = np.argsort(numbers, kind="stable")
        return cls(offsets.astype(np.uint64), rows.astype(np.uint64))


def unit_means(values: Doubles, units: Units) -> Doubles:
    """Return the mean of the rows of each unit; every unit has at least one row."""
    first = units.offsets[:-1].astype(np.intp)
    if not len(first):
        return values[:0]
    counts = np.diff(units.offsets.astype(np.int64)).astype(np.float64)
    # A sum of huge cells may overflow, and a warning would depend on cells.
    with np.errstate(all="ignore"):
        sums = np.add.reduceat(values[units.rows.astype(np.intp)], first, axis=0)
        return np.asarray(sums / counts.reshape(-1, *[1] * (values.ndim - 1)))


def unit_labels(keys: pa.LargeBinaryArray, numbers: dict[bytes, int]) -> Integers:
    """Return the unit number of each row, -1 where its key is missing.

    Numbers are equal if and only if keys are, across all batches.

    numbers: number of each key seen so far; new keys are added.
    """
    return by_entry(
        keys.dictionary_encode(), lambda key: numbers.setdefault(key, len(numbers)), np.int64
    )


@dataclass(frozen=True, slots=True)
class Terms:
    """What is public about a regression problem."""

    response: str
    names: tuple[str, ...]  # Of the columns of X, without the intercept.
    intercept: bool
    # Limits of columns that follow from declared levels.
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    # Limits that the user gives for columns and the response; see `checked_bounds`.  They may
    # include columns that a private selection left out.
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    within: bool = False  # Rows are deviations from the means of their unit.
    family: Family = GAUSSIAN
    # Columns that a selection keeps or drops together, in the order of `names`: those of each term
    # of the formula.  None: each column by itself.
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    offsets: tuple[str, ...] = ()  # Columns whose coefficient is fixed at 1.
    # Column of the data with the weights; it is the last of `names`.
    weights: str | None = None
    # Public limits of data columns that enter the formula through a basis.
    data_bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def candidates(self) -> dict[str, tuple[int, ...]]:
        """Candidates of a selection: indices into `names`, by group."""
        columns = iter(range(len(self.names)))
        groups = self.groups or {name: (name,) for name in self.names}
        return {group: tuple(islice(columns, len(of))) for group, of in groups.items()}

    @property
    def given(self) -> tuple[int, ...]:
        """Indices of the offsets in `names`."""
        return tuple(j for j, name in enumerate(self.names) if name in self.offsets)

    @property
    def weight(self) -> int | None:
        """Index of the weights in `names`; None: rows are not weighted."""
        return None if self.weights is None else len(self.names) - 1

    @property
    def regressors(self) -> tuple[str, ...]:
        """Names of the columns of X without the weights."""
        return self.names[: self.weight]

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of the coefficients, the intercept first if there is one."""
        return (("Intercept",) if self.intercept else ()) + self.regressors

    def keeping(self, kept: Sequence[int]) -> Terms:
        """Return the terms of these columns, in this order."""
        names = tuple(self.names[j] for j in kept)
        ranges = {name: pair for name, pair in self.ranges.items() if name in names}
        groups = {group: of for group, of in self.groups.items() if set(of) <= set(names)}
        weights = self.weights if self.weight in kept else None
        return replace(self, names=names, ranges=ranges, groups=groups, weights=weights)


def weighed_terms(terms: Terms, weights: Weights | None) -> Terms:
    """Return the terms of a design whose last column has the weights, if any."""
    if weights is None:
        return terms
    name, limit = f"weights({weights.column})", weights.limit
    ranges = terms.ranges if limit is None else {**terms.ranges, name: (0.0, limit)}
    return replace(terms, names=(*terms.names, name), ranges=ranges, weights=weights.column)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records:
    """The records of a design, and their units."""

    rows: Observations
    units: Units | None  # None: a unit is a row.

    @property
    def unit_count(self) -> int:
        """The number of protected units."""
        return self.rows.count if self.units is None else len(self.units.offsets) - 1

    def arrays(self) -> Arrays:
        """Return all rows in memory."""
        X, y = self.rows.arrays()
        own = (None, None) if self.units is None else (self.units.offsets, self.units.rows)
        return Arrays(X, y, *own)


class Arrays(NamedTuple):
    """All rows of a design in memory."""

    X: Doubles  # Shape (n, d): regressors without the intercept.
    y: Doubles  # Shape (n,).
    # unit_offsets, unit_rows: see `Units`; None: a unit is a row.
    unit_offsets: NDArray[np.uint64] | None = None
    unit_rows: NDArray[np.uint64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Records as numbers, and what is public about them."""

    records: Sealed[Records]  # The rows, grouped by unit.
    terms: Terms
    by_unit: bool  # A unit may have several rows.

    @classmethod
    def of_rows(cls, rows: Observations, terms: Terms, units: Units | None = None) -> Design:
        """Return the design of rows."""
        return cls(Sealed(Records(rows, units)), terms, units is not None)

    @classmethod
    def of(cls, X: Doubles, y: Doubles, terms: Terms, units: Units | None = None) -> Design:
        """Return the design of arrays of shape (n, d) and (n,)."""
        return cls.of_rows(InMemory(X, y), terms, units)

    def total(self, statistic: Statistic[Made]) -> Made:
        """Return a sum over the rows, sealed.

        Raises TypeError if the statistic has not sealed it.
        """
        made = opened(self.records).rows.total(statistic)
        parts: tuple[object, ...] = made if isinstance(made, tuple) else (made,)
        if not all(isinstance(part, Sealed) for part in parts):
            raise TypeError(f"{type(statistic).__name__} does not seal its sums")
        return made

    def arrays(self) -> Sealed[Arrays]:
        """Return all rows in memory, sealed."""
        return self.records.map(Records.arrays)

    @property
    def columns(self) -> int:
        """The number of regressors, without the intercept.  Public."""
        return len(self.terms.names)

    @property
    def unit_count(self) -> Counts:
        """The number of protected units."""
        return Counts(np.array([opened(self.records).unit_count]), of_units=True)

    @property
    def by_row(self) -> Design:
        """The same rows, each by itself."""
        return Design.of_rows(opened(self.records).rows, self.terms)

    def keep(self, columns: Sequence[int]) -> Design:
        """Return the design with only these columns, in this order."""
        kept, records = sorted(columns), opened(self.records)
        return Design.of_rows(records.rows.columns(kept), self.terms.keeping(kept), records.units)


@dataclass(frozen=True, slots=True, repr=False)
class Block:
    """Some rows of a table as numbers.  Private."""

    rows: Rows  # The complete rows among n.
    # Unit of each of the n rows, -1 where it is missing.  None: a row is a unit.
    labels: Integers | None = None
    # Index of the stratum of each row, -1 where it has none.
    codes: NDArray[np.int32] | None = None


def read_design(
    spec: FormulaSpec,
    source: RowSource,
    unit: str | None,
    terms: Terms,
    memory: float,
    stratum: Stratum | None = None,
) -> Design:
    """Read the records and evaluate the formula on every complete row.

    unit: column that names the protected unit; rows without a unit are incomplete.
    stratum: keep the rows of this stratum only; None: all rows.
    """
    if unit is None and stratum is None and isinstance(source, PartitionedSource):
        return Design.of_rows(PartitionedRows(spec, source, memory), terms)
    column = None if stratum is None else stratum.column
    named = [name for name in (unit, column) if name is not None]
    columns = tuple(dict.fromkeys([*spec.needed(response=True), *named]))
    numbers: dict[bytes, int] = {}

    def blocks() -> Iterator[Block]:
        for batch in source.batches(columns):
            labels = None if unit is None else unit_labels(batch.cells[unit].keys(), numbers)
            codes = None
            if stratum is not None:
                codes = batch.cells[stratum.column].codes(stratum.levels)
            yield Block(spec.rows(batch, response=True), labels, codes)

    return design_of(blocks(), terms, memory, stratum, by_unit=unit is not None)


def design_of(
    blocks: Iterable[Block], terms: Terms, memory: float, stratum: Stratum | None, *, by_unit: bool
) -> Design:
    """Return the design of blocks of rows.

    A row belongs to a stratum if its column has that level.  A unit with several rows belongs to a
    stratum only if none of its rows, complete or not, has another declared level.  A unit is
    therefore in at most one stratum, whatever the formula and the order of rows.
    """
    collector, labels, elsewhere = Collector(memory), [_NO_LABELS], [_NO_LABELS]
    for block in blocks:
        X, y, kept = block.rows.X, block.rows.y, block.rows.kept
        assert y is not None
        mine = None if block.labels is None else block.labels[kept]
        taken = np.ones(len(kept), dtype=bool) if mine is None else mine >= 0
        if stratum is not None and block.codes is not None:
            inside = block.codes == stratum.position
            taken &= inside[kept]
            if block.labels is not None:
                elsewhere.append(np.unique(block.labels[(block.codes >= 0) & ~inside]))
        collector.append(X if taken.all() else X[taken], y if taken.all() else y[taken])
        if mine is not None:
            labels.append(mine[taken])
    passed()
    rows = collector.observations(len(terms.names))
    if not by_unit:
        return Design.of_rows(rows, terms)
    units = np.concatenate(labels)
    if stratum is not None:
        alone = ~np.isin(units, np.concatenate(elsewhere))
        rows, units = rows.where(alone), units[alone]
    return Design.of_rows(rows, terms, Units.from_labels(units))
