"""Plans of hazards, of classes and of treatment effects: what is asked, found and said."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from dpreg.base.errors import Argument, ArgumentError, leave_out, unusable, write
from dpreg.base.families import Family
from dpreg.base.text import counted, wrapped
from dpreg.estimation.planning.grids import LIKELY, WIDEST
from dpreg.estimation.planning.planned import Planned
from dpreg.estimation.planning.power import LEVEL, least_effect
from dpreg.estimation.planning.question import answer, between, count
from dpreg.estimation.planning.tabulated import (
    EffectModel,
    HazardModel,
    MultinomialModel,
    OrdinalModel,
    Tabulated,
)

_USUAL_RATE, _USUAL_SHARE = 0.5, 0.5


@dataclass(frozen=True, slots=True)
class ModelPlan(Planned):
    """What to expect of a model of survival, of classes or of a treatment effect.

    Nothing in it comes from data.

    Examples
    --------
    >>> import dpreg
    >>> plan = dpreg.dp_plan(events=5_000, event_rate=0.4, d=3, eps=1.0, family="survival")
    >>> plan.n, plan.solved
    (12500, 'effect')
    >>> dpreg.dp_plan(20_000, 5, 1.0, family="ordinal", classes=4, effect=0.1).power > 0.9
    True
    """

    family: str  # As given to `dp_plan`.
    n: int  # Units; of survival persons, at this `event_rate`.
    d: int  # Regressors.
    eps: float
    delta: float
    # Probability that an estimate has a standard error of at most five times that without privacy.
    released: float
    width: float  # Standard error relative to the fit without privacy.
    # Effect that is detected, in the units of the argument of `dp_plan`; of survival a hazard ratio
    # above 1, or its inverse.  None: none is with this power.
    effect: float | None
    power: float  # Probability that it is detected by the two-sided 5% test.
    # One of "effect", "power", "n", "eps": which one was computed from the others.
    solved: str
    # Smallest effect that a fit without privacy detects with this power.
    exact_effect: float | None
    # Smallest number of units that is enough at this eps: `released` is at least 0.9, and standard
    # errors are at most 3 times those without privacy.  None: more than 10^9 units, or events.
    least_n: int | None
    least_eps: float | None  # Smallest eps that is enough.  None: more than 500.
    classes: int | None = None  # Of a response.
    treated: float | None = None  # Share of units, for effects of a treatment.
    events: int | None = None  # For survival, persons with an event.
    event_rate: float | None = None

    @property
    def model(self) -> Tabulated:
        """What is planned, with its forecasts."""
        return Study(self.family, self.classes, self.treated, None, self.event_rate).model()

    @property
    def deciding(self) -> int:
        """The number that determines accuracy: of units or, for survival, of events."""
        return self.n if self.events is None else self.events

    @property
    def title(self) -> str:
        """What is planned, above a plot."""
        return f"{self._size()}, {counted(self.d, 'regressor')}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without what is not of this family."""
        found = {**asdict(self), "works": self.works}
        return {k: v for k, v in found.items() if v is not None or k not in _OWNERS}

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        of, without = self.model, self.exact_effect
        enough = "enough" if self.works else "not enough"
        lines = [
            self._finding(of.noun),
            f"Plan for {self.title}, eps={self.eps:.4g}, delta={self.delta:.3g}",
            f"  {'standard errors':<17} {self._width(of.exact)}",
            *([] if without is None else [f"  {'without privacy':<17} {of.noun} {without:.3g}"]),
            of.meaning,
            f"This is {enough} for a standard error with probability {LIKELY} and at most "
            f"{WIDEST:g} times as wide.  {self._enough(self._unit)}",
            "Expected for normal regressors, from public simulations; nothing is spent.",
        ]
        return "\n".join(wrapped("\n".join(lines), hang=0))

    @property
    def _unit(self) -> str:
        return "unit" if self.events is None else "person"

    def _units(self, number: int) -> str:
        return counted(number, self._unit)

    def _size(self) -> str:
        units = self._units(self.n)
        if self.events is not None:
            return f"{counted(self.events, 'event')} among {units}"
        if self.treated is not None:
            return f"{units}, {100 * self.treated:.3g}% of them treated"
        ordered = "ordered " if self.family == OrdinalModel.name else ""
        return f"{units} in {self.classes} {ordered}classes"

    def _finding(self, noun: str) -> str:
        if self.effect is None:
            return f"No {noun} is detected with power {self.power:.3g}."
        effect = f"{self.effect:.3g}"
        if self.events is not None:
            effect += f" (or {1 / self.effect:.3g})"
        elif self.classes is not None:
            effect += f" (odds ratio {math.exp(min(self.effect, 700.0)):.3g})"
        power = f"power {self.power:.3g} ({100 * LEVEL:.0f}% two-sided test)"
        if self.solved == "effect":
            return f"{noun.capitalize()}s of {effect} and beyond are detected with {power}."
        after = {"n": f" from {self._units(self.n)} on", "eps": f" from eps={self.eps:.4g} on"}
        return f"A {noun} of {effect} is detected with {power}{after.get(self.solved, '')}."

    def _width(self, exact: str) -> str:
        if math.isinf(self.width):
            return "none: the coefficients are not estimable"
        return f"{self.width:.3g} times those of {exact}, with probability {self.released:.2g}"


