"""Public bounds as an argument of a call: refused where nothing would use them."""

from __future__ import annotations

from collections.abc import Mapping

from dpreg.data.bounds import Bounds, checked_bounds
from dpreg.data.design import Terms
from dpreg.errors import ArgumentError, Choice, leave_out
from dpreg.methods import METHODS
from dpreg.methods.base import Method
from dpreg.selection import SELECTORS
from dpreg.selection.base import Selector

__all__ = ["bounds_for"]


def bounds_for(
    bounds: Mapping[str, Bounds] | None,
    terms: Terms,
    method: Method | None,
    selector: Selector | None,
) -> dict[str, Bounds]:
    """Return the bounds of the columns of a design, if something in the call uses bounds.

    Parameters
    ----------
    bounds : mapping or None
        As the user gives them.
    terms : Terms
        Of the design.
    method : Method or None
        None: there is a selection alone.
    selector : Selector or None

    Raises
    ------
    ArgumentError
        If they are invalid, or nothing in the call uses them.
    """
    public = checked_bounds(bounds, terms)
    chosen: list[Method | Selector] = [each for each in (method, selector) if each is not None]
    if public and not any(each.uses_bounds for each in chosen):
        all_there_are: list[Method | Selector] = [kind() for kind in SELECTORS.values()]
        if method is not None:
            all_there_are = [*(kind() for kind in METHODS.values()), *all_there_are]
        names = tuple(each.name for each in all_there_are if each.uses_bounds)
        problem = (f"is not used by {chosen[0].name!r}, only by ", Choice(names))
        raise ArgumentError("bounds", problem, leave_out("bounds"))
    return public
