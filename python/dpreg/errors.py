"""The exceptions of dpreg.  All of them depend on public things only."""

from __future__ import annotations


class BudgetError(ValueError):
    """A privacy parameter is not a valid one, or a budget cannot cover a release."""


class FormulaError(ValueError):
    """A formula cannot be used: it does not parse, or a term is not allowed.

    Whether it is raised depends on the text of the formula and on the schema of the
    data (column names, types, declared levels), never on a cell.
    """


class SchemaError(ValueError):
    """The data are not of a kind that can be read: container, column type or levels."""


class SourceError(RuntimeError):
    """A file or another source of rows failed while it was read, after the budget was charged.

    A damaged file, a lost connection, a lazy query that raises: the promise ends where the source
    does.  The message says which kind of error it was and nothing that the source said.
    """
