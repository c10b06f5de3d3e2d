"""The numbers of a plan, for its words and curves."""

from __future__ import annotations

from dataclasses import dataclass

from dpreg.base.families import GAUSSIAN, Family
from dpreg.base.text import counted
from dpreg.estimation.planning.forecast import Model
from dpreg.estimation.planning.planned import Planned
from dpreg.estimation.planning.power import exact_error, least_effect, power_of

# What fits without privacy are called.
_EXACT = {"gaussian": "least squares", "quantile": "quantile regression"}
_LIKELIHOOD = "maximum likelihood"


@dataclass(frozen=True, slots=True)
class Expected(Planned):
    """Fields of `Plan`, which describes them, and what follows from them."""

    n: int
    d: int
    eps: float
    delta: float
    method: str
    released: float
    declined: float
    width: float
    loss: float
    least_n: int | None
    least_eps: float | None
    effect: float | None = None
    power: float | None = None
    solved: str | None = None
    family: Family = GAUSSIAN

    @property
    def model(self) -> Model:
        """What is planned, with its forecasts."""
        return Model(self.method, self.family)

    @property
    def of_effects(self) -> str:
        """What effects are, at the axis of a plot."""
        return "slope, in residual standard deviations"

    @property
    def title(self) -> str:
        """What is planned, above a plot."""
        return f"{counted(self.n, 'unit')}, {counted(self.d, 'regressor')}, {self.method}"

    @property
    def exact(self) -> str:
        """What the fit without privacy is called."""
        return _EXACT.get(self.family.name, _LIKELIHOOD)

    @property
    def exact_error(self) -> float:
        """Standard error of a standardised slope by least squares without privacy."""
        return exact_error(self.n, self.d)

    @property
    def exact_effect(self) -> float | None:
        """Smallest slope that least squares without privacy detects with the same power."""
        return None if self.power is None else least_effect(self.power, self.exact_error)

    @property
    def exact_power(self) -> float | None:
        """Power of least squares without privacy for a slope of the same size."""
        return None if self.effect is None else power_of(self.effect, self.exact_error)
