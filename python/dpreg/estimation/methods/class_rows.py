"""Models of classes: units of covariates from records, and then fits of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpreg.base.families import GAUSSIAN
from dpreg.base.passes import expect
from dpreg.data.bounds import column_bounds, wide_places
from dpreg.data.class_steps import RowsOfStep
from dpreg.data.classes import Baseline, Ordered, RowsOfClasses
from dpreg.data.design import Design, Terms
from dpreg.data.expanded import expanded
from dpreg.estimation.base import Allowance, Declined, Release
from dpreg.estimation.methods.effect_stages import Stages
from dpreg.estimation.newton.fit import newton_fit, newton_passes
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.column_scaling import SCALING_PASSES, column_scales
from dpreg.estimation.releases.limits import regressor_limits
from dpreg.estimation.releases.rows import most_weight
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.releases.statistics import NestedCells
from dpreg.estimation.standardised import Standardised, releases_for, with_scales

__all__ = ["release_multinomial", "release_ordered"]

Doubles = NDArray[np.float64]

# Share of the squared mu for the numbers of records of classes, and of what is left for the start.
_COUNTS, _START = 0.005, 0.3
# Of what is left then, for each step; and no row has less information of a class than this share
# of what its frequency says.  A noisy start may have a class improbable where it is not, and a step
# overshoots there: with .3 and .1, slopes of a class of 400 of 10,000 records were up to 14 errors
# off, with a root mean square of 3.8 in 16 fits; with these of 1.3.  Steps are shorter for it, and
# of two the second does not arrive where the model is wrong: diamonds by four covariates were up to
# 4.7 errors off the exact fit, as much without noise, and with three 2.9.
_STEPS = ((0.35, 1.0), (0.35, 0.3), (1.0, 0.3))
# The share of a class is taken to be no nearer to 0 and 1.
_LEAST_SHARE = 1e-3
# and that of the rarest, whose records have the longest scores, to no less than this.
_RAREST = 0.02


class _Units(NamedTuple):
    """Centre and scale of the covariates of records, which are in `scales` with others."""

    scales: Scales
    centre: Doubles
    scale: Doubles

    def limits(self, classes: Ordered | Baseline, given: list[int]) -> Doubles:
        """Return where predictions move columns of rows; NaN for offsets and intercepts."""
        own = regressor_limits(self.scales)[: len(self.centre)]
        own[given] = np.nan
        return np.concatenate([classes.each(own), np.full((1, 2), np.nan)])


def _covariate_units(design: Design, noise: GaussianReleases, size: int) -> _Units:
    """Find centre and scale of the covariates of records.

    Columns of rows are blocks of covariates, whose means are those within their block: rows could
    not be centred by themselves, and a covariate far from 0 would look like an intercept.
    """
    weight = design.terms.weight
    bounds = column_bounds(design.terms)
    if weight is not None:  # whose scale is found with the rows
        bounds[weight] = 0.0, 1.0
    found = column_scales(design, noise, bounds, wide=wide_places(design.terms))
    centre, scale = found.centre[:size].copy(), found.scale[:size].copy()
    given = list(design.terms.given)
    centre[given], scale[given] = 0.0, 1.0
    return _Units(found, centre, scale)


def release_ordered(
    design: Design, classes: Ordered, terms: Terms, max_rows: int, allowance: Allowance
) -> Release | Declined:
    """Fit rows of thresholds.

    Parameters
    ----------
    design : Design
        Private: of records, at most `max_rows` of each unit, which are clipped to their bounds.
        The response is the number of the class.
    classes : Ordered
    terms : Terms
        Of the rows.
    max_rows : int
    allowance : Allowance

    Privacy
    -------
    guarantee : (epsilon, delta)-DP of the allowance
    neighbours : add or remove one unit
    public : classes, terms, max_rows
    proof : class_rows.md
    """
    expect(SCALING_PASSES + newton_passes(terms.family))
    noise = releases_for(design, allowance, max_rows)
    units = _covariate_units(design, noise, len(classes.covariates))
    noise.rows = max_rows * classes.count  # from here on sums are over rows
    begun = _begun(design, classes, units, terms, max_rows, noise)
    outcome = newton_fit(replace(begun, back=classes.back(units.centre, units.scale)))
    if isinstance(outcome, Declined):
        return replace(outcome, units=units.scales.units)
    limits = units.limits(classes, list(design.terms.given))
    return replace(outcome, units=units.scales.units, limits=limits)


def _begun(
    design: Design, classes: Ordered | Baseline, units: _Units, terms: Terms, max_rows: int,
    noise: GaussianReleases,
) -> Standardised:  # fmt: skip
    """Return rows of records and classes in units of their own."""
    expansion = RowsOfClasses(
        classes, terms.weight is not None, tuple(units.centre.tolist()), tuple(units.scale.tolist())
    )
    rows = expanded(design, expansion, classes.count, max_rows, terms)
    scales = column_scales(rows, noise, column_bounds(terms), events=True)
    return with_scales(rows, noise, scales, 0.0)


def release_multinomial(
    design: Design, classes: Baseline, terms: Terms, max_rows: int, allowance: Allowance
) -> Release | Declined:
    """Fit rows of comparisons with one class, and make steps of maximum likelihood from there.

    Parameters
    ----------
    As for `release_ordered`.

    Privacy
    -------
    guarantee : (epsilon, delta)-DP of the allowance
    neighbours : add or remove one unit
    public : classes, terms, max_rows
    proof : class_rows.md

    References
    ----------
    Begg and Gray (1984), "Calculation of polychotomous logistic regression parameters using
    individualized regressions"; Le Cam (1956), "On the asymptotic theory of estimation and testing
    hypotheses", for the step.
    """
    steps = len(_STEPS) * newton_passes(GAUSSIAN)
    expect(SCALING_PASSES + 1 + newton_passes(terms.family) + steps)
    spending = Stages(allowance, max_rows if design.by_unit else 1)
    noise = spending.stage(spending.left)
    units = _covariate_units(design, noise, len(classes.covariates))
    shares = _shares(design, classes, noise)
    spending.add("", noise)
    classes = replace(classes, base=int(np.argmax(shares)))

    noise = spending.stage(_START * spending.left)
    noise.rows = max_rows * classes.count
    begun = _begun(design, classes, units, terms, max_rows, noise)
    start = newton_fit(begun)
    spending.add("start: ", noise)
    if isinstance(start, Declined):
        return replace(spending.declined(start), units=units.scales.units)

    back, theta, before = classes.back(units.centre, units.scale), start.params, start.params
    for part, least in _STEPS:
        noise = spending.stage(part * spending.left)
        noise.rows = max_rows * classes.count
        place = _Place(theta, before, shares, least)
        rows = _step(design, classes, units, begun, place, noise)
        last = part == 1.0
        step = newton_fit(replace(rows, back=back if last else None))
        spending.add("step: ", noise)
        if isinstance(step, Declined):
            return replace(spending.declined(step), units=units.scales.units)
        if last:
            return _as_likelihood(step, spending, units, classes, back @ theta)
        theta, before = theta + step.params, theta
    raise AssertionError("the last step has all that is left")


def _as_likelihood(
    step: Release, spending: Stages, units: _Units, classes: Baseline, start: Doubles
) -> Release:
    """Return the last step as an estimate by maximum likelihood."""
    estimand = step.estimand
    if estimand is not None:
        name = estimand.name.replace("least squares", "maximum likelihood")
        estimand = replace(estimand, name=name)
    return replace(
        step, params=start + step.params, units=units.scales.units, parts=tuple(spending.parts),
        limits=units.limits(classes, []), estimand=estimand, start=None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a step is taken.  Released."""

    # theta, before: the last two estimates, from the first of which it goes.
    theta: Doubles
    before: Doubles
    shares: Doubles  # Shape (classes,): of the records.
    least: float  # No curvature of a record is less than this share of the mean one.


