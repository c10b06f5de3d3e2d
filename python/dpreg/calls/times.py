"""What calls about times to an event have in common."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import FormulaError, unusable, write
from dpreg.base.options import is_number
from dpreg.calls.session import Session
from dpreg.data.formula.parse import read_terms
from dpreg.data.formula.surv import SurvFormula
from dpreg.data.problem import ModelMatrix, Problem

# Effects of units, and all other columns, which the time and the event would be among.
_UNNAMED = re.compile(r"\||(?<![\w.`])\.(?![\w.`])")


def posed(surv: SurvFormula, session: Session, wanted: str, *advice: str) -> Problem:
    """Return a problem with time as response, and start, event and what is on the right in X."""
    if isinstance(session.data, ModelMatrix):
        return session.pose()
    if _UNNAMED.search(surv.right):
        raise FormulaError(f"{surv.right!r} must name the {wanted}", *advice)
    right = {str(term) for term in read_terms(surv.right)} - {"1"}
    problem = session.pose(surv.columns)
    own = " + ".join(f"I({part})" for part in (surv.start, surv.time, surv.event) if part)
    # The time of entry may be a covariate: the age at which somebody enters.
    twice = right & {surv.time, surv.event, *(str(term) for term in read_terms(own))}
    if twice:
        why = f"{min(twice)!r} is in Surv() and on the right too"
        raise FormulaError(why, "leave it out, or make a column of it before the call")
    for part in (surv.start, surv.event):
        dummies = [name for name in problem.terms.names if name.startswith(f"I({part})[T.")]
        if dummies:
            level = dummies[-1].removeprefix(f"I({part})[T.")[:-1]
            why = f"{part!r} in Surv() has levels, and must be one number in each row"
            raise FormulaError(why, f"write Surv({surv.time}, {part} == {level!r})")
    return problem


def edges_of(cuts: object, start: object, most: int = 1000) -> Doubles:
    """Return where the public intervals of time end, the first being the beginning of all."""
    wanted = f"increasing finite numbers, at most {most}"
    like = (*write("cuts", [90, 180, 365]), ", for example")
    several = isinstance(cuts, Iterable) and not isinstance(cuts, (str, bytes, Mapping))
    several &= getattr(cuts, "ndim", 1) > 0
    # One more than there may be: an iterable need not end.
    values: list[Any] = list(itertools.islice(cuts, most + 1)) if several else []  # type: ignore[call-overload]
    numbers = 0 < len(values) <= most and all(map(_real, values))
    if not numbers or any(a >= b for a, b in itertools.pairwise(values)):
        raise unusable("cuts", wanted, cuts, like)
    if not _real(start) or not start < values[0]:
        wanted = f"a number below the first cut, {values[0]:g}"
        raise unusable(
            "start", wanted, start, write("start", ...), "leave out cuts that are not above it"
        )
    return np.array([start, *values], dtype=np.float64)


def _real(value: object) -> bool:
    return is_number(value) and math.isfinite(value)
