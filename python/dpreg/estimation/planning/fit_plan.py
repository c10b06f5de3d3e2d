"""What to expect of one fit, in numbers and in words.

Words have what is found for inference first, then the numbers, then what is enough.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from dpreg.base.families import GAUSSIAN, Family
from dpreg.base.text import counted, share_lost, wrapped
from dpreg.estimation.planning.forecast import Model
from dpreg.estimation.planning.grids import LIKELY, WIDEST
from dpreg.estimation.planning.planned import Planned
from dpreg.estimation.planning.power import LEVEL, exact_error, least_effect, power_of

# Below this share with a standard error a fit is useless; above the second, a release is almost
# certain.
_HALF, _ALWAYS = 0.5, 0.99
_NEARLY_SURE = 0.999
_TEST = f"{100 * LEVEL:.0f}% two-sided test"
_STANDARDISED = (
    "Slopes are standardised: slope times standard deviation of its regressor, over the "
    "residual standard deviation; regressors are exchangeable and uncorrelated."
)
_NORMAL = "from public simulations; nothing is spent."
_AS_POISSON = (
    f"Expected for roughly normal regressors and Poisson responses around 2, {_NORMAL} "
    "Standard errors of this family were 0.8 to 1.6 times as large."
)
# Assumptions of a plan, by family.
_EXPECTED = {
    "gaussian": f"Expected for regressors and errors that are roughly normal, {_NORMAL}",
    "binomial": "Expected for roughly normal regressors and a response that is 0 and 1 equally "
    f"often, {_NORMAL}",
    "poisson": f"Expected for roughly normal regressors and responses around 2, {_NORMAL}",
    "gamma": _AS_POISSON,
    "negativebinomial": _AS_POISSON,
    "quantile": f"Expected for regressors and errors that are roughly normal, {_NORMAL}",
}


@dataclass(frozen=True, slots=True)
class Plan(Planned):
    """What to expect of a fit; nothing in it comes from data.

    Attributes
    ----------
    n, d : int
        Units and regressors.
    eps, delta : float
    method : str
        The method asked for, or the one that ``method="auto"`` chooses.
    released : float
        Probability that a coefficient is released with a standard error.  For ``"tukey"`` it is the
        probability of a release; other methods may release some coefficients without a standard
        error.
    declined : float
        Probability that nothing is released.
    width : float
        Standard error of a coefficient, and so the width of its interval, relative to the fit
        without privacy.
    loss : float
        Expected loss in prediction, as a share of the explained variance, of fits with
        ``inference=False``; of families with a link, of the explained deviance.
    least_n : int or None
        Smallest number of units that is enough at this eps: `released` is at least 0.9 and standard
        errors are at most 3 times those without privacy.  None: more than 10^9.
    least_eps : float or None
        Smallest eps that is enough for n units.  None: more than 500.
    effect : float or None
        Standardised slope that is detected: see `dp_plan`.  None: no slope is detected with this
        power, or `family` is not of linear models.
    power : float or None
        Probability that a slope of this size is detected by the two-sided 5% test.
    solved : {"effect", "power", "n", "eps"} or None
        Which one was computed from the others.
    family : Family

    Examples
    --------
    >>> import dpreg
    >>> plan = dpreg.dp_plan(n=50_000, d=10, eps=1.0)
    >>> plan.works, plan.least_n < 50_000
    (True, True)
    """

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
    def title(self) -> str:
        """What is planned, above a plot."""
        return f"{counted(self.n, 'unit')}, {counted(self.d, 'regressor')}, {self.method}"

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "works": self.works, "family": self.family.label.lower()}

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th scope='row' style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in _rows(self)
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in _notes(self))
        head = f"<p><strong>{escape(_finding(self))}</strong><br>{escape(_asked(self))}</p>"
        return f"<div>{head}<table><tbody>{rows}</tbody></table>{notes}</div>"

    def __str__(self) -> str:
        lines = [
            _finding(self),
            _asked(self),
            *(f"  {name:<17} {value}" for name, value in _rows(self)),
            *_notes(self),
        ]
        return "\n".join(wrapped("\n".join(lines), hang=0))


def _asked(plan: Plan) -> str:
    return (
        f"Plan for {counted(plan.n, 'unit')}, {counted(plan.d, 'regressor')}, "
        f"eps={plan.eps:.4g}, delta={plan.delta:.3g}"
    )


def _finding(plan: Plan) -> str:
    """Return a sentence about inference."""
    missing = f"has no standard error with probability {1 - plan.released:.2g}"
    if _nothing(plan):
        return f"This is too small for inference: a slope {missing}. {plan._enough()}"
    if plan.power is None:
        return f"Standard errors are about {plan.width:.3g} times those of {plan.model.exact}."
    if plan.effect is None:
        return f"No slope is detected with power {plan.power:.3g}: it {missing}."
    power = f"power {_rounded(plan.power)} ({_TEST})"
    match plan.solved:
        case "effect":
            return f"Slopes of {plan.effect:.3g} or more are detected with {power}."
        case "power":
            return f"A slope of {plan.effect:.3g} is detected with {power}."
        case "n":
            enough = counted(plan.n, "unit") + " or more"
        case _:
            enough = f"eps={plan.eps:.4g} or more"
    return f"A slope of {plan.effect:.3g} is detected with {power} from {enough}."


def _rounded(power: float) -> str:
    return f"{power:.3g}" if power <= _NEARLY_SURE else f"above {_NEARLY_SURE}"


def _nothing(plan: Plan) -> bool:
    return plan.released < _HALF and plan.solved not in ("n", "eps")


def _rows(plan: Plan) -> list[tuple[str, str]]:
    link = f", link {plan.family.link}" if plan.family.link in ("probit", "cloglog") else ""
    released = 1 - plan.declined
    of = [] if plan.family.least_squares else [("family", f"{plan.family.label}{link}")]
    return [
        *of,
        ("method", plan.method),
        ("released", "almost always" if released > _ALWAYS else f"with probability {released:.3g}"),
        ("standard errors", _width(plan)),
        *_without_privacy(plan),
        ("predictions", _loss(plan)),
    ]


def _width(plan: Plan) -> str:
    if math.isinf(plan.width):
        return "none: the coefficients are not estimable"
    # TukeyEM has a standard error for all coefficients or for none.
    share = f"for {100 * plan.released:.0f}% of coefficients, "
    some = "" if plan.method == "tukey" else share
    return f"{some}{plan.width:.3g} times those of {plan.model.exact}"


def _without_privacy(plan: Plan) -> list[tuple[str, str]]:
    """Return the effect or power of least squares, for comparison."""
    if plan.power is None or plan.effect is None or _nothing(plan):
        return []
    if plan.solved == "power":
        return [("without privacy", f"power {_rounded(plan.exact_power or 0.0)}")]
    least = plan.exact_effect
    return [("without privacy", f"slopes of {least:.3g} or more, with this power")]


def _loss(plan: Plan) -> str:
    explained = "variance" if plan.family.standardised else "deviance"
    lost = f"{share_lost(plan.loss)} of the explained {explained} lost"
    separate = plan.family.least_squares and plan.method != "moments"
    return f"with inference=False, {lost}" if separate else lost


def _notes(plan: Plan) -> list[str]:
    goal = "a release" if plan.method == "tukey" else "a standard error of a coefficient"
    enough = "enough" if plan.works else "not enough"
    standardised = [] if plan.power is None else [_STANDARDISED]
    verdict = (
        f"This is {enough} for {goal} with probability {LIKELY} and standard errors "
        f"at most {WIDEST:g} times as wide."
    )
    # A plan for a given power is sufficient, as already stated.
    judged = [] if plan.solved in ("n", "eps") else [verdict]
    least = [] if _nothing(plan) or not judged else [plan._enough()]
    return [*standardised, *judged, *least, _EXPECTED[plan.family.name]]
