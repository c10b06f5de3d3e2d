"""Strata of a budget, as they are typed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpreg.base.errors import ArgumentError, Choice
from dpreg.faces.cli.parameters import pair

if TYPE_CHECKING:
    from dpreg.calls.session import Payer
    from dpreg.privacy.budget import Budget
    from dpreg.privacy.partition import StratumBudget


def payer_from(path: str | None, stratum: str | None) -> Payer | None:
    """Open the budget that a command is charged to, or one stratum of it."""
    from dpreg.privacy.budget import Budget

    if path is None:
        if stratum is not None:
            raise ArgumentError("--stratum", "needs a budget", "add --budget FILE")
        return None
    if not os.path.exists(path):
        made = f"make it with dpreg budget new {path} --eps TOTAL"
        raise ArgumentError("--budget", f"there is no file {path!r}", made)
    budget = Budget.open(path)
    return budget if stratum is None else stratum_of(budget, path, stratum)


def stratum_of(budget: Budget, path: str, typed: str) -> StratumBudget:
    """Return the stratum that ``COLUMN=LEVEL`` names."""
    column, text = pair("--stratum", typed, "COLUMN=LEVEL")
    if column not in budget.partitions:
        how = f"declare its strata with dpreg budget partition {path} {column}=A,B,..."
        raise ArgumentError("--stratum", f"{path!r} is not divided by {column!r}", how)
    strata = budget.partition(column)
    for level, one in strata.items():
        if str(level) == text:
            return one
    levels = Choice(tuple(strata))
    raise ArgumentError("--stratum", (f"{column!r} has no level {text!r}; it has ", levels))
