"""Expected accuracy of hazard models, models of classes and treatment effects.

Each has a table, which a script in `python/tools/tables` makes with the default fits of dpreg at
one eps.  The resolution is mu sqrt(n / w), w being the number of coefficients and mu the parameter
of Gaussian differential privacy.  ``log(width^2 - 1)`` is interpolated linearly in the logarithms
of the resolution and of the other axes; see `Grid.forecast`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from dpreg.base.families import COUNTING, Family
from dpreg.estimation.planning.forecast import Model
from dpreg.estimation.planning.grids import Forecast, Grid, gridded, read_table
from dpreg.estimation.planning.power import exact_error
from dpreg.privacy.gdp import gdp_mu

# Of the hazards of the table.
INTERVALS = 6
_SLOPE = "for one standard deviation of a regressor that is not correlated with the others"
# Of all tables.
_EPS, _DELTA = 1.0, 1e-5
# Medians of simulated widths may lie below this by chance.
_LEAST_WIDTH = 1.01


@dataclass(frozen=True, slots=True)
class Tabulated(Model):
    """A model whose fits have a table of their own."""

    name: ClassVar[str]  # Of the model, and so of the table.
    noun: ClassVar[str] = "slope"  # What effects are called.
    meaning: ClassVar[str]  # What they are, in a sentence.
    axes: ClassVar[tuple[str, ...]]  # Of the table, beside that of the resolution.

    method: str = "auto"
    family: Family = COUNTING

    @property
    def powered(self) -> bool:
        return True

    @abstractmethod
    def coefficients(self, d: int) -> float:
        """Return how many a model with d regressors has."""

    def place(self, d: int) -> tuple[float, ...]:
        """Return where it is on the axes."""
        return tuple(getattr(self, name) for name in self.axes)

    def forecast(self, n: float, d: int, epsilon: float, delta: float) -> Forecast:
        if math.isinf(self.exact_error(n, d)):
            return Forecast(0.0, 1.0, math.inf, 1.0)
        resolution = _resolution(n / self.coefficients(d), epsilon, delta)
        point = (resolution, *map(math.log, self.place(d)))
        return table(self.name, self.axes).forecast(point, axis=0)


@dataclass(frozen=True, slots=True)
class HazardModel(Tabulated):
    """Proportional hazards with six intervals; the units that are counted are events."""

    size: ClassVar[str] = "events"
    name: ClassVar[str] = "survival"
    noun: ClassVar[str] = "hazard ratio"
    of_effects: ClassVar[str] = "hazard ratio of one standard deviation"
    meaning: ClassVar[str] = (
        f"A hazard ratio is {_SLOPE}; for a group with a share s of the persons, write "
        f"ratio ** sqrt(s * (1 - s)).  There are {INTERVALS} intervals with about equally many "
        "events."
    )
    axes: ClassVar[tuple[str, ...]] = ("rate",)

    rate: float = 0.5  # Share of persons with an event.

    def shown(self, effect: float) -> float:
        """See `Model`: a hazard ratio."""
        return math.exp(min(effect, 700.0))

    def tested(self, effect: float) -> float:
        """See `Model`: the size of the logarithm of a hazard ratio."""
        return abs(math.log(effect))

    def coefficients(self, d: int) -> float:
        return d + INTERVALS


@dataclass(frozen=True, slots=True)
class ClassModel(Tabulated):
    """Classes, equally frequent."""

    of_effects: ClassVar[str] = "slope of one standard deviation, in log odds"
    axes: ClassVar[tuple[str, ...]] = ("classes",)

    classes: int = 2


@dataclass(frozen=True, slots=True)
class OrdinalModel(ClassModel):
    """Cumulative logits of ordered classes."""

    name: ClassVar[str] = "ordinal"
    meaning: ClassVar[str] = (
        f"A slope is {_SLOPE}, in log odds of a higher class; classes are equally frequent."
    )

    def coefficients(self, d: int) -> float:
        return d + self.classes - 1

    def exact_error(self, n: float, d: int) -> float:
        """See `Model`: a score is 1 - F_k - F_(k-1), of variance (1 - sum of shares^3) / 3."""
        return math.sqrt(3 / (1 - self.classes**-2)) * exact_error(n, d)


@dataclass(frozen=True, slots=True)
class MultinomialModel(ClassModel):
    """Logits of classes against a baseline."""

    name: ClassVar[str] = "multinomial"
    meaning: ClassVar[str] = (
        f"A slope is {_SLOPE}, in log odds of a class against the baseline; classes are equally "
        "frequent."
    )

    def coefficients(self, d: int) -> float:
        return (self.classes - 1) * (d + 1)

    def exact_error(self, n: float, d: int) -> float:
        """See `Model`: n times the variance is the sum of 1 / share of two classes."""
        return math.sqrt(2 * self.classes) * exact_error(n, d)


@dataclass(frozen=True, slots=True)
class EffectModel(Tabulated):
    """A treatment effect, the same for all, by doubly robust scores."""

    name: ClassVar[str] = "effect"
    noun: ClassVar[str] = "treatment effect"
    of_effects: ClassVar[str] = "treatment effect, in residual standard deviations"
    meaning: ClassVar[str] = (
        "An effect is in standard deviations of the residuals of the outcome, and the same for "
        "all units; treatment does not depend on the regressors."
    )
    axes: ClassVar[tuple[str, ...]] = ("d", "treated")

    treated: float = 0.5  # Share of units that are treated.

    @property
    def exact(self) -> str:
        return "least squares"

    @property
    def least(self) -> float:
        """The share of the smaller of the two groups, which decides."""
        return min(self.treated, 1 - self.treated)

    def coefficients(self, d: int) -> float:
        """See `Tabulated`; each needs units of the smaller group."""
        return (d + 1) / self.least

    def place(self, d: int) -> tuple[float, ...]:
        return d, self.least

    def exact_error(self, n: float, d: int) -> float:
        """See `Model`: in standard deviations of residuals, of two groups."""
        return exact_error(n, d) / math.sqrt(self.treated * (1 - self.treated))


def _resolution(each: float, epsilon: float, delta: float) -> float:
    return math.log(gdp_mu(epsilon, delta)) + math.log(each) / 2


@cache
def table(name: str, axes: tuple[str, ...]) -> Grid:
    """Read a table, over resolutions and its other axes.

    Single cells have random errors.  More units never increase the width, so each value is the
    largest with at least as many units.
    """
    (each, *others), found = gridded(
        read_table(f"{name}_table.csv"), ("each", *axes), ("width", "lost")
    )
    width, lost = found.values()
    resolutions = [_resolution(units, _EPS, _DELTA) for units in each]
    for k in range(len(each) - 2, -1, -1):  # nothing known: by the law of noise
        more = np.sqrt(
            1 + (width[k + 1] ** 2 - 1) * math.exp(2 * (resolutions[k + 1] - resolutions[k]))
        )
        width[k] = np.where(np.isnan(width[k]), more, width[k])
    excess = np.log(np.maximum(width, _LEAST_WIDTH) ** 2 - 1)
    excess, released = excess[::-1], 1 - lost[::-1]
    excess, released = np.maximum.accumulate(excess), np.minimum.accumulate(released)
    logs = (np.array(resolutions), *map(np.log, others))
    return Grid(logs, excess[::-1], released[::-1], 1 - released[::-1])
