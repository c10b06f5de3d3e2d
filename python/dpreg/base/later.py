"""pandas and matplotlib, imported when they are first used: R goes without them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["Axes", "pd"]

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
else:

    class _Later:
        """A module that is imported when something in it is asked for."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            return getattr(importlib.import_module(self._name), attribute)

    pd, Axes = _Later("pandas"), Any
