"""Errors of coefficients that are the root of noisy scores, and second moments of these."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles, Flags
from dpreg.estimation.inference.bent import bent_factors
from dpreg.estimation.inference.covariance import EstimateError, sandwich
from dpreg.estimation.newton.centred import regressors
from dpreg.estimation.newton.curvature import PRODUCTS
from dpreg.estimation.newton.groups import NOTHING, Groups, groups
from dpreg.estimation.newton.limits import Limits
from dpreg.estimation.newton.linearised import Linearised
from dpreg.estimation.newton.rounds import Rounds
from dpreg.estimation.newton.scores import PRODUCT_NOISE, PRODUCT_NORMS, noisy_products
from dpreg.estimation.newton.secant import Path
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.standardised import Standardised

# A coefficient that the last score moves on, by more than so many deviations of the noise in it and
# in where it was taken, goes on as a geometric series, with no more than this ratio.
_MOVED, SLOWEST = 3.5, 0.67
# Along a regressor of two values a path has the curvature of its end unless that is so many times
# less, and no more than the second: then nothing is known of the coefficient.  At 1.5, a level of
# 200 of 20,000 rows with 35 events had no error in .27 of fits, for .08, and four events in a level
# of 4,000 rows were missed by up to 5.8 errors, for 8.4.
_FLAT, _MOST_FLAT = 2.0, 1e3
# Gamma responses have longer tails: shortened to less noise, products get back what counts of norms
# say that they lost.  Otherwise .91 of the intervals of 3 coefficients of 10,000 rows covered, and
# with this .94.
_TAILED_NOISE, _MOST_LOST = 0.1, 0.5


@dataclass(frozen=True, slots=True)
class Fit:
    """What a fit ended with: public, but for the rows."""

    model: Linearised
    path: Path
    limits: Limits
    rows: MappedRows  # Private.
    top: float  # Norm up to which there are rows; 0: not counted.
    products: Doubles | None  # Second moments of scores.
    deviation: float  # Of the noise on their diagonal; inf: nothing is known.
    # Shape (w, w): the curvature as the model has it; None: that of the path.
    expected: Doubles | None = None

    @property
    def inverse(self) -> Doubles:
        """Of the curvature as the model has it."""
        curvature = self.path.curvature if self.expected is None else self.expected
        return np.asarray(np.linalg.inv(curvature))


def newton_errors(fit: Fit, begun: Standardised, beside: Doubles | None = None) -> EstimateError:
    """Return the error of the coefficients in standard units.

    beside: shape (w, m): what they may have of effects that were left out: see `beside_left_out`.
    """
    found, n = fit.model.found, begun.scales.units
    way = found.change @ fit.path.inverse
    # Of what scores are added up, where rare levels are shorter.
    added = way * _doubted(fit) / found.sizes
    dispersion = max(fit.limits.squares / (found.squares * n), begun.least)
    constant = dispersion * n * fit.path.curvature * np.outer(found.sizes, found.sizes)
    products = constant if fit.products is None else fit.products
    sampling = sandwich(added / n, constant, products, fit.deviation)
    tail, limit = fit.limits.tail, fit.limits.limit
    excess = 0.0 if tail is None else tail.cut(limit).excess / n
    return EstimateError(
        sampling=sampling,
        privacy=way @ fit.path.errors @ way.T + _slow(fit, way),
        hidden=_hidden(fit.model, beside, dispersion) + _unsettled(fit, dispersion),
        clipping=excess**2 * added @ added.T,
    )


def _doubted(fit: Fit) -> Doubles:
    """Return how many times as long errors of a quantile are for doubt of its curvature.

    The mean of 1 / c^2 where c is 1 with a variance v is about 1 + 3 v.  Without it .911 for .917
    of intervals of quantiles of eight tables of 20,000 rows covered.
    """
    times = 3 if fit.model.family.level is not None else 0
    return np.asarray(np.sqrt(1 + times * np.diag(fit.path.doubt.entries) / 2))


def _hidden(model: Linearised, beside: Doubles | None, dispersion: float) -> Doubles:
    """Return second moments of what unseen combinations of columns may do to coefficients.

    They are as large as would explain all residuals, or as coefficients that are, in deviations of
    the response or of residuals, the root of what the combination is stretched by until it would be
    seen.  With 1 for that root, raw powers up to the fourth, of which 20,000 rows had an effect,
    missed by 48 to 390 errors; without a bound, no column of the model had an error beside one
    unseen power.
    """
    unseen = model.found.unseen
    if beside is not None:
        unseen = np.column_stack([unseen, beside])
    lengths = np.linalg.norm(unseen, axis=0)
    response = max(model.scale**2, dispersion)
    most = np.minimum(dispersion, response / np.maximum(lengths, 1.0))
    return np.asarray(unseen * most @ unseen.T)


def _unsettled(fit: Fit, dispersion: float) -> Doubles:
    """Return second moments of what is left along coordinates in which no root was found.

    Without it, intervals of rare levels missed by up to 13 of their errors.
    """
    change = fit.model.found.change
    beyond = change @ fit.path.beyond
    if not fit.path.unsettled.any():
        return np.outer(beyond, beyond)
    there = change[:, fit.path.unsettled]
    steps = (fit.path.inverse @ fit.path.observations[-1].score)[fit.path.unsettled]
    before, last = (seen.score[fit.path.unsettled] for seen in fit.path.observations[-2:])
    # A score that changed its sign has passed the root, which is no farther than the step back.
    # Without this .58 of the coefficients of 42 fits had no error, for .32.
    left = np.where(before * last > 0, dispersion, 0.0) + steps**2
    return np.asarray(there * left @ there.T) + np.outer(beyond, beyond)


def _slow(fit: Fit, way: Doubles) -> Doubles:
    """Return the square of what is left to go for coefficients that scores move on and on.

    Where second moments are overestimated along one direction, steps along it are too short, and
    each coefficient that has something of it is a little off: unseen in a coordinate, but not in
    the coefficient.  Without it a column of 120 ones in 60,000 of a logistic model missed by six
    errors.  Told from the noise of the last score alone, one fit in ten of normal columns had an
    error up to 17 times as large for nothing; a single coordinate hides nothing.
    """
    if len(fit.path.observations) < 2 or fit.model.found.width == 1:
        return np.zeros((len(way), len(way)))
    *earlier, last = fit.path.observations
    first, moved = way @ earlier[-1].score, way @ last.score
    variance = 1 / sum(1 / seen.deviation**2 for seen in earlier)
    noise = np.sqrt(way**2 @ (variance + last.deviation**2))
    clear = (np.abs(moved) > _MOVED * noise) & (first * moved > 0)
    clear &= np.abs(first) > np.sqrt(way**2 @ earlier[-1].deviation ** 2)
    larger = np.where(clear, np.maximum(np.abs(first), np.abs(moved)), 1.0)
    ratio = np.minimum(np.abs(moved) / larger, SLOWEST)
    left = np.where(clear, np.maximum(1.0, ratio / (1 - ratio)) * moved, 0.0)
    return np.outer(left, left)


def bent(error: EstimateError, fit: Fit, begun: Standardised) -> EstimateError:
    """Lengthen errors, by `bent_factors`, where scores are not straight lines in an interval.

    Without it .922 for .934 of the coefficients of 98 fits were covered, and .13 for .20 had no
    error.
    """
    units = begun.telling_units
    of = regressors(begun.design.terms, units)
    apart = np.ptp(of.two_values(begun.scales, units).values, axis=0)
    flat = _flattened(fit, of.slopes(fit.model.found.change), groups(begun, fit.model), apart)
    return _lengthened(error, fit, begun, flat, np.ones(len(flat), dtype=bool))


def bent_hazards(error: EstimateError, fit: Fit, begun: Standardised, count: int) -> EstimateError:
    """Lengthen errors of hazard ratios of regressors of two values as `bent` does.

    Of all events those of persons with one of the values are a share that the hazard ratio changes
    as log odds do: where few are expected at the end of the path, scores fall ever more slowly, and
    noise may be more than all of them.  Without it .55 of intervals covered for 2% of 3,920 persons
    with a seventh of the hazard of others, and .75 for a tenth of 20,000 with a twentieth of it.

    count: the first columns, so many, are covariates.
    """
    units = begun.telling_units
    of, first = regressors(begun.design.terms, units), int(units.intercept)
    change = of.slopes(fit.model.found.change)
    two, only = of.two_values(begun.scales, units), of.only_two(begun.scales, units)
    only[first:] &= units.columns < count
    shares, apart = np.maximum(two.shares, NOTHING), np.ptp(two.values, axis=0)
    thought, slopes = _alone(fit, change)
    events = special.expit(np.log(shares[1] / shares[0]) + slopes * apart)
    found = np.maximum(events * (1 - events) * apart**2, NOTHING)
    # Where they have more events than others and than was thought, scores are steeper, and errors
    # long enough: else 2% of 8,000 persons with seven times the hazard had none in .96 of fits, for
    # 0.  With fewer than others too, .45 for .74 of intervals covered where a seventh had events.
    steep = np.where(slopes > 0, np.minimum(thought / found, 1.0), 1.0)
    flat = steep * _flatter(thought, found)
    return _lengthened(error, fit, begun, np.where(only, flat, 1.0), only)


def _alone(fit: Fit, change: Doubles) -> tuple[Doubles, Doubles]:
    """Return the curvature along each regressor, and its slope were it the only one in the model.

    Of all events those of persons with one value are as many as all that differs with it makes
    them.  With its own slope alone .94 of hazard ratios of e^-3 had no error in 20,000 persons a
    tenth of whom had it, and of another covariate so much more that as many of them died.

    change: what coordinates are multiplied by to give slopes.
    """
    own = ~fit.model.found.levels  # the others are hazards of intervals
    back = np.linalg.pinv(change)[own]
    moments = back.T @ np.linalg.inv(fit.inverse[np.ix_(own, own)]) @ back
    curvature = np.maximum(np.diag(moments), NOTHING)
    return curvature, moments @ (change @ fit.path.theta) / curvature


def _flatter(thought: Doubles, found: Doubles) -> Doubles:
    """Return how many times a curvature is less than thought, where it clearly is."""
    more = np.minimum(thought / np.maximum(found, NOTHING), _MOST_FLAT)
    return np.where(more > _FLAT, more, 1.0)


def _lengthened(
    error: EstimateError, fit: Fit, begun: Standardised, flat: Doubles, which: Flags
) -> EstimateError:
    """Lengthen errors of the regressors `which`, whose curvature is `flat` times less than thought.

    Both: shape (w,).
    """
    units, model = begun.telling_units, fit.model
    of, first = regressors(begun.design.terms, units), int(units.intercept)
    change, two = of.slopes(model.found.change), of.two_values(begun.scales, units)
    theta, back = change @ fit.path.theta, of.slopes(np.eye(len(change)))
    centre = float(theta @ two.means) + model.offset
    known = back @ (error.sampling + error.privacy) @ back.T
    errors = flat * np.sqrt(np.diag(known))
    factors, still = bent_factors(model.family, centre, theta, two, errors)
    factors = np.where(which, np.maximum(factors * flat, 1.0), 1.0)
    # Others follow the score, which goes no farther for that, and not the coefficient.  What is
    # lengthened moves together as it did, and the mean row so that rows keep their predictor whose
    # scores are not flat.
    apart = np.diag(np.sqrt(factors**2 - 1))
    apart[:first, first:] = -still[first:] * (factors - 1)[first:]
    known[:first, first:] = known[first:, :first] = 0.0
    # The last step was shorter by as much as the curvature is less than thought.
    step = change @ (fit.path.inverse @ fit.path.observations[-1].score)
    left = np.diag((np.maximum(flat, 1.0) - 1) * step)
    left[:first, first:] = -(still * np.diag(left))[first:]
    more = of.rows @ (apart @ known @ apart.T + left @ left.T) @ of.rows.T
    return replace(error, hidden=error.hidden + more)


def _flattened(fit: Fit, change: Doubles, of: Groups | None, apart: Doubles) -> Doubles:
    """Return how many times the curvature that a path has is that where it ended, at least 1.

    Of each coefficient; other than 1 for regressors of two values that are no levels, whose groups
    a path does not follow.  Where all rows with one of them have the outcome scores fall to 0 and
    stay there: those on the way are as of a root, and nothing says how far beyond it may be.

    change: what coordinates are multiplied by to give slopes.
    apart: distance between the values of each regressor.
    """
    times = np.ones(len(apart))
    if of is None:
        return times
    mean = of.average(fit.model.family.curvature, fit.path.theta)[~of.levels].reshape(-1, 2)
    there = (of.shares[~of.levels].reshape(-1, 2) * mean).T
    found = there.prod(axis=0) / np.maximum(there.sum(axis=0), NOTHING) * apart[of.pairs] ** 2
    own = change[of.pairs]
    thought = 1 / np.maximum(np.einsum("ij,jk,ik->i", own, fit.path.inverse, own), NOTHING)
    times[of.pairs] = _flatter(thought, found)
    return times


def with_products(rounds: Rounds, top: float, share: float = PRODUCTS) -> Fit:
    """Release second moments of scores where the path ended, for a share of the squared mu."""
    noise, model, limits = rounds.noise, rounds.model, rounds.limits
    mu, usual = noise.share(share), max(PRODUCT_NORMS * limits.norm, limits.narrowest)
    tailed = not model.family.standardised and not model.family.events
    loud = _TAILED_NOISE if tailed else PRODUCT_NOISE
    quiet = math.sqrt(loud * mu * limits.squares / max(model.found.squares, 1))
    short = max(usual, min(limits.limit, quiet))
    sums = rounds.rows.score_products(rounds.path.theta / model.found.sizes, short)
    products, deviation = noisy_products("second moments of scores", sums, short, noise, mu)
    if tailed:
        left = max(float(np.trace(products)) / limits.squares, _MOST_LOST)
        products, deviation = products / min(left, 1.0), deviation / min(left, 1.0)
    return Fit(model, rounds.path, limits, rounds.rows, top, products, deviation)
