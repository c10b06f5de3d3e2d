"""The other outcome of a mechanism: it declined."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from dpreg.base.errors import Face, python, told
from dpreg.privacy.certificate import Certificate
from dpreg.results.document import Saved
from dpreg.results.summary import Summary, privacy_note


@dataclass(kw_only=True, eq=False, repr=False)
class NotReleased(Saved, Exception):  # noqa: N818
    """The mechanism declined to release; the budget is spent and nothing else is revealed.

    A value, not an error: `dp_lm` *returns* it, because an exception that depended on the records
    would be a release of its own.  It is false in a condition, and derives from Exception so that a
    program that prefers an exception can ``raise fit``.

    Attributes
    ----------
    formula : str
    method : str
    reason : str
        From public numbers only.
    advice : str
        What to do next, in words that each user interface may spell in its own syntax.
    units : float
        Private estimate of the number of units.
    privacy : Certificate
    selected : tuple of str or None
        Terms kept by private selection, which is a release of its own.

    Examples
    --------
    >>> import dpreg
    >>> fit = dpreg.dp_lm("price ~ carat", dpreg.load_diamonds().head(20), eps=0.1)
    >>> fit.released, bool(fit.advice)
    (False, True)
    """

    _document = ("this does not say that a mechanism declined", "dpreg_not_released", 1)

    advice: Any  # Words when it is made.
    formula: str
    method: str
    reason: str
    units: float
    privacy: Certificate
    selected: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self._words, self.advice = self.advice, told(self.advice)
        self.args = (f"not released: {self.reason}; {self.advice}",)

    @classmethod
    def _check(cls, data: Mapping[str, Any]) -> None:
        if not isinstance(data["advice"], str):
            raise ValueError("advice is not a text")

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
        return partial(NotReleased, **self._fields()), ()

    def _fields(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)} | {
            "advice": self._words
        }

    def summary(self, face: Face = python) -> Summary:
        """Return what happened, what it cost and what to do next; printable like that of a fit."""
        chosen = [] if self.selected is None else [f"Selected: {', '.join(self.selected)}."]
        return Summary(
            (),
            (
                f"Not released: {self.formula}, method {self.method}.",
                f"Why: {self.reason}.",
                f"Next: {told(self._words, face)}.",
                f"Rows: about {self.units:,.0f} (private estimate); rows with a missing value, an "
                "undeclared level or a non-finite term are dropped.",
                *chosen,
                privacy_note(self.privacy),
                "Spent: the whole budget of the call.  The guarantee covers this outcome too.",
            ),
        )

    def __getattr__(self, name: str) -> Any:
        if name in _OF_A_MODEL:
            raise AttributeError(
                f"there is no {name!r}: the mechanism did not release a model; print the "
                "object to see why, or test `fit.released`"
            )
        return super().__getattr__(name)


_OF_A_MODEL = (
    "params", "bse", "conf_int", "predict", "pvalues", "tvalues", "tidy", "t_test", "wald_test",
    "f_test", "anova", "wald_test_terms",
)  # fmt: skip
