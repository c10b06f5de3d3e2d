"""Errors of mean outcomes by arm, from what was released of their scores and of nuisance models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.families import BINOMIAL, Family

# Linear predictors of the treatment are averaged as if normal, at so many points.
_POINTS = 41


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


def remainder(
    outcomes: Doubles, treatment: Doubles, sampling: Doubles, units: float,
    slopes: Doubles, share: float,
) -> Doubles:  # fmt: skip
    """Return what errors of both models together add to the variance of doubly robust means.

    To second order a mean is off by the product of the errors of the two models, averaged over
    rows: a bilinear form in errors of coefficients, which are independent given the rows.

    outcomes, shape (2 w, 2 w): covariance of the coefficients without, then with the treatment.
    treatment, shape (w, w): of those of the logistic model of the treatment.
    sampling, shape (w,): standard errors of the latter without noise, of which the matrix of the
        form is made: the information is n E[e (1 - e) x x'].
    units: number of rows.
    slopes, shape (2,): mean derivative of the outcome by its linear predictor, in each arm.
    share: of rows that are treated.
    Returns: shape (2, 2): NaN if a coefficient has no standard error.
    """
    w = len(treatment)
    with np.errstate(all="ignore"):  # rounding may have made a variance 0, or less
        errors = np.sqrt(np.diag(treatment))
        alike = treatment / np.outer(errors, errors)
    if not all(np.isfinite(given).all() for given in (outcomes, alike, sampling)):
        return np.full((2, 2), np.nan)
    form = np.linalg.pinv(alike, hermitian=True) / np.outer(sampling, sampling) / units
    forms = (-form * slopes[0] / (1 - share), form * slopes[1] / share)
    return np.array(
        [
            [
                np.trace(treatment @ a @ outcomes[i * w : (i + 1) * w, j * w : (j + 1) * w] @ b)
                for j, b in enumerate(forms)
            ]
            for i, a in enumerate(forms)
        ]
    )


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


def without_noise(covariance: Doubles, sampling: Doubles) -> Doubles:
    """Return a covariance with the standard errors that there would be without noise."""
    errors = np.sqrt(np.diag(covariance))
    ratio = np.where(errors > 0, sampling / np.where(errors > 0, errors, 1.0), 0.0)
    return np.asarray(covariance * np.outer(ratio, ratio))
