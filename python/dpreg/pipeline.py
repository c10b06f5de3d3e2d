"""What `dp_lm` and `dp_glm` do: from a formula to what may be published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpreg.data.design import Terms
from dpreg.data.observations import check_memory
from dpreg.data.problem import pose
from dpreg.data.schema import Level
from dpreg.errors import ArgumentError, FormulaError, unusable
from dpreg.families import Family
from dpreg.methods import method_from
from dpreg.methods.base import Allowance, Declined, Method
from dpreg.methods.families import method_for
from dpreg.privacy.bits import bit_source
from dpreg.privacy.certificate import PUBLIC, Certificate, unit_of
from dpreg.privacy.charge import Status
from dpreg.privacy.checks import check_epsilon
from dpreg.privacy.payment import Payer, budget_for, pay
from dpreg.publish import publish
from dpreg.remarks import about_columns, about_privacy, about_response, about_stratum, about_units
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased
from dpreg.results.predict import schema_to_dict
from dpreg.selection.stage import first_stage
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
    unit: str | None,
    budget: Payer | None,
    inference: bool,
    memory: float | None,
    rng: int | _core.BitSource | None,
) -> DPResults | NotReleased:
    """Fit a model of a family with differential privacy.

    Parameters
    ----------
    caller : str
        Name of the public function, for the budget.
    family : Family
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
    if not isinstance(inference, (bool, np.bool_)):
        raise unusable("inference", "True or False", inference)
    allowed = check_memory(memory)
    bits = bit_source(rng)
    problem = pose(formula, data, levels, unit, charged.stratum)
    terms = replace(problem.terms, family=family)
    _check_offsets(terms, select)
    if terms.within and not family.least_squares:
        why = f"effects of each {unit} can be taken out of a linear model only"
        raise FormulaError("formula", why, "leave them out, or use dp_lm")
    stage = first_stage(select, k, split, terms, epsilon)
    chosen.check(terms, stage.epsilon_fit, delta, inference=inference)
    most = stage.cost(chosen.cost(stage.epsilon_fit, delta)).claimed(epsilon, delta)
    receipt = pay(charged, caller, formula, chosen.name, data, most)

    allowance = Allowance(stage.epsilon_fit, delta, bits)
    with receipt.running():
        design, selection = stage.run(replace(problem.design(allowed), terms=terms), bits)
        outcome = chosen.release(design, allowance, inference=inference)

    privacy = Certificate(
        mechanism=stage.label + (outcome.method or chosen.name),
        epsilon=epsilon,
        delta=delta,
        unit=unit_of(unit),
        composition=stage.composition(outcome.composition),
        parts=selection.parts + outcome.parts,
        public=PUBLIC,
        seeded=bits.seeded,
        version=__version__,
    )
    status: Status = "declined" if isinstance(outcome, Declined) else "released"
    paid = None if outcome.cost is None else stage.cost(outcome.cost).claimed(epsilon, delta)
    unwritten = receipt.settle(status, privacy, paid)
    return publish(
        outcome,
        privacy,
        design.terms,
        formula=formula,
        method=chosen.name,
        schema=schema_to_dict(problem.schema),
        selection=selection,
        remarks=(
            *about_units(
                unit, stage.selector, getattr(stage.selector, "name", ""), "to choose columns, "
            ),
            *about_units(unit, chosen, outcome.method or chosen.name),
            *about_stratum(charged.stratum, unit),
            *about_response(terms.response, family),
            *about_columns(problem.schema),
            *about_privacy(epsilon, delta, outcome.units),
            *unwritten,
        ),
    )


def _check_offsets(terms: Terms, select: object) -> None:
    """Refuse offsets where the response or a selection has no use for them."""
    if not terms.given:
        return
    name = terms.names[terms.given[0]]
    if terms.family.standardised:
        problem = f"{name} is for a family with a link"
        raise FormulaError("formula", problem, "subtract it from the response: I(y - t) ~ x")
    if select is not None:
        raise ArgumentError("select", f"cannot be used together with {name}")
