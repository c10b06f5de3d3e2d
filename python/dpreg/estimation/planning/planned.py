"""What all plans have in common."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from typing import Any

from dpreg.base.errors import ArgumentError, Choice, unusable, write
from dpreg.base.later import Axes
from dpreg.base.text import drawn
from dpreg.estimation.planning.forecast import Model
from dpreg.estimation.planning.grids import LIKELY, WIDEST


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
    def exact(self) -> str:
        """What the fit without privacy is called."""

    @property
    @abstractmethod
    def of_effects(self) -> str:
        """What effects are, at the axis of a plot."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What is planned, above a plot."""

    @property
    def works(self) -> bool:
        """Whether n and eps are enough."""
        return self.released >= LIKELY and self.width <= WIDEST

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
            return drawn("plot_plan", self, ax)
        if self.power is None:
            problem = "is 'power', which is not planned for this family"
            raise ArgumentError("of", problem, write("of", "width"))
        return drawn("plot_power", self, ax)
