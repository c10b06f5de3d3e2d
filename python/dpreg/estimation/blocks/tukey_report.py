"""Results of a TukeyEM release: cost, coefficients, or the reason why there are none."""

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
# Columns that are constant in a batch have log spread 745 (batch_fit.cpp); above this value squares
# overflow.
_NO_SPREAD = 350.0
# Grid points are within 2^125 steps of 0 (mechanisms/tukey_em.hpp).
_GRID_BITS = 125


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of a model vector; see cpp/include/dpreg/stats/batch_fit.hpp."""

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
        """Return slopes, mean of y, means of x, log spreads of slopes, log spread of intercept."""
        return np.split(point, np.cumsum(self._lengths())[:-1])


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Coefficients of a released point, the intercept first; see `Release`."""

    params: Doubles
    covariance: Doubles | None
    sampling: Doubles | None
    identified: Flags


def coefficients(
    point: Doubles, layout: Layout, law: ReleaseLaw | None, factor: float, grid_exponent: int
) -> Coefficients:
    """Compute the intercept, and the covariance if `law` is given, which needs spreads.

    A slope that was not estimable in most models has an infinite spread, and a slope at the end of
    the grid was drawn from models without a median: both are set to 0.  `factor` corrects errors
    for small batches.
    """
    slopes, mean_y, means_x, log_spread, log_error = layout.split(point)
    if law is None:
        always = np.ones(layout.intercept + layout.d, dtype=bool)
        return Coefficients(_with_constant(slopes, mean_y, means_x), None, None, always)
    far = np.abs(slopes) > 2.0 ** (_GRID_BITS - 20 + grid_exponent)
    identified = ~far & (log_spread < _NO_SPREAD)
    slopes = np.where(identified, slopes, 0.0)
    # Squares of very large standard errors overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.exp(np.where(identified, log_spread, -np.inf)) * factor / law.spread_divisor
        covariance = np.diag((law.scale * spread) ** 2)
        if layout.intercept:
            error = law.scale * factor * float(np.exp(log_error[0]))
            covariance = _with_intercept(np.diag(covariance), means_x, error)
    # The intercept is not estimable if a slope is not.
    identified = np.concatenate([np.full(int(layout.intercept), identified.all()), identified])
    covariance[~identified, :] = covariance[:, ~identified] = np.nan
    # Slopes come from the same fits; their covariances are not released.
    slopes_of = np.arange(len(covariance)) >= int(layout.intercept)
    between = slopes_of[:, None] & slopes_of & ~np.eye(len(covariance), dtype=bool)
    covariance[between] = np.nan
    covariance[~np.isfinite(covariance)] = np.nan
    sampling = np.sqrt(np.diag(covariance)) * min(1.0, law.sampling / law.scale)
    return Coefficients(_with_constant(slopes, mean_y, means_x), covariance, sampling, identified)


def _with_constant(slopes: Doubles, mean_y: Doubles, means_x: Doubles) -> Doubles:
    """Put the intercept before the slopes, if there is a mean of y."""
    return np.concatenate([mean_y - slopes @ means_x, slopes]) if len(mean_y) else slopes


def _with_intercept(variance: Doubles, means: Doubles, error: float) -> Doubles:
    """Return the covariance of (mean_y - slopes @ means, slopes) of independent parts."""
    cross = -means * variance
    # The slopes alone contribute means' diag(variance) means.
    corner = max(error * error, float(means**2 @ variance))
    top = np.concatenate([[corner], cross])
    return np.vstack([top, np.column_stack([cross, np.diag(variance)])])


def parts_of(plan: TukeyPlan, delta: float) -> tuple[Part, ...]:
    """Return the cost of the test and of the draw."""
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
    """Return the message that there are too few units."""
    where = "at this eps" if models is None else f"with {models:,} models"
    return f"about {units:,.0f} units are too few for {counted(d, 'regressor')} {where}"


def advice_on(
    layout: Layout, epsilon: float, left: tuple[float, float], telling: float, models: int | None
) -> Words:
    """Return advice where `epsilon` was not enough.

    left: epsilon and delta of the test and the draw.
    telling: information of a unit on a coefficient, relative to a linear model.
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
    """Return the outcome without a release, after `parts` were spent."""
    unspent = allowance.epsilon - math.fsum(part.epsilon for part in parts)
    return Declined(reason=reason, advice=advice, units=units, parts=parts, unspent=unspent)
