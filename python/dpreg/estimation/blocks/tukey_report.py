"""What a release by TukeyEM says: what it cost, what it estimates, and why there is none."""

from __future__ import annotations

import math

from dpreg import _core
from dpreg.base.errors import Words
from dpreg.base.text import counted
from dpreg.estimation.base import Allowance, Declined
from dpreg.estimation.planning.tukey import TukeyPlan
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


def declined(
    reason: str, advice: Words, units: float, allowance: Allowance, parts: tuple[Part, ...]
) -> Declined:
    """Return the outcome without a point, after `parts` were spent."""
    unspent = allowance.epsilon - math.fsum(part.epsilon for part in parts)
    return Declined(reason=reason, advice=advice, units=units, parts=parts, unspent=unspent)
