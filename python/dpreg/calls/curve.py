"""`dp_curve`: survival curves on a public grid; and what calls about times have in common."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import Argument, ArgumentError, FormulaError, add, unusable, write
from dpreg.base.keywords import hinted
from dpreg.base.levels import Level
from dpreg.base.options import is_number
from dpreg.calls import about
from dpreg.calls.request import Request
from dpreg.calls.session import Payer, Session, begin
from dpreg.data.design import Terms
from dpreg.data.formula.parse import read_terms
from dpreg.data.formula.surv import SurvFormula, read_surv
from dpreg.data.problem import ModelMatrix, Problem
from dpreg.data.sampling import MAX_ROWS
from dpreg.estimation.releases.exits import ExitCounts, about_events, noisy_exits
from dpreg.privacy.bits import Rng
from dpreg.privacy.certificate import PUBLIC
from dpreg.privacy.cost import Cost
from dpreg.results.curve import DPCurve

_MOST_CELLS = 10**6
# Effects of units, and all other columns, which the time and the event would be among.
_UNNAMED = re.compile(r"\||(?<![\w.`])\.(?![\w.`])")
_GROUPED = re.compile(r"C\(\s*(?:`([^`]+)`|(\w+))\s*(?:,\s*levels\s*=.*)?\)", re.DOTALL)
# How rwrapper/R/curve.R writes a group, for its columns to be dummies.
_CODED_IN_R = re.compile(r"C\((.*), contr\.treatment\)", re.DOTALL)


@hinted("dp_curve")
def dp_curve(
    formula: str,
    data: Any,
    eps: float,
    *,
    cuts: Sequence[float],
    start: float = 0.0,
    levels: Mapping[str, Iterable[Level]] | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    budget: Payer | None = None,
    rng: Rng | None = None,
) -> DPCurve:
    """Estimate survival curves with differential privacy, on a public grid of times.

    One noisy table of events and censored times by interval is released.  From it follow the
    Kaplan-Meier (life table) estimates with pointwise and simultaneous limits, the log-rank test,
    restricted means and quantiles, at no further cost.

    Parameters
    ----------
    formula : str
        ``"Surv(time, event) ~ group"``; ``~ 1`` for one curve, ``~ a + b`` for one for each
        combination of levels.  The event is 0 or 1, or a comparison: ``Surv(time, status == 2)``.
        With delayed entry ``Surv(start, stop, event)``: a row is at risk in (start, stop].
    data, eps, budget, rng
        As for `dp_lm`; no delta is needed.
    cuts : sequence of float
        Public increasing times: the ends of the intervals (0, cuts[0]], (cuts[0], cuts[1]], ... Do
        not choose them by looking at the data.  Times after the last are censored there.
    start : float, default 0.0
        Where the first interval begins, itself included.  Curves are conditional on survival up to
        it, as with R's ``start.time``.
    levels : dict, optional
        Public levels of the groups, as for `dp_lm`.
    unit : str, optional
        Column that names the protected unit, such as a person with several rows.  Standard errors
        treat its rows as independent.
    max_rows : int, default 1
        Maximum number of rows used per unit.  If a unit has more, the first in time are used if
        rows have a start time, otherwise random ones.

    Returns
    -------
    DPCurve
        With `tidy`, `logrank`, `rmst`, `quantile` and `plot`.

    Raises
    ------
    ValueError
        For invalid arguments, before a record is read; it never depends on a record.

    Notes
    -----
    Within an interval the hazard is assumed to be constant and censoring uniform, so that persons
    censored inside it count about half (Cutler and Ederer); those censored at its end count fully.
    If the cuts are all the times that can occur, the estimate is Kaplan and Meier's.  A person is
    in one cell of the table, so that noise does not grow with the number of intervals, and numbers
    at risk are sums of cells.

    Privacy
    -------
    guarantee : (eps, 0)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, cuts and all options; not the number of rows
    proof : estimation/releases/exits.md

    References
    ----------
    Cutler and Ederer (1958), "Maximum utilization of the life table method in analyzing survival";
    Kaplan and Meier (1958), "Nonparametric estimation from incomplete observations".

    Examples
    --------
    >>> import numpy as np, dpreg
    >>> rng = np.random.default_rng(1)
    >>> days, censored = rng.exponential(300, 5000), rng.uniform(0, 730, 5000)
    >>> d = {"days": np.minimum(days, censored), "died": days <= censored}
    >>> curve = dpreg.dp_curve("Surv(days, died) ~ 1", d, eps=1.0, cuts=[90, 180, 365, 730])
    >>> len(curve.tidy())
    4
    """
    edges = edges_of(cuts, start)
    intervals = Intervals(tuple(edges[1:].tolist()), float(edges[0]))
    asked = Request.of("dp_curve", locals(), {"delta": 0.0, "start": None, "method": intervals})
    session = begin(asked, data)
    epsilon, bits = session.allowance.epsilon, session.allowance.bits
    MAX_ROWS.check("max_rows", max_rows)
    if max_rows > 1 and unit is None:
        raise ArgumentError("max_rows", ("needs ", Argument("unit")), add("unit", "person"))
    surv = read_surv(formula)
    advice = "groups, such as 'arm' or 'arm + sex'", "write ~ 1 for one curve"
    problem = posed(surv, session, *advice)
    groups = _group_levels(problem, surv, session.request.levels)
    statistic = _statistic(edges, groups, entry=surv.start is not None)
    receipt = session.pay(asked.method.name, Cost.pure(epsilon), max_rows)

    with receipt.running():
        design = problem.design(session.memory)
        found = noisy_exits(design, statistic, max_rows, epsilon, bits)
    privacy, unwritten = receipt.settle("life table", "basic", found.parts, (*PUBLIC, "cuts"))
    return DPCurve(
        formula=str(formula),
        groups=_labels(groups),
        edges=edges,
        exits=found.exits,
        entries=found.entries,
        variances=found.variances,
        privacy=privacy,
        notes=(
            *about_events(found.exits, math.sqrt(found.variances[0])),
            *about.rows(unit, max_rows, "standard errors treat rows as independent"),
            *about.stratum(session.payer.stratum, unit),
            *about.columns(problem.schema),
            *about.privacy(epsilon, 0.0, None),
            *unwritten,
        ),
    )


@dataclass(frozen=True, slots=True)
class Intervals:
    """The ends of the intervals, and where the first begins."""

    name: ClassVar[str] = "life_table"

    cuts: tuple[float, ...]
    start: float = 0.0


def _group_levels(
    problem: Problem, surv: SurvFormula, levels: Mapping[str, Iterable[Level]] | None
) -> dict[str, tuple[Level, ...]]:
    """Return the public levels of each term on the right."""
    terms: Terms = problem.terms
    first = 1 + (surv.start is not None)
    made = [name for names in terms.groups.values() for name in names]
    behind = {term: names for term, names in terms.groups.items() if set(names) & set(made[first:])}
    found: dict[str, tuple[Level, ...]] = {}
    for term, names in behind.items():
        if isinstance(problem, ModelMatrix):
            coded = _CODED_IN_R.fullmatch(term)
            found[coded[1] if coded else term] = tuple((levels or {})[term])
            continue
        plain = _GROUPED.fullmatch(term)
        column = (plain[1] or plain[2]) if plain else term
        known = problem.schema[column].levels if column in problem.schema else None
        if known is None or len(names) != len(known) - 1 or not terms.intercept:
            raise FormulaError(
                f"the term {term!r} is not a group with public levels",
                f"write C({term}, levels=['a', 'b'])" if term in problem.schema else "leave it out",
                "for continuous columns make groups before the call",
            )
        found[column] = known
    if len(terms.names) != first + sum(len(levels) - 1 for levels in found.values()):
        problem_is = f"{surv.right!r} must be groups, and the time, the event and they must differ"
        raise FormulaError(problem_is, "write 'Surv(time, event) ~ a + b'")
    return found


def _statistic(
    edges: Doubles, groups: Mapping[str, tuple[Level, ...]], *, entry: bool
) -> ExitCounts:
    """Return what is counted: combinations of levels are numbered, the last running fastest."""
    codes: list[float] = []
    number = 1
    for levels in reversed(list(groups.values())):
        codes = [number * k for k in range(1, len(levels))] + codes
        number *= len(levels)
    cells = 5 * number * (len(edges) - 1)
    if cells > _MOST_CELLS:
        problem = f"make {number:,} groups, which are too many with {len(edges) - 1} cuts"
        raise FormulaError(f"the levels {problem}", "use fewer terms or fewer cuts")
    return ExitCounts(edges, number, np.array(codes, dtype=np.float64), entry)


def _labels(groups: Mapping[str, tuple[Level, ...]]) -> tuple[str, ...]:
    combined = itertools.product(*([f"{name}={level}" for level in levels]
                                   for name, levels in groups.items()))  # fmt: skip
    return tuple(", ".join(parts) or "all" for parts in combined)


def posed(surv: SurvFormula, session: Session, wanted: str, *advice: str) -> Problem:
    """Return a problem with time as response, and start, event and what is on the right in X."""
    if isinstance(session.data, ModelMatrix):
        return session.pose()
    if "|" in surv.right:
        why = f"{surv.right!r} contains |, and effects of units are for dp_lm() only"
        raise FormulaError(
            why, "leave them out, and write unit='person' as an argument of the call"
        )
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
