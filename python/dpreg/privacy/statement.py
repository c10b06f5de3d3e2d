"""What a budget shows of itself: a table of charges, a picture, a page, a line of text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpreg.base.text import counted
from dpreg.privacy.account import composed
from dpreg.privacy.accounting import Accounting
from dpreg.privacy.charge import Charge

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ["time", "user", "data", "label", "formula", "method", "eps", "delta", "mu", "rho",
            "failure", "status", "stratum", "unit"]  # fmt: skip


def frame_of(charges: Sequence[Charge]) -> pd.DataFrame:
    """Return one row per charge."""
    import pandas as pd

    rows = [
        (c.time, c.user, c.data, c.label, c.formula, c.method, c.epsilon, c.delta, c.paid.mu,
         c.paid.rho, c.paid.failure, c.status, "" if c.stratum is None else str(c.stratum), c.unit)
        for c in charges
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=_COLUMNS)


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
    import html

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
