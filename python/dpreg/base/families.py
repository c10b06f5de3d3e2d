"""Families of regression models: what a fit, its errors and predictions need of each.

Public functions of public numbers; none reads a record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles
from dpreg.base.errors import (
    Choice,
    Options,
    Setting,
    Words,
    closest,
    leave_out,
    unusable,
    write,
)
from dpreg.base.options import is_number

Loss = Literal[
    "squared", "logistic", "probit", "cloglog", "poisson", "counting", "gamma",
    "negative_binomial", "quantile",
]  # fmt: skip

# The dispersion of a negative binomial.
LEAST_ALPHA, LARGEST_ALPHA = 1e-3, 1e3
# Where the density of the standard normal law is 0 in doubles; squares farther out may overflow.
_VANISHED = 40.0
# Where a mean of the complementary log-log link is its linear predictor's exponential, and 1.
_FLAT = (-700.0, 6.6)


@dataclass(frozen=True, slots=True)
class Family:
    """A family with its link, named as statsmodels and R name them."""

    _optional: ClassVar[str] = "alpha"

    name: str  # One of "gaussian", "binomial", "poisson", "gamma", "negativebinomial", "quantile".
    link: str  # One of "identity", "logit", "probit", "cloglog", "log".
    # Of a row: minus the logarithm of its likelihood, or what stands for it.  Those of a probit and
    # of a complementary log-log link are the ones with derivative `mean` - response: the
    # likelihood's have no bound.
    loss: Loss
    level: float | None = None  # Of the quantile; None for all others.
    # Dispersion of the negative binomial, whose variance is mean + alpha mean^2; None for all
    # others, and where it is to be estimated.
    alpha: float | None = None

    @property
    def least_squares(self) -> bool:
        """True: the fit is that of `dp_lm`."""
        return self.loss == "squared"

    @property
    def standardised(self) -> bool:
        """True: the linear predictor is in units of the response, and may be scaled with it."""
        return self.link == "identity"

    @property
    def events(self) -> bool:
        """True: responses are 0 and 1, or counts, and few of them may be above 0."""
        return self.name in ("binomial", "poisson", "negativebinomial")

    @property
    def dispersed(self) -> bool:
        """True: the dispersion is to be estimated."""
        return self.name == "negativebinomial" and self.alpha is None

    @property
    def response(self) -> tuple[float, float] | None:
        """Public limits of the response, to which it is clipped; None: they are found."""
        return (0.0, 1.0) if self.name == "binomial" else None

    @property
    def counting(self) -> bool:
        """True: rows of a unit follow each other in time, with an event at the end of one."""
        return self.loss == "counting"

    @property
    def most_residual(self) -> float:
        """No residual is larger, nor that of an event."""
        if self.level is not None:
            return max(self.level, 1 - self.level)
        return 1.0 if self.name == "binomial" or self.counting else math.inf

    @property
    def label(self) -> str:
        """As a summary has it."""
        if self.name == "negativebinomial":
            known = "" if self.alpha is None else f" ({self.alpha:.3g})"
            return f"NegativeBinomial{known}"
        return self.name.capitalize() if self.level is None else f"Quantile {self.level:g}"

    def mean(self, predictor: Doubles) -> Doubles:
        """Return the mean response (the quantile) at linear predictors: the inverse link."""
        if self.link == "logit":
            return np.asarray(0.5 * (1 + np.tanh(0.5 * predictor)))
        if self.link == "probit":
            return np.asarray(special.ndtr(predictor))
        if self.link == "cloglog":
            return np.asarray(-np.expm1(-np.exp(np.clip(predictor, *_FLAT))))
        if self.link == "log":
            with np.errstate(over="ignore"):
                return np.exp(predictor)
        return np.asarray(predictor)

    def predictor(self, mean: float) -> float:
        """Return the linear predictor at a mean response: the link."""
        if self.link == "logit":
            return math.log(mean / (1 - mean))
        if self.link == "probit":
            return float(special.ndtri(mean))
        if self.link == "cloglog":
            return math.log(-math.log1p(-mean))
        return math.log(mean) if self.link == "log" else mean

    def slope(self, predictor: Doubles) -> Doubles:
        """Return the derivative of `mean`."""
        if self.link == "identity":
            return np.ones_like(predictor)
        if self.link == "probit":
            inside = np.clip(predictor, -_VANISHED, _VANISHED)
            return np.asarray(np.exp(-0.5 * np.square(inside)) / math.sqrt(2 * math.pi))
        if self.link == "cloglog":
            rate = np.exp(np.clip(predictor, *_FLAT))
            return np.asarray(rate * np.exp(-rate))
        mean = self.mean(predictor)
        return np.asarray(mean * (1 - mean)) if self.link == "logit" else mean

    def weight(self, predictor: Doubles) -> Doubles:
        """Return what residuals are multiplied by in the score."""
        if self.name == "gamma":
            return np.exp(-predictor)
        if self.alpha is not None:
            return np.asarray(1 / (1 + self.alpha * self.mean(predictor)))
        return np.ones_like(predictor)

    def curvature(self, predictor: Doubles, mean: Doubles | None = None) -> Doubles:
        """Return minus the derivative of the expected score, per row.

        mean: of the response; by default that at `predictor`.
        """
        if mean is None:
            return np.asarray(self.slope(predictor) * self.weight(predictor))
        if self.name == "gamma":
            return np.asarray(mean * self.weight(predictor))
        if self.alpha is not None:
            weight = self.weight(predictor)
            return np.asarray(self.slope(predictor) * weight * (1 + self.alpha * mean) * weight)
        return self.slope(predictor)

    def variance(self, mean: Doubles) -> Doubles:
        """Return the variance of the response at a mean, over the dispersion of a gamma family."""
        if self.name == "binomial":
            return np.asarray(mean * (1 - mean))
        if self.name == "gamma":
            return np.square(mean)
        if self.link != "log":
            return np.ones_like(mean)
        return mean if self.alpha is None else np.asarray(mean * (1 + self.alpha * mean))

    def bend(self, predictor: Doubles) -> Doubles:
        """Return the second derivative of `mean`."""
        if self.link == "identity":
            return np.zeros_like(predictor)
        if self.link == "probit":
            inside = np.clip(predictor, -_VANISHED, _VANISHED)
            return np.asarray(-inside * self.slope(inside))
        if self.link == "cloglog":
            return np.asarray((1 - np.exp(np.clip(predictor, *_FLAT))) * self.slope(predictor))
        mean = self.mean(predictor)
        return np.asarray(mean * (1 - mean) * (1 - 2 * mean)) if self.link == "logit" else mean


GAUSSIAN = Family("gaussian", "identity", "squared")
BINOMIAL = Family("binomial", "logit", "logistic")
PROBIT = Family("binomial", "probit", "probit")
CLOGLOG = Family("binomial", "cloglog", "cloglog")
POISSON = Family("poisson", "log", "poisson")
# Poisson, where the rows of a unit follow each other in time and each event is at the end of a row.
COUNTING = Family("poisson", "log", "counting")
GAMMA = Family("gamma", "log", "gamma")


def NegativeBinomial(alpha: float | None = None) -> Family:  # noqa: N802
    """Return the negative binomial family, link log.

    Parameters
    ----------
    alpha : float, optional
        In [0.001, 1000]: the variance is mean + alpha mean^2; 1 / theta of R's
        ``MASS::negative.binomial(theta)``.  Coefficients are consistent and standard errors valid
        for any alpha; they are smallest at the true one.  By default alpha is estimated, for 5% of
        the squared mu of the fit.

    Raises
    ------
    ValueError
        For another `alpha`.

    Examples
    --------
    >>> import numpy as np, dpreg
    >>> rng = np.random.default_rng(1)
    >>> d = {"x": rng.random(20_000), "visits": rng.negative_binomial(2, 0.4, 20_000)}
    >>> fit = dpreg.dp_glm("visits ~ x", d, 1.0, family=dpreg.NegativeBinomial(alpha=0.5))
    >>> fit.params.index.tolist()
    ['Intercept', 'x']
    """
    if alpha is not None:
        if not is_number(alpha) or not LEAST_ALPHA <= alpha <= LARGEST_ALPHA:
            raise unusable("alpha", "a number in [0.001, 1000]", alpha)
        alpha = float(alpha)
    return Family("negativebinomial", "log", "negative_binomial", alpha=alpha)


FAMILIES = {
    family.name: family for family in (GAUSSIAN, BINOMIAL, POISSON, GAMMA, NegativeBinomial())
}


def Quantile(q: float = 0.5) -> Family:  # noqa: N802
    """Return the family of a quantile regression.

    Parameters
    ----------
    q : float, default 0.5
        In [0.01, 0.99]; 0.5 is the median.

    Raises
    ------
    ValueError
        For another `q`.

    Examples
    --------
    >>> import dpreg
    >>> d = dpreg.load_diamonds()
    >>> fit = dpreg.dp_glm("price ~ carat", d, 1.0, 1e-6, family=dpreg.Quantile(0.9))
    >>> fit.params.index.tolist()
    ['Intercept', 'carat']
    """
    if not is_number(q) or not 0.01 <= q <= 0.99:
        raise unusable("q", "a number in [0.01, 0.99]", q, write("q", 0.9))
    return Family("quantile", "identity", "quantile", float(q))


def with_link(family: Family, link: object) -> Family:
    """Return a family with another link than its canonical one; None: that one."""
    if link is None or link == family.link:
        return family
    known = (BINOMIAL, PROBIT, CLOGLOG) if family.name == "binomial" else ()
    links = {one.link: one for one in known}
    if isinstance(link, str) and link in links:
        return links[link]
    wanted = (Choice(tuple(links) or (family.link,)), f" for a {family.name} family")
    raise unusable("link", wanted, link, leave_out("link"))


# What the families are called elsewhere.
_OTHER_NAMES = {
    **dict.fromkeys(("logit", "logistic", "bernoulli", "quasibinomial"), "binomial"),
    **dict.fromkeys(("nb", "negbin", "nbinom", "nbinom2"), "negativebinomial"),
    **dict.fromkeys(("normal", "ols", "linear"), "gaussian"),
    **dict.fromkeys(("inverse.gaussian", "inverse_gaussian", "lognormal"), "gamma"),
    **dict.fromkeys(("count", "counts", "quasipoisson"), "poisson"),
    "median": "quantile",
}
# Models that have a function and a command of their own, and no family.
_MODELS = {
    **dict.fromkeys(("multinomial", "categorical", "mnlogit", "softmax"), "multinomial"),
    **dict.fromkeys(("ordinal", "ordered", "cumulative", "polr"), "ordinal"),
    **dict.fromkeys(("cox", "coxph", "survival"), "survival"),
}


def family_from(family: object) -> Family:
    """Return the family that an argument stands for."""
    if isinstance(family, Family):
        return family
    if family is Quantile or family is NegativeBinomial:
        return Quantile() if family is Quantile else NegativeBinomial()
    known = {**FAMILIES, "quantile": Quantile()}
    if isinstance(family, str) and family in known:
        return known[family]
    example = Options("family", "quantile", "Quantile", {"q": 0.9})
    wanted = ("one of ", Choice(tuple(known)), " or ", example)
    raise unusable("family", wanted, family, *_meant_by(family, known))


def _meant_by(family: object, known: Iterable[str]) -> tuple[Words, ...]:
    """Return what to write instead of a family that there is not."""
    if not isinstance(family, str):
        meant = closest(type(family).__name__, known)  # an object of statsmodels
        return () if meant is None else (write("family", meant),)
    name = family.lower()
    if name in _MODELS:
        own = _MODELS[name]
        return (f"this model is dp_{own}(), and dpreg {own} in a shell",)
    if name in (PROBIT.link, CLOGLOG.link):
        return ((*write("family", BINOMIAL.name), " and ", Setting("link", name)),)
    meant = _OTHER_NAMES.get(name) or closest(name, known)
    if meant is None:
        return ()
    robust = (", whose standard errors allow for overdispersion",)
    return ((*write("family", meant), *(robust if name.startswith("quasi") else ())),)
