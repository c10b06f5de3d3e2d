"""What is common to calls that make several rows of each record, and fit these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dpreg.base.errors import ArgumentError, FormulaError, leave_out, unusable
from dpreg.calls import about
from dpreg.calls.chosen import bounds_for, rows_fitted
from dpreg.calls.fit import published
from dpreg.calls.request import Request
from dpreg.calls.session import Session
from dpreg.data.changed_rows import clipped
from dpreg.data.design import Design, Terms
from dpreg.data.problem import Problem
from dpreg.data.sampling import sample_rows
from dpreg.estimation.base import Allowance, Declined, Release
from dpreg.estimation.methods import BoostedAdaSSP
from dpreg.privacy.certificate import public_with
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased
from dpreg.results.predict import schema_to_dict

_MOST_COLUMNS, _MOST_ROWS = 2000, 10**5


@dataclass(frozen=True, slots=True)
class Stacked:
    """A model of rows that are made of records.  Public."""

    name: str  # In words, for the certificate.
    fitted_by: str  # How, for the ledger.
    records: Terms  # Of the records.
    terms: Terms  # Of the rows.
    count: int  # A record has at most so many rows.
    max_rows: int  # A unit has at most so many records, which are what the release counts.
    # Makes rows of records, of which a unit has at most `max_rows`, and fits them.
    release: Callable[[Design, Allowance], Release | Declined]
    public: tuple[str, ...] = ()  # What is public beside what always is.
    order: int | None = None  # Column by which the first records of a unit are kept; None: random.
    notes: tuple[str, ...] = ()  # Printed under the model, after those of the release.

    def fit(self, session: Session, problem: Problem) -> DPResults | NotReleased:
        """Charge the fit, read the records, and release.

        Raises ValueError for wrong use, before a record is read.
        """
        asked, spending = session.request, session.allowance
        claim = spending.epsilon, spending.delta
        method = BoostedAdaSSP(max_rows=self.max_rows * self.count)
        method.check(self.terms, *claim, inference=True)
        receipt = session.pay(self.fitted_by, method.cost(*claim), self.max_rows)

        with receipt.running():
            design = replace(problem.design(session.memory), terms=self.records)
            design = clipped(design)
            design = sample_rows(design, self.max_rows, spending.bits, order=self.order)
            outcome = self.release(design, spending)

        bounds = {**self.records.data_bounds, **self.records.bounds}
        privacy, unwritten = receipt.settle(
            f"{self.name} by {method.name}",
            outcome.composition,
            outcome.parts,
            (*public_with(bounds), *self.public),
            declined=isinstance(outcome, Declined),
            paid=outcome.cost,
        )
        result = published(outcome, privacy, self.terms, str(asked.formula), method.name)
        if isinstance(result, NotReleased):
            return result
        notes = (
            *about.privacy(*claim, outcome.units / self.max_rows),
            *unwritten,
            *result.notes,
            *about.columns(problem.schema),
            *self.notes,
            *about.stratum(session.payer.stratum, asked.unit),
        )
        return replace(result, schema=schema_to_dict(problem.schema), notes=notes)


def rows_of_a_unit(asked: Request, count: int, of: str) -> int:
    """Return how many records a unit gives, each of which has at most `count` rows.

    of: what they are of, for a message.
    """
    rows = rows_fitted(asked)
    if rows * count > _MOST_ROWS:
        raise unusable("max_rows", f"at most {_MOST_ROWS // count:,} with {of}", rows)
    return rows


def bounded(terms: Terms, asked: Request, refused: tuple[str, ...]) -> Terms:
    """Return the terms of records with their bounds, which covariates alone may have."""
    given = asked.bounds if isinstance(asked.bounds, Mapping) else {}
    # In a formula of times to an event their columns are in I().
    parts = [name for name in given if f"I({name})" in refused and name not in terms.names]
    wrong = [*parts, *(name for name in refused if name in given)]
    if wrong:
        raise ArgumentError("bounds", f"{wrong[0]!r} is not a covariate", leave_out("bounds"))
    return replace(terms, bounds=bounds_for(asked.bounds, terms, BoostedAdaSSP(), None))


def check_columns(names: tuple[str, ...], advice: str) -> None:
    """Refuse more columns of rows than there may be."""
    if len(names) > _MOST_COLUMNS:
        size = f"{len(names):,} coefficients, more than {_MOST_COLUMNS:,}"
        raise FormulaError(f"makes {size}", advice)
