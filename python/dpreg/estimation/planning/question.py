"""Complete a plan: compute whichever of n, eps, effect and power is left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from dpreg.base.errors import Argument, ArgumentError, Setting, leave_out, unusable, write
from dpreg.base.options import is_number, is_whole
from dpreg.estimation.planning.forecast import MOST_EPSILON, MOST_UNITS, Model
from dpreg.estimation.planning.grids import Forecast
from dpreg.estimation.planning.power import LEVEL, detected, least_effect, power_of
from dpreg.privacy.checks import check_epsilon

_USUAL_POWER = 0.8
_LIKE = {"n": 10_000, "d": 10, "classes": 4}
_USUAL: dict[str, float] = {"n": 10_000, "eps": 1.0}
_LEAST_EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class Answer:
    """The completed question, and the expected results."""

    n: int
    d: int
    eps: float
    found: Forecast
    # effect, power: None where neither is planned for the family; or no effect has this power.
    effect: float | None
    power: float | None
    solved: str | None  # One of "effect", "power", "n", "eps": the one that was left out.


def answer(
    of: Model,
    n: object,
    d: object,
    eps: object,
    delta: float,
    *,
    effect: object = None,
    power: object = None,
) -> Answer:
    """Check the question, and compute the argument that is left out.

    n, d, eps, delta, effect, power: arguments of `dp_plan`.
    """
    columns = count("d", d)
    units = None if n is None else count("n", n)
    epsilon = None if eps is None else check_epsilon(eps)
    size = None if effect is None else between("effect", effect, 0.0, math.inf, 0.2)
    chance = None if power is None else between("power", power, LEVEL, 1.0, _USUAL_POWER)
    given = {"n": units, "eps": epsilon, "effect": size, "power": chance}
    if not of.powered:
        _check_plain(given)
    solved = _left_out([name for name, value in given.items() if value is None])
    if size is None and chance is None:
        chance = _USUAL_POWER
    if units is None or epsilon is None:
        assert size is not None
        assert chance is not None
        effect, wanted = size, chance

        def detects(n: int, eps: float) -> bool:
            found = of.forecast(n, columns, eps, delta)
            error = found.width * of.exact_error(n, columns)
            return power_of(effect, error, found.released) >= wanted

        if units is None:
            assert epsilon is not None
            units = _least_units(partial(detects, eps=epsilon))
        else:
            exact = least_effect(chance, of.exact_error(units, columns))
            epsilon = _least_epsilon(partial(detects, units), of, exact)
    found = of.forecast(units, columns, epsilon, delta)
    if not of.powered:
        return Answer(units, columns, epsilon, found, None, None, None)
    error = found.width * of.exact_error(units, columns)
    if size is None and chance is not None:
        size = least_effect(chance, error, found.released)
    elif chance is None and size is not None:
        chance = power_of(size, error, found.released)
    return Answer(units, columns, epsilon, found, size, chance, solved)


def _left_out(missing: list[str]) -> str:
    """Return the name of the argument to compute, if the others are sufficient."""
    match missing:
        case ["effect", "power"]:
            return "effect"
        case [one]:
            return one
        case []:
            problem = "is determined by the others, which are all given"
            raise ArgumentError("power", problem, leave_out("power"), leave_out("effect"))
        case ["n", "eps", *_]:
            both = ("and ", Argument("eps"), " are both missing")
            raise ArgumentError("n", both, write("n", 10_000), write("eps", 1.0))
        case [one, other, *_]:
            # n or eps is to be found from both of these.
            usual = {"effect": 0.2, "power": _USUAL_POWER}[other]
            needed = ("is needed if ", Argument(one), " is not given")
            raise ArgumentError(other, needed, write(other, usual), write(one, _USUAL[one]))
    raise AssertionError


def _check_plain(given: Mapping[str, float | None]) -> None:
    """Refuse arguments that are for linear models only."""
    for name in ("effect", "power"):
        if given[name] is not None:
            raise ArgumentError(name, "is planned for linear models only", leave_out(name))
    for name, usual in _USUAL.items():
        if given[name] is None:
            raise ArgumentError(name, "is needed for this family", write(name, usual))


def _least_units(holds: Callable[[int], bool]) -> int:
    low, high = 1, MOST_UNITS
    if not holds(high):
        problem = "is not detected with this power by 10^9 units"
        instead = ("a larger ", Argument("eps"))
        raise ArgumentError("effect", problem, ("write a larger ", Argument("effect")), instead)
    while high > low + 1:
        middle = min(max(math.isqrt(low * high), low + 1), high - 1)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _least_epsilon(holds: Callable[[float], bool], of: Model, exact: float | None) -> float:
    """Return the least epsilon, rounded up to three digits.

    exact: what a fit without privacy detects.
    """
    found = detected(holds, _LEAST_EPSILON, MOST_EPSILON)
    if found is None:
        bound = "" if exact is None else f": a fit without privacy detects {of.shown(exact):.3g}"
        problem = f"is not detected with this power by this many units at any eps{bound}"
        instead = ("leave ", Argument(of.size), " out and write ", Setting("eps", 1.0))
        raise ArgumentError("effect", problem, ("write a larger ", Argument("effect")), instead)
    step = 10.0 ** (math.floor(math.log10(found)) - 2)
    return min(float(f"{math.ceil(found / step) * step:.3g}"), MOST_EPSILON)


def between(name: str, value: object, low: float, high: float, usual: float) -> float:
    """Return a number between two, both excluded."""
    wanted = f"a number greater than {low:g}"
    if high < math.inf:
        wanted += f" and less than {high:g}"
    if not is_number(value) or not low < float(value) < high:
        raise unusable(name, wanted, value, write(name, usual))
    return float(value)


def count(name: str, value: object, least: int = 1) -> int:
    """Return a number of units, columns or classes."""
    if value is None:
        raise ArgumentError(name, "must be given", write(name, _LIKE[name]))
    if not is_whole(value) or not is_number(value) or value < least:
        near = round(value) if isinstance(value, float) and least <= value < 1e15 else 0
        advice = (
            write(name, near) if near else (*write(name, _LIKE.get(name, 1_000)), ", for example")
        )
        raise unusable(name, f"an integer of at least {least}", value, advice)
    return int(value)
