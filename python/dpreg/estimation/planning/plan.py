"""`dp_plan`: what a private regression will give, before any data is touched."""

from __future__ import annotations

from dpreg.base.errors import ArgumentError, BudgetError, Choice, leave_out, unusable, write
from dpreg.base.families import Family, family_from, with_link
from dpreg.base.keywords import hinted
from dpreg.estimation.planning.auto import TABULATED, WITH_INFERENCE
from dpreg.estimation.planning.fit_plan import Plan
from dpreg.estimation.planning.forecast import Model
from dpreg.estimation.planning.model_plan import ModelPlan, Study, model_plan
from dpreg.estimation.planning.question import answer
from dpreg.privacy.checks import check_delta

_METHODS = ("auto", *TABULATED, "moments")


@hinted("dp_plan")
def dp_plan(
    n: int | None = None,
    d: int | None = None,
    eps: float | None = None,
    delta: float = 1e-5,
    *,
    effect: float | None = None,
    power: float | None = None,
    method: str = "auto",
    family: str | Family = "gaussian",
    link: str | None = None,
    events: int | None = None,
    event_rate: float | None = None,
    classes: int | None = None,
    treated: float | None = None,
) -> Plan | ModelPlan:
    """Compute the expected accuracy of a private regression, and which slopes it detects.

    With `n` and `eps`, a plan has the smallest slope that is detected with `power`, or the power
    for a slope of size `effect`.  With `effect` and `power` but without `n` (or `eps`), it has the
    smallest `n` (or `eps`) that is enough.

    Parameters
    ----------
    n : int, optional
        Number of units.  It must be public; a guess is enough.
    d : int
        Number of regressors; a category with 8 levels counts as 7.
    eps : float, optional
    delta : float
        As in `dp_lm`.
    effect : float, optional
        Size of a slope, standardised: the slope times the standard deviation of its regressor, over
        the standard deviation of the residuals.  Regressors are exchangeable and uncorrelated.
        Linear models; for others see `family`.
    power : float, optional
        Probability that a slope of this size is significantly different from 0 in the two-sided 5%
        test; greater than 0.05 and less than 1.  If neither it nor `effect` is given, 0.8.
    method : {"auto", "tukey", "adassp", "boosted_adassp", "moments"}
        ``"moments"``: any one model from a release of `dp_moments` with d + 1 columns.  To compare
        with five calls of `dp_lm`, plan one with eps / 5.
    family : str or Family, default "gaussian"
        As in `dp_glm`; the others than ``"gaussian"`` are fitted by ``"boosted_adassp"``.
        ``"survival"`` plans `dp_survival`: then `effect` is the hazard ratio of one standard
        deviation of a covariate, and `d` the number of covariates; each interval beyond six counts
        as one more.  ``"ordinal"`` and ``"multinomial"`` plan `dp_ordinal` and `dp_multinomial`:
        `effect` is the slope for one standard deviation of a regressor, in log odds of a higher
        class, or of a class against the baseline.  ``"effect"`` plans `dp_effect`: `effect` is that
        of the treatment, in standard deviations of the residuals of the outcome.
    link : {"logit", "probit", "cloglog"}, optional
        As in `dp_glm`.
    events : int, optional
        For survival, the number of events, which determines the accuracy; or give `n` and
        `event_rate`.
    event_rate : float, optional
        For survival, the share of persons with an event; with `events` 0.5 by default.
    classes : int, optional
        Number of classes, for ordinal and multinomial.
    treated : float, default 0.5
        Share of units that are treated, for effect.

    Returns
    -------
    Plan, or ModelPlan for survival, ordinal, multinomial and effect

    Raises
    ------
    ArgumentError
        If not exactly one of `n`, `eps`, `effect` and `power` is left to be computed, or if no `n`
        up to 10^9 or `eps` up to 500 is enough.

    Notes
    -----
    Plans interpolate tables that come with the package; see `auto`, `tabulated` and `tukey` in
    `dpreg.estimation.planning`.  No data are used, so no budget is spent.

    The power is that of a normal estimate whose standard error is `width` times that of least
    squares, if the slope is released.  For regressors and errors that are roughly normal, widths of
    default fits are accurate to about 15%. If a regressor is correlated with the others, its slope
    has a larger standard error, by the root of its variance inflation factor: divide `effect` by
    it.

    Binomial responses of the table are 0 and 1 equally often.  n units of which a share s have
    response 1 are equivalent to about 4 s (1 - s) n such units.  A probit is planned as a logit:
    their widths relative to fits without privacy are about equal for s = 1/2 and differ by at most
    10% for s = 1/20.  So is a complementary log-log link.  Gamma and negative binomial responses
    are planned as Poisson ones: with 10,000 to 100,000 units and 2 or 20 regressors their widths
    were 0.8 to 1.6 times as large.

    Without privacy a log hazard ratio has the standard error 1 / sqrt(events) for one standard
    deviation of a covariate; for a binary covariate that a share s of persons has, `effect` is the
    hazard ratio to the power sqrt(s (1 - s)).

    Widths for classes and treatment effects come from tables at eps = 1.  In 27 other settings
    actual widths were 0.77 to 1.04 times as large.

    Classes are equally frequent, and slopes are small.  Without privacy a slope then has the
    standard error sqrt(3 / (n (1 - 1 / K^2))) for K ordered classes and sqrt(2 K / n) for one class
    against the baseline.  For classes with shares p write, instead of n, about
    n (1 - sum p^3) / (1 - 1 / K^2) if they are ordered, or else 2 K n / (1 / p_0 + 1 / p_k) for
    class k and baseline 0.  Standard errors of six such designs were 0.97 to 1.12 times as large as
    planned.

    A treatment effect is the same for all, treatment does not depend on the covariates, and without
    privacy its standard error is 1 / sqrt(n s (1 - s)) for a share s of treated units.  Without
    covariates write ``d=1``.  Where treatment depends on covariates, errors are larger, by the root
    of the variance inflation factor of the treatment: divide `effect` by it.

    Examples
    --------
    >>> import dpreg
    >>> dpreg.dp_plan(n=50_000, d=10, eps=1.0).method
    'boosted_adassp'
    >>> dpreg.dp_plan(n=50_000, d=10, eps=1.0, effect=0.1).power > 0.9
    True
    >>> dpreg.dp_plan(d=10, eps=1.0, effect=0.1, power=0.8).n < 50_000
    True
    """
    delta = check_delta(delta)
    if delta == 0:
        raise BudgetError("delta", "regressions need delta > 0", write("delta", 1e-6))
    study = Study(family, classes, treated, events, event_rate)
    if study.check():
        if method not in ("auto", WITH_INFERENCE):
            problem = f"{method!r} is not planned for {family}"
            raise ArgumentError("method", problem, write("method", "auto"))
        if link is not None:
            raise ArgumentError("link", f"is not for {family}", leave_out("link"))
        return model_plan(study, n, d, eps, delta, effect=effect, power=power)
    if method not in _METHODS:
        raise unusable("method", ("one of ", Choice(_METHODS), " to be planned"), method)
    of = Model(method, with_link(family_from(family), link))
    asked = answer(of, n, d, eps, delta, effect=effect, power=power)
    found = asked.found
    return Plan(
        n=asked.n, d=asked.d, eps=asked.eps, delta=delta, method=of.used,
        released=float(found.released), declined=float(found.declined), width=float(found.width),
        loss=float(found.loss), least_n=of.least_units(asked.d, asked.eps, delta),
        least_eps=of.least_epsilon(asked.n, asked.d, delta), effect=asked.effect,
        power=asked.power, solved=asked.solved, family=of.family,
    )  # fmt: skip
