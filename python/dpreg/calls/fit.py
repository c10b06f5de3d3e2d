"""What `dp_lm` and `dp_glm` do: from a formula to what may be published."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dpreg.base.errors import Argument, ArgumentError, FormulaError, Setting, leave_out
from dpreg.base.families import NegativeBinomial, family_from, with_link
from dpreg.calls import about
from dpreg.calls.chosen import bounds_for, of_units, option_of
from dpreg.calls.request import Request
from dpreg.calls.session import begin
from dpreg.calls.starts import about_start, completed, public_start_of, start_for
from dpreg.data.changed_rows import clipped, without_offsets
from dpreg.data.design import Terms
from dpreg.data.observations import memory_to_hold
from dpreg.estimation.base import Declined, Release, with_offsets
from dpreg.estimation.inference.estimand import clipping_note
from dpreg.estimation.methods import check_extras, method_for, method_from
from dpreg.estimation.methods.auto import Auto
from dpreg.estimation.selection import selector_from
from dpreg.estimation.selection.base import Selector, first_stage
from dpreg.privacy.certificate import Certificate, public_with
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased
from dpreg.results.predict import schema_to_dict


def fit(request: Request, data: Any) -> DPResults | NotReleased:
    """Fit a model of a family; wrong use is refused before a record is read."""
    session = begin(request, data)
    spending, unit, inference = session.allowance, request.unit, request.inference
    family = with_link(family_from(request.family), request.link)
    chosen = method_for(family, method_from(request.method))
    selector = None if request.select is None else selector_from(request.select)
    chosen, selector = of_units(request, chosen, selector)
    problem = session.pose()
    terms = replace(problem.terms, family=family)
    _check_places(terms, unit, selector)
    bounds = bounds_for(request.bounds, _fitted(terms), chosen, selector)
    terms = replace(terms, bounds=bounds)
    fitted = _fitted(terms)
    check_extras(spending.extras, chosen, terms, inference=inference)
    extras = replace(spending.extras, dispersion=family.dispersed)
    stage = first_stage(selector, request.k, request.split, fitted, spending.epsilon)
    chosen.check(fitted, stage.epsilon_fit, spending.delta, inference=inference)
    asked_for, memory = chosen.name, session.memory
    if isinstance(chosen, Auto):
        chosen = chosen.decided(inference=inference)
    start = start_for(
        request.start, terms, problem.schema, chosen, selects=selector is not None,
        inference=inference,
    )  # fmt: skip
    spending = replace(spending, start=start, extras=extras)
    session = replace(session, allowance=spending)
    if selector is not None and selector.holds_rows:
        memory = memory_to_hold(request.memory, Setting("select", selector.name), len(terms.names))
    elif chosen.holds_rows:
        memory = memory_to_hold(request.memory, Setting("method", chosen.name), len(terms.names))
    claim = spending.epsilon, spending.delta
    most = stage.cost(chosen.cost(stage.epsilon_fit, spending.delta)).claimed(*claim)
    receipt = session.pay(asked_for, most, option_of(chosen, selector))

    with receipt.running():
        design = replace(problem.design(memory), terms=terms)
        if family.standardised:
            design = without_offsets(design)
        design, selection = stage.run(clipped(design), spending.bits)
        left = replace(spending, epsilon=stage.epsilon_fit)
        outcome = chosen.release(design, left, inference=inference)

    used = outcome.method or chosen.name
    privacy, unwritten = receipt.settle(
        stage.label + used,
        stage.composition(outcome.composition),
        selection.parts + outcome.parts,
        (*public_with({**terms.data_bounds, **terms.bounds}), *public_start_of(start)),
        declined=isinstance(outcome, Declined),
        paid=None if outcome.cost is None else stage.cost(outcome.cost).claimed(*claim),
    )
    final = design.terms
    if fitted is not terms:
        final = terms
        if not isinstance(outcome, Declined):
            outcome = with_offsets(outcome, terms)
    result = published(outcome, privacy, final, request.formula, chosen.name, selection.names)
    if isinstance(result, NotReleased):
        return result
    by = getattr(selector, "name", "")
    notes = (
        *about.privacy(*claim, outcome.units),
        *unwritten,
        *about.response(terms.response, family, problem.schema),
        *about.bases(final),
        *about.coding(terms.response, family, problem.schema, _error_of_intercept(result)),
        *selection.notes,
        *result.notes,
        *about.columns(problem.schema),
        *about.units(unit, selector, by, "to choose columns, "),
        *about.units(unit, chosen, used),
        *about.extras(spending.extras),
        *about.stratum(session.payer.stratum, unit),
        *about_start(start),
    )
    schema = schema_to_dict(problem.schema)
    later = completed(result.start, final, schema, request.formula, privacy)
    return replace(result, schema=schema, notes=notes, start=later)


def published(
    outcome: Release | Declined,
    privacy: Certificate,
    terms: Terms,
    formula: str,
    method: str,
    selected: tuple[str, ...] | None = None,
) -> DPResults | NotReleased:
    """Put the released numbers, their certificate and what is public together."""
    if isinstance(outcome, Declined):
        return NotReleased(
            formula=formula,
            method=outcome.method or method,
            reason=outcome.reason,
            advice=outcome.advice,
            units=outcome.units,
            privacy=privacy,
            selected=selected,
        )
    estimand = outcome.estimand
    if estimand is not None and (terms.bounds or terms.data_bounds):
        estimand = estimand.within_bounds()
    return DPResults(
        formula=formula,
        response=terms.response,
        names=terms.coefficients,
        method=outcome.method or method,
        estimates=outcome.params,
        covariance=outcome.covariance,
        sampling=outcome.sampling,
        units=outcome.units,
        privacy=privacy,
        law=outcome.law,
        notes=(*clipping_note(estimand, terms.response), *outcome.blank, *outcome.notes),
        selected=selected,
        limits=outcome.limits,
        no_errors=outcome.no_errors,
        family=terms.family if outcome.alpha is None else NegativeBinomial(outcome.alpha),
        stats=outcome.stats,
        diagnostics=outcome.diagnostics,
        clipping=outcome.clipping,
        estimand=estimand,
        start=outcome.start,
    )


def _error_of_intercept(result: DPResults) -> float:
    """Return the standard error of the intercept; 0 without one, or without inference."""
    if result.covariance is None or "Intercept" not in result.names:
        return 0.0
    place = result.names.index("Intercept")
    return math.sqrt(max(result.covariance[place, place], 0.0))  # rounding may leave less


def _fitted(terms: Terms) -> Terms:
    """Return the terms of what a method gets: offsets may have been taken off the response."""
    if not terms.given or not terms.family.standardised:
        return terms
    return terms.keeping([j for j in range(len(terms.names)) if j not in terms.given])


def _check_places(terms: Terms, unit: str | None, selector: Selector | None) -> None:
    """Refuse offsets, weights and effects of units where they are not used."""
    if not terms.intercept and len(terms.given) == len(terms.regressors):
        why = "has offsets only: there is no coefficient to estimate"
        raise FormulaError(why, "add an intercept or a column")
    if selector is not None and terms.given:
        name = terms.names[terms.given[0]]
        raise ArgumentError("select", f"cannot be used together with {name}")
    if terms.within and not terms.family.least_squares:
        why = f"effects of each {unit} are supported in linear models only"
        raise FormulaError(why, "leave them out, or use dp_lm")
    if terms.weight is None:
        return
    if selector is not None:
        raise ArgumentError("select", ("cannot be used together with ", Argument("weights")))
    if terms.within:
        why = "cannot be used together with unit effects"
        raise ArgumentError("weights", why, leave_out("weights"))
