"""The totals of a budget: as users give them, and as a ledger records them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dpreg.base.errors import BudgetError, Choice, Setting, Words, closest, got, leave_out, write
from dpreg.privacy.checks import check_amount, check_delta, check_epsilon
from dpreg.privacy.cost import Accounting, Basic, Concentrated, Cost, Gaussian, Sums
from dpreg.privacy.gdp import gdp_epsilon
from dpreg.privacy.ledger import FileLedger, untrusted

_NAMES = ("basic", "gdp", "zcdp")
# Less of it cannot be asked for.
_LEAST = {"eps": 1e-9, "delta": 1e-15, "mu^2": 1e-18, "rho": 1e-18, "failure": 1e-15,
          "discreteness": 1e-15}  # fmt: skip


def accounting_from(
    eps: object, delta: object, accounting: object, mu: object, rho: object
) -> Accounting:
    """Return the accounting that the arguments of `Budget` ask for.

    Raises BudgetError naming the argument that cannot be used.
    """
    given = [name for name, x in (("eps", eps), ("mu", mu), ("rho", rho)) if x is not None]
    if not given:
        raise BudgetError("eps", "the total is missing", write("eps", 1.0))
    if len(given) > 1:
        problem = f"there are two totals, {given[0]} and {given[1]}"
        raise BudgetError(given[1], problem, leave_out(given[1]))
    meant = {"eps": accounting or "basic", "mu": "gdp", "rho": "zcdp"}[given[0]]
    if accounting is not None and accounting not in _NAMES:
        meant_perhaps = closest(accounting, _NAMES)
        advice = [] if meant_perhaps is None else [write("accounting", meant_perhaps)]
        wrong = ("must be one of ", Choice(_NAMES), ", got ", got(accounting))
        raise BudgetError("accounting", wrong, *advice)
    if accounting is not None and accounting != meant:
        problem = f"is {accounting!r}, and {given[0]} is a total of {meant!r}"
        raise BudgetError("accounting", problem, leave_out("accounting"))
    total = check_delta(delta)
    if meant == "basic":
        return Basic.of(check_epsilon(eps), total)
    if total == 0:
        problem = f"must be greater than 0 with accounting {meant!r}"
        raise BudgetError("delta", problem, write("delta", 1e-5))
    if eps is not None:
        epsilon = check_epsilon(eps)
        return Gaussian.of(epsilon, total) if meant == "gdp" else Concentrated.of(epsilon, total)
    if mu is not None:
        return Gaussian.of_mu(check_amount("mu", mu), total)
    return Concentrated.of_rho(check_amount("rho", rho), total)


def accounting_of(ledger: FileLedger) -> Accounting:
    """Return the accounting that a ledger was made with."""
    header = ledger.header
    try:
        how, eps, mu, rho = header["accounting"], *map(header.get, ("eps", "mu", "rho"))
        return accounting_from(eps, header["delta"], how, mu, rho)
    except (BudgetError, KeyError):
        raise untrusted(ledger.path, "it does not say what its totals are") from None


def check_header(ledger: FileLedger, header: Mapping[str, Any]) -> None:
    """Refuse a ledger that was made with other totals, or for another data set."""
    totals = _totals(ledger.header)
    if totals != _totals(header):
        made = ", ".join(f"{name}={value}" for name, value in totals.items())
        problem = f"{ledger.path!r} was made for {made}"
        raise BudgetError("ledger", problem, "use these totals", "name another file")
    name = ledger.header["name"]
    if header["name"] not in ("", name):
        problem = f"{ledger.path!r} is the ledger of {name!r}"
        raise BudgetError("name", problem, write("name", name), "use another file")


def _totals(header: Mapping[str, Any]) -> dict[str, Any]:
    totals = {k: v for k, v in header.items() if k not in ("name", "made", "accounting")}
    how = header.get("accounting")
    return totals if how == "basic" else {**totals, "accounting": how}


def cost_from(eps: object, delta: object, mu: object, total_delta: float) -> Cost:
    """Return the cost of a release that is (eps, delta)-DP, or mu-GDP."""
    if mu is None and eps is None:
        raise BudgetError("eps", "must be given, or mu", write("eps", 0.5))
    if mu is None:
        return Cost.approximate(check_epsilon(eps), check_delta(delta))
    if eps is not None:
        raise BudgetError("mu", "there are two amounts, eps and mu", leave_out("mu"))
    amount = check_amount("mu", mu)
    if total_delta == 0:
        raise BudgetError("mu", "a budget with delta=0 cannot pay for it", write("eps", 0.5))
    # GDP implies zCDP (Dong, Roth and Su, 2022, Corollary B.6).
    return Cost(gdp_epsilon(amount, total_delta), total_delta, amount, amount * amount / 2)


def shortage(label: str, accounting: Accounting, needed: Sums, spent: Sums) -> BudgetError:
    """Return the refusal of a release that a budget cannot pay for."""
    limits = accounting.limits
    left = {name: limit - spent[name] for name, limit in limits.items()}
    problem = f"{label} needs {_said(needed)}, but only {_said(left)} is left of {_said(limits)}"
    return BudgetError("budget", problem, *_less(accounting, needed, left))


def _said(amounts: Sums) -> str:
    """Return amounts in words, squares as their roots."""
    shown = {
        "mu" if name == "mu^2" else name: math.sqrt(amount) if name == "mu^2" else float(amount)
        for name, amount in amounts.items()
        if name != "discreteness"
    }
    return ", ".join(f"{name}={amount:g}" for name, amount in shown.items())


def _less(accounting: Accounting, needed: Sums, left: Sums) -> list[Words]:
    """Return what would fit, where that can be told."""
    short = [name for name in needed if needed[name] > left[name]]
    if any(left[name] < _LEAST[name] for name in short):
        return []  # nothing that could be written
    if not isinstance(accounting, Basic):
        return ["ask for less"]
    pieces: list[Any] = []
    for name in short:
        pieces += [" and " if pieces else "write ", Setting(name, float(left[name]))]
    return [tuple(pieces)]
