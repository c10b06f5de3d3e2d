"""What fits of proportional hazards are expected to give: events decide, not persons.

`survival_table.csv` is made by `python/tools/tables/survival.py` with `dpreg.dp_survival` itself,
at one eps and with two covariates and six intervals.  Noise adds to the variance of a log hazard
ratio, relative to that of sampling, about c / resolution^2, where the resolution is
mu sqrt(events / w), w is the number of coefficients and mu the parameter of Gaussian differential
privacy; c depends on the share of persons with an event.  So ``log(width^2 - 1)`` is interpolated
linearly in the logarithms of the resolution and of the share, and follows this law beyond the
table.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from functools import cache
from html import escape
from typing import Any, ClassVar

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import Argument, ArgumentError, leave_out, unusable, write
from dpreg.base.families import COUNTING
from dpreg.base.text import counted, wrapped
from dpreg.estimation.planning.forecast import Model
from dpreg.estimation.planning.grids import (
    LIKELY,
    WIDEST,
    Forecast,
    gridded,
    interpolate,
    read_table,
)
from dpreg.estimation.planning.power import LEVEL, exact_error, least_effect, power_of
from dpreg.estimation.planning.question import between, count, question_from
from dpreg.privacy.gdp import gdp_mu

# Of the table: intervals and covariates, eps and delta.
_INTERVALS, _COVARIATES = 6, 2
_EPS, _DELTA = 1.0, 1e-5
# Medians of simulated widths may lie below this by chance.
_LEAST_WIDTH = 1.01
_USUAL_RATE = 0.5


@dataclass(frozen=True, slots=True)
class HazardModel(Model):
    """Proportional hazards with six intervals; the units that are counted are events."""

    size: ClassVar[str] = "events"

    rate: float = _USUAL_RATE  # Share of persons with an event.

    @property
    def powered(self) -> bool:
        """See `Model`."""
        return True

    def forecast(self, n: float, d: int, epsilon: float, delta: float) -> Forecast:
        """Return what is expected of a fit to so many events, with d covariates."""
        if n <= d + 2:  # nor has maximum likelihood standard errors then
            return Forecast(0.0, 1.0, math.inf, 1.0)
        axes, excesses, shares = _table()
        resolution = _resolution(n, d, epsilon, delta)
        least, most = float(axes[0][0]), float(axes[0][-1])
        point = (resolution, math.log(self.rate))
        released = interpolate(axes, shares, point)
        if resolution < least:
            released *= math.exp(2 * (resolution - least))
        beyond = resolution - min(max(resolution, least), most)
        excess = interpolate(axes, excesses, point) - 2 * beyond
        return Forecast(released, 1 - released, math.sqrt(1 + math.exp(min(excess, 700.0))), 0.0)


@dataclass(frozen=True, slots=True)
class SurvivalPlan:
    """What to expect of `dp_survival`; nothing in it comes from data.

    Examples
    --------
    >>> import dpreg
    >>> plan = dpreg.dp_plan(events=5_000, event_rate=0.4, d=3, eps=1.0, family="survival")
    >>> plan.n, plan.solved
    (12500, 'effect')
    """

    events: int  # Persons with an event, who decide how much is learned.
    n: int  # Persons, at this `event_rate`.
    event_rate: float
    d: int  # Covariates.
    eps: float
    delta: float
    # Probability that a coefficient has a standard error of at most five times that without
    # privacy.
    released: float
    width: float  # Standard error relative to the fit without privacy.
    # Hazard ratio above 1, of one standard deviation of a covariate, that is detected; so is its
    # inverse.  None: none is with this power.
    effect: float | None
    power: float  # Probability that it is detected by the two-sided 5% test.
    # One of "effect", "power", "events", "eps": which one was computed from the others.
    solved: str
    # Fewest with which the plan works at this eps: `released` at least 0.9, standard errors at most
    # 3 times those without privacy.  None: more than 10^9.
    least_events: int | None
    least_eps: float | None  # Least eps with which it works.  None: more than 500.

    @property
    def works(self) -> bool:
        """Whether events and eps are enough."""
        return self.released >= LIKELY and self.width <= WIDEST

    @property
    def exact_effect(self) -> float | None:
        """Smallest hazard ratio above 1 that a fit without privacy detects with this power."""
        return _ratio(least_effect(self.power, exact_error(self.events, self.d)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "works": self.works, "family": "survival"}

    def to_json(self) -> str:
        """Return the same as JSON; a width that is infinite is null."""
        plain = self.to_dict()
        return json.dumps({**plain, "width": None if math.isinf(self.width) else self.width})

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        exact = self.exact_effect
        without = [] if exact is None else [f"  {'without privacy':<17} hazard ratio {exact:.3g}"]
        enough = "enough" if self.works else "not enough"
        events = f"{self.least_events:,} events" if self.least_events else "more than 10^9 events"
        eps = f"eps={self.least_eps:.3g}" if self.least_eps else "eps above 500"
        lines = [
            self._finding(),
            f"Plan for {counted(self.events, 'event')} among {counted(self.n, 'person')}, "
            f"{counted(self.d, 'covariate')}, eps={self.eps:.4g}, delta={self.delta:.3g}",
            f"  {'standard errors':<17} {self._width()}",
            *without,
            "A hazard ratio is that of one standard deviation of a covariate, which is not "
            "correlated with the others; for a group with a share s of the persons, write "
            "ratio ** sqrt(s * (1 - s)).",
            f"This is {enough} for a standard error with probability {LIKELY} and at most "
            f"{WIDEST:g} times as wide.  Enough would be {events} at this eps, or {eps} for "
            "this many events.",
            f"Expected for normal covariates and {_INTERVALS} intervals with about equally many "
            "events, from public simulations; nothing is spent.",
        ]
        return "\n".join(wrapped("\n".join(lines), hang=0))

    def _finding(self) -> str:
        if self.effect is None:
            return f"No hazard ratio is detected with power {self.power:.3g}."
        ratio = f"{self.effect:.3g} (or {1 / self.effect:.3g})"
        power = f"power {self.power:.3g} ({100 * LEVEL:.0f}% two-sided test)"
        if self.solved == "effect":
            return f"Hazard ratios of {ratio} and beyond are detected with {power}."
        after = {
            "events": f" from {counted(self.events, 'event')} on",
            "eps": f" from eps={self.eps:.4g} on",
        }
        return f"A hazard ratio of {ratio} is detected with {power}{after.get(self.solved, '')}."

    def _width(self) -> str:
        if math.isinf(self.width):
            return "none: the coefficients are not estimable"
        return (
            f"{self.width:.3g} times those of maximum likelihood, for {100 * self.released:.0f}% "
            "of coefficients"
        )


@dataclass(frozen=True, slots=True)
class Cohort:
    """What is asked of how many persons have an event; arguments are those of `dp_plan`."""

    n: object
    events: object
    event_rate: object

    @property
    def rate(self) -> float:
        """Share of the persons who have one."""
        if self.event_rate is None:
            return _USUAL_RATE
        return between("event_rate", self.event_rate, 0, 1, 0.3)

    @property
    def expected(self) -> int | None:
        """Number of events; None: it is to be found."""
        if self.n is not None and self.events is not None:
            problem = ("and ", Argument("n"), " say the same, with ", Argument("event_rate"))
            raise ArgumentError("events", problem, leave_out("n"), leave_out("events"))
        if self.n is None:
            return None if self.events is None else count("events", self.events)
        if self.event_rate is None:
            needed = ("is needed with ", Argument("n"), ": events decide")
            raise ArgumentError("event_rate", needed, write("event_rate", 0.3))
        return max(1, round(count("n", self.n) * self.rate))


def survival_plan(
    cohort: Cohort,
    d: object,
    eps: object,
    delta: float,
    *,
    effect: object,
    power: object,
) -> SurvivalPlan:
    """Plan proportional hazards; arguments are those of `dp_plan`."""
    rate, expected = cohort.rate, cohort.expected
    if expected is None:
        for name, value, usual in (
            ("eps", eps, 1.0),
            ("effect", effect, 1.2),
            ("power", power, 0.8),
        ):
            if value is None:
                needed = ("is needed if ", Argument("events"), " is not given")
                raise ArgumentError(name, needed, write(name, usual), write("events", 1_000))
    of = HazardModel("auto", COUNTING, rate)
    size = None if effect is None else abs(math.log(_hazard_ratio(effect)))
    asked = question_from(of, expected, d, eps, delta, effect=size, power=power)
    found = of.forecast(asked.n, asked.d, asked.eps, delta)
    error = found.width * exact_error(asked.n, asked.d)
    solved = "events" if asked.solved == "n" else str(asked.solved)
    found_effect, found_power = asked.effect, asked.power
    if found_power is None:
        assert found_effect is not None
        found_power = power_of(found_effect, error, found.released)
    if found_effect is None:
        found_effect = least_effect(found_power, error, found.released)
    return SurvivalPlan(
        events=asked.n, n=math.ceil(asked.n / rate), event_rate=rate, d=asked.d, eps=asked.eps,
        delta=delta, released=found.released, width=found.width, effect=_ratio(found_effect),
        power=found_power, solved=solved, least_events=of.least_units(asked.d, asked.eps, delta),
        least_eps=of.least_epsilon(asked.n, asked.d, delta),
    )  # fmt: skip


def _hazard_ratio(value: object) -> float:
    found = between("effect", value, 0.0, math.inf, 1.2)
    if found == 1 or math.isinf(found):
        raise unusable("effect", "a hazard ratio other than 1", value, write("effect", 1.2))
    return found


def _ratio(effect: float | None) -> float | None:
    return None if effect is None else math.exp(min(effect, 700.0))


def _resolution(events: float, d: int, epsilon: float, delta: float) -> float:
    return math.log(gdp_mu(epsilon, delta)) + math.log(events / (d + _INTERVALS)) / 2


@cache
def _table() -> tuple[tuple[Doubles, Doubles], Doubles, Doubles]:
    """Read the table.

    Values of single cells are off by chance.  More events do no harm, so that each is as bad as
    the worst with at least as many.

    Returns axes: logarithms of resolutions and of shares of persons with an event.
    and excess, released: logarithm of the squared width less 1, and the share of what is released.
    """
    (events, rates), found = gridded(
        read_table("survival_table.csv"), ("events", "rate"), ("width", "lost")
    )
    width, lost = found.values()
    resolutions = [_resolution(each, _COVARIATES, _EPS, _DELTA) for each in events]
    for k in range(len(events) - 2, -1, -1):  # nothing known: by the law of noise
        more = np.sqrt(
            1 + (width[k + 1] ** 2 - 1) * math.exp(2 * (resolutions[k + 1] - resolutions[k]))
        )
        width[k] = np.where(np.isnan(width[k]), more, width[k])
    excess = np.log(np.maximum(width, _LEAST_WIDTH) ** 2 - 1)
    axes = np.array(resolutions), np.log(rates)
    excess, released = excess[::-1], 1 - lost[::-1]
    worst = np.maximum.accumulate(excess, axis=0), np.minimum.accumulate(released, axis=0)
    return axes, worst[0][::-1], worst[1][::-1]
