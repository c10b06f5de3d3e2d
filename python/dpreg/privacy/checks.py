"""Privacy parameters that are valid numbers."""

from __future__ import annotations

import math

from dpreg.base.errors import BudgetError, Words, got, write
from dpreg.base.options import is_number

_LIMITS = {"mu": (1e-9, 30.0), "rho": (1e-18, 400.0)}


def _real(name: str, value: object, example: float) -> float:
    if not is_number(value):
        raise _refused(name, "must be a number", value, write(name, example))
    return float(value)


def _refused(name: str, problem: str, value: object, *suggestion: Words) -> BudgetError:
    return BudgetError(name, (problem + ", got ", got(value)), *suggestion)


def check_epsilon(value: object) -> float:
    """Return `value` as a float if it is a valid epsilon: at least 1e-9, at most 500.

    Raises BudgetError otherwise, naming the argument and what to write instead.
    """
    epsilon = _real("eps", value, 1.0)
    if not 0 < epsilon < math.inf:
        usual = (*write("eps", 1.0), ", a common choice; smaller is more private")
        raise _refused("eps", "must be finite and greater than 0", value, usual)
    if not 1e-9 <= epsilon <= 500:
        raise _refused(
            "eps", "must be between 1e-9 and 500, above which the guarantee has no meaning", value
        )
    return epsilon


def check_delta(value: object) -> float:
    """Return `value` as a float if it is a valid delta: 0, or in [1e-15, 1).

    Raises BudgetError otherwise, naming the argument and what to write instead.
    """
    if isinstance(value, str):
        advice = (*write("delta", 1e-6), ", and other arguments by name")
        raise _refused("delta", "must be a number", value, advice)
    delta = _real("delta", value, 1e-6)
    if not 0 <= delta < 1:
        far = (*write("delta", 1e-6), ", or another value far below 1 / (number of rows)")
        raise _refused("delta", "must be in [0, 1)", value, far)
    if 0 < delta < 1e-15:
        raise _refused("delta", "must be 0 or at least 1e-15", value)
    return delta


def check_amount(name: str, value: object) -> float:
    """Return `value` as a float if it is a valid mu or rho, as `name` says."""
    (least, most), amount = _LIMITS[name], _real(name, value, 0.5)
    if not least <= amount <= most:
        raise _refused(name, f"must be between {least:g} and {most:g}", value)
    return amount
