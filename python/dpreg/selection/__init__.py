"""Private feature selections: like `methods`, they read records and draw noise."""

from __future__ import annotations

from collections.abc import Callable

from dpreg.selection.base import Selector
from dpreg.selection.kendall import DPKendall
from dpreg.selection.sis import DPSIS
from dpreg.selection.two_stage import SubLasso, TwoStage

__all__ = ["DPSIS", "DPKendall", "SubLasso", "TwoStage", "selector_from"]

_BY_NAME: dict[str, Callable[[], Selector]] = {
    "kendall": DPKendall,
    "two_stage": TwoStage,
    "sub_lasso": SubLasso,
    "sis": DPSIS,
}


def selector_from(selector: str | Selector, argument: str = "select") -> Selector:
    """Return the selector that a name or an options object stands for.

    Raises
    ------
    ValueError
        If it is neither, naming `argument`.
    """
    if isinstance(selector, str):
        if selector not in _BY_NAME:
            names = ", ".join(map(repr, _BY_NAME))
            raise ValueError(
                f"{argument} must be one of {names} or an options object, got {selector!r}"
            )
        return _BY_NAME[selector]()
    if isinstance(selector, type) and selector in _BY_NAME.values():
        raise ValueError(
            f"{argument} must be an object, not its class; write dpreg.{selector.__name__}()"
        )
    if not callable(getattr(selector, "select", None)) or isinstance(selector, type):
        raise ValueError(
            f"{argument} must be a name or an options object such as dpreg.DPKendall(), "
            f"got {selector!r}"
        )
    return selector