# The arguments of `dp_plan` that only some families have, and which; these have tables.
_OWNERS = {
    "events": ("survival",), "event_rate": ("survival",), "classes": ("ordinal", "multinomial"),
    "treated": ("effect",),
}  # fmt: skip
_TABULATED = {family for families in _OWNERS.values() for family in families}


@dataclass(frozen=True, slots=True)
class Study:
    """What is asked beside numbers that all plans have; arguments are those of `dp_plan`."""

    family: str | Family
    classes: object = None
    treated: object = None
    events: object = None
    event_rate: object = None

    def check(self) -> bool:
        """Refuse what is not of the family, and return whether the family is one of these."""
        family = self.family if isinstance(self.family, str) else ""
        for name, families in _OWNERS.items():
            if getattr(self, name) is not None and family not in families:
                only = f"is for {' and '.join(families)}"
                raise ArgumentError(name, only, write("family", families[0]), leave_out(name))
        return family in _TABULATED

    def model(self) -> Tabulated:
        """Return the model that is planned."""
        if self.family == EffectModel.name:
            share = _USUAL_SHARE if self.treated is None else self.treated
            return EffectModel(treated=between("treated", share, 0, 1, 0.5))
        if self.family == HazardModel.name:
            rate = _USUAL_RATE if self.event_rate is None else self.event_rate
            return HazardModel(rate=between("event_rate", rate, 0, 1, 0.3))
        classes = count("classes", self.classes, least=2)
        ordered = self.family == OrdinalModel.name
        return OrdinalModel(classes=classes) if ordered else MultinomialModel(classes=classes)

    def units(self, n: object, of: Tabulated) -> object:
        """Return the number of units that decide, as given or of `n` persons."""
        if not isinstance(of, HazardModel):
            return n
        if n is not None and self.events is not None:
            problem = ("cannot be used together with ", Argument("n"))
            raise ArgumentError("events", problem, leave_out("n"), leave_out("events"))
        if n is None:
            return None if self.events is None else count("events", self.events)
        if self.event_rate is None:
            needed = ("is needed with ", Argument("n"), ", because the number of events matters")
            raise ArgumentError("event_rate", needed, write("event_rate", 0.3))
        return max(1, round(count("n", n) * of.rate))


def model_plan(
    study: Study, n: object, d: object, eps: object, delta: float, *, effect: object, power: object
) -> ModelPlan:
    """Plan a model that has a table of its own; arguments are those of `dp_plan`."""
    of = study.model()
    expected, ratios = study.units(n, of), isinstance(of, HazardModel)
    if expected is None:
        needs = (("eps", eps, 1.0), ("effect", effect, 1.2), ("power", power, 0.8))
        for name, value, usual in needs:
            if value is None:
                needed = ("is needed if ", Argument(of.size), " is not given")
                raise ArgumentError(name, needed, write(name, usual), write(of.size, 1_000))
    if effect is not None and ratios:
        ratio = between("effect", effect, 0.0, math.inf, 1.2)
        if ratio == 1:
            raise unusable("effect", "a hazard ratio other than 1", effect, write("effect", 1.2))
        effect = of.tested(ratio)
    asked = answer(of, expected, d, eps, delta, effect=effect, power=power)
    found, size, chance = asked.found, asked.effect, asked.power
    assert chance is not None
    rate = of.rate if isinstance(of, HazardModel) else 1.0
    least = of.least_units(asked.d, asked.eps, delta)
    without = least_effect(chance, of.exact_error(asked.n, asked.d))
    return ModelPlan(
        family=of.name, n=math.ceil(asked.n / rate), d=asked.d, eps=asked.eps, delta=delta,
        released=found.released, width=found.width, effect=None if size is None else of.shown(size),
        power=chance, solved=str(asked.solved),
        exact_effect=None if without is None else of.shown(without),
        least_n=None if least is None else math.ceil(least / rate),
        least_eps=of.least_epsilon(asked.n, asked.d, delta),
        classes=getattr(of, "classes", None), treated=getattr(of, "treated", None),
        events=asked.n if ratios else None, event_rate=rate if ratios else None,
    )  # fmt: skip
