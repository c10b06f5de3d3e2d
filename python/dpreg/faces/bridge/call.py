"""Entry points for R: plain values in, plain values out, never an exception.

Only str, float, int, bool, None, lists, dicts and bytes cross the border, because the
converters of reticulate and rpy2 change missing values, numpy arrays and data frames
without saying so.  Columns come as bytes, from a function of R that is called when the budget
has been charged.  An exception becomes a value too: it would
abort the process from an rpy2 callback, and R wants a condition with a class.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
import uuid
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np

import dpreg
from dpreg.base.arrays import Integers
from dpreg.base.errors import BudgetError, unusable, write
from dpreg.base.options import is_number
from dpreg.base.passes import Progress
from dpreg.calls.block_test import Blocks, PValues, statistic_of, test_by_blocks
from dpreg.calls.request import Request
from dpreg.calls.session import Payer
from dpreg.calls.starts import origin_from_json
from dpreg.data.source import quietly
from dpreg.estimation import methods
from dpreg.estimation.releases import standardisation
from dpreg.faces.bridge.answers import answer, fields, plain
from dpreg.faces.bridge.rows import Sent, column_kinds, limits_of, model_matrix
from dpreg.faces.bridge.words import as_given, in_r, told_in_r
from dpreg.privacy.account import shares_of
from dpreg.privacy.budget import Budget
from dpreg.privacy.charge import AMOUNTS, columns_of

# R is told how far a release has come from so many seconds on.
_PATIENCE = 1.0


def call(function: str, request: Sent) -> dict[str, Any]:
    """Call one of the functions below.

    Returns: ``{"value": ...}``, or ``{"error": {"kind", "message"}}``; kinds are "budget",
        "usage" and "python".
    """
    try:
        # Warnings of numpy and pandas may depend on records; those of dpreg do not exist.
        with warnings.catch_warnings(action="ignore"):
            return {"value": told_in_r(plain(_FUNCTIONS[function](request)))}
    except Exception as error:
        text = "\n".join([str(error), *getattr(error, "__notes__", ())])
        return {"error": {"kind": _kind(error), "message": in_r(text)}}


def _kind(error: Exception) -> str:
    """Return what R makes a class of condition of."""
    if hasattr(error, "__notes__"):  # after the charge: of memory, or from a seed
        return "python"
    if isinstance(error, BudgetError):
        return "budget"
    return "usage" if isinstance(error, ValueError) else "python"


def _release(name: str, request: Sent) -> dict[str, Any]:
    """Call a function of dpreg with what R sent, by name."""
    function, payer, given = _newer(name), _payer(request), _given(request)
    matrix = model_matrix(request["matrix"], None if payer is None else payer.stratum)
    known = inspect.signature(function).parameters
    for argument in given:
        if argument not in known:
            raise _too_old(argument, "does not know this argument")
    if "budget" in known:
        given["budget"] = payer
    with _shown(request.get("progress")):
        return fields(function(request["formula"], matrix, unit=matrix.unit, **given))


def _payer(request: Sent) -> Payer | None:
    return None if request.get("budget") is None else payer_of(request["budget"])


def _shown(show: Callable[[str], Any] | None) -> AbstractContextManager[None]:
    """Pass the progress of releases to a function of R."""
    if show is None:
        return nullcontext()

    def told(found: Progress) -> None:
        if found.seconds >= _PATIENCE:
            quietly(show, str(found))

    return dpreg.progress(told)


def _given(request: Sent) -> dict[str, Any]:
    """Return the arguments that R sent, as Python takes them."""
    aside = ("matrix", "formula", "budget", "progress")
    return {
        name: _FORMS.get(name, as_given)(as_given(value))
        for name, value in request.items()
        if value is not None and name not in aside
    }


def _whole(name: str, value: Any) -> int:
    number = is_number(value)
    if not number or value != int(value):
        near = max(1, round(value)) if number else 5
        raise unusable(name, "a whole number", value, write(name, near))
    return int(value)


def _options(sent: Any) -> Any:
    """Turn ``{"kind", "options"}`` into the options object of that name."""
    if not isinstance(sent, dict):
        return sent
    cls = _newer(sent["kind"])
    hints = typing.get_type_hints(cls)
    given = dict(sent["options"] or {})
    return cls(**{k: _option(k, as_given(v), hints.get(k)) for k, v in given.items()})


def _option(name: str, value: Any, hint: Any) -> Any:
    kinds = set(typing.get_args(hint)) or {hint}
    if isinstance(value, float) and int in kinds and float not in kinds:
        return _whole(name, value)
    return tuple(value) if isinstance(value, list) else _options(value)


# Arguments that Python takes in another form.
_FORMS: dict[str, Callable[[Any], Any]] = {
    **{
        name: partial(_whole, name)
        for name in ("k", "max_rows", "blocks", "n", "d", "events", "classes")
    },
    **dict.fromkeys(("method", "select", "family"), _options),
    "bounds": limits_of,
    "overlap": tuple,
    "rng": lambda seed: int(seed) if is_number(seed) and float(seed).is_integer() else seed,
    # Of a curve it is a number.
    "start": lambda start: origin_from_json(start) if isinstance(start, str) else start,
}


def _test(request: Sent) -> dict[str, Any]:
    """Test by blocks, with p-values of a function of R; see rwrapper/R/block_test.R."""
    given = _given(request)
    ask, labels = given.pop("p_value"), given.pop("labels")
    eps: Any = given.get("eps")

    def opened() -> tuple[PValues, Integers]:
        def p_value(rows: Integers, seed: int) -> float:
            block = {"rows": bytearray(rows.astype("<i4").tobytes()), "seed": float(seed)}
            return statistic_of(ask, block, seed)

        return p_value, np.frombuffer(quietly(labels), "<i4").astype(np.int64)

    asked = Request(
        call="dp_test", formula=given["name"], eps=eps, delta=0.0,
        method=Blocks(given.get("blocks"), given["threshold"]), unit=given.get("unit"),
        budget=_payer(request), rng=given.get("rng"),
    )  # fmt: skip
    found = test_by_blocks(asked, None, opened)
    return {**fields(found), "p_value": found.pvalue}


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


def _newer(name: str) -> Callable[..., Any]:
    """Return a function or a class of options, which a newer R may know and this Python not."""
    homes = (dpreg, methods, standardisation)
    found = next((getattr(home, name) for home in homes if hasattr(home, name)), None)
    if not callable(found):
        raise _too_old(name, "does not have it")
    function: Callable[..., Any] = found
    return function


def _too_old(name: str, why: str) -> ValueError:
    here = f"dpreg {dpreg.__version__} in Python {why}"
    return ValueError(f"{name}: {here}; install a newer one with install_dpreg()")


def _diamonds(_: Sent) -> dict[str, Any]:
    """Return the data column by column; missing codes of categories are 0."""
    columns: dict[str, Any] = {}
    for name, column in dpreg.load_diamonds().items():
        if hasattr(column, "cat"):
            columns[str(name)] = {
                "codes": np.asarray(column.cat.codes, dtype=np.float64) + 1,
                "levels": [str(level) for level in column.cat.categories],
                "ordered": bool(column.cat.ordered),
            }
        else:
            columns[str(name)] = {"values": np.asarray(column, dtype=np.float64)}
    return columns


def _defaults(request: Sent) -> dict[str, Any]:
    """Return the defaults of an options class, so that R can be tested to have the same."""
    cls = _newer(request["kind"])
    found = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        default = parameter.default
        nested = dataclasses.is_dataclass(default) or "factory" in repr(default)
        found[name] = "<object>" if nested else default
    return found


_RELEASES = ("lm", "glm", "survival", "ordinal", "multinomial", "curve", "effect", "moments",
             "select")  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Sent], Any]] = {
    **{name: partial(_release, f"dp_{name}") for name in _RELEASES},
    "public_start": partial(_release, "public_start"),
    "answer": answer,
    "test": _test,
    "plan": lambda request: fields(_newer("dp_plan")(**_given(request))),
    "new_budget": new_budget,
    "partition": partition,
    "budget_state": budget_state,
    "columns": lambda request: column_kinds(list(request["paths"])),
    "diamonds": _diamonds,
    "defaults": _defaults,
}
