"""The other outcome of a mechanism: it declined."""

from __future__ import annotations

import json
from typing import Any

from dpreg.privacy.certificate import Certificate
from dpreg.text import wrapped

__all__ = ["NotReleased"]


class NotReleased(Exception):  # noqa: N818
    """The mechanism declined to release; the budget is spent and nothing else is revealed.

    A value, not an error: `dp_lm` *returns* it, because an exception that depended on the
    records would be a release of its own.  It is false in a condition, and derives from
    Exception so that a program that prefers one can ``raise fit``.

    Attributes
    ----------
    formula : str
    method : str
    reason : str
        From public numbers only.
    advice : str
        What to do next.
    units : float
        Private estimate of the number of units.
    privacy : Certificate
    selected : tuple of str or None
        Columns kept by private selection, which is a release of its own.
    """

    def __init__(
        self,
        *,
        formula: str,
        method: str,
        reason: str,
        advice: str,
        units: float,
        privacy: Certificate,
        selected: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(f"not released: {reason}; {advice}")
        self.formula = formula
        self.method = method
        self.reason = reason
        self.advice = advice
        self.units = units
        self.privacy = privacy
        self.selected = selected

    @property
    def released(self) -> bool:
        """False; True for `DPResults`."""
        return False

    @property
    def nobs(self) -> float:
        """Private estimate of the number of protected units."""
        return self.units

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._fields(),)

    def _fields(self) -> dict[str, Any]:
        return {k: getattr(self, k) for k in ("formula", "method", "reason", "advice", "units",
                                              "privacy", "selected")}  # fmt: skip

    def to_json(self) -> str:
        """Return everything as JSON."""
        fields = {**self._fields(), "privacy": self.privacy.to_dict()}
        return json.dumps({"dpreg_not_released": 1, **fields}, indent=2)

    def summary(self) -> str:
        """Return what happened, what it cost and what to do next."""
        items = [
            f"  Why     {self.reason}",
            f"  Next    {self.advice}",
            f"  Rows    about {self.units:,.0f} (private estimate)",
            *([] if self.selected is None else [f"  Chosen  {', '.join(self.selected)}"]),
            "  Spent   the whole budget of the call; this outcome is itself private:",
        ]
        return "\n".join([
            *wrapped(f"Not released: {self.formula} (method={self.method!r})"),
            *(line for item in items for line in wrapped(item, hang=8)),
            *(line for part in str(self.privacy).splitlines() for line in wrapped("  " + part)),
        ])  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name in ("params", "bse", "conf_int", "predict", "pvalues", "tvalues", "tidy"):
            raise AttributeError(
                f"there is no {name!r}: the mechanism did not release a model; print the "
                "object to see why, or test `fit.released`"
            )
        raise AttributeError(name)

    def __repr__(self) -> str:
        return self.summary()

    __str__ = __repr__


def _rebuild(fields: dict[str, Any]) -> NotReleased:
    return NotReleased(**fields)
