"""Errors of mean outcomes by arm, from what was released of their scores and of nuisance models."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.families import BINOMIAL, Family

# Linear predictors of the treatment are averaged as if normal, over so many points.
_POINTS = 41
# The share of events, of treated rows or of a class is assumed to be at least this far from 0 and
# 1.
LEAST_CHANCE = 1e-3
# Eigenvalues below this share of the usual one are 0.
_NOTHING = 1e-6
# Nothing is known of what is larger, and a row says no more of a coefficient than the inverse of
# this: 1/4 times its square, but for what second moments say wrongly.
_LARGEST, _LEAST = 1e100, 1e-3


def combined(
    estimates: Sequence[float], totals: Sequence[float], samplings: Sequence[float]
) -> tuple[Doubles, Doubles, Doubles]:
    """Put three estimates of two means together, by the noise of each.

    Sampling errors are those of one sample, of which the effect is the difference of the means:
    only noise says which estimate is to be trusted more.

    estimates, totals, samplings: of the effect and of the means without and with the treatment:
        what was released, its variance, and the part of it that is sampling error.
    Returns: means, shape (2,).
        covariance, sampling, shape (2, 2): NaN if a variance is.
    """
    values, total, own = (np.asarray(x, dtype=np.float64) for x in (estimates, totals, samplings))
    known = bool(np.isfinite(total).all() and np.isfinite(own).all())
    noise = np.maximum(total - own, 1e-9 * total) if known else np.ones(3)
    share = noise / max(float(noise.sum()), np.finfo(float).tiny)
    # Generalised least squares, written without an inverse: one noise may be far less than others.
    off = values[0] - (values[2] - values[1])
    means = np.array([values[1] - share[1] * off, values[2] + share[2] * off])
    if not known:
        return means, np.full((2, 2), np.nan), np.full((2, 2), np.nan)
    both = noise[1] * share[2]
    of_noise = np.array(
        [[noise[1] * (share[0] + share[2]), both], [both, noise[2] * (share[0] + share[1])]]
    )
    between = (own[1] + own[2] - own[0]) / 2
    most = np.sqrt(own[1] * own[2])
    between = float(np.clip(between, -most, most))
    sampling = np.array([[own[1], between], [between, own[2]]])
    return means, sampling + of_noise, sampling


@np.errstate(all="ignore")  # numbers that were released may be of any size
def remainder(
    outcomes: Doubles, treatment: tuple[Doubles, Doubles], units: float, slopes: Doubles,
    share: float, most: Doubles, columns: tuple[Doubles, Doubles],
) -> Doubles:  # fmt: skip
    """Return what errors of both models together add to the variance of doubly robust means.

    To second order a mean is off by the product of the errors of the two models, averaged over
    rows: a bilinear form in errors of coefficients, which are independent given the rows.  Those of
    coefficients that are not estimable are no more than what models may be off by at all.

    outcomes, shape (2 w, 2 w): second moments of the errors of the coefficients without, then with
        the treatment.
    treatment: of those of the logistic model of the treatment, shape (w, w); and their covariance
        without noise, of which the matrix of the form is made: the information is
        n E[e (1 - e) x x'].
    units: number of rows.
    slopes, shape (2,): mean derivative of the outcome by its linear predictor, in each arm.
    share: of rows that are treated.
    most, shape (2,): mean squares of the errors of predicted outcomes are no more.
    columns: what coefficients are multiplied by to be those of columns about their means, in
        deviations, and second moments of these; both of shape (w, w).
    Returns: shape (2, 2): NaN if nothing is known of a coefficient.
    """
    (turn, moments), w, spread = columns, len(columns[0]), share * (1 - share)
    twice = np.kron(np.eye(2), turn)
    outcomes = twice @ outcomes @ twice.T
    errors, sampling = (turn @ part @ turn.T for part in treatment)
    sampling = sampling * units
    off = np.sqrt(most) / np.maximum(slopes, np.finfo(float).tiny)
    if not all((np.abs(given) < _LARGEST).all() for given in (outcomes, errors, sampling, off)):
        return np.full((2, 2), np.nan)
    outcomes = _within(outcomes, np.repeat(off, w))
    errors = _within(errors, np.full(w, spread**-0.5))
    form, own = _information_root(sampling, moments), []
    for k, slope in enumerate(slopes):
        part = slice(k * w, (k + 1) * w)
        squares = slope**2 * form @ outcomes[part, part] @ form.T
        own.append(slope * _no_more(squares, spread * float(most[k])) @ form)
    errors = form @ errors @ form.T
    kept = _no_more(errors, 1.0)
    both = np.zeros((2 * w, 2 * w))
    both[:w, :w], both[w:, w:] = -own[0] / (1 - share), own[1] / share
    made = (both @ outcomes @ both.T).reshape(2, w, 2, w)
    return np.asarray(np.einsum("ab,ibja->ij", kept @ errors @ kept.T, made))


def _within(moments: Doubles, most: Doubles) -> Doubles:
    """Return second moments of coefficients that are no farther off than so much."""
    errors = np.sqrt(np.maximum(np.diag(moments), np.finfo(float).tiny))
    kept = np.minimum(1.0, most / errors)
    return np.asarray(moments * np.outer(kept, kept))


def _information_root(sampling: Doubles, moments: Doubles) -> Doubles:
    """Return R for R'R the information of a row on coefficients.

    sampling: the covariance of coefficients times the number of rows.
    moments: second moments of rows, which say what the covariance does not: of levels that were
        left out it has nothing.
    """
    values, vectors = np.linalg.eigh(moments)
    root = vectors * np.sqrt(np.maximum(values, _NOTHING))
    values, vectors = np.linalg.eigh(root.T @ sampling @ root)
    usual = max(float(np.median(values)), np.finfo(float).tiny)
    values = np.maximum(np.where(values > _NOTHING * usual, values, usual), _LEAST)
    return np.asarray((vectors / np.sqrt(values)).T @ root.T)


def _no_more(squares: Doubles, most: float) -> Doubles:
    """Return the matrix that takes off second moments, of the largest first, what is too much.

    squares, shape (w, w); their trace is to be no more than `most`.
    """
    values, vectors = np.linalg.eigh(squares)
    values = np.maximum(values, 0.0)
    level = values[-1]
    # The others keep their values; this is left for each of the k largest.
    for k in range(1, len(values) + 1):
        if values.sum() <= most:
            break
        level = max((most - values[: len(values) - k].sum()) / k, 0.0)
        if k == len(values) or level >= values[len(values) - k - 1]:
            break
    kept = np.sqrt(np.minimum(1.0, level / np.maximum(values, np.finfo(float).tiny)))
    return np.asarray((vectors * kept) @ vectors.T)


@np.errstate(all="ignore")  # numbers that were released may be of any size
def residual_variance(sampling: Doubles, family: Family, units: float, share: float) -> float:
    """Return what sampling errors of a model of both arms say of its residuals: of the larger ones.

    sampling, units, share: as of `scores_by_models`.
    Returns NaN if they say nothing, as a logistic model does.
    """
    w, found = len(sampling) // 2, []
    if family is BINOMIAL or not np.isfinite(sampling).all():
        return np.nan
    for k, part in enumerate((1 - share, share)):
        own = slice(k * w, (k + 1) * w)
        precision = np.linalg.pinv(sampling[own, own], hermitian=True)[0, 0]
        found.append(units * part / precision)
    return float(max(found)) if min(found) > 0 and max(found) < np.inf else np.nan


@np.errstate(all="ignore")  # numbers that were released may be of any size
def scores_by_models(
    outcomes: Doubles, sampling: Doubles, treatment: Doubles, family: Family,
    units: float, share: float, overlap: tuple[float, float],
) -> Doubles:  # fmt: skip
    """Return what the models say of the sampling variances of doubly robust means.

    Scores are long where the probability of an arm is small.  These are few, so counts of norms do
    not show them, and second moments of scores that stop at a limit do not have them; but each is
    a residual over a probability, and neither of these has a long tail.  Sampling errors of a
    linear (logistic) model of an arm say what its residuals and covariates are: the inverse of
    their covariance is n_k S_k / s_k^2 (n_k s_k^2 S_k), where S_k begins with 1.

    outcomes, shape (2, w): coefficients without and with the treatment, the intercept first.
    sampling, shape (2 w, 2 w): their covariance without noise.
    treatment, shape (w,): coefficients of the logistic model of the treatment.
    family: of the outcome.
    units: number of rows.
    share: of rows that are treated.
    overlap: to which probabilities are moved.
    Returns: shape (3,): of the effect and of the means without and with the treatment; 0 where the
        models say nothing.
    """
    nothing, w = np.zeros(3), outcomes.shape[1]
    if not np.isfinite(sampling).all():
        return nothing
    dispersion, moments = np.ones(2), np.zeros((w, w))
    for k, part in enumerate((1 - share, share)):
        own = slice(k * w, (k + 1) * w)
        found = np.linalg.pinv(sampling[own, own], hermitian=True) / (units * part)
        if not found[0, 0] > 0:
            return nothing
        if family is not BINOMIAL:
            dispersion[k] = 1 / found[0, 0]
        moments += part * found / found[0, 0]
    away = dispersion * _weighted_slopes(outcomes, treatment, family, moments, overlap)
    slopes = family.slope(outcomes @ moments[0])[:, None] * outcomes
    predicted = np.vstack([slopes[1] - slopes[0], slopes])
    apart = moments - np.outer(moments[0], moments[0])
    of_predictions = np.einsum("ij,jk,ik->i", predicted, apart, predicted)
    variances = np.maximum(of_predictions, 0.0) + np.append(away.sum(), away)
    return np.where(np.isfinite(variances), variances, 0.0) / units


def _weighted_slopes(
    outcomes: Doubles, treatment: Doubles, family: Family, moments: Doubles,
    overlap: tuple[float, float],
) -> Doubles:  # fmt: skip
    """Return mean slopes of the outcomes times squares of inverse probabilities, shape (2,).

    Linear predictors of the treatment and of an outcome are taken to be normal together.
    """
    apart = moments - np.outer(moments[0], moments[0])
    points, shares = np.polynomial.hermite_e.hermegauss(_POINTS)
    shares = shares / shares.sum()
    spread = np.sqrt(max(float(treatment @ apart @ treatment), np.finfo(float).tiny))
    along = apart @ treatment / spread
    chance = BINOMIAL.mean(moments[0] @ treatment + spread * points)
    moved = np.clip(chance, *overlap)
    weights = np.array([(1 - chance) / (1 - moved) ** 2, chance / moved**2])
    found = np.empty(2)
    for k, line in enumerate(outcomes):
        beside = np.sqrt(np.maximum(line @ apart @ line - np.square(along @ line), 0.0))
        predictors = moments[0] @ line + (along @ line) * points[:, None] + beside * points
        found[k] = (weights[k] * shares) @ family.slope(predictors) @ shares
    return found


def share_of_long_residuals(params: Doubles, centre: Doubles, spread: Doubles) -> float:
    """Return the share of rows that have the squares of residuals, as their fourth moment has it.

    params: coefficients of a logistic model.
    centre, spread: shape (w,): of its columns, the intercept first; the linear predictor is taken
        to be normal.
    """
    chance, shares = _normal_chances(params, centre, spread)
    events = min(max(float(shares @ chance), LEAST_CHANCE), 1 - LEAST_CHANCE)
    variance = events * (1 - events)
    return variance / (1 - 3 * variance)


@np.errstate(all="ignore")  # numbers that were released may be of any size
def share_of_long_weights(
    params: Doubles, centre: Doubles, spread: Doubles, overlap: tuple[float, float]
) -> tuple[float, float]:
    """Return the share of rows that have the squares of weights, as their fourth moment has it.

    params, centre, spread: as of `share_of_long_residuals`, of the model of the treatment.
    overlap: to which probabilities are moved.
    Returns: of rows without and with the treatment: others have a weight of 0.
    """
    chance, shares = _normal_chances(params, centre, spread)
    moved, found = np.clip(chance, *overlap), list[float]()
    for own, of in ((1 - chance, 1 - moved), (chance, moved)):
        square = float((shares @ (own / of**2)) ** 2 / (shares @ (own / of**4)))
        found.append(1.0 if math.isnan(square) else square)
    return found[0], found[1]


def _normal_chances(params: Doubles, centre: Doubles, spread: Doubles) -> tuple[Doubles, Doubles]:
    """Return probabilities at points of a normal linear predictor, and the shares of these."""
    points, shares = np.polynomial.hermite_e.hermegauss(_POINTS)
    reach = float(np.linalg.norm(params * spread))
    return BINOMIAL.mean(params @ centre + reach * points), shares / shares.sum()


def without_noise(covariance: Doubles, sampling: Doubles) -> Doubles:
    """Return a covariance with the standard errors that there would be without noise."""
    errors = np.sqrt(np.diag(covariance))
    ratio = np.where(errors > 0, sampling / np.where(errors > 0, errors, 1.0), 0.0)
    return np.asarray(covariance * np.outer(ratio, ratio))
