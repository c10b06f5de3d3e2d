"""Arguments that go to the method of a call, its selector or both: `max_rows` and `bounds`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from dpreg.base.errors import Argument, ArgumentError, Choice, add, leave_out
from dpreg.calls.request import Request
from dpreg.data.bounds import Bounds, checked_bounds
from dpreg.data.design import Terms
from dpreg.data.sampling import MAX_ROWS
from dpreg.estimation.base import Method
from dpreg.estimation.methods import METHODS, BoostedAdaSSP
from dpreg.estimation.selection import SELECTORS
from dpreg.estimation.selection.base import Selector

_OPTION = "max_rows"


def of_units(request: Request, *chosen: Any) -> tuple[Any, ...]:
    """Return the method and the selector of a call with `max_rows`, where they have that option."""
    max_rows = request.max_rows
    if max_rows is None:
        return chosen
    if request.unit is None:
        raise ArgumentError(_OPTION, ("needs ", Argument("unit")), add("unit", "person"))
    takers = [each for each in chosen if _takes(each)]
    if not takers:
        kinds: dict[str, Any] = {**METHODS, **SELECTORS}
        names = tuple(name for name, kind in kinds.items() if _takes(kind))
        problem = (f"is not an option of {chosen[0].name!r}, but of ", Choice(names))
        raise ArgumentError(_OPTION, problem)
    others = [each.max_rows for each in takers if each.max_rows not in (1, max_rows)]
    if others:
        why = f"is {max_rows}, and {others[0]} in the options object; give it once"
        raise ArgumentError(_OPTION, why)
    return tuple(replace(each, max_rows=max_rows) if _takes(each) else each for each in chosen)


def rows_fitted(request: Request) -> int:
    """Return how many rows of each unit a call uses that is fitted as by `BoostedAdaSSP`."""
    rows = 1 if request.max_rows is None else request.max_rows
    MAX_ROWS.check(_OPTION, rows)
    of_units(request, BoostedAdaSSP())
    return int(rows)


def option_of(*chosen: Method | Selector | None) -> int | None:
    """Return the largest `max_rows` among those of a call; None if one of them has none."""
    options = [each for each in chosen if each is not None]
    if not all(map(_takes, options)):
        return None
    return max(int(getattr(each, _OPTION)) for each in options)


def _takes(options: Any) -> bool:
    return is_dataclass(options) and _OPTION in {field.name for field in fields(options)}


def bounds_for(
    bounds: Mapping[str, Bounds] | None,
    terms: Terms,
    method: Method | None,
    selector: Selector | None,
) -> dict[str, Bounds]:
    """Return the bounds of the columns of a design, if something in the call uses bounds."""
    public = checked_bounds(bounds, terms)
    _check_response(public, terms)
    chosen: list[Method | Selector] = [each for each in (method, selector) if each is not None]
    if public and not any(each.uses_bounds for each in chosen):
        kinds: dict[str, Any] = {**(METHODS if method is not None else {}), **SELECTORS}
        names = tuple(name for name, kind in kinds.items() if kind().uses_bounds)
        problem = (f"is not used by {chosen[0].name!r}, only by ", Choice(names))
        raise ArgumentError("bounds", problem, leave_out("bounds"))
    return public


def _check_response(public: Mapping[str, Bounds], terms: Terms) -> None:
    """Refuse bounds that allow values of the response which its family does not have."""
    known, name = terms.family.response, terms.response
    if known is None or name not in public:
        return
    (low, high), (least, most) = known, public[name]
    if least < low or most > high:
        raise ArgumentError(
            "bounds",
            f"those of {name!r} are {least:g} and {most:g}, but a response of the family "
            f"{terms.family.name!r} is between {low:g} and {high:g}",
            f"write I({name} == {most:g}) as the response if it has the two values "
            f"{least:g} and {most:g}",
        )
