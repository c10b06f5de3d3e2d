"""`dp_effect`: average treatment effects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpreg.base.errors import (
    ArgumentError,
    Choice,
    FormulaError,
    SchemaError,
    Value,
    add,
    leave_out,
    unusable,
    write,
)
from dpreg.base.families import BINOMIAL, GAUSSIAN, Family, family_from
from dpreg.base.keywords import hinted
from dpreg.base.levels import Level
from dpreg.base.options import is_number
from dpreg.calls.chosen import bounds_for, of_units
from dpreg.calls.notes import about_columns, about_privacy, about_rows, about_stratum
from dpreg.calls.request import Request
from dpreg.calls.session import Payer, begin
from dpreg.data.bounds import Bounds
from dpreg.data.changed_rows import clipped
from dpreg.data.containers import open_source
from dpreg.data.design import Terms
from dpreg.data.matrix import ModelMatrix
from dpreg.data.problem import Problem
from dpreg.data.sampling import check_max_rows
from dpreg.data.schema import no_column
from dpreg.estimation.base import Declined
from dpreg.estimation.methods import BoostedAdaSSP
from dpreg.estimation.methods.effect import EffectRelease, TreatmentEffect
from dpreg.estimation.releases.accountant import releases_cost
from dpreg.privacy.certificate import public_with
from dpreg.results.effect import DPEffect, Overlap
from dpreg.results.not_released import NotReleased

if TYPE_CHECKING:
    from dpreg import _core

__all__ = ["dp_effect"]

_METHODS = ("aipw", "regression", "difference")
# Limits of the propensity may not be nearer to 0 and 1: a row would weigh a thousand.
_LEAST = 1e-3
_RESTS_ON = {
    "regression": "the effect and its interval depend on the model of the outcome",
    "difference": "a difference in means is an effect only if treatment was randomised",
}
# Rows at the limits are worth a note from this share on.
_MANY = 0.02


@hinted("dp_effect")
def dp_effect(
    formula: str,
    data: Any,
    eps: float,
    delta: float | None = None,
    *,
    treatment: str,
    method: str = "aipw",
    family: str | Family = "gaussian",
    propensity: float | None = None,
    overlap: tuple[float, float] = (0.05, 0.95),
    levels: Mapping[str, Iterable[Level]] | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    budget: Payer | None = None,
    memory: float | None = None,
    rng: int | _core.BitSource | None = None,
) -> DPEffect | NotReleased:
    """Estimate the average effect of a treatment with differential privacy.

    The mean outcome of all rows if each were treated, the same if none were, and the difference,
    with intervals for sampling error and privacy noise.

    Parameters
    ----------
    formula : str
        ``"outcome ~ age + C(stage)"``: the outcome, and the covariates that decide about treatment
        and outcome.  ``~ 1`` where there are none.
    data : data frame, dict of arrays, or path of a Parquet file
        Private.  As for `dp_lm`.
    eps : float
        Privacy parameter epsilon, greater than 0; smaller is more private.
    treatment : str
        Column of the treatment: 0 or 1, False or True, or two levels declared in `levels`, the
        first of which is the control.  Rows with other values are dropped.
    method : {"aipw", "regression", "difference"}, default "aipw"
        ``"aipw"``: doubly robust scores, which are right if the model of the outcome or that of the
        treatment is.  ``"regression"``: predictions by a model of the outcome in each arm, which
        has to be right.  ``"difference"``: difference in means of a randomised trial, without
        covariates.
    family : {"gaussian", "binomial"}, default "gaussian"
        Of the outcome.  ``"binomial"``: an outcome of 0 or 1, whose models are logistic; the effect
        is a difference of risks.
    propensity : float, optional
        For ``"aipw"``: the public probability of the treatment in a randomised trial, such as 0.5.
        The model of the treatment is not needed then, and nothing is spent on it.
    overlap : tuple of float, default (0.05, 0.95)
        For ``"aipw"``: public limits to which estimated probabilities of the treatment are moved.
    levels, bounds
        As for `dp_lm`.
    delta, unit, max_rows, budget, memory, rng
        As for `dp_lm`.

    Returns
    -------
    DPEffect or NotReleased
        With `effect`, `se`, `conf_int`, `tidy`, `overlap` and `summary`.

    Raises
    ------
    ValueError
        For invalid arguments, before a record is read; it never depends on a record.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows in an arm
    proof : estimation/methods/effect.md

    Notes
    -----
    The outcome is regressed on covariates in both arms at once, the treatment on covariates by
    logistic regression, and the effect is the mean of doubly robust scores (Robins, Rotnitzky and
    Zhao, 1994), each a function of one row and of released coefficients.  Noise in these
    coefficients moves the effect to second order only; the standard error allows for that.

    All of it rests on what the data cannot show: that no other cause of the outcome decides about
    treatment, and that rows of every kind may be treated or not.  For the latter `DPEffect.overlap`
    has the noisy number of rows whose probability of treatment is at a limit; the effect is not
    known for these without trust in the model of the outcome.

    References
    ----------
    Robins, Rotnitzky and Zhao (1994), "Estimation of regression coefficients when some regressors
    are not always observed"; Lin (2013), "Agnostic notes on regression adjustments to experimental
    data".

    Examples
    --------
    >>> import numpy as np, dpreg
    >>> rng = np.random.default_rng(1)
    >>> age = rng.uniform(40, 80, 20000)
    >>> drug = rng.random(20000) < 1 / (1 + np.exp((60 - age) / 20))
    >>> pressure = 90 + 0.8 * age - 5 * drug + rng.normal(0, 10, 20000)
    >>> d = {"pressure": pressure, "drug": drug, "age": age}
    >>> found = dpreg.dp_effect("pressure ~ age", d, 1.0, treatment="drug", rng=1)
    >>> bool(abs(found.effect + 5) < 1)
    True
    """
    asked = Request(
        call="dp_effect", formula=formula, eps=eps, delta=delta, family=family, levels=levels,
        bounds=bounds, unit=unit, max_rows=max_rows, budget=budget, memory=memory, rng=rng,
        method=Arms(treatment, method, propensity, overlap),
    )  # fmt: skip
    session = begin(asked, data)
    spending, claim = session.allowance, (session.allowance.epsilon, session.allowance.delta)
    options = _options(asked)
    formula = _with_treatment(formula, treatment, data)
    problem = replace(session, request=replace(asked, formula=formula)).pose()
    terms = _bounded(problem.terms, asked, problem)
    BoostedAdaSSP().check(terms, *claim, inference=True)
    receipt = session.pay(method, releases_cost(*claim), options.max_rows)

    with receipt.running():
        design = clipped(replace(problem.design(session.memory), terms=terms))
        outcome = options.release(design, spending)

    privacy, unwritten = receipt.settle(
        f"treatment effect by {method}",
        "Gaussian (GDP)",
        outcome.parts,
        public_with({**terms.data_bounds, **terms.bounds}),
        declined=isinstance(outcome, Declined),
    )
    label = str(asked.formula)
    if isinstance(outcome, Declined):
        return NotReleased(
            formula=label, method=method, reason=outcome.reason, advice=outcome.advice,
            units=outcome.units, privacy=privacy,
        )  # fmt: skip
    notes = (
        *about_privacy(*claim, outcome.units / options.max_rows),
        *unwritten,
        *_about_estimate(outcome, options),
        *about_columns(problem.schema),
        *about_rows(unit, options.max_rows, "max_rows= allows more, with more noise"),
        *about_stratum(session.payer.stratum, unit),
    )
    return DPEffect(
        formula=label,
        treatment=treatment,
        response=terms.response,
        arms=_arms(asked, problem),
        method=method,
        family=options.family.name,
        covariates=terms.names[1:],
        means=outcome.means,
        covariance=outcome.covariance,
        sampling=outcome.sampling,
        units=outcome.units,
        treated=outcome.treated,
        overlap=_overlap(outcome, options),
        propensity=options.propensity if outcome.propensity is None else outcome.propensity,
        privacy=privacy,
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class Arms:
    """The treatment, and how its effect is estimated."""

    name: ClassVar[str] = "effect"

    treatment: str
    estimator: str = "aipw"
    propensity: float | None = None
    overlap: tuple[float, float] = (0.05, 0.95)


def _options(asked: Request) -> TreatmentEffect:
    """Check what does not depend on the columns of the data."""
    arms: Arms = asked.method
    if arms.estimator not in _METHODS:
        raise unusable(
            "method", ("one of ", Choice(_METHODS)), arms.estimator, write("method", "aipw")
        )
    family = family_from(asked.family)
    if family not in (GAUSSIAN, BINOMIAL):
        wanted = (Value("gaussian"), " or ", Value("binomial"))
        raise unusable("family", wanted, family.name, write("family", "gaussian"))
    if arms.propensity is not None:
        if not is_number(arms.propensity) or not _LEAST <= arms.propensity <= 1 - _LEAST:
            raise unusable("propensity", "a number in (0, 1), such as 0.5", arms.propensity)
        if arms.estimator != "aipw":
            problem = f"is not used by {arms.estimator!r}"
            raise ArgumentError("propensity", problem, leave_out("propensity"))
    rows = 1 if asked.max_rows is None else asked.max_rows
    check_max_rows(rows)
    of_units(asked, BoostedAdaSSP())
    return TreatmentEffect(
        estimator=arms.estimator,
        family=family,
        propensity=None if arms.propensity is None else float(arms.propensity),
        overlap=_limits(arms.overlap),
        max_rows=int(rows),
    )


def _limits(overlap: object) -> tuple[float, float]:
    pair = tuple(overlap) if isinstance(overlap, Sequence) and len(overlap) == 2 else ()
    if not pair or not all(map(is_number, pair)) or not _LEAST <= pair[0] < pair[1] <= 1 - _LEAST:
        wanted = f"two increasing numbers from {_LEAST:g} to {1 - _LEAST:g}, such as (0.05, 0.95)"
        raise unusable("overlap", wanted, overlap, leave_out("overlap"))
    return float(pair[0]), float(pair[1])


def _with_treatment(formula: object, treatment: object, data: object) -> Any:
    """Return the formula with the treatment as its first term."""
    if not isinstance(treatment, str) or not treatment:
        raise unusable("treatment", "the name of one column, such as 'arm'", treatment)
    if isinstance(data, ModelMatrix) or not isinstance(formula, str):
        return formula
    left, tilde, right = formula.partition("~")
    if not tilde or not left.strip():
        problem = f"{formula!r} must have an outcome on the left of ~"
        raise FormulaError("formula", problem, "write 'outcome ~ age + sex'")
    if re.search(rf"(?<![\w.]){re.escape(treatment)}(?![\w.])", formula):
        problem = f"{treatment!r} is the treatment, and cannot be in the formula too"
        raise FormulaError("formula", problem, "leave it out")
    if "|" in right or re.search(r"(?<![\w.`)])\.(?![\w.`])", right):
        problem = f"{right.strip()!r} must name the covariates"
        raise FormulaError("formula", problem, "write 'age + C(stage)'", "write ~ 1 for none")
    schema = open_source(data).schema
    if treatment not in schema.columns:
        raise SchemaError("treatment", *no_column(treatment, schema))
    name = treatment if treatment.isidentifier() else f"`{treatment}`"
    return f"{left.strip()} ~ {name} + {right.strip()}"


def _bounded(terms: Terms, asked: Request, problem: Problem) -> Terms:
    """Return the terms with their bounds, if the first regressor is a treatment."""
    treatment = asked.method.treatment
    # Of a matrix from R the first term is the treatment.
    term, own = next(iter(terms.groups.items()), ("", ()))
    named = term == treatment or isinstance(problem, ModelMatrix)
    if not named or len(own) != 1 or terms.names[:1] != own:
        why = f"{treatment!r} must be 0 or 1, or have two public levels"
        raise ArgumentError("treatment", why, add("levels", {treatment: ["control", "treated"]}))
    if not terms.intercept or terms.offsets or terms.within:
        why = "must have an intercept, and no offsets"
        raise FormulaError("formula", why, "write 'outcome ~ age + sex'")
    if asked.method.estimator == "difference" and len(terms.names) > 1:
        why = "has covariates, and the difference in means uses none"
        raise FormulaError("formula", why, "write ~ 1", write("method", "aipw"))
    of_family = replace(terms, family=family_from(asked.family))
    public = bounds_for(asked.bounds, of_family, BoostedAdaSSP(), None)
    if terms.names[0] in public:
        problem_is = f"{treatment!r} is the treatment, which is 0 or 1"
        raise ArgumentError("bounds", problem_is, leave_out("bounds"))
    return replace(terms, bounds=public)


def _arms(asked: Request, problem: Problem) -> tuple[str, str]:
    treatment = asked.method.treatment
    known = (asked.levels or {}).get(treatment)
    if treatment in problem.schema:
        known = problem.schema[treatment].levels
    levels = tuple(known or ())
    return (str(levels[0]), str(levels[1])) if len(levels) == 2 else ("0", "1")


def _overlap(found: EffectRelease, options: TreatmentEffect) -> Overlap | None:
    if found.at_limits is None:
        return None
    return Overlap(found.at_limits, found.deviation, max(found.units, 1.0), *options.overlap)


def _about_estimate(found: EffectRelease, options: TreatmentEffect) -> tuple[str, ...]:
    """Say what the effect depends on, from released numbers."""
    notes = list(dict.fromkeys(found.notes))
    if not np.isfinite(found.covariance).all():
        notes.insert(0, (
            "the standard error of the effect is not estimable at this eps, as one of the models "
            "has coefficients that are not; take fewer covariates, more rows or a larger eps"
        ))  # fmt: skip
    overlap = _overlap(found, options)
    if overlap is not None and overlap.rows - 2 * overlap.std_err > _MANY * found.units:
        low, high = options.overlap
        notes.insert(0, (
            f"about {overlap.share:.0%} of the rows have an estimated probability of treatment of "
            f"at most {low:g} or at least {high:g}: for these the effect depends on the model of "
            "the outcome"
        ))  # fmt: skip
    if options.estimator in _RESTS_ON:
        notes.append(_RESTS_ON[options.estimator])
    return tuple(notes)
