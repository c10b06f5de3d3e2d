"""The base class of plans, and the curves in their plots."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import ArgumentError, Choice, unusable, write
from dpreg.base.later import Axes
from dpreg.base.text import counted, drawn
from dpreg.estimation.planning.forecast import Model
from dpreg.estimation.planning.grids import LIKELY, WIDEST
from dpreg.estimation.planning.power import power_of


class Planned(ABC):
    """A plan, with the numbers that its curves go through."""

    __slots__ = ()

    n: int
    d: int
    eps: float
    delta: float
    released: float
    width: float
    effect: float | None  # As users give it; None: there is none.
    power: float | None
    least_n: int | None
    least_eps: float | None

    @property
    @abstractmethod
    def model(self) -> Model:
        """What is planned, with its forecasts."""

    @property
    def deciding(self) -> int:
        """The number of units that decide."""
        return self.n

    @property
    @abstractmethod
    def title(self) -> str:
        """What is planned, above a plot."""

    @property
    def works(self) -> bool:
        """Whether n and eps are enough."""
        return self.released >= LIKELY and self.width <= WIDEST

    def _enough(self, unit: str = "unit") -> str:
        units = counted(self.least_n, unit) if self.least_n else f"more than 10^9 {unit}s"
        eps = f"eps={self.least_eps:.3g}" if self.least_eps else "eps above 500"
        return f"Enough would be {units} at this eps, or {eps} for this many {unit}s."

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""

    def to_json(self) -> str:
        """Return the same as JSON; a width that is infinite is null."""
        plain = self.to_dict()
        return json.dumps({**plain, "width": None if math.isinf(self.width) else self.width})

    def plot(self, ax: Axes | None = None, *, of: str = "width") -> Axes:
        """Plot width against eps, or power against the size of an effect; needs matplotlib.

        Parameters
        ----------
        ax : Axes, optional
        of : {"width", "power"}
        """
        if of not in ("width", "power"):
            raise unusable("of", ("one of ", Choice(("width", "power"))), of)
        if of == "width":
            return drawn("plans.plot_plan", self, ax)
        if self.power is None:
            problem = "is 'power', which is not planned for this family"
            raise ArgumentError("of", problem, write("of", "width"))
        return drawn("plans.plot_power", self, ax)


def width_curve(plan: Planned) -> tuple[Doubles, Doubles]:
    """Return epsilons and the widths of `plan` there; infinite where it is rarely released."""
    epsilons = np.geomspace(min(0.05, plan.eps / 2), max(10.0, plan.eps * 2), 61)
    found = [plan.model.forecast(plan.deciding, plan.d, float(e), plan.delta) for e in epsilons]
    return epsilons, np.array([f.width if f.released >= LIKELY else math.inf for f in found])


def power_curve(plan: Planned) -> tuple[Doubles, Doubles, Doubles]:
    """Return effects, the power of `plan` for each, and that of the fit without privacy.

    Effects are as users give them.
    """
    of = plan.model
    error = of.exact_error(plan.deciding, plan.d)
    private = plan.width * error
    asked = 0.0 if plan.effect is None else of.tested(plan.effect)
    # Four standard errors of the private fit, or of the other if there is none.
    reach = max(4 * (private if math.isfinite(private) else error), 1.25 * asked)
    effects = np.linspace(0.0, reach if math.isfinite(reach) else 1.0, 101)
    powers = np.array([power_of(float(e), private, plan.released) for e in effects])
    exact = np.array([power_of(float(e), error) for e in effects])
    return np.array([of.shown(float(e)) for e in effects]), powers, exact
