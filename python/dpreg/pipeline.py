"""What `dp_lm` and `dp_glm` do: from a formula to what may be published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpreg.bounds_users import bounds_for
from dpreg.data.bounds import Bounds
from dpreg.data.clipping import clipped
from dpreg.data.design import Terms
from dpreg.data.observations import check_memory, memory_to_hold
from dpreg.data.offsets import without_offset_terms, without_offsets
from dpreg.data.problem import pose
from dpreg.data.schema import Level
from dpreg.data.weights import check_weights
from dpreg.errors import (
    Argument,
    ArgumentError,
    FormulaError,
    Setting,
    Words,
    leave_out,
    unusable,
)
from dpreg.families import Family
from dpreg.methods import method_from
from dpreg.methods.auto import Auto
from dpreg.methods.base import Allowance, Declined, Method, with_offsets
from dpreg.methods.families import check_extras, method_for
from dpreg.privacy.bits import bit_source
from dpreg.privacy.certificate import Certificate, public_with, unit_of
from dpreg.privacy.charge import Status
from dpreg.privacy.checks import check_epsilon
from dpreg.privacy.payment import Payer, budget_for, pay
from dpreg.publish import publish
from dpreg.remarks import (
    about_columns,
    about_extras,
    about_privacy,
    about_response,
    about_stratum,
    about_units,
)
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased
from dpreg.results.predict import schema_to_dict
from dpreg.selection import selector_from
from dpreg.selection.stage import first_stage
from dpreg.sums.residuals import Extras
from dpreg.unit_rows import of_units, option_of
from dpreg.version import __version__

if TYPE_CHECKING:
    from dpreg import _core
    from dpreg.selection.base import Selector

__all__ = ["fit"]


def fit(
    caller: str,
    family: Family,
    formula: str,
    data: Any,
    eps: float,
    delta: float | None,
    *,
    method: str | Method,
    select: str | Selector | None,
    k: int | None,
    split: float | None,
    levels: Mapping[str, Iterable[Level]] | None,
    bounds: Mapping[str, Bounds] | None,
    unit: str | None,
    max_rows: int | None,
    weights: str | None,
    weight_limit: float | None,
    budget: Payer | None,
    inference: bool,
    extras: Extras,
    memory: float | None,
    rng: int | _core.BitSource | None,
) -> DPResults | NotReleased:
    """Fit a model of a family with differential privacy.

    Parameters
    ----------
    caller : str
        Name of the public function, for the budget.
    family : Family
    extras : Extras
    formula, ..., rng
        As for `dp_lm`.

    Raises
    ------
    ValueError
        For wrong use, before a record is read.
    """
    epsilon = check_epsilon(eps)
    charged, delta = budget_for(budget, epsilon, delta)
    chosen = method_for(family, method_from(method))
    if max_rows is not None:
        chosen, select = of_units(chosen, select, unit, max_rows)
    asked = {"inference": inference, "fit_stats": extras.fit_stats,
             "diagnostics": extras.diagnostics}  # fmt: skip
    for name, value in asked.items():
        if not isinstance(value, (bool, np.bool_)):
            raise unusable(name, "True or False", value)
    allowed = check_memory(memory)
    bits = bit_source(rng)
    weighed = check_weights(weights, weight_limit)
    problem = pose(formula, data, levels, unit, charged.stratum, weighed, bounds)
    terms = replace(problem.terms, family=family)
    _check_places(terms, select)
    selector = None if select is None else selector_from(select)
    terms = replace(terms, bounds=bounds_for(bounds, _fitted(terms), chosen, selector))
    fitted = _fitted(terms)
    if terms.within and not family.least_squares:
        why = f"effects of each {unit} are supported in linear models only"
        raise FormulaError("formula", why, "leave them out, or use dp_lm")
    check_extras(extras, chosen, terms, inference=inference)
    stage = first_stage(selector, k, split, fitted, epsilon)
    chosen.check(fitted, stage.epsilon_fit, delta, inference=inference)
    asked_for = chosen.name
    if isinstance(chosen, Auto):
        chosen = chosen.decided(inference=inference)
    holder = _holder(chosen, stage.selector)
    if holder is not None:
        allowed = memory_to_hold(memory, holder, len(terms.names))
    most = stage.cost(chosen.cost(stage.epsilon_fit, delta)).claimed(epsilon, delta)
    rows = option_of(chosen, stage.selector)
    receipt = pay(charged, caller, formula, asked_for, data, most, unit, rows)

    allowance = Allowance(stage.epsilon_fit, delta, bits, extras)
    with receipt.running(bits):
        design = replace(problem.design(allowed), terms=terms)
        if family.standardised:
            design = without_offsets(design)
        design, selection = stage.run(clipped(design), bits)
        outcome = chosen.release(design, allowance, inference=inference)

    privacy = Certificate(
        mechanism=stage.label + (outcome.method or chosen.name),
        epsilon=epsilon,
        delta=delta,
        unit=unit_of(unit),
        composition=stage.composition(outcome.composition),
        parts=selection.parts + outcome.parts,
        public=public_with({**terms.data_bounds, **terms.bounds}),
        seeded=bits.seeded,
        version=__version__,
    )
    status: Status = "declined" if isinstance(outcome, Declined) else "released"
    paid = None if outcome.cost is None else stage.cost(outcome.cost).claimed(epsilon, delta)
    unwritten = receipt.settle(status, privacy, paid)
    published = design.terms
    if fitted is not terms:
        published = terms
        if not isinstance(outcome, Declined):
            outcome = with_offsets(outcome, terms)
    return publish(
        outcome,
        privacy,
        published,
        formula=formula,
        method=chosen.name,
        schema=schema_to_dict(problem.schema),
        selection=selection,
        warnings=(
            *about_privacy(epsilon, delta, outcome.units),
            *unwritten,
            *about_response(terms.response, family, problem.schema),
        ),
        remarks=(
            *about_columns(problem.schema),
            *about_units(
                unit, stage.selector, getattr(stage.selector, "name", ""), "to choose columns, "
            ),
            *about_units(unit, chosen, outcome.method or chosen.name),
            *about_extras(extras),
            *about_stratum(charged.stratum, unit),
        ),
    )


def _fitted(terms: Terms) -> Terms:
    """Return the terms of what a method gets: offsets may have been taken off the response."""
    return without_offset_terms(terms) if terms.family.standardised else terms


def _holder(method: Method, selector: Selector | None) -> Words | None:
    """Return what needs all rows in memory, as it was asked for; None if nothing does."""
    if selector is not None and selector.holds_rows:
        return (Setting("select", selector.name),)
    return (Setting("method", method.name),) if method.holds_rows else None


def _check_places(terms: Terms, select: object) -> None:
    """Refuse offsets and weights where they are not used, and offsets by themselves."""
    if not terms.intercept and len(terms.given) == len(terms.regressors):
        why = "has offsets only: there is no coefficient to estimate"
        raise FormulaError("formula", why, "add an intercept or a column")
    if select is not None and terms.given:
        name = terms.names[terms.given[0]]
        raise ArgumentError("select", f"cannot be used together with {name}")
    if terms.weight is None:
        return
    if select is not None:
        raise ArgumentError("select", ("cannot be used together with ", Argument("weights")))
    if terms.within:
        why = "cannot be used together with unit effects"
        raise ArgumentError("weights", why, leave_out("weights"))
