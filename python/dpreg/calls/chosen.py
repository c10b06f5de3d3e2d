"""How many rows a unit may give, as an argument of a fit: an option of its method and selection."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from dpreg.errors import Argument, ArgumentError, Choice, add
from dpreg.methods import METHODS
from dpreg.methods.base import Method
from dpreg.selection import SELECTORS, selector_from
from dpreg.selection.base import Selector

__all__ = ["of_units", "option_of"]

_OPTION = "max_rows"


def of_units(
    method: Method, select: str | Selector | None, unit: str | None, max_rows: int
) -> tuple[Method, str | Selector | None]:
    """Return method and selection with that option, where they have it.

    Raises
    ------
    ArgumentError
        If there is no unit, or neither has such an option.
    """
    if unit is None:
        raise ArgumentError(_OPTION, ("needs ", Argument("unit")), add("unit", "person"))
    selector = None if select is None else selector_from(select)
    takers: list[Any] = [chosen for chosen in (method, selector) if _takes(chosen)]
    if not takers:
        kinds = {**METHODS, **SELECTORS}
        names = tuple(name for name, kind in kinds.items() if _takes(kind))
        raise ArgumentError(
            _OPTION, (f"is not an option of {method.name!r}, but of ", Choice(names))
        )
    others = {chosen.max_rows for chosen in takers} - {1, max_rows}
    if others:
        problem = f"is {max_rows}, and {others.pop()} in the options object; give it once"
        raise ArgumentError(_OPTION, problem)
    asked: tuple[Any, Any] = method, selector
    given = [replace(chosen, max_rows=max_rows) if _takes(chosen) else chosen for chosen in asked]
    return given[0], given[1]


def option_of(*chosen: Method | Selector | None) -> int | None:
    """Return the largest `max_rows` among those of a call; None if one of them has none."""
    options = [each for each in chosen if each is not None]
    if not all(map(_takes, options)):
        return None
    return max(int(getattr(each, _OPTION)) for each in options)


def _takes(options: Any) -> bool:
    return is_dataclass(options) and _OPTION in {field.name for field in fields(options)}
