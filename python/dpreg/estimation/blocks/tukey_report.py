"""What a release by TukeyEM says: what it cost, what it estimates, and why there is none."""

from __future__ import annotations

import math

from dpreg import _core
from dpreg.base.errors import Argument, Setting, Words, leave_out
from dpreg.base.text import counted
from dpreg.estimation.base import Allowance, Declined
from dpreg.estimation.blocks.model_vector import Layout
from dpreg.estimation.planning.tukey import TukeyPlan, least_units
from dpreg.privacy.certificate import Part

NOT_PASSED = "the fits to the parts of the data did not agree well enough to release one safely"


def parts_of(plan: TukeyPlan, delta: float) -> tuple[Part, ...]:
    """Return what the test and the draw cost."""
    threshold = _core.release_threshold(plan.epsilon_test, delta)
    return (
        Part(
            "test that a deep model can be released",
            plan.epsilon_test,
            0.0,
            f"discrete Laplace, scale {1 / plan.epsilon_test:.4g}, threshold {threshold}",
            sensitivity=1.0,
            scale=1 / plan.epsilon_test,
        ),
        Part(
            "draw of a deep model",
            plan.epsilon_sample,
            delta,
            f"exponential mechanism on depth, at least {plan.depth} of {plan.models} models",
            sensitivity=float(_core.DEPTH_SENSITIVITY),
            scale=2 * _core.DEPTH_SENSITIVITY / plan.epsilon_sample,
        ),
    )


def too_few(units: float, d: int, models: int | None) -> str:
    """Say that so many units are not enough."""
    where = "at this eps" if models is None else f"with {models:,} models"
    return f"about {units:,.0f} units are too few for {counted(d, 'regressor')} {where}"


def advice_on(
    layout: Layout, epsilon: float, left: tuple[float, float], telling: float, models: int | None
) -> Words:
    """Return what to do where `epsilon` was not enough.

    left: epsilon and delta of the test and the draw.
    telling: what a unit tells of a coefficient beside one of a linear model.
    """
    need = math.ceil(least_units(layout.d, layout.size, *left) / telling)
    fewer = (Setting("inference", False), " (releases fewer numbers), ")
    first = () if models is None else (*leave_out("models"), f", which was {models:,}: ")
    return (
        *first,
        f"TukeyEM with {counted(layout.d, 'regressor')} at eps={epsilon:.4g} needs about "
        f"{need:,} units; try a larger ", Argument("eps"),
        ", fewer or less sparse regressors, ", *(fewer if layout.spreads else ()),
        "or another method",
    )  # fmt: skip


def declined(
    reason: str, advice: Words, units: float, allowance: Allowance, parts: tuple[Part, ...]
) -> Declined:
    """Return the outcome without a point, after `parts` were spent."""
    unspent = allowance.epsilon - math.fsum(part.epsilon for part in parts)
    return Declined(reason=reason, advice=advice, units=units, parts=parts, unspent=unspent)
