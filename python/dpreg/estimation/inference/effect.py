"""Errors of mean outcomes by arm, from released scores and nuisance models."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.families import BINOMIAL, Family

# Quadrature points for normal linear predictors of the treatment.
_POINTS = 41
# The share of events, of treated rows or of a class is assumed to be at least this far from 0 and
# 1.
LEAST_CHANCE = 1e-3
# Eigenvalues below this share of the typical one are treated as 0.
_ZERO_SHARE = 1e-6
# Larger second moments are unknown.  The information of a row on a coefficient is at most the
# inverse of the second number: 1/4 of its square, apart from errors of second moments.
_LARGEST, _LEAST = 1e100, 1e-3


def combined(
    estimates: Sequence[float], totals: Sequence[float], samplings: Sequence[float]
) -> tuple[Doubles, Doubles, Doubles]:
    """Combine three estimates of two means, weighted by their noise.

    All estimates have the sampling error of the same sample, in which the effect is the difference
    of the means, so weights depend on noise only.

    estimates, totals, samplings: of the effect and of the means without and with the treatment:
        released value, its variance, and the sampling part of that.
    Returns: means, shape (2,).
        covariance, sampling, shape (2, 2): NaN if a variance is.
    """
    values, total, own = (np.asarray(x, dtype=np.float64) for x in (estimates, totals, samplings))
    known = bool(np.isfinite(total).all() and np.isfinite(own).all())
    noise = np.maximum(total - own, 1e-9 * total) if known else np.ones(3)
    share = noise / max(float(noise.sum()), np.finfo(float).tiny)
    # Generalised least squares without an inverse: one noise variance may be far below the others.
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
    """Return the variance that errors of both models together add to doubly robust means.

    To second order the error of a mean is the product of the errors of the two models, averaged
    over rows: a bilinear form in the errors of coefficients, which are independent given the rows.
    Errors of coefficients that are not estimable are limited to the largest plausible errors of
    models.

    outcomes, shape (2 w, 2 w): second moments of the errors of the coefficients without, then with
        the treatment.
    treatment: the same for the logistic model of the treatment, shape (w, w); and the covariance of
        its coefficients without noise, which gives the matrix of the form: the information is n E[e
        (1 - e) x x'].
    units: number of rows.
    slopes, shape (2,): mean derivative of the outcome by its linear predictor, in each arm.
    share: of rows that are treated.
    most, shape (2,): largest mean squared errors of predicted outcomes.
    columns: matrix that maps coefficients to those of standardised columns, and second moments of
        these columns; both of shape (w, w).
    Returns: shape (2, 2): NaN if a coefficient is unknown.
    """
    (turn, moments), w, spread = columns, len(columns[0]), share * (1 - share)
    twice = np.kron(np.eye(2), turn)
    outcomes = twice @ outcomes @ twice.T
    errors, sampling = (turn @ part @ turn.T for part in treatment)
    sampling = sampling * units
    off = np.sqrt(most) / np.maximum(slopes, np.finfo(float).tiny)
    if not all((np.abs(given) < _LARGEST).all() for given in (outcomes, errors, sampling, off)):
        return np.full((2, 2), np.nan)
    outcomes = _limited_moments(outcomes, np.repeat(off, w))
    errors = _limited_moments(errors, np.full(w, spread**-0.5))
    form, own = _information_root(sampling, moments), []
    for k, slope in enumerate(slopes):
        part = slice(k * w, (k + 1) * w)
        squares = slope**2 * form @ outcomes[part, part] @ form.T
        own.append(slope * _trace_limit(squares, spread * float(most[k])) @ form)
    errors = form @ errors @ form.T
    kept = _trace_limit(errors, 1.0)
    both = np.zeros((2 * w, 2 * w))
    both[:w, :w], both[w:, w:] = -own[0] / (1 - share), own[1] / share
    made = (both @ outcomes @ both.T).reshape(2, w, 2, w)
    return np.asarray(np.einsum("ab,ibja->ij", kept @ errors @ kept.T, made))


def _limited_moments(moments: Doubles, most: Doubles) -> Doubles:
    """Return second moments of coefficients limited to errors of this size."""
    errors = np.sqrt(np.maximum(np.diag(moments), np.finfo(float).tiny))
    kept = np.minimum(1.0, most / errors)
    return np.asarray(moments * np.outer(kept, kept))


def _information_root(sampling: Doubles, moments: Doubles) -> Doubles:
    """Return R such that R'R is the information of a row on coefficients.

    sampling: the covariance of coefficients times the number of rows.
    moments: second moments of rows, used for levels that were left out, for which the covariance
        has no entry.
    """
    values, vectors = np.linalg.eigh(moments)
    root = vectors * np.sqrt(np.maximum(values, _ZERO_SHARE))
    values, vectors = np.linalg.eigh(root.T @ sampling @ root)
    usual = max(float(np.median(values)), np.finfo(float).tiny)
    values = np.maximum(np.where(values > _ZERO_SHARE * usual, values, usual), _LEAST)
    return np.asarray((vectors / np.sqrt(values)).T @ root.T)


def _trace_limit(squares: Doubles, most: float) -> Doubles:
    """Return the matrix that reduces second moments, largest first, to a trace of `most`.

    squares, shape (w, w).
    """
    values, vectors = np.linalg.eigh(squares)
    values = np.maximum(values, 0.0)
    level = values[-1]
    # The others keep their values; this remains for each of the k largest.
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
    """Return the variance of the larger residuals implied by sampling errors of both arms.

    sampling, units, share: as for `scores_by_models`.
    Returns NaN if sampling errors do not determine it, as in a logistic model.
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
    """Return sampling variances of doubly robust means implied by the models.

    Scores are large where the probability of an arm is small.  Such rows are few, so noisy counts
    of norms miss them, and second moments of clipped scores exclude them.  But a score is a
    residual divided by a probability, and neither has a heavy tail.  Sampling errors of a linear
    (logistic) model of an arm determine residuals and covariates: the inverse of their covariance
    is n_k S_k / s_k^2 (n_k s_k^2 S_k), where the first entry of S_k is 1.

    outcomes, shape (2, w): coefficients without and with the treatment, the intercept first.
    sampling, shape (2 w, 2 w): their covariance without noise.
    treatment, shape (w,): coefficients of the logistic model of the treatment.
    family: of the outcome.
    units: number of rows.
    share: of rows that are treated.
    overlap: limits to which probabilities are clipped.
    Returns: shape (3,): of the effect and of the means without and with the treatment; 0 where the
        models do not determine it.
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
    """Return mean slopes of the outcomes times squared inverse probabilities, shape (2,).

    Linear predictors of treatment and outcome are assumed to be jointly normal.
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


def share_of_large_residuals(params: Doubles, centre: Doubles, spread: Doubles) -> float:
    """Return the effective share of rows with large residuals, E[r^2]^2 / E[r^4].

    params: coefficients of a logistic model.
    centre, spread: shape (w,): of its columns, the intercept first; the linear predictor is assumed
        to be normal.
    """
    chance, shares = _normal_chances(params, centre, spread)
    events = min(max(float(shares @ chance), LEAST_CHANCE), 1 - LEAST_CHANCE)
    variance = events * (1 - events)
    return variance / (1 - 3 * variance)


@np.errstate(all="ignore")  # numbers that were released may be of any size
def share_of_large_weights(
    params: Doubles, centre: Doubles, spread: Doubles, overlap: tuple[float, float]
) -> tuple[float, float]:
    """Return the effective share of rows with large weights, E[w^2]^2 / E[w^4].

    params, centre, spread: as for `share_of_large_residuals`, of the model of the treatment.
    overlap: limits to which probabilities are clipped.
    Returns: for the arm without and with the treatment; rows of the other arm have weight 0.
    """
    chance, shares = _normal_chances(params, centre, spread)
    moved, found = np.clip(chance, *overlap), list[float]()
    for own, of in ((1 - chance, 1 - moved), (chance, moved)):
        square = float((shares @ (own / of**2)) ** 2 / (shares @ (own / of**4)))
        found.append(1.0 if math.isnan(square) else square)
    return found[0], found[1]


def _normal_chances(params: Doubles, centre: Doubles, spread: Doubles) -> tuple[Doubles, Doubles]:
    """Return probabilities at quadrature points of a normal linear predictor, and their weights."""
    points, shares = np.polynomial.hermite_e.hermegauss(_POINTS)
    reach = float(np.linalg.norm(params * spread))
    return BINOMIAL.mean(params @ centre + reach * points), shares / shares.sum()


def without_noise(covariance: Doubles, sampling: Doubles) -> Doubles:
    """Return a covariance rescaled to the standard errors without noise."""
    errors = np.sqrt(np.diag(covariance))
    ratio = np.where(errors > 0, sampling / np.where(errors > 0, errors, 1.0), 0.0)
    return np.asarray(covariance * np.outer(ratio, ratio))
