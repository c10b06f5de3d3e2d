"""Private Frank-Wolfe on designs of the core, shared by `FrankWolfe` and `dp_frank_wolfe`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.base.arrays import Doubles
from dpreg.base.options import Limit, is_number
from dpreg.estimation.planning.frank_wolfe import FrankWolfePlan
from dpreg.privacy.certificate import Part
from dpreg.privacy.sealed import Sealed, opened
from dpreg.privacy.zcdp import bounded_range_rho, zcdp_rho

# Share of delta after the total variation distance between the sampled distributions and those of
# bounded range, and the largest epsilon for which the proof covers it (frank_wolfe.md, section 4).
DELTA_LEFT = 1 - 2.0**-20
_LARGEST_EPSILON = 100.0
_RULES = {
    None: _core.ScreenRule.NONE, "rnm": _core.ScreenRule.ONE, "adp": _core.ScreenRule.EACH
}  # fmt: skip
L1 = Limit("a number between 1e-100 and 1e100", lambda l1: is_number(l1) and 1e-100 <= l1 <= 1e100)


def allowed_rho(epsilon: float, delta: float) -> float:
    """Return the zCDP budget of an (epsilon, delta)-DP run."""
    return zcdp_rho(min(epsilon, _LARGEST_EPSILON), delta * DELTA_LEFT)


class UnitRows(NamedTuple):
    """Regressors and responses in [-1, 1]."""

    design: _core.UnitDesign
    response: Doubles


def run_plan(
    rows: Sealed[UnitRows],
    l1: float,
    plan: FrankWolfePlan,
    bits: _core.BitSource,
    start: NDArray[np.int32] | None = None,
) -> dict[str, Any]:
    """Run Frank-Wolfe as planned; return the arrays of `FrankWolfeFit`."""
    design, response = opened(rows)
    origin = np.zeros(0, dtype=np.int32) if start is None else start
    gradient = _core.L1Gradient(design, response, l1=l1, start=origin)
    return _core.dp_frank_wolfe(
        gradient,
        steps=plan.steps,
        epsilon_step=plan.epsilon_step,
        rule=_RULES[plan.rule],
        after=list(plan.after),
        epsilon_screen=plan.epsilon_screen,
        margin=plan.margin,
        bits=bits,
    )


def plan_parts(plan: FrankWolfePlan, l1: float) -> tuple[Part, ...]:
    """Describe what a plan spends, in zCDP."""

    def part(what: str, length: float, epsilon: float, choices: int, how: str) -> Part:
        """Describe choices with bounded range, by scores that change by `length`."""
        scale, rho = length / epsilon, choices * bounded_range_rho(epsilon)
        how = f"exponential mechanism of bounded range {epsilon:.4g} {how}"
        return Part(what, 0.0, 0.0, how, sensitivity=length, scale=scale, rho=rho)

    length, epsilon = _core.vertex_score_range(l1), plan.epsilon_step
    how = f"each, as Gumbel, scale {length / epsilon:.4g} on gradient sums"
    vertices = part(f"{plan.steps} vertices", length, epsilon, plan.steps, how)
    if not plan.after:
        return (vertices,)
    length, epsilon = _core.SCREENING_RANGE * l1 * l1, plan.epsilon_screen
    scale = length / epsilon
    how = f"a choice, as Gumbel, scale {scale:.4g} on scores, which have to beat "
    how += f"{plan.margin * scale:.4g}"
    what = f"screening after {len(plan.after)} steps"
    return vertices, part(what, length, epsilon, plan.choices, how)
