"""Models of classes: units of covariates and class shares from records, then Newton steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.errors import Argument
from dpreg.base.families import GAUSSIAN
from dpreg.base.passes import expect
from dpreg.data.class_likelihoods import (
    CumulativeLikelihood,
    Likelihood,
    MultinomialLikelihood,
    RowsOfStep,
)
from dpreg.data.classes import Baseline, Ordered
from dpreg.data.design import Design, Terms
from dpreg.data.expanded import expanded
from dpreg.estimation.base import Allowance, Declined, Release
from dpreg.estimation.inference.effect import LEAST_CHANCE
from dpreg.estimation.methods.class_walk import Walk
from dpreg.estimation.methods.effect_stages import Stages
from dpreg.estimation.newton.fit import newton_fit
from dpreg.estimation.newton.levels import Beginning, beginning
from dpreg.estimation.newton.rounds import newton_passes
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.column_scaling import SCALING_PASSES
from dpreg.estimation.releases.rows import most_weight, standard_units
from dpreg.estimation.releases.scaling import regressor_limits
from dpreg.estimation.releases.spectrum import symmetric_root
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.releases.statistics import IntervalCounts
from dpreg.estimation.standardised import Standardised, scales_of_columns, with_scales

# Share of the squared mu for the numbers of records by class, which give starting values.
_COUNTS = 0.02
# Share of the rest for each step, and the smallest information of a row on a class, as a share of
# that implied by the frequency of the class.  Where a class is wrongly predicted to be improbable,
# a step overshoots.  What this lower limit adds makes the errors of the last step too small: with
# .3, slopes of ordered probits of 30,000 records had .77 of their errors.  There are only as many
# steps before the last as are needed to converge.
_STEPS = ((0.12, 1.0), (0.18, 0.3), (0.3, 0.1), (0.3, 0.03), (0.3, 0.03), (1.0, 0.03))
# If records times the mu of 4% of the first step are fewer than this, each of four steps would be
# too noisy, and there are three; for multinomial logits, the last two.  With two, .64 of
# coefficients of ordered probits of 6,000 records with slopes of .7 were covered, and with three
# .92.
_FEW_RECORDS, _FEW_SHARE = 60.0, 0.04
# The same applies below this number times the number of coefficients to the power 1.5, as noise in
# their second moments grows at that rate.  Without it half of 20 coefficients of 6,000 simulated
# records were blank instead of none; at 4, errors of 24 coefficients of 20,000 records with slopes
# of 1 were 4 times as large.
_FEW_RECORDS_EACH = 2.0
_FEW_STEPS = ((0.2, 0.3), (0.35, 0.1), (1.0, 0.03))
# Largest change of a coefficient in a step, for covariates in standard units.  Where a rare class
# is predicted with near certainty records have almost no information, so a step back is too large
# and ends where no record has any; later steps are then short and seem precise.  Without it slopes
# of a class that none of 1,000 records had were wrong by 8 to 198 errors in 6 of 20 fits; with it
# by less than 4 in all.
_LONGEST = 5.0
# The share of the rarest class, whose records have the largest scores, is assumed to be at least
# this or, for another class that is as rare, the second number.  With the first alone .86 of
# intervals for log odds against a class of 1.2% of 10,000 records covered instead of .96; without
# the second one of 16 fits of 4,000 records was wrong by 106 errors.
_RAREST, _RARER = 0.02, 0.01


class _Units(NamedTuple):
    """Centre and scale of the covariates of records, which are part of `scales`.

    `begun` has the counts of their levels.
    """

    scales: Scales
    centre: Doubles
    scale: Doubles
    begun: Beginning

    def limits(self, classes: Ordered | Baseline, given: list[int]) -> Doubles:
        """Return the limits to which predictions clip columns; NaN for offsets and intercepts."""
        own = regressor_limits(self.scales)[: len(self.centre)]
        own[given] = np.nan
        return np.concatenate([classes.each(own), np.full((1, 2), np.nan)])


def _covariate_units(design: Design, noise: GaussianReleases, size: int) -> _Units:
    """Estimate centre and scale of the covariates of records.

    Columns of rows are blocks of covariates and are 0 outside their block: rows could not be
    centred directly, and a covariate far from 0 would be almost collinear with an intercept.
    """
    terms = design.terms
    found = scales_of_columns(design, noise)
    centre, scale = found.centre[:size].copy(), found.scale[:size].copy()
    given = list(terms.given)
    centre[given], scale[given] = 0.0, 1.0
    used = np.arange(len(terms.names)) < size
    used[given] = False
    units = standard_units(found, intercept=True).keeping(used)
    return _Units(found, centre, scale, beginning(terms, found, units, small=False))


def _begun(begun: Beginning, likelihood: Likelihood, shares: Doubles) -> Beginning:
    """Return initial coordinates of rows, before their second moments are released."""
    count = likelihood.classes.count
    if isinstance(likelihood, CumulativeLikelihood):
        # Thresholds are correlated: along their sum rows have a fifth of the second moment along
        # one of them.  Without this rotation the curvature there was 1.4 times the information on
        # average (a logit of five even classes of 10,000 records and five columns), and errors were
        # too small: .92 of intervals of thresholds covered instead of .96.
        turn = symmetric_root(likelihood.alike(shares) / count, centred=False)
        return begun.beside(math.sqrt(count), turn)
    own = np.delete(shares, likelihood.classes.base)
    information = np.diag(own) - np.outer(own, own)
    sizes = np.sqrt(np.diag(information))
    by_row = information / np.outer(sizes, sizes) / count
    return begun.of_blocks(symmetric_root(by_row, centred=False))


def release_classes(
    design: Design, classes: Ordered | Baseline, terms: Terms, max_rows: int, allowance: Allowance
) -> Release | Declined:
    """Maximise the likelihood by noisy Newton steps from a model without covariates.

    design: private; records clipped to their bounds, at most `max_rows` per unit.  The response is
        the number of the class.
    terms: the terms of the rows.

    Privacy
    -------
    guarantee : (epsilon, delta)-DP of the allowance
    neighbours : add or remove one unit
    public : classes, terms, max_rows
    proof : class_rows.md

    References
    ----------
    Le Cam (1956), "On the asymptotic theory of estimation and testing hypotheses".
    """
    expect(SCALING_PASSES + 1 + len(_STEPS) * newton_passes())
    spending = Stages(allowance, max_rows if design.by_unit else 1)
    noise = spending.stage(spending.left)
    units = _covariate_units(design, noise, len(classes.covariates))
    shares = _shares(design, classes, noise)
    spending.add("", noise)
    likelihood = _likelihood(classes, shares, terms)
    classes = likelihood.classes

    theta = before = likelihood.constant(shares)
    given = list(terms.given)
    first = spending.stage(_STEPS[0][0] * spending.left).share(_FEW_SHARE)
    told = units.scales.units / max_rows * first
    few = told < max(_FEW_RECORDS, _FEW_RECORDS_EACH * len(terms.coefficients) ** 1.5)
    steps = list(_FEW_STEPS[isinstance(classes, Baseline) :] if few else _STEPS)
    walk = Walk(units.scales.units, bend=0.0)
    while True:  # the last step gets all that is left
        part, least = steps.pop(0)
        noise = spending.stage(part * spending.left)
        noise.rows = max_rows * classes.count  # from here on sums are over rows
        place = _Place(theta, before, shares, least)
        rows = _step(design, likelihood, units, terms, place, noise)
        if part == 1.0:
            rows = replace(rows, back=classes.back(units.centre, units.scale))
        step = newton_fit(rows, _begun(units.begun, likelihood, shares))
        spending.add("step: ", noise)
        if isinstance(step, Declined) and part < 1.0:
            continue
        if isinstance(step, Declined) or (part == 1.0 and _has_no_errors(step)):
            return _declined(spending, rows, units, max_rows)
        if rows.back is not None:
            limits = units.limits(classes, given)
            step = walk.with_left(step, _bend(likelihood, shares, theta))
            return _as_likelihood(step, spending, units, rows, theta, limits)
        walk = walk.after(step, _bend(likelihood, shares, theta))
        way, far = _limited_step(_shrunk_step(step), given)
        if not few and walk.settled and not far:
            del steps[:-1]
        held = likelihood.held(theta + way, shares)
        # The midpoint of few or of large steps would be far from the solution.
        theta, before = held, held - (held - theta) * (0.0 if few else 1 - walk.told)


def _likelihood(classes: Ordered | Baseline, shares: Doubles, terms: Terms) -> Likelihood:
    """Return the likelihood; classes are compared with the most common one."""
    if isinstance(classes, Ordered):
        return CumulativeLikelihood(classes, terms.family, terms.given)
    return MultinomialLikelihood(replace(classes, base=int(np.argmax(shares))))


def _has_no_errors(step: Release) -> bool:
    """Whether no coefficient has a standard error."""
    return step.covariance is None or bool(np.isnan(np.diag(step.covariance)).all())


def _declined(spending: Stages, rows: Standardised, units: _Units, max_rows: int) -> Declined:
    """Return the outcome if no coefficient is estimable."""
    outcome = replace(spending.declined(rows.not_estimable()), units=units.scales.units)
    if max_rows == 1:
        return outcome
    reason = f"with {max_rows} rows per unit, eps is too small to estimate any coefficient"
    advice = ("use a smaller ", Argument("max_rows"), " or a larger ", Argument("eps"))
    return replace(outcome, reason=reason, advice=advice)


def _bend(likelihood: Likelihood, shares: Doubles, theta: Doubles) -> float:
    """Return the error after a step of length 1: half the third derivative of the rarest class."""
    rarest = max(likelihood.rarest(shares, theta), _RAREST)
    return (1 - 2 * min(rarest, 0.5)) / (2 * math.sqrt(rarest * (1 - rarest)))


def _shrunk_step(step: Release) -> Doubles:
    """Return a step with each entry shrunk according to its noise (Breiman's garrote)."""
    assert step.covariance is not None
    squares = np.square(step.params)
    noise = np.nan_to_num(np.diag(step.covariance), nan=np.inf)
    share = 1 - noise / np.maximum(squares, np.finfo(float).tiny)
    return np.asarray(np.maximum(share, 0.0) * step.params)


def _limited_step(way: Doubles, given: list[int]) -> tuple[Doubles, bool]:
    """Return a step limited in length, 0 where not estimable, and whether it was limited."""
    way = way.copy()
    way[given] = 0.0
    longest = float(np.abs(way).max(initial=0.0))
    return way * (_LONGEST / max(longest, _LONGEST)), longest > _LONGEST


def _as_likelihood(
    step: Release, spending: Stages, units: _Units, rows: Standardised, start: Doubles,
    limits: Doubles,
) -> Release:  # fmt: skip
    """Return the last step as a maximum likelihood estimate."""
    assert rows.back is not None
    given = list(rows.design.terms.given)
    moved = rows.back @ start
    moved[given] = 0.0
    estimand = step.estimand
    if estimand is not None:
        name = estimand.name.replace("least squares", "maximum likelihood")
        estimand = replace(estimand, name=name)
    return replace(
        step, params=moved + step.params, units=units.scales.units, parts=tuple(spending.parts),
        limits=limits, estimand=estimand, start=None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Place:
    """The point at which a step is taken.  Released."""

    # theta, before: the last two estimates; the step starts from the first of them.
    theta: Doubles
    before: Doubles
    shares: Doubles  # Shape (classes,): of the records.
    least: float  # Least curvature of a record, as a share of the mean.


def _step(
    design: Design,
    likelihood: Likelihood,
    units: _Units,
    terms: Terms,
    place: _Place,
    noise: GaussianReleases,
) -> Standardised:
    """Return the least-squares fit that gives a step."""
    weight, count = terms.weight, likelihood.classes.count
    own, sizes = likelihood.usual(place.shares)
    expansion = RowsOfStep(
        likelihood, weight is not None, tuple(units.centre.tolist()), tuple(units.scale.tolist()),
        place.theta, (place.theta + place.before) / 2, place.least * own,
    )  # fmt: skip
    terms = replace(terms, family=GAUSSIAN)
    rows = expanded(design, expansion, count, noise.rows // count, terms)
    sizes = np.append(sizes, 1.0)
    centre, high = np.zeros(len(sizes)), 3 * sizes
    own_weight = design.terms.weight
    if weight is not None and own_weight is not None:
        sizes = np.insert(sizes, weight, units.scales.scale[own_weight])
        centre = np.insert(centre, weight, units.scales.centre[own_weight])
        high = np.insert(high, weight, most_weight(units.scales, own_weight))
    all_columns = np.ones(len(sizes), dtype=bool)
    scales = Scales(
        low=-high, high=high, centre=centre, scale=sizes, given=all_columns,
        spread=np.full(len(sizes), np.inf), seen=all_columns, response_found=True,
        units=max(units.scales.units * count, 1.0),
    )  # fmt: skip
    least = min(max(float(place.shares.min()), _RARER), _RAREST)
    rarest = max(likelihood.rarest(place.shares, place.theta), least)
    event = math.sqrt((1 - rarest) / rarest)
    aligned = isinstance(likelihood, CumulativeLikelihood)
    if aligned:
        # The rows of a record add up to one score, so per row it is smaller by this factor.  Rows
        # of a class against the most common one have their own coordinates: with this factor for
        # them too, .73 of intervals for log odds covered instead of .96 where 1% of 10,000 records
        # were of a class, and .75 instead of .88 for 1,000 records of three common classes; errors
        # for 2,400 records of five classes were .7 times as large.
        event /= count
    begun = with_scales(rows, noise, scales)
    return replace(begun, tail_share=0.0, rare=(event, rarest), aligned=aligned)


def _shares(design: Design, classes: Ordered | Baseline, noise: GaussianReleases) -> Doubles:
    """Release the share of records in each class.

    Rows compare with a common class: scores relative to a rare one would be large and clipped.
    """
    size, column = len(classes.levels), len(design.terms.names)
    low, high = np.zeros(column + 1), np.ones(column + 1)
    low[-1], high[-1] = -0.5, size - 0.5
    one = np.ones(1)
    cells = design.total(IntervalCounts(low, high, size, np.array([column]), one, zeros=True))
    counts, _ = noise.release("number of records of each class", cells, noise.share(_COUNTS))
    of_class = counts[0, :-1]
    of_class[0] += counts[0, -1]  # the bin of zeros
    of_class = np.maximum(of_class, 1.0)
    held = np.clip(of_class / of_class.sum(), LEAST_CHANCE, 1 - LEAST_CHANCE)
    return np.asarray(held / held.sum())
