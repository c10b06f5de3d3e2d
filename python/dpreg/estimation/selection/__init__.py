"""Private feature selections: like `methods`, they read records and draw noise."""

from __future__ import annotations

from dpreg.estimation.base import options_from
from dpreg.estimation.selection.base import Selector
from dpreg.estimation.selection.kendall import DPKendall
from dpreg.estimation.selection.sis import DPSIS
from dpreg.estimation.selection.two_stage import SubLasso, TwoStage

__all__ = ["DPSIS", "SELECTORS", "DPKendall", "SubLasso", "TwoStage", "selector_from"]

SELECTORS: dict[str, type[Selector]] = {
    kind.name: kind for kind in (DPKendall, TwoStage, SubLasso, DPSIS)
}


def selector_from(selector: str | Selector, argument: str = "select") -> Selector:
    """Return the selector given by a name or an options object.

    Raises ValueError if it is neither, naming `argument`.
    """
    return options_from(argument, selector, SELECTORS, "select", "kendall")
