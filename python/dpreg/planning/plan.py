"""`dp_plan`: what a private regression will give, before any data is touched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpreg import _core
from dpreg.errors import ArgumentError, BudgetError, Choice, unusable, write
from dpreg.families import GAUSSIAN, Family, family_from, with_link
from dpreg.keywords import hinted
from dpreg.planning.auto import TABULATED, WITH_INFERENCE, expect
from dpreg.planning.tukey import most_units, plan_tukey
from dpreg.planning.tukey_law import box_weights, distance
from dpreg.privacy.checks import check_delta, check_epsilon
from dpreg.text import counted, share_lost, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["Plan", "dp_plan"]

# A plan works when the release is this likely and standard errors are at most this many
# times those of least squares.
_LIKELY, _WIDEST = 0.9, 3.0
# A plan is declined almost never below this.
_NEVER = 0.01
_MOST_UNITS = 10**9
# Regressors over units in a batch, at which the ridge of a fit begins to hold its variance.
_MOST_OVERLAP = 0.7
# What `Auto` and `TukeyEM` set aside for counts and limits, by default.
_COUNT_AUTO, _COUNT_TUKEY, _ASIDE_TUKEY = 0.01, 0.02, 0.07
_METHODS = ("auto", *TABULATED, "moments")
# What fits without privacy are called, and what regressors explain.
_EXACT = {"gaussian": "least squares", "quantile": "quantile regression"}
_LIKELIHOOD = "maximum likelihood"


_NORMAL = "from public simulations; nothing is spent."
# What a plan goes by, by family.
_EXPECTED = {
    "gaussian": f"Expected for regressors and errors that are roughly normal, {_NORMAL}",
    "binomial": "Expected for roughly normal regressors and a response that is 0 and 1 equally "
    f"often, {_NORMAL}",
    "poisson": f"Expected for roughly normal regressors and responses around 2, {_NORMAL}",
    "quantile": f"Expected for regressors and errors that are roughly normal, {_NORMAL}",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What to expect of a fit; nothing in it comes from data.

    Attributes
    ----------
    n, d : int
        Units and regressors that were asked about.
    eps, delta : float
    method : str
        The one asked about, or the one that ``method="auto"`` takes.
    released : float
        Probability that a coefficient is released with a standard error.  For ``"tukey"`` that
        of a release; the others may release some coefficients without a standard error.
    declined : float
        Probability that nothing is released.
    width : float
        Its standard error, and so its interval, relative to the fit without privacy.
    loss : float
        Expected loss in prediction, as a share of the explained variance; of families with a
        link, of the explained deviance.
    least_n : int or None
        Fewest units with which the plan works at this eps: `released` at least 0.9,
        standard errors at most 3 times those without privacy.  None: more than 10^9.
    least_eps : float or None
        Least eps with which it works for n units.  None: more than 500.
    family : Family
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
    family: Family = GAUSSIAN

    @property
    def exact(self) -> str:
        """What the fit without privacy is called."""
        return _EXACT.get(self.family.name, _LIKELIHOOD)

    @property
    def works(self) -> bool:
        """Whether n and eps are enough."""
        return self.released >= _LIKELY and self.width <= _WIDEST

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw width against eps; needs matplotlib."""
        from dpreg.plots import plot_plan

        return plot_plan(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        found = {name: getattr(self, name) for name in (*self.__slots__, "works")}
        return {**found, "family": self.family.label.lower()}

    def __str__(self) -> str:
        some_only = self.method != "tukey"  # which has a standard error for all or for none
        nearly = "almost always" if self.declined < _NEVER else ""
        chance = nearly or f"with probability {1 - self.declined:.3g}"
        width = "none: the coefficients are not estimable"
        if math.isfinite(self.width):
            some = f"for {100 * self.released:.0f}% of coefficients, " if some_only else ""
            width = f"{some}{self.width:.3g} times those of {self.exact}"
        goal = "a standard error of a coefficient" if some_only else "a release"
        enough = "enough" if self.works else "not enough"
        units = f"{self.least_n:,} units" if self.least_n else "more than 10^9 units"
        eps = f"eps={self.least_eps:.3g}" if self.least_eps else "eps above 500"
        explained = "variance" if self.family.standardised else "deviance"
        link = ", link probit" if self.family.link == "probit" else ""
        named = f"  family            {self.family.label}{link}"
        of = () if self.family.least_squares else (named,)
        text = "\n".join(
            [
                f"Plan for {counted(self.n, 'unit')}, {counted(self.d, 'regressor')}, "
                f"eps={self.eps:.4g}, delta={self.delta:.3g}",
                *of,
                f"  method            {self.method}",
                f"  released          {chance}",
                f"  standard errors   {width}",
                f"  loss              {share_lost(self.loss)} of the explained {explained}",
                f"This is {enough} for {goal} with probability {_LIKELY} and standard errors "
                f"at most {_WIDEST:g} times as wide.",
                f"The smallest that is enough: {units} at this eps, or {eps} for this many units.",
                _EXPECTED[self.family.name],
            ]
        )
        return "\n".join(wrapped(text, hang=0))


@hinted("dp_plan")
def dp_plan(
    n: int,
    d: int,
    eps: float,
    delta: float = 1e-5,
    *,
    method: str = "auto",
    family: str | Family = "gaussian",
    link: str | None = None,
) -> Plan:
    """Say what a private regression can be expected to give.

    Parameters
    ----------
    n : int
        Number of units, as far as it is public: a guess will do.
    d : int
        Number of regressors, each level of a category but the first counting as one.
    eps, delta : float
        As in `dp_lm`.
    method : {"auto", "tukey", "adassp", "boosted_adassp", "moments"}
        ``"moments"``: any one model out of a release of `dp_moments` with d + 1 columns.  A plan
        with eps / 5 says what each of five calls of `dp_lm` would give instead.
    family : {"gaussian", "binomial", "poisson", "quantile"} or Family, default "gaussian"
        As in `dp_glm`; the others than ``"gaussian"`` are fitted by ``"boosted_adassp"``.
    link : {"logit", "probit"}, optional
        As in `dp_glm`.

    Returns
    -------
    Plan

    Notes
    -----
    Interpolates the tables that ship with the package; see `dpreg.planning.auto` and
    `dpreg.planning.tukey_law`.  No data, so no budget.  Widths between the settings of the tables
    are within 12% of simulated ones, of ``"poisson"`` and ``"moments"`` within 25%.

    Binomial responses of the table are 0 and 1 equally often.  n units of which a share s have
    response 1 are equivalent to about 4 s (1 - s) n such units.  A probit is planned as a logit:
    their widths relative to fits without privacy are about equal for s = 1/2 and differ by at most
    10% for s = 1/20.

    Examples
    --------
    >>> import dpreg
    >>> dpreg.dp_plan(n=50_000, d=10, eps=1.0).method
    'boosted_adassp'
    >>> dpreg.dp_plan(n=50_000, d=10, eps=1.0, family="binomial").works
    True
    """
    n, d = _count("n", n, 1), _count("d", d, 1)
    epsilon, delta = check_epsilon(eps), check_delta(delta)
    if delta == 0:
        raise BudgetError("delta", "regressions need delta > 0", write("delta", 1e-6))
    if method not in _METHODS:
        raise unusable("method", ("one of ", Choice(_METHODS), " to be planned"), method)
    of = _Model(method, with_link(family_from(family), link))
    chosen, found = of.forecast(n, d, epsilon, delta)
    return Plan(
        n=n,
        d=d,
        eps=epsilon,
        delta=delta,
        method=chosen,
        released=float(found.released),
        declined=float(found.declined),
        width=float(found.width),
        loss=float(found.loss),
        least_n=_least_units(of, d, epsilon, delta),
        least_eps=_least_epsilon(of, n, d, delta),
        family=of.family,
    )


def curve(plan: Plan) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return epsilons and the widths of `plan` there; infinite where it is rarely released."""
    epsilons = np.geomspace(min(0.05, plan.eps / 2), max(10.0, plan.eps * 2), 61)
    of = _Model(plan.method, plan.family)
    found = (of.forecast(plan.n, plan.d, float(e), plan.delta)[1] for e in epsilons)
    return epsilons, np.array([f.width if f.released >= _LIKELY else math.inf for f in found])


@dataclass(frozen=True, slots=True)
class _Forecast:
    released: float
    declined: float
    width: float
    loss: float

    @property
    def works(self) -> bool:
        return self.released >= _LIKELY and self.width <= _WIDEST


@dataclass(frozen=True, slots=True)
class _Model:
    """What is planned.

    Raises
    ------
    ValueError
        If the method does not fit the family.
    """

    method: str
    family: Family

    def __post_init__(self) -> None:
        if not self.family.least_squares and self.method not in ("auto", WITH_INFERENCE):
            problem = f"{self.method!r} is planned for linear models only"
            raise ArgumentError("method", problem, write("method", "auto"))

    def forecast(self, n: float, d: int, epsilon: float, delta: float) -> tuple[str, _Forecast]:
        """Return the method that is used, and what it is expected to give."""
        method = WITH_INFERENCE if self.method == "auto" else self.method
        if not self.family.least_squares:
            epsilon *= _loudness(self.family)
        elif self.method == "auto":
            epsilon *= 1 - _COUNT_AUTO
        table = method if self.family.least_squares else self.family.name
        expected = expect(table, n, d, epsilon, delta)
        released, declined, width = expected.released, expected.declined, expected.width
        if method == "tukey":
            released, width = _tukey(n, d, epsilon, delta)
            declined = 1 - released
        return method, _Forecast(released, declined, width, expected.loss)


def _loudness(family: Family) -> float:
    """Return the deviation of scores over the largest, beside that of the median."""
    if family.level is None:
        return 1.0
    return math.sqrt(family.level * (1 - family.level)) / family.most_residual


def _tukey(n: float, d: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Pass probability and width of TukeyEM for Gaussian models, with inference."""
    size = 3 * d + 2  # slopes, mean of y, means of x, their spreads; see methods/tukey_em.py
    plan = plan_tukey(n, d, size, (1 - _ASIDE_TUKEY) * epsilon, delta)
    # A method that takes its count for no more units than this declines.
    if math.isinf(plan.error) or plan.models * (d + 2) > most_units(_COUNT_TUKEY * epsilon):
        return 0.0, math.inf
    found = distance(plan.models, size, plan.epsilon_sample, plan.depth, delta)
    threshold = _core.release_threshold(plan.epsilon_test, delta)
    margin = found - threshold
    tail = _core.discrete_laplace_tail(abs(margin) + 1, plan.epsilon_test)
    scale = _scale(plan.models, size, plan.epsilon_sample, plan.depth)
    # A fit on b units has 1 / (1 - (d + 1) / b) times its share of the error; the ridge caps that.
    inflation = 1 / (1 - min((d + 1) * plan.models / n, _MOST_OVERLAP))
    width = scale * math.sqrt(plan.models * inflation)
    return (1 - tail if margin > 0 else tail), width


def _scale(models: int, dimension: int, epsilon: float, depth: int) -> float:
    """Standard deviation of a released coordinate, in that of one model."""
    from scipy import stats

    weights = box_weights(models, dimension, epsilon, depth)
    ranks = np.arange(depth, depth + len(weights))
    lower = np.minimum((ranks - 0.375) / (models + 0.25), 0.5)
    half = -stats.norm.ppf(lower)
    density = stats.norm.pdf(half)
    centre = lower / (2 * density**2) / models  # of the middle of two order statistics
    return math.sqrt(float(weights @ (centre + (2 * half) ** 2 / 12)))


def _least_units(of: _Model, d: int, epsilon: float, delta: float) -> int | None:
    if not of.forecast(_MOST_UNITS, d, epsilon, delta)[1].works:
        return None
    low, high = 1, _MOST_UNITS
    while high > low * 1.01 + 1:
        middle = max(low + 1, math.isqrt(low * high))
        works = of.forecast(middle, d, epsilon, delta)[1].works
        low, high = (low, middle) if works else (middle, high)
    return _two_digits(high)


def _least_epsilon(of: _Model, n: int, d: int, delta: float) -> float | None:
    if not of.forecast(n, d, 500.0, delta)[1].works:
        return None
    low, high = 1e-6, 500.0
    while high > low * 1.01:
        middle = math.sqrt(low * high)
        works = of.forecast(n, d, middle, delta)[1].works
        low, high = (low, middle) if works else (middle, high)
    return float(f"{high:.2g}") if float(f"{high:.2g}") >= high else float(f"{high * 1.05:.2g}")


def _two_digits(n: int) -> int:
    """Round up to two digits."""
    unit = int(10 ** max(0, len(str(n)) - 2))
    return -(-n // unit) * unit


def _count(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise unusable(name, f"an integer of at least {least}", value)
    return int(value)
