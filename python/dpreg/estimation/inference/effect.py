"""Errors of mean outcomes by arm, from what was released of their scores and of nuisance models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpreg.base.arrays import Doubles


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


def without_noise(covariance: Doubles, sampling: Doubles) -> Doubles:
    """Return a covariance with the standard errors that there would be without noise."""
    errors = np.sqrt(np.diag(covariance))
    ratio = np.where(errors > 0, sampling / np.where(errors > 0, errors, 1.0), 0.0)
    return np.asarray(covariance * np.outer(ratio, ratio))
