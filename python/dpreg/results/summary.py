"""The printed table: it lays out the numbers of `DPResults.tidy`, and computes nothing."""

from __future__ import annotations

import copy
import html
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpreg.base.later import pd
from dpreg.base.text import counted, wrapped
from dpreg.data.formula.parse import unit_of_effects
from dpreg.privacy.certificate import Certificate
from dpreg.results.fitted import Fitted

_TITLES = {
    "gaussian": "Linear",
    "binomial": "Logistic",
    "poisson": "Poisson",
    "gamma": "Gamma",
    "negativebinomial": "Negative Binomial",
    "quantile": "Quantile",
}
_OF_LINKS = {"probit": "Probit", "cloglog": "Complementary Log-Log"}
_LEAST_WIDTH = 78
# What a page of a paper, and most terminals, have room for.
MOST_WIDTH = 100
# Blanks before the numbers of a row whose name has a line of its own, at least.
_STUB = 6
# Width of a column of numbers where names are long.
_CLOSE = 8
# In the head of the table; the note on privacy has all of it.
_LONGEST_UNIT = 24
# The others stay in `DPResults.notes`.
_SHOWN_NOTES = 2


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a result: tables, and below them its privacy and notes.

    `str()` and `as_text()` give plain text, `as_html()` and `as_latex()` the same for a
    notebook and a paper.

    Attributes
    ----------
    tables : tuple of statsmodels SimpleTable
    notes : tuple of str
        Paragraphs below the tables; lines that begin with blanks continue one.
    """

    tables: tuple[Any, ...]
    notes: tuple[str, ...]

    def as_text(self) -> str:
        """Return plain text."""
        body: list[str] = []
        for table in self.tables:
            # A rule below a table is the one above the next.
            body = [*body[:-1], *_lines(table)]
        width = max([_LEAST_WIDTH, *(len(line) for line in body)])
        lines = (line for note in self.notes for line in wrapped(note, width=width))
        return "\n".join([*body, *lines])

    def as_html(self) -> str:
        """Return HTML, without a style of its own."""
        tables = "\n".join(_with_cells(table, html.escape).as_html() for table in self.tables)
        paragraphs = (html.escape(note).replace("\n", "<br/>\n") for note in self.notes)
        return tables + "".join(f"\n<p>{paragraph}</p>" for paragraph in paragraphs)

    def as_latex(self) -> str:
        """Return a LaTeX fragment."""
        tables = "\n\n".join(
            _with_cells(table, _escape_latex).as_latex_tabular(replacements={})
            for table in self.tables
        )
        return tables + "\n\n" + "\n\n".join(_escape_latex(note) for note in self.notes) + "\n"

    def _repr_html_(self) -> str:
        return self.as_html()

    def __str__(self) -> str:
        return self.as_text()

    __repr__ = __str__


def _with_cells(table: Any, escaped: Callable[[str], str]) -> Any:
    """Return a table whose cells are text in HTML or LaTeX: a column may have any name."""
    found = copy.deepcopy(table)
    for cell in itertools.chain.from_iterable(found):
        cell.data = escaped(str(cell.data))
    return found


class Shown:
    """What is shown as its summary, in a terminal and in a notebook."""

    __slots__ = ()

    def summary(self) -> Summary:
        """Return what to show, printable as text, HTML and LaTeX."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def __str__(self) -> str:
        return str(self.summary())

    __repr__ = __str__


def summarize(
    fit: Fitted,
    table: pd.DataFrame,
    alpha: float,
    *,
    exp: bool = False,
    model: str | None = None,
    counts: Mapping[str, float] | None = None,
) -> Summary:
    """Lay out `table`, the coefficients of `fit` with intervals of level 1 - `alpha`.

    The model is that of the family unless there is one, and private counts that of `unit_noun`.
    """
    shown = {unit_noun(fit): fit.units} if counts is None else counts
    head = _head(fit, model, shown)
    table = table[["coef"]] if fit.covariance is None else table.drop(columns="clipping")
    body = table_of(table.rename(columns={"coef": "exp(coef)"}) if exp else table, alpha)
    return Summary((head, body), _notes(fit))


def _head(fit: Fitted, model: str | None, counts: Mapping[str, float]) -> Any:
    from statsmodels.iolib.summary import Summary as Tables

    claim = fit.privacy
    left = [
        ("Dep. Variable:", [fit.response]),
        ("Method:", [fit.method]),
        *((f"No. {noun}:", [f"{count:,.0f} (private)"]) for noun, count in counts.items()),
    ]
    right = [
        ("Epsilon:", ["NOT PRIVATE" if claim.seeded else f"{claim.epsilon:.6g}"]),
        ("Delta:", ["NOT PRIVATE" if claim.seeded else f"{claim.delta:.3g}"]),
        ("Unit:", [_shortened(claim.unit.replace("all rows of one ", "one "))]),
    ]
    effects = unit_of_effects(fit.formula, fit.schema)
    if effects is not None:
        left.append(("Fixed Effects:", [_shortened(effects)]))
    if fit.stats is not None:
        stats = fit.stats
        left.append(("R-squared:", [_with_error(stats.rsquared, stats.rsquared_error)]))
        right.append(("Sigma:", [_with_error(stats.sigma, stats.sigma_error)]))
    if fit.estimand is not None:
        left.append(("Estimand:", [fit.estimand.name]))
    if not fit.family.least_squares:
        kind = ("Model Family:", [fit.family.label]) if model is None else ("Model:", [model])
        left.insert(1, kind)
        right.insert(0, ("Link Function:", [fit.family.link.capitalize()]))
    title = model or _OF_LINKS.get(fit.family.link, _TITLES[fit.family.name])
    tables = Tables()
    tables.add_table_2cols(
        fit,
        title=f"Private {title} Regression Results",
        gleft=left,
        gright=right,
        yname=fit.response,
        xname=list(fit.names),
    )
    return tables.tables[0]


