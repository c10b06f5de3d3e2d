"""What a budget shows of itself: a table of charges, a picture, a page, a line of text."""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence
from typing import Any

from dpreg.base.later import pd
from dpreg.base.text import counted
from dpreg.privacy.account import composed
from dpreg.privacy.accounting import Accounting
from dpreg.privacy.charge import Charge

# Columns of a table of charges, and what is in them: of the charge, or of what was paid.
_WORDS = ("time", "user", "data", "label", "formula", "method")
AMOUNTS = {"eps": "epsilon", "delta": "delta", "mu": "mu", "rho": "rho", "failure": "failure"}


def columns_of(charges: Sequence[Charge]) -> dict[str, list[Any]]:
    """Return the columns of `Budget.to_frame`: texts, and amounts of what was paid."""
    amounts = {name: [getattr(c.paid, of) for c in charges] for name, of in AMOUNTS.items()}
    return {
        **{name: [getattr(c, name) for c in charges] for name in _WORDS},
        **amounts,
        "status": [c.status for c in charges],
        "stratum": ["" if c.stratum is None else str(c.stratum) for c in charges],
        "unit": [c.unit for c in charges],
    }


def frame_of(charges: Sequence[Charge]) -> pd.DataFrame:
    """Return one row per charge."""
    return pd.DataFrame(columns_of(charges))


def shares_of(accounting: Accounting, charges: Sequence[Charge]) -> tuple[str, list[float]]:
    """Return the name of the first sum, and by what share of its limit each charge raised it.

    A charge of a stratum that has spent less than another one raises it by nothing.
    """
    name, limit = next(iter(accounting.limits.items()))
    totals = [composed(accounting, charges[:count])[name] for count in range(len(charges) + 1)]
    steps = itertools.pairwise(totals)
    return name, [float((after - before) / limit) for before, after in steps]


def page_of(accounting: Accounting, charges: Sequence[Charge]) -> str:
    """Return the line and the table as HTML."""
    line = html.escape(line_of(accounting, charges))
    return f"<p>{line}</p>\n" + frame_of(charges).to_html(na_rep="")


def line_of(accounting: Accounting, charges: Sequence[Charge]) -> str:
    """Return the totals, what is spent and what is left."""
    found = composed(accounting, charges)
    totals = ", ".join(f"{name}={value:g}" for name, value in accounting.typed.items())
    left = "eps={:.6g}, delta={:g} left".format(*accounting.remaining(found))
    after = f"after {counted(len(charges), 'charge')}"
    if accounting.name == "basic":
        return f"Budget({totals}): {left} {after}"
    spent = "eps={:.4g}, delta={:g} spent".format(*accounting.spent(found))
    return f"Budget({totals}, accounting={accounting.name!r}): {spent}, {left} {after}"
