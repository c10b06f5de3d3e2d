"""`dp_moments`: one release, many regressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpreg.data.bounds import Bounds, checked_bounds, column_pairs
from dpreg.data.clipping import clipped
from dpreg.data.containers import open_source
from dpreg.data.design import Terms
from dpreg.data.formula import FormulaSpec
from dpreg.data.formula.effects import split_effects
from dpreg.data.matrix import ModelMatrix
from dpreg.data.observations import check_memory
from dpreg.data.offsets import refuse_offsets
from dpreg.data.problem import Problem, pose
from dpreg.data.schema import Level, Schema
from dpreg.errors import FormulaError, unusable
from dpreg.keywords import hinted
from dpreg.methods.base import Allowance
from dpreg.methods.moments import MomentsRelease, SecondMoments
from dpreg.privacy.bits import bit_source
from dpreg.privacy.budget import Budget
from dpreg.privacy.certificate import Certificate, public_with, unit_of
from dpreg.privacy.checks import check_epsilon
from dpreg.privacy.partition import StratumBudget
from dpreg.privacy.payment import budget_for, pay
from dpreg.privacy.stratum import Stratum
from dpreg.remarks import about_columns, about_privacy, about_stratum
from dpreg.results.moments import DPMoments
from dpreg.results.predict import schema_to_dict
from dpreg.sums.limits import widened
from dpreg.text import counted
from dpreg.version import __version__

if TYPE_CHECKING:
    from dpreg import _core

__all__ = ["dp_moments"]

# As far as predictions follow a line beyond where values were seen, without a vote.
_WIDER = 1.25
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
    max_rows: int = 1,
    bounds: Mapping[str, Bounds] | None = None,
    budget: Budget | StratumBudget | None = None,
    memory: float | None = None,
    rng: int | _core.BitSource | None = None,
) -> DPMoments:
    """Release second moments of columns with differential privacy, for any number of regressions.

    Parameters
    ----------
    formula : str or list of str
        The columns: ``"~ price + carat + cut + log(carat)"`` or a list of such terms.  The response
        of ``"price ~ carat + cut"`` is one more column; later models may have any column on either
        side.  Interactions and transforms must be named here.
    data : data frame, dict of arrays, or path of a Parquet file
        Private.
    eps : float
        Privacy parameter epsilon, greater than 0; smaller is more private.
    delta : float, optional
        Privacy parameter delta, as for `dp_lm`.
    levels : dict, optional
        As for `dp_lm`.
    unit : str, optional
        Column that names the protected unit.  Standard errors treat its rows as independent.
    max_rows : int, default 1
        Maximum number of rows used per unit; units with more rows are sampled.
    bounds : dict, optional
        ``{column: (low, high)}``, public limits of columns of the design, whose scales then cost
        nothing; as for `dp_lm`.
    budget, memory, rng
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
    errors assume errors of constant variance, because second moments contain no more.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows
    proof : methods/moments.md

    Examples
    --------
    >>> import dpreg
    >>> m = dpreg.dp_moments("price ~ carat + depth + table", dpreg.load_diamonds(), eps=1.0)
    >>> m.lm("price ~ carat").params.index.tolist()
    ['Intercept', 'carat']
    """
    epsilon = check_epsilon(eps)
    charged, delta = budget_for(budget, epsilon, delta)
    options = SecondMoments(max_rows=max_rows)
    allowed = check_memory(memory)
    bits = bit_source(rng)
    label, problem = _posed(formula, data, levels, unit, charged.stratum, bounds)
    terms = problem.terms
    refuse_offsets(terms, "dp_moments()")
    public = checked_bounds(bounds, terms)
    terms = replace(terms, bounds=_of_both_copies(public, terms))
    options.check(delta)
    most = options.cost(epsilon, delta)
    receipt = pay(charged, "dp_moments", label, options.name, data, most, unit, max_rows)

    with receipt.running(bits):
        design = clipped(replace(problem.design(allowed), terms=terms))
        found = options.release(design, Allowance(epsilon, delta, bits))
    privacy = Certificate(
        mechanism=options.name,
        epsilon=epsilon,
        delta=delta,
        unit=unit_of(unit),
        composition=found.composition,
        parts=found.parts,
        public=public_with({**terms.data_bounds, **public}),
        seeded=bits.seeded,
        version=__version__,
    )
    unwritten = receipt.settle("released", privacy, None)
    notes = (
        *_about_columns_without(found, terms.names),
        *_about_rows(unit, max_rows),
        *about_stratum(charged.stratum, unit),
        *about_columns(problem.schema),
        *about_privacy(epsilon, delta, found.scales.units),
        *unwritten,
    )
    return _result(label, terms.names, found, privacy, problem.schema, notes)


def _posed(
    formula: str | Sequence[str],
    data: Any,
    levels: Mapping[str, Iterable[Level]] | None,
    unit: str | None,
    stratum: Stratum | None,
    bounds: Mapping[str, Bounds] | None,
) -> tuple[str, Problem]:
    """Return how the columns are called together, and a problem that has them as regressors.

    Every problem has a response: one of the numbers, which is there a second time.
    """
    if isinstance(data, ModelMatrix):
        return f"~ {' + '.join(data.names)}", pose(str(formula), data, levels, unit, stratum)
    apart = None if stratum is None else stratum.column
    schema = open_source(data).schema.with_levels(levels).without(unit).without(apart)
    schema = schema.with_bounds(column_pairs(bounds, schema))
    _check_effects(formula)
    right = _DOT.sub(" + ".join(map(_quoted, schema.columns)) or "1", _right_hand_side(formula))
    for name, column in schema.columns.items():
        if column.kind in ("numeric", "categorical"):
            first = name
            break
    else:
        raise FormulaError("formula", "there is no column of numbers or levels in the data")
    spec = FormulaSpec(f"{_number(first, schema)} ~ {right}", schema)
    if not spec.intercept:
        raise FormulaError(
            "formula", "must include the intercept; models fitted from the moments may omit it"
        )
    if not spec.names:
        raise FormulaError("formula", "has no columns", "write '~ x + z'")
    numbers = [name for name in spec.regressors if schema[name].kind == "numeric"]
    response = _number((numbers or list(spec.regressors))[0], spec.schema)
    posed = pose(f"{response} ~ {right}", data, levels, unit, stratum, bounds=bounds)
    return f"~ {right}", posed


def _check_effects(formula: object) -> None:
    """Refuse effects of groups: what is released has no means of a unit."""
    _, groups = split_effects(formula)
    if groups:
        problem = f"effects of {groups[0]!r} cannot be computed from second moments"
        raise FormulaError("formula", problem, "leave them out, or use dp_lm")


def _right_hand_side(formula: str | Sequence[str]) -> str:
    """Return all columns as the right-hand side of a formula, a response first."""
    if not isinstance(formula, str):
        terms = list(formula) if isinstance(formula, Iterable) else []
        if not terms or not all(isinstance(term, str) for term in terms):
            wanted = "a text such as '~ price + carat', or a list of terms"
            raise unusable("formula", wanted, formula)
        return " + ".join(term if _plain(term) else _quoted(term) for term in terms)
    left, tilde, right = formula.partition("~")
    if not tilde:
        return formula
    return f"{left.strip()} + {right.strip()}" if left.strip() else right.strip()


def _plain(term: str) -> bool:
    """Whether a term of a list is one of a formula, and not a name with blanks."""
    return re.fullmatch(r"[\w. ]*\s[\w. ]*", term) is None


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _number(name: str, schema: Schema) -> str:
    """Return a term that has one number in each row, and is complete where the column is."""
    levels = schema[name].levels
    if levels is None or schema[name].kind == "numeric":
        return f"I({_quoted(name)})"
    return f"I({_quoted(name)} == {levels[0]!r})"


def _of_both_copies(bounds: Mapping[str, Bounds], terms: Terms) -> Mapping[str, Bounds]:
    """Give the second copy of a column, the response, the bounds of the first."""
    inside = re.fullmatch(r"I\(`?(.*?)`?\)", terms.response)
    if inside is None or inside[1] not in bounds:
        return bounds
    return {**bounds, terms.response: bounds[inside[1]]}


def _result(
    label: str,
    names: tuple[str, ...],
    found: MomentsRelease,
    privacy: Certificate,
    schema: Schema,
    notes: tuple[str, ...],
) -> DPMoments:
    return DPMoments(
        formula=label,
        names=names,
        used=found.units.columns,
        trusted=found.scales.trusted[:-1],
        centre=found.units.centre,
        scale=found.units.scale,
        basis=found.basis,
        matrix=found.matrix,
        deviation=found.deviation,
        reach=found.reach,
        kurtosis=found.kurtosis,
        units=found.scales.units,
        limits=widened(found.scales, _WIDER)[:-1],
        privacy=privacy,
        schema=schema_to_dict(schema),
        notes=notes,
    )


def _about_columns_without(found: MomentsRelease, names: tuple[str, ...]) -> tuple[str, ...]:
    lost = [name for j, name in enumerate(names) if j not in set(found.units.columns.tolist())]
    if not lost:
        return ()
    return (f"the scale is not estimable at this eps: {', '.join(lost)}",)


def _about_rows(unit: str | None, max_rows: int) -> tuple[str, ...]:
    if unit is None:
        return ()
    verb = "is" if max_rows == 1 else "are"
    return (
        f"of each {unit!r} at most {counted(max_rows, 'row')} {verb} used; standard errors treat "
        "rows as independent",
    )
