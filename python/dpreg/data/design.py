"""The private side of a regression problem: numbers, one row a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpreg.data.formula import FormulaSpec
from dpreg.data.table import Table
from dpreg.errors import SchemaError

__all__ = [
    "Design",
    "Terms",
    "Units",
    "check_unit",
    "read_design",
    "terms_of",
]


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
class Units:
    """The rows of each protected unit.  Private.

    Attributes
    ----------
    offsets : ndarray, shape (units + 1,)
    rows : ndarray, shape (n,)
        Unit u has the rows ``rows[offsets[u]:offsets[u + 1]]``.
    """

    offsets: NDArray[np.uint64]
    rows: NDArray[np.uint64]

    @classmethod
    def from_labels(cls, labels: NDArray[np.int64]) -> Units:
        """Group rows by label; labels are any integers."""
        _, numbers = np.unique(labels, return_inverse=True)
        counts = np.bincount(numbers) if len(labels) else np.zeros(0, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = np.argsort(numbers, kind="stable")
        return cls(offsets.astype(np.uint64), rows.astype(np.uint64))


@dataclass(frozen=True, slots=True)
class Design:
    """Records as numbers.  Private, all but `terms`.

    Attributes
    ----------
    X : ndarray, shape (n, d)
        Regressors without the intercept.
    y : ndarray, shape (n,)
    terms : Terms
    units : Units or None
        None: a unit is a row.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    terms: Terms
    units: Units | None = None

    @property
    def unit_count(self) -> int:
        """The number of protected units.  Private."""
        return len(self.y) if self.units is None else len(self.units.offsets) - 1

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
        return replace(self, X=np.ascontiguousarray(self.X[:, kept]), terms=terms)


def terms_of(spec: FormulaSpec) -> Terms:
    """Return what a formula says about the design, without any record."""
    return Terms(spec.response, spec.names, spec.intercept, spec.ranges)


def read_design(spec: FormulaSpec, table: Table, unit: str | None) -> Design:
    """Read the records: evaluate the formula on every complete row.

    Parameters
    ----------
    spec : FormulaSpec
    table : Table
    unit : str or None
        Column that names the protected unit; rows without one are incomplete.
    """
    rows = spec.rows(table, response=True)
    assert rows.y is not None
    terms = terms_of(spec)
    if unit is None:
        return Design(rows.X, rows.y, terms)
    labels = table.identifiers(unit)[rows.kept]
    named = labels >= 0
    return Design(rows.X[named], rows.y[named], terms, Units.from_labels(labels[named]))


def check_unit(unit: str | None, table: Table) -> None:
    """Refuse a unit column that is not there."""
    if not (unit is None or isinstance(unit, str)):
        raise SchemaError(
            "unit must be the name of one column, a string such as unit='person', "
            f"not a {type(unit).__name__}"
        )
    if unit is not None and unit not in table.schema.columns:
        raise SchemaError(
            f"unit: there is no column {unit!r}; "
            f"the data have {', '.join(map(repr, table.schema.columns))}"
        )
