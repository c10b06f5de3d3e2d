"""A plan in words: what it finds for inference first, then the numbers, then what is enough."""

from __future__ import annotations

import math
from html import escape

from dpreg.base.text import counted, share_lost, wrapped
from dpreg.estimation.planning.expected import Expected
from dpreg.estimation.planning.grids import LIKELY, WIDEST
from dpreg.estimation.planning.power import LEVEL

# Below this share with a standard error nothing is learned; above the second, a release is almost
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
# What a plan goes by, by family.
_EXPECTED = {
    "gaussian": f"Expected for regressors and errors that are roughly normal, {_NORMAL}",
    "binomial": "Expected for roughly normal regressors and a response that is 0 and 1 equally "
    f"often, {_NORMAL}",
    "poisson": f"Expected for roughly normal regressors and responses around 2, {_NORMAL}",
    "gamma": _AS_POISSON,
    "negativebinomial": _AS_POISSON,
    "quantile": f"Expected for regressors and errors that are roughly normal, {_NORMAL}",
}


def as_text(plan: Expected) -> str:
    """Return a plan as lines of at most 80 columns."""
    lines = [
        _finding(plan),
        _asked(plan),
        *(f"  {name:<17} {value}" for name, value in _rows(plan)),
        *_notes(plan),
    ]
    return "\n".join(wrapped("\n".join(lines), hang=0))


def as_html(plan: Expected) -> str:
    """Return a plan as a table for a notebook."""
    rows = "".join(
        f"<tr><th scope='row' style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in _rows(plan)
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in _notes(plan))
    head = f"<p><strong>{escape(_finding(plan))}</strong><br>{escape(_asked(plan))}</p>"
    return f"<div>{head}<table><tbody>{rows}</tbody></table>{notes}</div>"


def _asked(plan: Expected) -> str:
    return (
        f"Plan for {counted(plan.n, 'unit')}, {counted(plan.d, 'regressor')}, "
        f"eps={plan.eps:.4g}, delta={plan.delta:.3g}"
    )


def _finding(plan: Expected) -> str:
    """Return what the plan says about inference, in a sentence."""
    missing = f"has no standard error with probability {1 - plan.released:.2g}"
    if _nothing(plan):
        return f"Nothing would be learned at this size: a slope {missing}. {_least(plan)}"
    if plan.power is None:
        return f"Standard errors are about {plan.width:.3g} times those of {plan.exact}."
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


def _nothing(plan: Expected) -> bool:
    return plan.released < _HALF and plan.solved not in ("n", "eps")


def _rows(plan: Expected) -> list[tuple[str, str]]:
    link = f", link {plan.family.link}" if plan.family.link in ("probit", "cloglog") else ""
    of = [] if plan.family.least_squares else [("family", f"{plan.family.label}{link}")]
    return [
        *of,
        ("method", plan.method),
        ("released", _chance(plan)),
        ("standard errors", _width(plan)),
        *_without_privacy(plan),
        ("predictions", _loss(plan)),
    ]


def _chance(plan: Expected) -> str:
    released = 1 - plan.declined
    return "almost always" if released > _ALWAYS else f"with probability {released:.3g}"


def _width(plan: Expected) -> str:
    if math.isinf(plan.width):
        return "none: the coefficients are not estimable"
    # TukeyEM has a standard error for all coefficients or for none.
    share = f"for {100 * plan.released:.0f}% of coefficients, "
    some = "" if plan.method == "tukey" else share
    return f"{some}{plan.width:.3g} times those of {plan.exact}"


def _without_privacy(plan: Expected) -> list[tuple[str, str]]:
    """Return what least squares detects, beside what the fit does."""
    if plan.power is None or plan.effect is None or _nothing(plan):
        return []
    if plan.solved == "power":
        return [("without privacy", f"power {_rounded(plan.exact_power or 0.0)}")]
    least = plan.exact_effect
    return [("without privacy", f"slopes of {least:.3g} or more, with this power")]


def _loss(plan: Expected) -> str:
    explained = "variance" if plan.family.standardised else "deviance"
    lost = f"{share_lost(plan.loss)} of the explained {explained} lost"
    separate = plan.family.least_squares and plan.method != "moments"
    return f"with inference=False, {lost}" if separate else lost


def _notes(plan: Expected) -> list[str]:
    goal = "a release" if plan.method == "tukey" else "a standard error of a coefficient"
    enough = "enough" if plan.works else "not enough"
    standardised = [] if plan.power is None else [_STANDARDISED]
    verdict = (
        f"This is {enough} for {goal} with probability {LIKELY} and standard errors "
        f"at most {WIDEST:g} times as wide."
    )
    # A plan for a power is enough for it, and has said so.
    judged = [] if plan.solved in ("n", "eps") else [verdict]
    least = [] if _nothing(plan) or not judged else [_least(plan)]
    return [*standardised, *judged, *least, _EXPECTED[plan.family.name]]


def _least(plan: Expected) -> str:
    units = f"{plan.least_n:,} units" if plan.least_n else "more than 10^9 units"
    eps = f"eps={plan.least_eps:.3g}" if plan.least_eps else "eps above 500"
    return f"Enough would be {units} at this eps, or {eps} for this many units."
