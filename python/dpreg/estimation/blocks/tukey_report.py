"""What a release by TukeyEM says: what it cost, the coefficients, and why there are none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Flags
from dpreg.base.errors import Argument, Setting, Words, leave_out
from dpreg.base.text import counted
from dpreg.estimation.base import Allowance, Declined
from dpreg.estimation.planning.tukey import ReleaseLaw, TukeyPlan, least_units
from dpreg.privacy.certificate import Part

NOT_PASSED = "the fits to the parts of the data did not agree well enough to release one safely"
# Log spreads of columns that are constant in a batch are 745 (batch_fit.cpp); of those
# above this, the square is no longer a double.
_NO_SPREAD = 350.0
# Grid points are within 2^125 steps of 0 (mechanisms/tukey_em.hpp).
_GRID_BITS = 125


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in a model vector; see cpp/include/dpreg/stats/batch_fit.hpp."""

    d: int
    intercept: bool
    spreads: bool

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(self._lengths())

    def _lengths(self) -> tuple[int, int, int, int, int]:
        i, s = int(self.intercept), int(self.spreads)
        return self.d, i, i * self.d, s * self.d, s * i

    def split(self, point: Doubles) -> list[Doubles]:
        """Slopes, mean of y, means of x, log spreads of slopes, log spread of intercept."""
        return np.split(point, np.cumsum(self._lengths())[:-1])


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What a released point says, the intercept first; see `Release`."""

    params: Doubles
    covariance: Doubles | None
    sampling: Doubles | None
    identified: Flags


def coefficients(
    point: Doubles, layout: Layout, law: ReleaseLaw | None, factor: float, grid_exponent: int
) -> Coefficients:
    """Put the intercept together, and the covariance if there is a law, and so spreads.

    A slope that most models could not see has an infinite spread, and one at the far end
    of the grid was drawn from models without a middle: both are set to 0.  `factor` is that of
    small batches.
    """
    slopes, mean_y, means_x, log_spread, log_error = layout.split(point)
    if law is None:
        always = np.ones(layout.intercept + layout.d, dtype=bool)
        return Coefficients(_with_constant(slopes, mean_y, means_x), None, None, always)
    far = np.abs(slopes) > 2.0 ** (_GRID_BITS - 20 + grid_exponent)
    identified = ~far & (log_spread < _NO_SPREAD)
    slopes = np.where(identified, slopes, 0.0)
    # Squares of standard errors near the end of the range of doubles are infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.exp(np.where(identified, log_spread, -np.inf)) * factor / law.spread_divisor
        covariance = np.diag((law.scale * spread) ** 2)
        if layout.intercept:
            error = law.scale * factor * float(np.exp(log_error[0]))
            covariance = _with_intercept(np.diag(covariance), means_x, error)
    # Without the slopes that are not estimable, the intercept is not estimable.
    identified = np.concatenate([np.full(int(layout.intercept), identified.all()), identified])
    covariance[~identified, :] = covariance[:, ~identified] = np.nan
    # Slopes come from the same fits, and their covariance is not released.
    slopes_of = np.arange(len(covariance)) >= int(layout.intercept)
    between = slopes_of[:, None] & slopes_of & ~np.eye(len(covariance), dtype=bool)
    covariance[between] = np.nan
    covariance[~np.isfinite(covariance)] = np.nan
    sampling = np.sqrt(np.diag(covariance)) * min(1.0, law.sampling / law.scale)
    return Coefficients(_with_constant(slopes, mean_y, means_x), covariance, sampling, identified)


def _with_constant(slopes: Doubles, mean_y: Doubles, means_x: Doubles) -> Doubles:
    """Put the intercept before the slopes, if there is a mean of y to make it from."""
    return np.concatenate([mean_y - slopes @ means_x, slopes]) if len(mean_y) else slopes


def _with_intercept(variance: Doubles, means: Doubles, error: float) -> Doubles:
    """Covariance of (mean_y - slopes @ means, slopes), the parts released independently."""
    cross = -means * variance
    # The slopes alone contribute means' diag(variance) means, so it cannot be less.
    corner = max(error * error, float(means**2 @ variance))
    top = np.concatenate([[corner], cross])
    return np.vstack([top, np.column_stack([cross, np.diag(variance)])])


def parts_of(plan: TukeyPlan, delta: float) -> tuple[Part, ...]:
    """Return what the test and the draw cost."""
    epsilon, threshold = plan.epsilon_test, _core.release_threshold(plan.epsilon_test, delta)
    label = "test that a deep model can be released"
    how = f"discrete Laplace, scale {1 / epsilon:.4g}, threshold {threshold}"
    test = Part(label, epsilon, 0.0, how, sensitivity=1.0, scale=1 / epsilon)
    epsilon, moved = plan.epsilon_sample, float(_core.DEPTH_SENSITIVITY)
    how = f"exponential mechanism on depth, at least {plan.depth} of {plan.models} models"
    label = "draw of a deep model"
    draw = Part(label, epsilon, delta, how, sensitivity=moved, scale=2 * moved / epsilon)
    return test, draw


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
