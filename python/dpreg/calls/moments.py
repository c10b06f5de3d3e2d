"""`dp_moments`: one release, many regressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpreg.base.errors import FormulaError, unusable
from dpreg.base.keywords import hinted
from dpreg.base.levels import Level
from dpreg.calls import about
from dpreg.calls.chosen import rows_fitted
from dpreg.calls.request import Request
from dpreg.calls.session import Payer, Session, begin
from dpreg.data.bounds import Bounds, checked_bounds, column_pairs
from dpreg.data.changed_rows import clipped, refuse_offsets
from dpreg.data.containers import open_source
from dpreg.data.formula import bound_formula
from dpreg.data.formula.functions import quoted
from dpreg.data.formula.parse import read_terms, split_effects
from dpreg.data.problem import ModelMatrix, Problem, check_order
from dpreg.data.schema import Schema
from dpreg.estimation.base import needs_delta
from dpreg.estimation.newton.columns import release_moments
from dpreg.estimation.releases.accountant import releases_cost
from dpreg.estimation.releases.scaling import widened
from dpreg.estimation.standardised import COMPOSITION
from dpreg.privacy.bits import Rng
from dpreg.privacy.certificate import public_with
from dpreg.results.moments import DPMoments
from dpreg.results.predict import schema_to_dict

# As far as predictions follow a line beyond where values were seen, without a vote.
_WIDER = 1.25
# What certificates and ledgers call it.
_NAME = "moments"
# A formula's dot.
_DOT = re.compile(r"(?<![\w.`])\.(?![\w.`])")


@hinted("dp_moments")
def dp_moments(
    formula: str | Sequence[str],
    data: Any,
    eps: float,
    delta: float | None = None,
    *,
    levels: Mapping[str, Iterable[Level]] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    budget: Payer | None = None,
    memory: float | None = None,
    rng: Rng | None = None,
) -> DPMoments:
    """Release second moments of columns with differential privacy, for any number of regressions.

    Parameters
    ----------
    formula : str or list of str
        The columns: ``"~ price + carat + cut + log(carat)"`` or a list of such terms.  The response
        of ``"price ~ carat + cut"`` is one more column; later models may have any column on either
        side.  Interactions and transforms must be named here.
    unit : str, optional
        Column that names the protected unit.  Standard errors treat its rows as independent.
    max_rows : int, optional
        Maximum number of rows used per unit, 1 by default; units with more rows are sampled.
    bounds : dict, optional
        ``{column: (low, high)}``, public limits of columns of the design, whose scales then cost
        nothing; as for `dp_lm`.
    data, eps, delta, levels, budget, memory, rng
        As for `dp_lm`.

    Returns
    -------
    DPMoments
        Its methods `lm`, `iv`, `anova`, `rsquared`, `compare`, `subsets`, `vif` and `corr` cost no
        further budget.

    Raises
    ------
    ValueError
        For invalid arguments, before a record is read; it never depends on a record.

    Notes
    -----
    `dp_lm` minimises the noise of one model, clips scores, and has standard errors that are robust
    to heteroscedasticity.  `dp_moments` clips whole rows, response included, and its standard
    errors assume errors of constant variance, because second moments contain no more information.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows
    proof : estimation/newton/moments.md

    Examples
    --------
    >>> import dpreg
    >>> m = dpreg.dp_moments("price ~ carat + depth + table", dpreg.load_diamonds(), eps=1.0)
    >>> m.lm("price ~ carat").params.index.tolist()
    ['Intercept', 'carat']
    """
    request = Request.of("dp_moments", locals())
    session = begin(request, data)
    spending, rows = session.allowance, rows_fitted(request)
    session, problem = _posed(session)
    terms = problem.terms
    refuse_offsets(terms, "dp_moments()")
    public = checked_bounds(bounds, terms)
    # Nothing is asked about the second copy of a column, the response.
    ranges = {**terms.ranges, terms.response: (0.0, 1.0)}
    terms = replace(terms, bounds=public, ranges=ranges)
    needs_delta(_NAME, spending.delta)
    most = releases_cost(spending.epsilon, spending.delta)
    receipt = session.pay(_NAME, most, rows)

    with receipt.running():
        design = clipped(replace(problem.design(session.memory), terms=terms))
        found = release_moments(design, spending, rows)
    privacy, unwritten = receipt.settle(
        _NAME, COMPOSITION, found.parts, public_with({**terms.data_bounds, **public})
    )
    lost = [name for j, name in enumerate(terms.names) if j not in found.units.columns]
    return DPMoments(
        formula=session.request.formula,
        names=terms.names,
        used=found.units.columns,
        trusted=found.scales.trusted[:-1],
        centre=found.units.centre,
        scale=found.units.scale,
        basis=found.found.basis,
        matrix=found.found.matrix,
        deviation=found.found.deviation,
        reach=found.found.reach,
        kurtosis=found.found.kurtosis,
        units=found.scales.units,
        limits=widened(found.scales, _WIDER)[:-1],
        privacy=privacy,
        schema=schema_to_dict(problem.schema),
        notes=(
            *([f"the scale is not estimable at this eps: {', '.join(lost)}"] if lost else ()),
            *about.rows(unit, rows, "standard errors treat rows as independent"),
            *about.stratum(session.payer.stratum, unit),
            *about.columns(problem.schema),
            *about.privacy(spending.epsilon, spending.delta, found.scales.units),
            *unwritten,
        ),
    )


def _posed(session: Session) -> tuple[Session, Problem]:
    """Return a problem that has the columns as regressors, and what they are called together.

    Every problem has a response: one of the numbers, which is there a second time.
    """
    asked, data = session.request, session.data
    check_order(asked.formula, data)

    def put(formula: str) -> Session:
        return replace(session, request=replace(asked, formula=formula))

    if isinstance(data, ModelMatrix):
        return put(f"~ {' + '.join(data.terms.names)}"), put(str(asked.formula)).pose()
    stratum = session.payer.stratum
    apart = None if stratum is None else stratum.column
    schema = open_source(data).schema.with_levels(asked.levels).without(asked.unit).without(apart)
    schema = schema.with_bounds(column_pairs(asked.bounds, schema))
    _, groups = split_effects(asked.formula)
    if groups:  # what is released has no means of a unit
        problem = f"effects of {groups[0]!r} cannot be computed from second moments"
        raise FormulaError(problem, "leave them out, or use dp_lm")
    columns = " + ".join(map(quoted, schema.columns)) or "1"
    right = _DOT.sub(columns, _right_hand_side(asked.formula))
    read_terms(right)
    for name, column in schema.columns.items():
        if column.kind in ("numeric", "categorical"):
            first = name
            break
    else:
        raise FormulaError("there is no column of numbers or levels in the data")
    spec = bound_formula(f"{_number(first, schema)} ~ {right}", schema)
    if not spec.intercept:
        raise FormulaError("must include the intercept; models fitted from the moments may omit it")
    if not spec.names:
        raise FormulaError("has no columns", "write '~ x + z'")
    numbers = [name for name in spec.regressors if schema[name].kind == "numeric"]
    response = _number((numbers or list(spec.regressors))[0], spec.schema)
    return put(f"~ {right}"), put(f"{response} ~ {right}").pose()


def _right_hand_side(formula: str | Sequence[str]) -> str:
    """Return all columns as the right-hand side of a formula, a response first."""
    if not isinstance(formula, str):
        # A table lists its columns.
        named = isinstance(formula, Iterable) and not hasattr(formula, "keys")
        named &= getattr(formula, "ndim", 1) > 0
        terms = list(formula) if named else []
        if not terms or not all(isinstance(term, str) for term in terms):
            wanted = "a string such as '~ price + carat', or a list of terms"
            raise unusable("formula", wanted, formula)
        return " + ".join(term if _plain(term) else quoted(term) for term in terms)
    left, tilde, right = formula.partition("~")
    if not tilde:
        if re.fullmatch(r"[\w. ]+(,[\w. ]+)+", formula):
            like = " + ".join(name.strip() for name in formula.split(","))
            raise FormulaError(f"{formula!r} is not a sum of columns", f"write '~ {like}'")
        return formula
    return f"{left.strip()} + {right.strip()}" if left.strip() else right.strip()


def _plain(term: str) -> bool:
    """Whether a term of a list is one of a formula, and not a name with blanks."""
    return re.fullmatch(r"[\w. ]*\s[\w. ]*", term) is None


def _number(name: str, schema: Schema) -> str:
    """Return a term that has one number in each row, and is complete where the column is."""
    levels = schema[name].levels
    if levels is None or schema[name].kind == "numeric":
        return f"I(1 * {quoted(name)})"  # I() of the column may be one of the terms
    return f"I({quoted(name)} == {levels[0]!r})"
