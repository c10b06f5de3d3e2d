"""Several fits side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dpreg.base.errors import ArgumentError, a_kind
from dpreg.results.fit import DPResults
from dpreg.results.summary import MOST_WIDTH, Summary, laid_out, unit_noun


def compare(fits: Sequence[DPResults] | Mapping[str, DPResults] = (), *others: object) -> Summary:
    """Lay several fits out side by side: coefficients, standard errors below in parentheses.

    Parameters
    ----------
    fits : list of DPResults, or mapping of title to DPResults
        Those that were not released (`NotReleased`) are refused.
    *others
        Refused: give the fits in one list.

    Returns
    -------
    Summary
        Printable as text, HTML and LaTeX.

    Raises
    ------
    ValueError
        If there is no fit, or one is something else.

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> small = dpreg.dp_lm("log(price) ~ log(carat)", d, 1.0)
    >>> large = dpreg.dp_lm("log(price) ~ log(carat) + depth", d, 1.0)
    >>> table = dpreg.compare({"weight": small, "weight and depth": large})
    >>> "weight and depth" in table.as_latex()
    True
    """
    if others or not isinstance(fits, (Mapping, Sequence)):
        advice = "write compare([first, second])", "compare({'first': first, 'second': second})"
        raise ArgumentError("fits", "must be one list or dict", *advice)
    if not isinstance(fits, Mapping):
        fits = {f"({k})": fit for k, fit in enumerate(fits, 1)}
    named = dict(fits)
    if not named:
        raise ArgumentError("fits", "must be one or more released fits, in a list or dict")
    for title, fit in named.items():
        if not isinstance(fit, DPResults):
            why = f"must be released fits of dp_lm or dp_glm, and {title} is {a_kind(fit)}"
            raise ArgumentError("fits", why, "leave it out")
    title = "Private Linear Regressions" if _linear(named) else "Private Regressions"
    return Summary(_beside(named, title), _notes(named))


def _beside(named: Mapping[str, DPResults], title: str | None) -> tuple[Any, ...]:
    """Return one table, or several below each other where it would be too wide."""
    table = _table(named, title)
    if len(named) == 1 or max(map(len, str(table).split("\n"))) <= MOST_WIDTH:
        return (table,)
    names, half = list(named), (len(named) + 1) // 2
    first, rest = ({name: named[name] for name in of} for of in (names[:half], names[half:]))
    return (*_beside(first, title), *_beside(rest, None))


def _table(named: Mapping[str, DPResults], title: str | None) -> Any:
    terms = list(dict.fromkeys(term for fit in named.values() for term in fit.params.index))
    cells, stubs = [], []
    for term in terms:
        columns = [_cell(fit, term) for fit in named.values()]
        stubs += [term, ""]
        cells += [[column[0] for column in columns], [column[1] for column in columns]]
    for name, value in (_FOOT if _linear(named) else _FAMILIES | _FOOT).items():
        stubs.append(name)
        cells.append([value(fit) for fit in named.values()])
    name, counts = _counts(list(named.values()))
    stubs.append(name)
    cells.append(counts)
    return laid_out(cells, list(named), stubs, title)


def _linear(named: Mapping[str, DPResults]) -> bool:
    return all(fit.family.least_squares for fit in named.values())


_FAMILIES: dict[str, Callable[[DPResults], str]] = {
    "Family": lambda fit: fit.family.label,
    "Link": lambda fit: fit.family.link,
}
_FOOT: dict[str, Callable[[DPResults], str]] = {
    "Response": lambda fit: fit.response,
    "Method": lambda fit: fit.method,
    "Epsilon": lambda fit: f"{fit.privacy.epsilon:.4g}",
    "Delta": lambda fit: f"{fit.privacy.delta:.3g}",
    "Unit": lambda fit: fit.privacy.unit.replace("all rows of one ", "one "),
}


def _counts(fits: list[DPResults]) -> tuple[str, list[str]]:
    """Lay out the private counts: of units, or of the rows that units gave."""
    nouns = [unit_noun(fit) for fit in fits]
    if len(set(nouns)) == 1:
        return f"{nouns[0]} (private)", [f"{fit.units:,.0f}" for fit in fits]
    short = {"Units": "units", "Observations": "rows"}
    cells = [f"{fit.units:,.0f} {short[noun]}" for fit, noun in zip(fits, nouns, strict=True)]
    return "Used (private)", cells


def _cell(fit: DPResults, term: str) -> tuple[str, str]:
    if term not in fit.params.index:
        return "", ""
    estimate, error = float(fit.params[term]), float(fit.bse[term])
    return f"{estimate:.5g}", "" if np.isnan(error) else f"({error:.3g})"


def _notes(named: Mapping[str, DPResults]) -> tuple[str, ...]:
    notes = ["Standard errors, sampling and privacy noise together, in parentheses."]
    seeded = [title for title, fit in named.items() if fit.privacy.seeded]
    if seeded:
        notes.append(f"NOT PRIVATE, made from a seed: {', '.join(seeded)}.")
    notes.append("Each fit spent its own eps and delta; those of fits to the same units add up.")
    return tuple(notes)
