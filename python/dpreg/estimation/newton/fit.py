"""Least squares and generalised linear models with standard errors, from few noisy sums.

Releases in order, with their shares of the squared mu:

- the number of rows (.003), and of rows with an event for binary responses and counts; counts of
  signs and orders of magnitude of each column, and of bins of columns far from 0, with noise of a
  fortieth of the rows; again (.03) for columns that are nearly always 0, which are treated as
  levels, for rows that two of them share (.03), and for rare levels (.03);
- second moments of rows with their residual, for slopes and for coordinates in which rows have unit
  variance: with noise of half of that variance, and again while a direction is hidden by noise;
- counts of units by the norm of their score, and of rows by their norm, for clipping thresholds;
  once and with less noise for amounts and for a mean, as few of them have a tail;
- for a quantile, counts of rows by residual, and by mean if there are many rows (.03 to .12);
- for a generalised linear model, a score at the slopes implied by least squares (Stein's lemma);
  for a quantile, three;
- second moments of unclipped rows with the weights of the family, the curvature; not for least
  squares if hardly any row was clipped before and noise was small;
- scores, each of which corrects the curvature along its step, until errors of the curvature are
  small relative to the noise of the last score, which gets the remaining budget;
- for binary responses, the curvature at the solution if scores imply that it is lower than before;
- second moments of scores, for standard errors.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpreg.base.families import Family
from dpreg.estimation.base import Declined, Release
from dpreg.estimation.inference.covariance import EstimateError, plausible_moments
from dpreg.estimation.inference.estimand import CLIPPED, Estimand
from dpreg.estimation.newton.at_quantile import begun_at_quantile
from dpreg.estimation.newton.at_root import (
    curvature_there,
    followed,
    followed_curvature,
    for_followed,
    is_flatter,
)
from dpreg.estimation.newton.curvature import (
    PRODUCTS,
    expected,
    is_measured,
    left_for_scores,
    may_go_on,
    measured,
    score_rows,
)
from dpreg.estimation.newton.errors import Fit, bent, newton_errors, with_products
from dpreg.estimation.newton.first_counts import NORMS, asking, first_norms
from dpreg.estimation.newton.groups import groups
from dpreg.estimation.newton.levels import Beginning, beginning, beside_left_out
from dpreg.estimation.newton.limits import Limits, of_few
from dpreg.estimation.newton.linearised import (
    LEAST_RESIDUAL,
    Linearised,
    linearised,
    response_units,
)
from dpreg.estimation.newton.newton import first_score, newton, newton_known, newton_small
from dpreg.estimation.newton.norm_tail import ScoreCut
from dpreg.estimation.newton.resumed import resumed_whitening, start_from, started_anew
from dpreg.estimation.newton.rounds import Rounds
from dpreg.estimation.newton.row_lengths import row_lengths
from dpreg.estimation.newton.secant import Observation, Path
from dpreg.estimation.newton.whitening import whiten
from dpreg.estimation.newton.working_model import range_note
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.standardised import Standardised

# Assumed error of the entries of a curvature that was guessed or measured, since it changes on the
# way to the solution.  Without these .87 of the intervals of a logistic regression of 5,000 rows
# with twelve levels covered instead of .95.
_GUESSED, _MEASURED = 0.2, 0.1
# It is smaller in more coordinates than this, so that the error along any direction is the same.
# Without it errors of five models of 15 to 40 columns and 20,000 rows were 1.08 to 1.16 times as
# large; .97 of their intervals covered in both cases.
_ALONG = 6
# Relative change of the curvature of a family when linear predictors change by 1.
_BENT = 0.5
# Number of scores of a quantile before its curvature is released, which differs at the start.  With
# 1 .83 of the outer deciles of wages and incomes were covered instead of .97, and .15 had no error
# instead of .10.
_BEFORE = 3
# Steps shorter than this share of the sampling error are not used to correct the curvature.
# Without it the sampling error of an intercept of 50,000 rows at eps = 100 was 1.35 times that of
# maximum likelihood.
_STILL = 0.5


def newton_fit(begun: Standardised, start: Beginning | None = None) -> Release | Declined:
    """Fit a family with errors.

    start: released coordinates of rows; None: those implied by counts of levels.

    Privacy
    -------
    guarantee : the remaining budget of `begun`
    proof : newton.md
    """
    units, terms, small = begun.telling_units, begun.design.terms, begun.few_rows
    standard = replace(begun, units=response_units(units, begun.scales))
    resumed = None
    if begun.start is not None:
        resumed = resumed_whitening(standard)
        if resumed is None:
            return started_anew(begun, newton_fit)
    if resumed is None or resumed.unseen.shape[1]:
        # Scales of a start have no counts of levels.
        first = start or beginning(
            terms, begun.scales, standard.units, small=small, counted=begun.start is None
        )
        found, resumed = whiten(standard, first), None
    else:
        found = resumed
    fit = None
    if found.width:
        model = linearised(terms, begun.scales, units, found)
        if begun.rare is not None:
            event, share = begun.rare
            model = replace(model, event=event, share=share, longest=event)
        if begun.scales.amounts is not None:
            event = begun.scales.amounts.value / float(begun.scales.scale[-1])
            model = replace(model, event=event, amounts=True)
        begun = begun.of(model.family)
        terms = begun.design.terms
        if small:
            fit = _small(begun, model, alike=start is None and begun.noise.rows > 1)
        else:
            fit = _large(begun, model) if resumed is None else _resumed(begun, model)
    if fit is None:
        return begun.not_estimable()
    beside = None
    if begun.start is None and start is None:
        beside = beside_left_out(begun.design.terms, begun.scales, units, small=small)
    error = straight = newton_errors(fit, begun, beside)
    if not terms.family.standardised:
        error = bent(error, fit, begun)
    d = len(terms.regressors)
    # Means of the response have the errors of scores, even if those of coefficients are longer.
    moments = plausible_moments(straight, units.to_user(d), begun.scales.trusted[[*range(d), -1]])
    return replace(ended(begun, fit, error), moments=moments)


def scored(begun: Standardised, model: Linearised, limit: float) -> Fit:
    """Release scores of units with one threshold, if the curvature at their solution is known.

    The mean square of scores is 1 for each of `begun.scales.units`.
    """
    n, found = begun.scales.units, model.found
    rows, norm = score_rows(begun, model, 0.0, kept=True), math.sqrt(found.squares)
    doubt = found.moments.doubt
    path = Path(found.sizes, doubt, found.theta, bent=2 * _BENT, still=math.inf)
    limits = Limits(limit, None, norm, norm**2 * n, found.squares)
    rounds = Rounds(rows, path, n, begun.noise, limits, model)
    share = for_followed(begun, model)
    newton_known(rounds, left_for_scores(begun) - share)
    fit = with_products(rounds, 0.0)
    left = followed(fit, n)
    path.curvature = left @ path.curvature @ left
    if not share:
        return fit
    fit = replace(fit, expected=path.curvature)
    path.settle(followed_curvature(rounds, share))
    return fit


def ended(begun: Standardised, fit: Fit, error: EstimateError) -> Release:
    """Return the release of the end of a path."""
    terms, theta = begun.design.terms, fit.model.found.change @ fit.path.theta
    # Events are 0 and 1, so limits of counts do not apply.
    notes = () if terms.family.counting else range_note(terms.family, begun.scales)
    release = begun.released(theta, begun.telling_units, error, notes)
    if terms.family.counting:
        release = replace(release, clipping=None)
    tail = fit.limits.tail
    cut = None if tail is None else tail.cut(fit.limits.limit)
    times = (fit.rows.limit / fit.model.usual, fit.limits.limit / fit.limits.norm)
    start = None
    if terms.family.least_squares:
        start = start_from(begun, fit.model.found, fit.path, fit.limits.squares, fit.top)
    return replace(release, estimand=estimand(*times, cut, terms.family, release), start=start)


def _walk(
    begun: Standardised, model: Linearised, rows: MappedRows, limits: Limits, guess: float,
    seen: Observation | None = None,
) -> Rounds:  # fmt: skip
    """Return the path of scores from the start of a model.

    guess: assumed error of the entries of the curvature of a family.
    seen: a score that was released before.
    """
    found, known, units = model.found, model.family.link == "identity", begun.scales.units
    of = groups(begun, model)
    doubt = found.moments.doubt
    if not known:
        entry = 2 * guess**2 * min(_ALONG / found.width, 1.0)
        doubt = doubt.beside(np.full_like(found.moments.matrix, entry))
    residual = math.sqrt(max(model.squares, 0.0))
    still = _STILL * residual / math.sqrt(units)
    bent = 0.0 if known else _BENT / model.curved
    told = found.levels if of is not None and of.levels.any() else None
    path = Path(
        found.sizes, doubt, found.theta, bent=bent, still=still, residual=residual, told=told
    )
    if seen is not None:
        path.add(seen)
    return Rounds(rows, path, units, begun.noise, limits, model, of)


def _small(begun: Standardised, model: Linearised, *, alike: bool) -> Fit:
    """Return the path of two scores.

    alike: rows of a unit may be correlated, which second moments of rows do not show.  Without
        products of scores .75 of the intervals of 600 persons with five rows each covered instead
        of .83; for classes they left too little for the steps of 20,000 persons with up to 60 rows.
    """
    rows = score_rows(begun, model, 0.0, kept=True)
    counted = first_norms(begun, model, rows, None, begun.left - begun.tail_share)
    left, residual = begun.left - begun.tail_share, max(model.squares, LEAST_RESIDUAL)
    # The score of a unit is the sum of those of its rows.
    ends = model.longest < math.inf and begun.noise.rows == 1
    first = of_few(counted, residual, begun.scales.units, begun.noise.share(left), ends=ends)
    rounds = _walk(begun, model, rows, first, _GUESSED)
    share = min(PRODUCTS, left / 4) if alike else 0.0
    newton_small(rounds, left - share)
    if share:
        return with_products(rounds, 0.0, share)
    return Fit(model, rounds.path, first, rows, 0.0, None, math.inf)


def _large(begun: Standardised, model: Linearised) -> Fit | None:
    model = begun_at_quantile(begun, model)
    lengths = row_lengths(begun, model.found.rows, model.usual, NORMS)
    top = lengths.top
    # Then all scores use the same rows, which are made once.
    kept = is_measured(model, top)
    rows = score_rows(begun, model, top, kept=kept)
    first = first_norms(begun, model, rows, lengths, left_for_scores(begun))
    if kept:
        return _rounds(begun, model, top, rows, first)
    seen = None
    if not model.family.least_squares:
        rounds = _walk(begun, model, rows, first, _GUESSED)
        first_score(rounds, left_for_scores(begun))
        while may_go_on(begun, model) and len(rounds.path.observations) < _BEFORE:
            first_score(rounds, left_for_scores(begun))
        seen = rounds.path.observations[-1]
        model = replace(model, found=replace(model.found, theta=rounds.path.theta))
    before = model.found.change
    model = measured(begun, expected(begun, model), top)
    if not model.found.width:
        return None
    by = np.asarray(np.linalg.lstsq(before, model.found.change, rcond=None)[0])
    if seen is not None:
        seen = seen.turned(by)
    if model.family.level is not None:
        # Coordinates with less curvature are longer, and so may rows and scores be.  Without this
        # .70 and .55 of the intervals for 50% and 75% quantiles of price by carat covered instead
        # of .90, 20,000 rows.  For binary responses errors were up to 5 times as large with it.
        longer = float(np.linalg.norm(by, 2))
        top, first = top * longer, replace(first, most=first.most * longer)
    rows = score_rows(begun, model, top, kept=True)
    return _rounds(begun, model, top, rows, first, seen)


def _resumed(begun: Standardised, model: Linearised) -> Fit:
    """Continue from a start whose second moments still hold."""
    assert begun.start is not None
    top = begun.start.longest
    rows = score_rows(begun, model, top, kept=True)
    first = first_norms(begun, model, rows, None, left_for_scores(begun))
    return _rounds(begun, model, top, rows, first)


def _rounds(
    begun: Standardised, model: Linearised, top: float, rows: MappedRows, first: Limits,
    seen: Observation | None = None,
) -> Fit:  # fmt: skip
    rounds = _walk(begun, model, rows, first, _MEASURED, seen)
    rounds.limits = replace(first, groups=asking(model, rounds.groups))
    newton(rounds, left_for_scores(begun))
    if not is_flatter(rounds):
        return with_products(rounds, top)
    rounds.path.end(curvature_there(rounds))
    return with_products(rounds, top, PRODUCTS / 2)


def estimand(
    rows: float, scores: float, cut: ScoreCut | None, family: Family, release: Release
) -> Estimand:
    """Return the estimand of `release`, and the possible effect of clipping on it.

    Everything here is public: thresholds, noisy counts and released values.

    rows, scores: clipping thresholds of their norms, as multiples of the typical norm.
    cut: the clipped part of scores; None: scores are stopped instead.
    release: with its covariance and `clipping`.
    """
    target = _without_limits(family)
    if cut is None:  # scores are stopped; the omitted part has mean 0 if the model holds
        return Estimand(f"early-censored {target}", rows, scores)
    effect = _largest_effect(release) if cut.units > 0 else 0.0
    return Estimand(CLIPPED + target, rows, scores, cut.units, effect, cut.surely)


def _without_limits(family: Family) -> str:
    if family.least_squares:
        return "least squares"
    if family.level is not None:
        return f"quantile regression ({family.level:g})"
    unbounded = family.link in ("probit", "cloglog")  # likelihoods
    return "unweighted score equations" if unbounded else "maximum likelihood"


def _largest_effect(release: Release) -> float | None:
    """Return the largest estimated effect of clipping on a coefficient, in standard errors.

    None: no coefficient has an error.
    """
    if release.covariance is None or release.clipping is None:
        return 0.0
    errors = np.sqrt(np.diag(release.covariance))
    if np.isnan(errors).all():
        return None
    known = errors > 0
    return float(np.max(release.clipping[known] / errors[known], initial=0.0))
