"""Expected results of a fit, by method and family, and the smallest n or epsilon that works."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from dpreg import _core
from dpreg.base.errors import ArgumentError, write
from dpreg.base.families import Family
from dpreg.estimation.planning.auto import TABULATED, WITH_INFERENCE, best_method, expect, infer
from dpreg.estimation.planning.grids import Forecast
from dpreg.estimation.planning.power import exact_error
from dpreg.estimation.planning.tukey import distance, most_units, plan_tukey, released_scale

# Names of fits without privacy.
_EXACT = {"gaussian": "least squares", "quantile": "quantile regression"}
MOST_UNITS = 10**9
MOST_EPSILON = 500.0
# Regressors over units in a batch, at which the ridge of a fit begins to hold its variance.
_MOST_OVERLAP = 0.7
# Default shares of `Auto` and `TukeyEM` for counts and limits.
_COUNT_AUTO, _COUNT_TUKEY, _ASIDE_TUKEY = 0.01, 0.02, 0.07


@dataclass(frozen=True, slots=True)
class Model:
    """What is planned.

    Raises ValueError if the method does not fit the family.
    """

    size: ClassVar[str] = "n"  # The argument of the number of units.
    # Label of effects on the axis of a plot.
    of_effects: ClassVar[str] = "slope, in residual standard deviations"

    method: str
    family: Family

    def __post_init__(self) -> None:
        if not self.family.least_squares and self.method not in ("auto", WITH_INFERENCE):
            problem = f"{self.method!r} is planned for linear models only"
            raise ArgumentError("method", problem, write("method", "auto"))

    @property
    def powered(self) -> bool:
        """Whether effects and their power are planned."""
        return self.family.least_squares

    @property
    def used(self) -> str:
        """The method that is used."""
        return WITH_INFERENCE if self.method == "auto" else self.method

    @property
    def exact(self) -> str:
        """What the fit without privacy is called."""
        return _EXACT.get(self.family.name, "maximum likelihood")

    def exact_error(self, n: float, d: int) -> float:
        """Return the standard error of an effect without privacy; infinite with too few units."""
        return exact_error(n, d)

    def shown(self, effect: float) -> float:
        """Return an effect as users give it."""
        return effect

    def tested(self, effect: float) -> float:
        """Return the tested effect from one as users give it: the inverse of `shown`."""
        return effect

    def forecast(self, n: float, d: int, epsilon: float, delta: float) -> Forecast:
        """Return the expected results of a fit."""
        if not self.family.least_squares:
            epsilon *= _loudness(self.family)
            tabulated = "poisson" if self.family.link == "log" else self.family.name
            return expect(tabulated, n, d, epsilon, delta)
        predicts = self.method
        if predicts == "auto":  # without inference it takes the best one
            predicts = best_method(TABULATED, n, d, (1 - _COUNT_AUTO) * epsilon, delta)
        found = expect(predicts, n, d, epsilon, delta)
        if self.method == "tukey":
            released, width = _tukey(n, d, epsilon, delta)
            return Forecast(released, 1 - released, width, found.loss)
        if self.used == WITH_INFERENCE:
            return replace(infer(n, d, epsilon, delta), loss=found.loss)
        return found

    def least_units(self, d: int, epsilon: float, delta: float) -> int | None:
        """Return the fewest units with which it works, to two digits; None: too many."""
        if not self.forecast(MOST_UNITS, d, epsilon, delta).works:
            return None
        low, high = 1, MOST_UNITS
        while high > low * 1.01 + 1:
            middle = max(low + 1, math.isqrt(low * high))
            works = self.forecast(middle, d, epsilon, delta).works
            low, high = (low, middle) if works else (middle, high)
        unit = int(10 ** max(0, len(str(high)) - 2))
        return -(-high // unit) * unit

    def least_epsilon(self, n: int, d: int, delta: float) -> float | None:
        """Return the least epsilon with which it works, to two digits; None: too much."""
        if not self.forecast(n, d, MOST_EPSILON, delta).works:
            return None
        low, high = 1e-6, MOST_EPSILON
        while high > low * 1.01:
            middle = math.sqrt(low * high)
            works = self.forecast(n, d, middle, delta).works
            low, high = (low, middle) if works else (middle, high)
        return float(f"{high:.2g}") if float(f"{high:.2g}") >= high else float(f"{high * 1.05:.2g}")


def _loudness(family: Family) -> float:
    """Return the standard deviation of scores over their maximum, relative to the median."""
    if family.level is None:
        return 1.0
    return math.sqrt(family.level * (1 - family.level)) / family.most_residual


def _tukey(n: float, d: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Pass probability and width of TukeyEM for Gaussian models, with inference."""
    size = 3 * d + 2  # slopes, mean of y, means of x, their spreads; see tukey_em.py
    plan = plan_tukey(n, d, size, (1 - _ASIDE_TUKEY) * epsilon, delta)
    # A method whose noisy count is at most this declines.
    if math.isinf(plan.error) or plan.models * (d + 2) > most_units(_COUNT_TUKEY * epsilon):
        return 0.0, math.inf
    found = distance(plan.models, size, plan.epsilon_sample, plan.depth, delta)
    threshold = _core.release_threshold(plan.epsilon_test, delta)
    margin = found - threshold
    tail = _core.discrete_laplace_tail(abs(margin) + 1, plan.epsilon_test)
    scale = released_scale(plan.models, size, plan.epsilon_sample, plan.depth)
    # A fit on b units has 1 / (1 - (d + 1) / b) times its share of the error; the ridge caps that.
    inflation = 1 / (1 - min((d + 1) * plan.models / n, _MOST_OVERLAP))
    width = scale * math.sqrt(plan.models * inflation)
    return (1 - tail if margin > 0 else tail), width
