"""Private feature selections: like `methods`, they read records and draw noise."""

from __future__ import annotations

from collections.abc import Callable

from dpreg.base.errors import ArgumentError, Options, unknown_name, unusable
from dpreg.estimation.selection.base import Selector
from dpreg.estimation.selection.kendall import DPKendall
from dpreg.estimation.selection.sis import DPSIS
from dpreg.estimation.selection.two_stage import SubLasso, TwoStage

__all__ = ["DPSIS", "SELECTORS", "DPKendall", "SubLasso", "TwoStage", "selector_from"]

SELECTORS: dict[str, Callable[[], Selector]] = {
    "kendall": DPKendall,
    "two_stage": TwoStage,
    "sub_lasso": SubLasso,
    "sis": DPSIS,
}


def selector_from(selector: str | Selector, argument: str = "select") -> Selector:
    """Return the selector that a name or an options object stands for.

    Raises ValueError if it is neither, naming `argument`.
    """
    if isinstance(selector, str):
        if selector not in SELECTORS:
            raise unknown_name(argument, selector, SELECTORS)
        return SELECTORS[selector]()
    if isinstance(selector, type) and selector in SELECTORS.values():
        made = Options(argument, selector().name, selector.__name__)
        raise ArgumentError(argument, "must be an object, not its class", ("write ", made))
    if not callable(getattr(selector, "select", None)) or isinstance(selector, type):
        such = Options(argument, "kendall", "DPKendall")
        raise unusable(argument, ("a name or an options object such as ", such), selector)
    return selector
