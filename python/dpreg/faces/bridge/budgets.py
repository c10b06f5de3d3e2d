"""Budgets of R: here they are kept and counted, and R has a key or a path."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np

from dpreg.base.errors import BudgetError
from dpreg.calls.session import Payer
from dpreg.faces.bridge.rows import Sent
from dpreg.faces.bridge.words import as_given
from dpreg.privacy.account import shares_of
from dpreg.privacy.budget import Budget
from dpreg.privacy.charge import AMOUNTS, columns_of

# Budgets without a ledger live here, and R holds the key: there is one count of what was
# spent, and no copy of it that a failed call could leave behind.
_BUDGETS: dict[str, Budget] = {}


def new_budget(request: Sent) -> dict[str, Any]:
    """Make a budget; with a ledger and without a total, open the one that it keeps.

    Returns: totals, and the key of a budget that has no ledger.
    """
    given = {name: as_given(value) for name, value in request.items() if value is not None}
    ledger, key = given.get("ledger"), None
    if ledger is not None and not {"eps", "mu", "rho"} & set(given):
        if not set(given) <= {"ledger", "user"}:
            only = 'to open an existing ledger give its path only: dp_budget(ledger = "path")'
            raise BudgetError("eps", "must be given", only)
        budget = Budget.open(ledger, user=given.get("user"))
    else:
        budget = Budget(**given)
    if ledger is None:
        key = uuid.uuid4().hex
        _BUDGETS[key] = budget
    return {"key": key, "eps": budget.eps, "delta": budget.delta, "accounting": budget.accounting}


def payer_of(sent: Sent) -> Payer:
    """Return the budget that R names by path or key, or the stratum of it."""
    budget = _budget(sent)
    stratum = sent.get("stratum")
    if stratum is None:
        return budget
    return list(budget.partition(stratum["column"]).values())[int(stratum["position"])]


def _budget(sent: Sent) -> Budget:
    if sent.get("ledger") is not None:
        return Budget.open(sent["ledger"], user=sent.get("user"))
    if sent["key"] not in _BUDGETS:
        raise ValueError(
            "budget: it was made in another session, and its charges are gone; "
            'for a budget that lasts, name a file: dp_budget(..., ledger = "path")'
        )
    return _BUDGETS[sent["key"]]


def partition(request: Sent) -> dict[str, Any]:
    """Declare a partition, or look one up; return its levels."""
    column, levels = as_given(request["column"]), request.get("levels")
    return {"levels": list(_budget(request["budget"]).partition(column, levels))}


def budget_state(request: Sent) -> dict[str, Any]:
    """Return what was charged, what is spent and what is left."""
    payer = payer_of(request)
    charges = payer.charges
    of, shares = shares_of(payer.account.accounting, charges)
    return {
        "remaining": dict(zip(("eps", "delta"), payer.remaining, strict=True)),
        "spent": dict(zip(("eps", "delta"), payer.spent, strict=True)),
        "of": of,
        "shares": np.array(shares),
        "charges": {
            name: np.array(column, dtype=np.float64) if name in AMOUNTS else column
            for name, column in columns_of(charges).items()
        },
    }
