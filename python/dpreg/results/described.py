"""What table makers of statsmodels read from the model of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


# Without slots: with them Python 3.11 raises a TypeError when an unknown attribute is set.
@dataclass(frozen=True)
class DescribedModel:
    """The names in a model, for `statsmodels.iolib.summary2.summary_col`.  No records are kept.

    Attributes
    ----------
    endog_names : str
        The response; of a fit from a seed it says that the fit is not private, because it is the
        only text that `summary_col` prints.
    exog_names : list of str
        The coefficients.
    """

    endog_names: str
    exog_names: list[str]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"there is no 'model.{name}': the records are not kept")
