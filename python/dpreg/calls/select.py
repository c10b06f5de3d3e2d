"""`dp_select`: private feature selection alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dpreg.base.keywords import hinted
from dpreg.base.levels import Level
from dpreg.calls import about
from dpreg.calls.chosen import bounds_for, of_units, option_of
from dpreg.calls.request import Request
from dpreg.calls.session import Payer, begin
from dpreg.data.bounds import Bounds
from dpreg.data.changed_rows import clipped, refuse_offsets
from dpreg.estimation.selection import selector_from
from dpreg.estimation.selection.base import Selector, check_k
from dpreg.privacy.bits import Rng
from dpreg.privacy.certificate import public_with
from dpreg.results.selection import SelectionResult


@hinted("dp_select")
def dp_select(
    formula: str,
    data: Any,
    k: int,
    eps: float,
    delta: float = 0.0,
    *,
    method: str | Selector = "kendall",
    levels: Mapping[str, Iterable[Level]] | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
    rng: Rng | None = None,
) -> SelectionResult:
    """Select k terms of a regression with differential privacy.

    Parameters
    ----------
    formula : str
        Wilkinson formula, ``"price ~ ."``.  Its terms are the candidates, except the intercept; the
        dummies of a factor are one candidate.  To select among levels write them as separate terms,
        ``I(cut == 'Ideal')``.
    k : int
        Number of terms to select.
    delta : float, default 0.0
        Privacy parameter delta.  May be 0; for large k a positive delta lets ``"kendall"`` and
        peeling spend less on each term.
    method : str or options object, default "kendall"
        ``"kendall"``, ``"two_stage"``, ``"sub_lasso"``, ``"sis"``, or an object with options:
        `DPKendall`, `TwoStage`, `SubLasso` or `DPSIS`, such as ``dpreg.DPKendall(max_rows=3)``.
    bounds : dict, optional
        Public limits, as for `dp_lm`.  ``"sis"`` needs those of every candidate and of the
        response; the others do not use bounds.
    data, eps, levels, unit, budget, rng
        As for `dp_lm`.

    Returns
    -------
    SelectionResult

    Raises
    ------
    ValueError
        For invalid arguments, before a record is read; it never depends on a record.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows
    proof : the file of the selector, in dpreg/estimation/selection

    Examples
    --------
    >>> import dpreg
    >>> found = dpreg.dp_select("price ~ carat + depth + table", dpreg.load_diamonds(), 1, eps=0.5)
    >>> found.selected
    ('carat',)
    """
    return selected(Request.of("dp_select", locals()), data)


def selected(request: Request, data: Any) -> SelectionResult:
    """Do what `dp_select` does; `max_rows`, if given, is an option of the selector."""
    session = begin(request, data)
    spending, unit = session.allowance, request.unit
    claim = spending.epsilon, spending.delta
    (selector,) = of_units(request, selector_from(request.method, "method"))
    problem = session.pose()
    terms = problem.terms
    refuse_offsets(terms, "dp_select()")
    k = check_k(request.k, len(terms.candidates))
    terms = replace(terms, bounds=bounds_for(request.bounds, terms, None, selector))
    selector.check(terms, k, *claim)
    receipt = session.pay(selector.name, selector.cost(k, *claim), option_of(selector))

    with receipt.running():
        design = clipped(replace(problem.design(session.memory), terms=terms))
        found = selector.select(design, k, spending)
    chosen = found.of(terms)
    privacy, unwritten = receipt.settle(
        selector.name,
        found.composition,
        found.parts,
        public_with({**terms.data_bounds, **terms.bounds}),
    )
    option = f"the option max_rows of {selector.name!r}"  # the call has none
    return SelectionResult(
        formula=request.formula,
        response=terms.response,
        selected=tuple(chosen),
        ordered=found.ordered,
        candidates=tuple(terms.candidates),
        columns=tuple(terms.names[j] for places in chosen.values() for j in places),
        method=selector.name,
        clarity=found.clarity,
        units=found.units,
        notes=(
            *found.notes,
            *about.units(unit, selector, selector.name, option=option),
            *about.stratum(session.payer.stratum, unit),
            *about.columns(problem.schema),
            *about.privacy(*claim, found.units),
            *unwritten,
        ),
        privacy=privacy,
    )
