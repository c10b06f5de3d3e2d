"""The treatment of a call, and how its effect is estimated: what is checked before a charge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpreg.base.errors import ArgumentError, Choice, FormulaError, add, leave_out, unusable, write
from dpreg.base.families import BINOMIAL, GAUSSIAN, family_from
from dpreg.base.options import is_number
from dpreg.calls.chosen import bounds_for, rows_fitted
from dpreg.calls.request import Request
from dpreg.data.containers import check_column
from dpreg.data.design import Terms
from dpreg.data.formula.functions import quoted
from dpreg.data.problem import ModelMatrix, Problem
from dpreg.estimation.methods import BoostedAdaSSP
from dpreg.estimation.methods.effect import TreatmentEffect

_METHODS = ("aipw", "regression", "difference")
# Limits of the propensity may not be nearer to 0 and 1: a row would weigh a thousand.
_LEAST = 1e-3


@dataclass(frozen=True, slots=True)
class Arms:
    """The treatment, and how its effect is estimated."""

    name: ClassVar[str] = "effect"

    treatment: str
    estimator: str = "aipw"
    propensity: float | None = None
    overlap: tuple[float, float] = (0.05, 0.95)


def options_of(asked: Request) -> TreatmentEffect:
    """Check what does not depend on the columns of the data."""
    arms: Arms = asked.method
    if arms.estimator not in _METHODS:
        known = ("one of ", Choice(_METHODS))
        raise unusable("method", known, arms.estimator, write("method", "aipw"))
    family = family_from(asked.family)
    if family not in (GAUSSIAN, BINOMIAL):
        wanted = "'gaussian' or 'binomial'"
        raise unusable("family", wanted, family.name, write("family", "gaussian"))
    if arms.propensity is not None:
        if not is_number(arms.propensity) or not _LEAST <= arms.propensity <= 1 - _LEAST:
            raise unusable("propensity", "a number in (0, 1), such as 0.5", arms.propensity)
        if arms.estimator != "aipw":
            problem = f"is not used by {arms.estimator!r}"
            raise ArgumentError("propensity", problem, leave_out("propensity"))
    rows = rows_fitted(asked)
    return TreatmentEffect(
        estimator=arms.estimator,
        family=family,
        propensity=None if arms.propensity is None else float(arms.propensity),
        overlap=_limits(arms.overlap),
        max_rows=rows,
    )


def _limits(overlap: object) -> tuple[float, float]:
    pair = tuple(overlap) if isinstance(overlap, Sequence) and len(overlap) == 2 else ()
    if not pair or not all(map(is_number, pair)) or not _LEAST <= pair[0] < pair[1] <= 1 - _LEAST:
        wanted = f"two increasing numbers from {_LEAST:g} to {1 - _LEAST:g}, such as (0.05, 0.95)"
        raise unusable("overlap", wanted, overlap, leave_out("overlap"))
    return float(pair[0]), float(pair[1])


def with_treatment(formula: object, treatment: object, data: object) -> Any:
    """Return the formula with the treatment as its first term."""
    if not isinstance(treatment, str) or not treatment:
        raise unusable("treatment", "the name of one column, such as 'arm'", treatment)
    if isinstance(data, ModelMatrix) or not isinstance(formula, str):
        return formula
    left, tilde, right = formula.partition("~")
    if not tilde or not left.strip():
        problem = f"{formula!r} must have an outcome on the left of ~"
        raise FormulaError(problem, "write 'outcome ~ age + sex'")
    if re.search(rf"(?<![\w.]){re.escape(treatment)}(?![\w.])", formula):
        problem = f"{treatment!r} is the treatment, and cannot be in the formula too"
        raise FormulaError(problem, "leave it out")
    if "|" in right or re.search(r"(?<![\w.`)])\.(?![\w.`])", right):
        problem = f"{right.strip()!r} must name the covariates"
        raise FormulaError(problem, "write 'age + C(stage)'", "write ~ 1 for none")
    check_column("treatment", treatment, data)
    return f"{left.strip()} ~ {quoted(treatment)} + {right.strip()}"


def with_bounds(terms: Terms, asked: Request, problem: Problem) -> Terms:
    """Return the terms with their bounds, if the first regressor is a treatment."""
    treatment = asked.method.treatment
    # Of a matrix from R the first term is the treatment.
    term, own = next(iter(terms.groups.items()), ("", ()))
    named = term == treatment or isinstance(problem, ModelMatrix)
    if not named or len(own) != 1 or terms.names[:1] != own:
        why = f"{treatment!r} must be 0 or 1, or have two public levels"
        raise ArgumentError("treatment", why, add("levels", {treatment: ["control", "treated"]}))
    if not terms.intercept or terms.offsets or terms.within:
        raise FormulaError("must have an intercept, and no offsets", "write 'outcome ~ age + sex'")
    if asked.method.estimator == "difference" and len(terms.names) > 1:
        why = "has covariates, and the difference in means uses none"
        raise FormulaError(why, "write ~ 1", write("method", "aipw"))
    of_family = replace(terms, family=family_from(asked.family))
    public = bounds_for(asked.bounds, of_family, BoostedAdaSSP(), None)
    if terms.names[0] in public:
        problem_is = f"{treatment!r} is the treatment, which is 0 or 1"
        raise ArgumentError("bounds", problem_is, leave_out("bounds"))
    return replace(terms, bounds=public)


def names_of_arms(asked: Request, problem: Problem) -> tuple[str, str]:
    """Return the levels of the treatment, the control first; 0 and 1 without levels."""
    treatment = asked.method.treatment
    known = (asked.levels or {}).get(treatment)
    if treatment in problem.schema:
        known = problem.schema[treatment].levels
    levels = tuple(known or ())
    return (str(levels[0]), str(levels[1])) if len(levels) == 2 else ("0", "1")
