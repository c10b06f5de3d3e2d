"""`dp_effect`: average treatment effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpreg.base.families import Family
from dpreg.base.keywords import hinted
from dpreg.base.levels import Level
from dpreg.calls import about
from dpreg.calls.request import Request
from dpreg.calls.session import Payer, begin
from dpreg.calls.treatment import Arms, names_of_arms, options_of, with_bounds, with_treatment
from dpreg.data.bounds import Bounds
from dpreg.data.changed_rows import clipped
from dpreg.estimation.base import Declined
from dpreg.estimation.methods import BoostedAdaSSP
from dpreg.estimation.methods.effect import EffectRelease, TreatmentEffect
from dpreg.estimation.releases.accountant import releases_cost
from dpreg.privacy.bits import Rng
from dpreg.privacy.certificate import public_with
from dpreg.results.effect import DPEffect, Overlap
from dpreg.results.not_released import NotReleased

_RESTS_ON = {
    "regression": "the effect and its interval depend on the model of the outcome",
    "difference": "a difference in means is an effect only if treatment was randomised",
}
# Rows at the limits are worth a note from this share on.
_MANY = 0.02


@hinted("dp_effect")
def dp_effect(
    formula: str,
    data: Any,
    eps: float,
    delta: float | None = None,
    *,
    treatment: str,
    method: str = "aipw",
    family: str | Family = "gaussian",
    propensity: float | None = None,
    overlap: tuple[float, float] = (0.05, 0.95),
    levels: Mapping[str, Iterable[Level]] | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    budget: Payer | None = None,
    memory: float | None = None,
    rng: Rng | None = None,
) -> DPEffect | NotReleased:
    """Estimate the average effect of a treatment with differential privacy.

    Estimates the mean outcome if every row were treated, the mean outcome if none were, and their
    difference, with intervals that include sampling error and privacy noise.

    Parameters
    ----------
    formula : str
        ``"outcome ~ age + C(stage)"``: the outcome, and the covariates that affect both treatment
        and outcome; ``~ 1`` for none.
    treatment : str
        Column of the treatment: 0 or 1, False or True, or two levels declared in `levels`, the
        first of which is the control.  Rows with other values are dropped.
    method : {"aipw", "regression", "difference"}, default "aipw"
        ``"aipw"``: doubly robust scores, consistent if the model of the outcome or that of the
        treatment is right.  ``"regression"``: predictions by a model of the outcome in each arm,
        consistent if this model is right.  ``"difference"``: difference in means, for randomised
        trials, without covariates.
    family : {"gaussian", "binomial"}, default "gaussian"
        Family of the outcome.  ``"binomial"``: an outcome of 0 or 1, whose models are logistic; the
        effect is a difference of risks.
    propensity : float, optional
        For ``"aipw"``: the public probability of the treatment in a randomised trial, such as 0.5.
        Then no budget is spent on a model of the treatment, and if one arm has few rows, the model
        of the outcome has the same slopes in both arms.
    overlap : tuple of float, default (0.05, 0.95)
        For ``"aipw"``: public limits at which estimated probabilities of the treatment are clipped.
    data, eps, delta, levels, bounds, unit, max_rows, budget, memory, rng
        As for `dp_lm`.

    Returns
    -------
    DPEffect or NotReleased
        With `effect`, `se`, `conf_int`, `tidy`, `overlap` and `summary`.

    Raises
    ------
    ValueError
        For invalid arguments, before a record is read; it never depends on a record.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one unit
    public : formula, schema, levels, bounds and all options; not the number of rows in an arm
    proof : estimation/methods/effect.md

    Notes
    -----
    The outcome is regressed on covariates in both arms at once, the treatment on covariates by
    logistic regression, and the effect is the mean of doubly robust scores (Robins, Rotnitzky and
    Zhao, 1994), each a function of one row and of released coefficients.  Noise in these
    coefficients moves the effect to second order only; the standard error allows for that.

    The estimate relies on assumptions that the data cannot confirm: that all confounders are among
    the covariates, and that rows with any covariates may be treated or not.  For the latter,
    `DPEffect.overlap` has the noisy number of rows whose probability of treatment is at a limit;
    for these rows the effect depends on the model of the outcome.

    Scores are clipped as in `dp_lm`.  In tables of a few thousand rows whose outcomes are 0 for
    many and very large for a few, mean outcomes by ``"aipw"`` are those of clipped outcomes: for
    5,000 persons and their 0 to 77 visits to a doctor, both means were 2 to 4 standard errors too
    low, but the effect was not; ``"regression"`` and ``"difference"``, which spend more on each
    mean, were off by less than one standard error.

    References
    ----------
    Robins, Rotnitzky and Zhao (1994), "Estimation of regression coefficients when some regressors
    are not always observed"; Lin (2013), "Agnostic notes on regression adjustments to experimental
    data".

    Examples
    --------
    >>> import numpy as np, dpreg
    >>> rng = np.random.default_rng(1)
    >>> age = rng.uniform(40, 80, 20000)
    >>> drug = rng.random(20000) < 1 / (1 + np.exp((60 - age) / 20))
    >>> pressure = 90 + 0.8 * age - 5 * drug + rng.normal(0, 10, 20000)
    >>> d = {"pressure": pressure, "drug": drug, "age": age}
    >>> found = dpreg.dp_effect("pressure ~ age", d, 1.0, treatment="drug", rng=1)
    >>> bool(abs(found.effect + 5) < 1)
    True
    """
    arms = Arms(treatment, method, propensity, overlap)
    asked = Request.of("dp_effect", locals(), {"method": arms})
    session = begin(asked, data)
    spending, claim = session.allowance, (session.allowance.epsilon, session.allowance.delta)
    options = options_of(asked)
    problem = session.pose(with_treatment(formula, treatment, data))
    terms = with_bounds(problem.terms, asked, problem)
    BoostedAdaSSP().check(terms, *claim, inference=True)
    receipt = session.pay(method, releases_cost(*claim), options.max_rows)

    with receipt.running():
        design = clipped(replace(problem.design(session.memory), terms=terms))
        outcome = options.release(design, spending)

    privacy, unwritten = receipt.settle(
        f"treatment effect by {method}",
        "Gaussian (GDP)",
        outcome.parts,
        public_with({**terms.data_bounds, **terms.bounds}),
        declined=isinstance(outcome, Declined),
    )
    label = str(asked.formula)
    if isinstance(outcome, Declined):
        return NotReleased(
            formula=label, method=method, reason=outcome.reason, advice=outcome.advice,
            units=outcome.units, privacy=privacy,
        )  # fmt: skip
    notes = (
        *about.privacy(*claim, outcome.units / options.max_rows),
        *unwritten,
        *_about_estimate(outcome, options),
        *about.columns(problem.schema),
        *about.rows(unit, options.max_rows, "max_rows= allows more, with more noise"),
        *about.stratum(session.payer.stratum, unit),
    )
    return DPEffect(
        formula=label,
        treatment=treatment,
        response=terms.response,
        arms=names_of_arms(asked, problem),
        method=method,
        family=options.family.name,
        covariates=terms.names[1:],
        means=outcome.means,
        covariance=outcome.covariance,
        sampling=outcome.sampling,
        units=outcome.units,
        treated=outcome.treated,
        overlap=_overlap(outcome, options),
        propensity=options.propensity if outcome.propensity is None else outcome.propensity,
        privacy=privacy,
        notes=notes,
    )


def _overlap(found: EffectRelease, options: TreatmentEffect) -> Overlap | None:
    if found.at_limits is None:
        return None
    return Overlap(found.at_limits, found.deviation, max(found.units, 1.0), *options.overlap)


def _about_estimate(found: EffectRelease, options: TreatmentEffect) -> tuple[str, ...]:
    """Say what the effect depends on, from released numbers."""
    notes = list(dict.fromkeys(found.notes))
    if not np.isfinite(found.covariance).all():
        notes.insert(0, (
            "the standard error of the effect is not estimable at this eps, because some "
            "coefficients of its models are not; use fewer covariates, more rows or a larger eps"
        ))  # fmt: skip
    elif found.longer:
        notes.append(
            "some coefficients of the models are not estimable at this eps, which widens the "
            "interval; fewer covariates, more rows or a larger eps make it narrower"
        )
    overlap = _overlap(found, options)
    if overlap is not None and overlap.rows - 2 * overlap.std_err > _MANY * found.units:
        low, high = options.overlap
        notes.insert(0, (
            f"about {overlap.share:.0%} of the rows have an estimated probability of treatment of "
            f"at most {low:g} or at least {high:g}: for these the effect depends on the model of "
            "the outcome"
        ))  # fmt: skip
    if options.estimator in _RESTS_ON:
        notes.append(_RESTS_ON[options.estimator])
    return tuple(notes)