def _with_error(estimate: float, error: float) -> str:
    """Show an estimate to the last of the two significant digits of its error."""
    if not 1e-9 < error < 1e6:
        return _cell("", estimate)
    places = max(1 - math.floor(math.log10(error)), 0)
    return f"{estimate:.{places}f} (s.e. {error:.{places}f})"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_UNIT else text[: _LONGEST_UNIT - 3] + "..."


def unit_noun(fit: Fitted) -> str:
    """Say what `units` of a fit counts.  The observations are rows that were used."""
    # The other methods count the rows that units gave.
    grouped = fit.privacy.unit != "one row" and fit.method in ("tukey", "frank_wolfe")
    return "Units" if grouped else "Observations"


def table_of(
    table: pd.DataFrame, alpha: float, title: str | None = None, null: Sequence[str] = ()
) -> Any:
    """Lay out a table with limits of level 1 - `alpha` in its last two columns, if it has any.

    table: columns as those of `DPResults.tidy`; rows named by the index.
    null: what each row is tested to be, to be shown beside its estimate.
    """
    limits = dict(zip(("lower", "upper"), limit_headers(alpha), strict=True))
    headers = [limits.get(column, column) for column in table.columns]
    cells = [[_cell(c, row[c]) for c in table.columns] for _, row in _told(table).iterrows()]
    if null:
        headers.insert(1, "null")
        cells = [[row[0], value, *row[1:]] for row, value in zip(cells, null, strict=True)]
    return laid_out(cells, headers, list(table.index), title)


def laid_out(
    cells: Sequence[Sequence[str]], headers: list[str], stubs: list[str], title: str | None
) -> Any:
    """Return a table of statsmodels, as it lays out parameters."""
    from statsmodels.iolib.table import SimpleTable
    from statsmodels.iolib.tableformatting import fmt_params

    table = SimpleTable(cells, headers=headers, stubs=stubs, title=title, txt_fmt=fmt_params)
    if max(map(len, str(table).split("\n"))) <= MOST_WIDTH:
        return table
    close = {**fmt_params, "colwidths": _CLOSE}
    return SimpleTable(cells, headers=headers, stubs=stubs, title=title, txt_fmt=close)


def _lines(table: Any) -> list[str]:
    """Return a table as text; where it would be too wide, long names have lines of their own."""
    lines = str(table).split("\n")
    names = max(len(str(row[0].data)) for row in table)
    room = max(_STUB, names - max(map(len, lines)) + MOST_WIDTH)
    if names <= room:
        return lines
    title, found = str(table.title or "").strip(), []
    for line in lines:
        name, values = line[:names].rstrip(), line[names:]
        if title and line.strip() == title:
            found.append(title.center(room + len(values)))
        elif set(line) <= {"=", "-"}:
            found.append(line[:room] + values)
        elif len(name) <= room:
            found.append(name.ljust(room) + values)
        else:
            found += [name, " " * room + values]
    return found


def _told(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out coefficients of which nothing was released: 0 without a standard error."""
    if not {"coef", "std err"} <= set(table.columns):
        return table
    untold = (table["coef"] == 0) & table["std err"].isna()
    return table.assign(coef=table["coef"].mask(untold))


def _cell(column: str, value: float) -> str:
    if np.isnan(value):
        return "n/a"
    if column in ("z", "P>|z|"):
        return f"{value:.3f}" if abs(value) < 1e5 else f"{value:.2e}"
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.3e}"
    return f"{value:.4f}" if abs(value) < 1e3 else f"{value:.2f}"


def _notes(fit: Fitted) -> tuple[str, ...]:
    notes = [privacy_note(fit.privacy)]
    if fit.covariance is None:
        why = f"none, because {fit.no_errors}" if fit.no_errors else "not requested"
        notes.append(f"Standard errors: {why}.")
    more = fit.notes[_SHOWN_NOTES:]
    return (
        *notes,
        *(f"Note: {note}." for note in fit.notes[:_SHOWN_NOTES]),
        *([f"{counted(len(more), 'more note')} in fit.notes."] if more else []),
    )


def cell(value: float, form: str) -> str:
    """Return a number in this form; n/a for NaN."""
    return "n/a" if math.isnan(value) else format(value, form)


def limit_headers(alpha: float) -> list[str]:
    """Return the headers of limits of level 1 - `alpha`."""
    return [f"[{alpha / 2:.3g}", f"{1 - alpha / 2:.3g}]"]


def said_below(certificate: Certificate, notes: Sequence[str]) -> tuple[str, ...]:
    """Return the guarantee and notes, as they stand below a table."""
    return (privacy_note(certificate), *(f"Note: {note}." for note in notes))


def privacy_note(certificate: Certificate) -> str:
    """Return the guarantee; the certificate itself has the steps and their composition."""
    return f"Privacy: {certificate.claim}"


def _escape_latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {c: f"${c}$" for c in "<>|"}  # which older fonts have other letters for
    return "".join(special.get(c, "\\" + c if c in "&%$#_{}" else c) for c in text)