def _step(
    design: Design,
    classes: Baseline,
    units: _Units,
    begun: Standardised,
    place: _Place,
    noise: GaussianReleases,
) -> Standardised:
    """Return the least squares that are a step."""
    weight, count = begun.design.terms.weight, classes.count
    spread = np.clip(place.shares, _LEAST_SHARE, 1 - _LEAST_SHARE)
    own = np.delete(spread * (1 - spread), classes.base)
    expansion = RowsOfStep(
        classes, weight is not None, tuple(units.centre.tolist()), tuple(units.scale.tolist()),
        place.theta.reshape(count, -1),
        ((place.theta + place.before) / 2).reshape(count, -1),
        place.least * own,
    )  # fmt: skip
    terms = replace(begun.design.terms, family=GAUSSIAN)
    rows = expanded(design, expansion, count, noise.rows // count, terms)
    sizes = np.append(np.repeat(np.sqrt(own), 1 + len(classes.covariates)), 1.0)
    centre, high = np.zeros(len(sizes)), 3 * sizes
    if weight is not None:  # whose scale was found with the first rows
        sizes = np.insert(sizes, weight, begun.scales.scale[weight])
        centre = np.insert(centre, weight, begun.scales.centre[weight])
        high = np.insert(high, weight, most_weight(begun.scales, weight))
    all_columns = np.ones(len(sizes), dtype=bool)
    scales = Scales(
        low=-high, high=high, centre=centre, scale=sizes, given=all_columns,
        spread=np.full(len(sizes), np.inf), seen=all_columns, response_found=True,
        units=max(units.scales.units * count, 1.0),
    )  # fmt: skip
    rarest = max(float(np.delete(spread, classes.base).min()), _RAREST)
    # The rows of a record add up to one score: per row, it is so many times shorter.
    event = math.sqrt((1 - rarest) / rarest) / count
    return replace(with_scales(rows, noise, scales, 0.0), rare=(event, rarest))


def _shares(design: Design, classes: Baseline, noise: GaussianReleases) -> Doubles:
    """Release which share of the records each class has.

    Rows compare with a class of many records: scores of a rare one would be long and clipped.
    """
    size, column = len(classes.levels), len(design.terms.names)
    low, high = np.zeros(column + 1), np.ones(column + 1)
    low[-1], high[-1] = -0.5, size - 0.5
    one = np.ones(1)
    cells = design.total(NestedCells(low, high, size, np.array([column]), one))
    counts, _ = noise.release("number of records of each class", cells, noise.share(_COUNTS))
    of_class = counts[0, :-1]
    of_class[0] += counts[0, -1]  # where zeros are
    return np.asarray(np.maximum(of_class, 1.0) / np.maximum(of_class, 1.0).sum())
