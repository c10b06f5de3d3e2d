"""Start, curvature and size of scores of a family.  Everything here is public."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, special

from dpreg.base.arrays import Doubles
from dpreg.base.families import Family, NegativeBinomial
from dpreg.data.design import Terms
from dpreg.estimation.newton.centred import regressors
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.working_model import loss_of
from dpreg.estimation.releases.dispersion import first_alpha
from dpreg.estimation.releases.quantised import SQUARED, RowLoss
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.spectrum import symmetric_root
from dpreg.estimation.releases.standardisation import Scales

# For integrals over a normal variable.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
# Largest standard deviation of linear predictors at the start, by link.
MOST_SPREAD = {"logit": 3.0, "probit": 1.8, "cloglog": 1.8, "log": 1.5}
# Largest absolute value of their mean.
_MOST_PREDICTOR = 30.0
# Largest effect of a regressor on them.  Without it errors of 29 fits were 1.12 times as large.
_MOST_EFFECT = {"logit": 3.0, "probit": 2.0, "cloglog": 2.0, "log": 1.0}
# Mean counts below this are taken from `column_scales`.  If all are, errors for means 1.5 and 4
# were 1.04 and 1.07 times as large.
_EVENTS = 0.69
# Least squared residual, in variances of the response.  With 1e-6, 21 of 450 fits of quantiles that
# explain .93 of the response had no curvature left, and were declined.
LEAST_RESIDUAL = 0.02
# Least dispersion, except for counts.  If counts may have it too, errors of counts with mean .8
# were 1.1 times as large.
_LEAST_DISPERSION = 1e-4
# The mean of exposures is e^offset times e to this share of the variance of their logarithm: one
# half if that is normal, less if it is bounded.  With 0 rates began too high: for standard
# deviations 1.5 and 1.6 (at bats of 20,000 seasons) errors were 2.5 and 14 times those of maximum
# likelihood instead of 1.35 and 1.3; with .5 those of 2,000 rows were 3.2 times instead of 2.4.
_UNEVEN = 0.25
# Without an intercept, coordinates contain a constant if they explain more than this share of 1, in
# mean square.
_NEARLY = 0.8


@dataclass(frozen=True, slots=True)
class Linearised:
    """Expected properties of scores at the start."""

    # Coordinates in which the curvature of a row is about 1, and the starting point.
    found: Whitening
    family: Family
    loss: RowLoss = SQUARED
    squares: float = 1.0  # Mean square of an entry of the score of a row.
    # event, share: residual of a rare event, and share of rows with one; 0: none.
    event: float = 0.0
    share: float = 1.0
    amounts: bool = False  # Residuals of rare events vary, and `event` is typical.
    # Root mean square of the curvature of a row by its predictor; coordinates of rows are divided
    # by it.
    curved: float = 1.0
    most: float = 1.0  # Largest curvature of a row, relative to the mean.
    # What a standard deviation of the response is worth in the linear predictor.
    scale: float = 1.0
    # What coordinates are multiplied by to give those in which rows have unit second moments; None:
    # the curvature is the same everywhere.
    white: Doubles | None = None
    offset: float = 0.0  # Mean of what is added to linear predictors; of exposures, its logarithm.
    longest: float = math.inf  # No residual is longer.

    @property
    def usual(self) -> float:
        """Root mean square norm of a row."""
        return math.sqrt(max(self.found.squares, 1)) / self.curved

    def turned(self, by: Doubles, found: Whitening) -> Linearised:
        """Go to the coordinates of `found`, with what coordinates were multiplied by."""
        white = None if self.white is None else self.white @ by
        return replace(self, found=found, white=white)


def response_units(units: StandardUnits, scales: Scales) -> StandardUnits:
    """Return units in which the response is standardised too."""
    return replace(units, y_centre=float(scales.centre[-1]), y_scale=float(scales.scale[-1]))


def linearised(terms: Terms, scales: Scales, units: StandardUnits, found: Whitening) -> Linearised:
    """Return what least squares of the response say of the scores of a family.

    For normal rows z and a mean response m(z'theta), cov(z, y) = E[m'] theta (Stein's lemma), and
    curvature is a matter of three integrals.

    scales: released.
    units: of the coefficients.
    found: with slopes of the standardised response.

    References
    ----------
    Brillinger (1983), "A generalized linear model with Gaussian regressor variables".
    """
    family = terms.family
    if family.least_squares:
        return Linearised(found, family, squares=found.residual)
    y_scale = float(scales.scale[-1])
    constant = constant_row(scales, units, found)
    known = bool(constant.any())
    length = max(float(np.linalg.norm(constant)), np.finfo(float).tiny)
    level = constant / length
    across = found.theta - float(found.theta @ level) * level
    energy = float(across @ across)
    # Noise on the diagonal is sqrt 2 times that of other entries; levels have less.
    noise = float(np.diag(found.moments.variance)[~found.levels].sum()) / 2
    across = across * math.sqrt(max(1 - noise / energy, 0.0)) if energy > 0 else across
    if family.level is not None:
        return _quantile(terms, scales, found, across, constant)
    mean = float(scales.centre[-1])
    if not scales.counted or (family.name != "binomial" and mean > _EVENTS):
        # Else events were counted.
        mean = _inside(mean + y_scale * float(found.theta @ constant), scales)
    slopes = y_scale * across
    if family.link == "log" and scales.low[-1] < 0:
        slopes = 0 * slopes  # of responses that count as 0
    size = float(np.linalg.norm(slopes))
    centre, spread = _start(family, mean if known else None, size)
    along = slopes / max(size, np.finfo(float).tiny)
    own = regressors(terms, units)
    effects = own.two_values(scales, units).farther[:, None] * own.slopes(found.change)
    # Regressors are not normal, and a rare level may have all events.
    most = _MOST_EFFECT[family.link] / max(float(np.abs(effects @ along).max(initial=0.0)), 1e-9)
    spread = min(spread, most)
    centre = _expected(family, mean if known else None, spread)[0]
    given = list(terms.given)
    offset = float(scales.centre[given].sum())
    if family.link == "log":
        offset += _UNEVEN * float((scales.scale[given] ** 2).sum())
    theta = (centre - offset) * constant + spread * along
    predictors = centre + spread * NODES
    if family.dispersed:
        means = family.mean(predictors)
        moments = (float(WEIGHTS @ means**power) for power in (1, 2))
        family = NegativeBinomial(first_alpha(y_scale**2 * found.residual, *moments))
    weights = family.curvature(predictors)
    curvature = float(WEIGHTS @ weights)
    dispersion = _dispersion(family, predictors, y_scale**2 * found.residual)
    dispersion = max(dispersion, 1.0 if scales.counted else _LEAST_DISPERSION)
    squares = family.weight(predictors) ** 2 * family.variance(family.mean(predictors))
    variance = dispersion * float(WEIGHTS @ squares)
    loss = loss_of(family, scales)
    turn = symmetric_root(normal_curvature(weights, level, along), centred=units.intercept)
    rare = family.name == "binomial" or (scales.counted and mean < 1)
    event = max(mean, 1 - mean) if family.name == "binomial" else 1.0
    most = float(family.slope(np.zeros(1))[0])
    if family.link == "log":
        most = _most_curved(family, centre + 3 * spread, dispersion)
    found = replace(found, theta=theta).turned(turn)
    return Linearised(
        found=found,
        family=family,
        loss=loss,
        squares=variance / curvature,
        event=rare * event,
        share=min(mean, 1 - mean) if family.name == "binomial" else min(mean, 1.0),
        curved=math.sqrt(curvature),
        most=max(most / curvature, 1.0),
        scale=math.sqrt(variance) / curvature,
        white=turn,
        offset=offset,
        longest=_longest(terms),
    )


def constant_row(scales: Scales, units: StandardUnits, found: Whitening) -> Doubles:
    """Return the combination of coordinates that is nearly 1 in all rows; 0 if there is none.

    Without an intercept it is found from the means of columns: starting at odds of 1, one of eight
    fits of 20,000 rows with 4% of events and a dummy for each level was wrong by 5.9 errors.
    """
    if units.intercept:
        first = np.eye(len(found.change))[0]
        return np.asarray(np.linalg.lstsq(found.change, first, rcond=None)[0])
    mean = found.change.T @ (scales.centre[units.columns] / units.scale)
    share = float(mean @ mean)
    return np.asarray(mean / share if share > _NEARLY else 0 * mean)


def _quantile(
    terms: Terms, scales: Scales, found: Whitening, across: Doubles, constant: Doubles
) -> Linearised:
    """As if residuals were normal; the response is in standard units."""
    family = terms.family
    assert family.level is not None
    residual = math.sqrt(max(found.residual, LEAST_RESIDUAL))
    place = float(special.ndtri(family.level))
    density = math.exp(-(place**2) / 2) / math.sqrt(2 * math.pi) / residual
    level = float(found.theta @ constant) + place * residual
    theta = across + level * constant
    # In units of the residuals: in units of the response, the intercept at level .9 with residuals
    # of .27 was wrong by 15 errors in 50,000 rows.
    loss = loss_of(family, scales)
    loss = replace(loss, bandwidth=loss.bandwidth * residual)
    variance = family.level * (1 - family.level)
    found = replace(found, theta=theta).turned(np.eye(found.width) / math.sqrt(density))
    return Linearised(
        found=found,
        family=family,
        loss=loss,
        squares=variance / density,
        event=max(family.level, 1 - family.level),
        share=min(family.level, 1 - family.level),
        curved=math.sqrt(density),
        most=most_of_quantile(loss, density),
        longest=_longest(terms),
    )


def most_of_quantile(loss: RowLoss, density: float) -> float:
    """Return `Linearised.most` for residuals with this density."""
    return max(0.25 / loss.bandwidth / density, 1.0)


def _longest(terms: Terms) -> float:
    """Return the largest residual; with weights, which multiply it, it is not known."""
    return math.inf if terms.weight is not None else terms.family.most_residual


def _inside(mean: float, scales: Scales) -> float:
    low, high = max(float(scales.low[-1]), 0.0), float(scales.high[-1])
    margin = (high - low) / scales.units
    return min(max(mean, low + margin), high - margin)


def _dispersion(family: Family, predictors: Doubles, residual: float) -> float:
    """Return the dispersion: variance of responses relative to that of the family.

    predictors: at the nodes.
    residual: mean squared least-squares residual.
    """
    if family.link != "log":
        return 1.0
    return residual / float(WEIGHTS @ family.variance(family.mean(predictors)))


def _most_curved(family: Family, predictor: float, dispersion: float) -> float:
    """Return the largest curvature of a row, with a response three deviations above the mean."""
    at = np.array([predictor])
    mean = family.mean(at)
    response = mean + 3 * np.sqrt(dispersion * family.variance(mean))
    return float(family.curvature(at, response)[0])


def _start(family: Family, mean: float | None, slope: float) -> tuple[float, float]:
    """Return mean and standard deviation of normal predictors with this mean and covariance.

    Without a mean response there is no intercept, and the centre is 0.
    """
    spread = _root(
        lambda spread: _expected(family, mean, spread)[1] * spread - slope,
        0.0,
        MOST_SPREAD[family.link],
    )
    return _expected(family, mean, spread)[0], spread


def _expected(family: Family, mean: float | None, spread: float) -> tuple[float, float]:
    """Return the mean of predictors with this mean response, and the mean slope there."""
    centre = 0.0
    if mean is not None:
        centre = _root(
            lambda centre: float(WEIGHTS @ family.mean(centre + spread * NODES)) - mean,
            -_MOST_PREDICTOR,
            _MOST_PREDICTOR,
        )
    return centre, float(WEIGHTS @ family.slope(centre + spread * NODES))


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of an increasing function, or the nearest end; `low` if it is NaN."""
    for end, beyond in ((low, rising(low) < 0), (high, rising(high) > 0)):
        if not beyond:
            return end
    return float(optimize.brentq(rising, low, high, disp=False))


def normal_curvature(weights: Doubles, level: Doubles, along: Doubles) -> Doubles:
    """Return the curvature of rows with unit second moments that are normal along a direction.

    weights: of predictors at the nodes.
    level, along: shape (w,): unit vector of the intercept, or 0, and that of predictors, shorter
        than 1 if other directions explain part of them.
    """
    zero, one, two = (float(WEIGHTS @ (weights * NODES**k)) for k in range(3))
    turn = np.outer(level, along)
    return np.asarray(
        zero * np.eye(len(level)) + one * (turn + turn.T) + (two - zero) * np.outer(along, along)
    )
