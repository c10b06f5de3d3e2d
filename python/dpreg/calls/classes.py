"""`dp_ordinal` and `dp_multinomial`: responses that are classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from dpreg.base.errors import Choice, FormulaError, SchemaError, add, unusable
from dpreg.base.families import BINOMIAL, PROBIT
from dpreg.base.keywords import hinted
from dpreg.base.levels import Level, listed
from dpreg.calls import about
from dpreg.calls.request import Request
from dpreg.calls.session import Payer, Session, begin
from dpreg.calls.stacked import Stacked, bounded, check_columns, rows_of_a_unit
from dpreg.data.bounds import Bounds
from dpreg.data.classes import Baseline, Ordered
from dpreg.data.containers import open_source
from dpreg.data.design import Design, Terms
from dpreg.data.formula.parse import read_terms
from dpreg.data.problem import FormulaProblem, ModelMatrix, Problem
from dpreg.data.schema import no_column
from dpreg.estimation.base import Allowance, Declined, Release
from dpreg.estimation.methods.class_rows import release_classes
from dpreg.privacy.bits import Rng
from dpreg.results.class_models import DPMultinomial, DPOrdinal
from dpreg.results.classes import OfClasses
from dpreg.results.not_released import NotReleased

Fit = TypeVar("Fit", bound=OfClasses)
_LINKS = {"logit": BINOMIAL, "probit": PROBIT}
# What has a meaning in a formula outside quotes, or ends them.
_UNWRITTEN = re.compile(r"[|~`\\\n]")
_BACKTICKS = re.compile(r"^`([^`]+)`$")


@hinted("dp_ordinal")
def dp_ordinal(
    formula: str,
    data: Any,
    eps: float,
    delta: float | None = None,
    *,
    link: str = "logit",
    levels: Mapping[str, Iterable[Level]] | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    weights: str | None = None,
    weight_limit: float | None = None,
    budget: Payer | None = None,
    memory: float | None = None,
    rng: Rng | None = None,
) -> DPOrdinal | NotReleased:
    """Fit a cumulative logit or probit model of ordered classes with differential privacy.

    The model is that of R's ``MASS::polr`` and of statsmodels' ``OrderedModel``: a class is at most
    k with probability F(theta_k - x'beta).

    Parameters
    ----------
    formula : str
        ``"rating ~ age + C(region)"``.  The response is a column.
    link : {"logit", "probit"}, default "logit"
        Exponentials of coefficients of a logit are odds ratios of a higher class.
    levels : dict, optional
        Public levels, ``{"rating": ["low", "mid", "high"]}``: those of the response in order.  Not
        needed for categories that the data declare.
    data, eps, delta, bounds, unit, max_rows, weights, weight_limit, budget, memory, rng
        As for `dp_lm`; bounds are those of covariates.

    Returns
    -------
    DPOrdinal or NotReleased
        With `predict` for probabilities of classes with intervals, `marginal_effects`,
        `thresholds`, and all that `DPResults` has.

    Raises
    ------
    ValueError
        For invalid arguments, before a record is read; it never depends on a record.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows
    proof : estimation/methods/class_rows.md

    Notes
    -----
    The estimand is that of maximum likelihood, even if odds are not proportional.  The fit starts
    from a model without slopes and takes three to six Newton steps (three in small tables).  Each
    record has a row for each threshold, made in batches and never stored.  Covariances are
    clustered by unit.  Scores of records far from their class are clipped, more so for a probit
    than for a logit; the head of the summary has the estimated effect on coefficients.

    References
    ----------
    McCullagh (1980), "Regression models for ordinal data"; Le Cam (1956), "On the asymptotic theory
    of estimation and testing hypotheses", for the steps.

    Examples
    --------
    >>> import dpreg
    >>> fit = dpreg.dp_ordinal("cut ~ carat + table", dpreg.load_diamonds(), 1.0)
    >>> fit.names[:3]
    ('carat', 'table', 'Fair|Good')
    """
    if not isinstance(link, str) or link not in _LINKS:
        raise unusable("link", Choice(tuple(_LINKS)), link)
    asked = Request.of("dp_ordinal", locals(), {"method": "cumulative_link"})
    return _fitted(asked, data, DPOrdinal)


@hinted("dp_multinomial")
def dp_multinomial(
    formula: str,
    data: Any,
    eps: float,
    delta: float | None = None,
    *,
    levels: Mapping[str, Iterable[Level]] | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    weights: str | None = None,
    weight_limit: float | None = None,
    budget: Payer | None = None,
    memory: float | None = None,
    rng: Rng | None = None,
) -> DPMultinomial | NotReleased:
    """Fit a multinomial logit model with differential privacy.

    The model is that of R's ``nnet::multinom`` and of statsmodels' ``MNLogit``: the logarithm of
    the odds of each class against the first one is x'beta of that class.

    Parameters
    ----------
    formula : str
        ``"choice ~ age + C(region)"``.  The response is a column.
    levels : dict, optional
        Public levels, ``{"choice": ["bus", "car", "train"]}``.  The first level of the response is
        the baseline.  Not needed for categories that the data declare.
    data, eps, delta, bounds, unit, max_rows, weights, weight_limit, budget, memory, rng
        As for `dp_ordinal`.

    Returns
    -------
    DPMultinomial or NotReleased
        With `predict` for probabilities of classes with intervals, `marginal_effects`,
        `coefficients`, a table by class, and all that `DPResults` has.

    Raises
    ------
    ValueError
        For invalid arguments, before a record is read; it never depends on a record.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows
    proof : estimation/methods/class_rows.md

    Notes
    -----
    As for `dp_ordinal`, but with two steps in small tables, and with a row of each record for each
    class except the most common one (by noisy counts).

    References
    ----------
    McFadden (1974), "Conditional logit analysis of qualitative choice behavior"; for the steps, see
    `dp_ordinal`.

    Examples
    --------
    >>> import dpreg
    >>> fit = dpreg.dp_multinomial("cut ~ carat", dpreg.load_diamonds(), 1.0)
    >>> fit.names[:3]
    ('Good:Intercept', 'Good:carat', 'Very Good:Intercept')
    """
    asked = Request.of("dp_multinomial", locals(), {"method": "baseline_logits"})
    return _fitted(asked, data, DPMultinomial)


def _fitted(asked: Request, data: Any, kind: type[Fit]) -> Fit | NotReleased:
    """Fit a model of classes; `kind` is the result's."""
    session = begin(asked, data)
    response, levels, problem = _posed(session)
    rows = rows_of_a_unit(asked, len(levels) - 1, f"{len(levels)} classes")
    records = bounded(problem.terms, asked, (problem.terms.response,))
    # The number of the class has public limits, too.
    known = {**records.ranges, records.response: (0.0, float(len(levels) - 1))}
    known = {name: pair for name, pair in known.items() if name not in records.bounds}
    records = replace(records, ranges=known)
    _check_terms(records, kind)
    classes = kind.of_levels(levels, records.regressors)
    check_columns(classes.names, "use fewer terms, or fewer classes")
    terms = _terms(records, classes, response, asked.link)

    def release(design: Design, allowance: Allowance) -> Release | Declined:
        return release_classes(design, classes, terms, rows, allowance)

    model = Stacked(
        kind.words, asked.method, records, terms, classes.count, rows, release,
        notes=about.rows(asked.unit, rows, "max_rows= allows more, with more noise"),
    )  # fmt: skip
    found = model.fit(session, problem)
    if isinstance(found, NotReleased):
        return found
    right = str(asked.formula).partition("~")[2].strip()
    columns = "" if isinstance(problem, ModelMatrix) else f"{problem.terms.response} ~ {right}"
    fit = kind.of(found, classes, columns)
    assert fit.covariance is not None
    slopes = [j for j, name in enumerate(fit.names) if name not in fit._intercepts]
    notes = about.gain(fit.estimates, fit.covariance, slopes)
    return replace(fit, notes=(*notes, *fit.notes))


def _posed(session: Session) -> tuple[str, tuple[Level, ...], Problem]:
    """Return the response, its levels, and a problem whose response is the number of the level."""
    asked = session.request
    if isinstance(session.data, ModelMatrix):
        response = session.data.terms.response
        given = (asked.levels or {}).get(response)
        if given is None:
            raise _undeclared(response)
        return response, listed(response, given), session.pose()
    if not isinstance(asked.formula, str) or "~" not in asked.formula:
        return "", (), session.pose()  # which says what is wrong
    left, _, right = (part.strip() for part in asked.formula.partition("~"))
    quoted = _BACKTICKS.match(left)
    name = quoted[1] if quoted else left
    schema = open_source(session.data).schema
    if not (quoted or left.isidentifier()):
        why = f"has {left!r} for its response, which must be a column"
        raise FormulaError(why, "write 'y ~ x'; levels= has the classes of y")
    if name not in schema:
        raise FormulaError(*no_column(name, schema))
    levels = schema.with_levels(asked.levels)[name].levels
    if levels is None:
        raise _undeclared(name)
    read_terms(asked.formula, schema.columns)
    number = f"I({_number(left, name, levels)})"
    problem = session.pose(f"{number} ~ {right}")
    if isinstance(problem, FormulaProblem) and name in problem.spec.regressors:
        why = f"{name!r} is the response and on the right too"
        raise FormulaError(why, "leave it out on the right")
    return name, levels, problem


def _number(left: str, name: str, levels: tuple[Level, ...]) -> str:
    """Return the number of the level, from 0, as arithmetic on comparisons with the others."""
    for level in levels:
        if isinstance(level, str) and _UNWRITTEN.search(level):
            problem = f"level {level!r} of {name!r} has a sign that a formula cannot have"
            raise SchemaError("levels", problem, "rename it before the call")
    places = list(enumerate(levels))[1:]
    return " + ".join(f"{place} * ({left} == {level!r})" for place, level in places)


def _undeclared(name: str) -> SchemaError:
    problem = f"column {name!r} has no declared levels, which must not be read from the data"
    return SchemaError("levels", problem, (*add("levels", {name: ["low", "mid", "high"]}),
                                           " to the call, with its classes"))  # fmt: skip


def _check_terms(records: Terms, kind: type[OfClasses]) -> None:
    if records.within:
        why = "has effects of units, which are supported in linear models only"
        raise FormulaError(why, "leave out what is after |")
    if not records.intercept:
        raise FormulaError(f"has no intercept: {kind.intercepts}", "leave out the 0 or -1")
    if records.offsets and not kind.with_offsets:
        why = f"{records.offsets[0]} cannot be used: it would be the same for all classes"
        raise FormulaError(why, "leave it out")


def _terms(records: Terms, classes: Ordered | Baseline, response: str, link: str | None) -> Terms:
    """Return what is public about rows of classes, whose responses are 0 and 1."""
    weight = records.names[-1:] if records.weight is not None else ()
    return Terms(
        response=response,
        names=(*classes.names, *weight),
        intercept=False,
        family=_LINKS[link or "logit"],
        offsets=records.offsets,
        weights=records.weights,
    )
