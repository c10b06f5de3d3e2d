"""`Surv(time, event)`, the left-hand side of formulas of times to an event."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dpreg.base.errors import FormulaError, a_kind
from dpreg.base.text import counted

_SURV = re.compile(r"^\s*(?:survival::)?Surv\s*\(")
_EXAMPLES = ("write 'Surv(time, event) ~ group'", "with delayed entry 'Surv(start, stop, event)'")
_NAMED = re.compile(r"^\s*(\w+)\s*=(?!=)\s*(.*)$", re.DOTALL)
_NUMBER = re.compile(r"^\s*-?[\d.]+\s*$")
# Names of the arguments of R's Surv().
_ORDERS = (("time", "event"), ("time", "time2", "event"))
# Terms of R's survival package that are refused here, and what to write.
_TERMS = {
    "strata": ("strata are not a term of this model", "write the groups themselves: '~ a + b'"),
    "cluster": ("clusters are not a term", "write unit='person' as an argument of the call"),
    "frailty": (
        "random effects are not supported",
        "write unit='person' as an argument of the call, for all rows of a person to be one unit",
    ),
    "tt": ("its value depends on the rows at risk", "make the column before the call"),
}


@dataclass(frozen=True, slots=True)
class SurvFormula:
    """The parts of a formula with `Surv()` on the left.  Public."""

    start: str | None  # Time from which a row is at risk; None: from the beginning.
    time: str
    event: str
    right: str  # The right-hand side.

    @property
    def left(self) -> str:
        """The left-hand side."""
        given = (self.start, self.time, self.event)
        return f"Surv({', '.join(part for part in given if part is not None)})"

    @property
    def columns(self) -> str:
        """The formula with one response, whose first regressors are start and event."""
        first = [] if self.start is None else [f"I({self.start})"]
        return " ~ ".join([f"I({self.time})", " + ".join([*first, f"I({self.event})", self.right])])


def read_surv(formula: object, instead: Mapping[str, str] | None = None) -> SurvFormula:
    """Divide a formula into its parts.

    instead: replacements for terms of R's survival package, where this call differs from others.
    """
    if not isinstance(formula, str):
        problem = f"must be a string such as 'Surv(time, event) ~ x', not {a_kind(formula)}"
        raise FormulaError(problem)
    begun = _SURV.match(formula)
    pieces, rest = _arguments(formula[begun.end() :]) if begun else ([], "")
    left, tilde, right = rest.partition("~")
    if not pieces or left.strip() or not tilde or not right.strip():
        problem = f"{formula!r} must have Surv() on its left-hand side, and terms on its right"
        raise FormulaError(problem, *_EXAMPLES)
    for name, (why, other) in _TERMS.items():
        if re.search(rf"(?<![\w.]){name}\s*\(", right):
            advice = (instead or {}).get(name, other)
            raise FormulaError(f"{name}() cannot be used: {why}", advice)
    given = _in_order(pieces)
    for piece in given:
        if _NUMBER.match(piece):
            problem = f"Surv() needs columns, and {piece!r} is a number"
            raise FormulaError(problem, *_EXAMPLES)
    start = given[0] if len(given) == 3 else None
    return SurvFormula(start, given[-2], given[-1], right.strip())


def _arguments(text: str) -> tuple[list[str], str]:
    """Return the comma-separated arguments up to the closing bracket, and the rest."""
    pieces, begin, depth, quote = [], 0, 0, ""
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"`":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}" and depth:
            depth -= 1
        elif sign == ")" or (sign == "," and not depth):
            pieces.append(text[begin:place].strip())
            begin = place + 1
            if sign == ")":
                return pieces, text[begin:]
    return [], ""


def _in_order(pieces: list[str]) -> list[str]:
    """Return the expressions in the order of `Surv()`, by name or by place."""
    named = [_NAMED.match(piece) for piece in pieces]
    given = {found[1]: found[2] for found in named if found}
    if "type" in given or "origin" in given:
        problem = "Surv() supports right-censored times to one event and delayed entry only"
        raise FormulaError(problem, *_EXAMPLES)
    wanted = next((order for order in _ORDERS if len(order) == len(pieces)), ())
    if not wanted or not set(given) <= set(wanted) or not all(pieces):
        problem = (
            f"Surv() needs a time and an event, and was given {counted(len(pieces), 'argument')}"
        )
        raise FormulaError(problem, *_EXAMPLES)
    placed = iter([piece for piece, found in zip(pieces, named, strict=True) if not found])
    return [given[name] if name in given else next(placed) for name in wanted]
