"""Covariance of coefficients from noisy sums: sampling error and privacy noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.estimation.releases.moments import floor_of

# A coefficient is not estimable if the possible bias of regularisation makes its interval more than
# this many times as wide; otherwise the interval is widened.
_WIDEST = 3.0
# Variances of coefficients are at least those for a constant error variance divided by this.
# Without it 18 more of 2,208 coefficients had no error, because noise made a variance small.
_LEAST_VARIANCE = 4.0
# Coefficients that a note names; the others are blank in the table.
_NAMED = 6


@dataclass(frozen=True, slots=True)
class EstimateError:
    """Error of an estimate in standardised units."""

    # sampling, privacy: shape (w, w): covariances; they add up.
    sampling: Doubles
    privacy: Doubles
    hidden: Doubles  # Shape (w, w): second moment of the possible bias of regularisation.
    # The root of m' clipping m is the largest possible effect of clipping on m' estimate: the sum
    # of the clipped parts of scores, by noisy counts, times the norm of m' inverse curvature.
    # None: not known.
    clipping: Doubles | None = None

    def along(self, map: Doubles) -> EstimateError:
        """Return the error of `map` @ estimate."""
        sampling, privacy, hidden = (
            map @ part @ map.T for part in (self.sampling, self.privacy, self.hidden)
        )
        clipping = None if self.clipping is None else map @ self.clipping @ map.T
        return EstimateError(sampling, privacy, hidden, clipping)


def sandwich(bread: Doubles, constant: Doubles, scatter: Doubles, deviation: float) -> Doubles:
    """Return bread @ scatter @ bread', for a noisy scatter.

    Each variance is a weighted mean of that by the noisy scatter and that for a constant error
    variance, with less weight for the former if its noise is larger; privacy noise in the
    coefficient then exceeds the difference.  Correlations are those of `without_noise`.

    bread, shape (c, w).
    constant, shape (w, w): the `scatter` for errors with constant variance; positive definite.
    scatter, shape (w, w).
    deviation: of the noise on the diagonal of `scatter`; 1 / sqrt 2 of it elsewhere.
    """
    shape = bread @ without_noise(constant, scatter, deviation) @ bread.T
    expected = np.einsum("cj,jk,ck->c", bread, constant, bread)
    seen = np.einsum("cj,jk,ck->c", bread, scatter, bread)
    # If the scatter was not estimated, `deviation` is infinite, and 0 times that is NaN.
    with np.errstate(invalid="ignore", divide="ignore"):
        # v' N v has deviation `deviation` |v|^2 for the noise N.
        noise = deviation * (bread**2).sum(axis=1)
        trust = expected**2 / (expected**2 + noise**2)
        least = expected / _LEAST_VARIANCE
        variances = np.maximum(expected + trust * (seen - expected), least)
        ratio = np.sqrt(variances / np.diag(shape))
    ratio = np.where(np.diag(shape) > 0, ratio, 0.0)
    return np.asarray(shape * np.outer(ratio, ratio))


def without_noise(
    constant: Doubles, scatter: Doubles, deviation: float, *, taken: float = 1.0,
    least: float = 1 / _LEAST_VARIANCE,
) -> Doubles:  # fmt: skip
    """Return the scatter, shrunk to `constant` by the share of their distance that is noise.

    See Ledoit and Wolf (2004).

    taken: share of the variance of the noise that is assumed.
    least: least eigenvalue relative to `constant`.
    """
    root = np.linalg.cholesky(constant)
    back = np.linalg.inv(root)
    apart = back @ scatter @ back.T - np.eye(len(root))
    inverse = back @ back.T
    noise = taken * deviation**2 * (np.trace(inverse) ** 2 + (inverse**2).sum()) / 2
    # NaN if the scatter was not estimated.
    with np.errstate(invalid="ignore", divide="ignore"):
        share = max(0.0, 1 - noise / float((apart**2).sum()))
    values = at_least(np.eye(len(root)) + share * apart, least)
    return np.asarray(root @ values @ root.T)


def hidden_by_floor(gram: Doubles, deviation: float) -> Doubles:
    """Second moment of the bias along directions whose eigenvalue is near or below the floor.

    Along a direction with eigenvalue g, raised to F, a share 1 - g / F of the coefficient is
    missing; g is the noisy eigenvalue minus the possible contribution of noise, and at least 0.
    The coefficient is assumed to explain all of a response of variance 1.

    gram, shape (w, w): noisy.
    deviation: of the noise on its diagonal.
    """
    if gram.size == 0 or not deviation > 0:
        return np.zeros_like(gram)
    values, vectors = np.linalg.eigh(gram)
    floor = floor_of(values, deviation)
    units = max(float(gram[0, 0]), floor)
    # Noise can raise the largest of `small` eigenvalues by about this.
    small = int((values < deviation * math.sqrt(2 * len(values))).sum())
    reach = deviation * max(1.0, math.sqrt(small))
    near = values <= 2 * floor
    left = 1 - np.clip((values - reach) / np.maximum(values, floor), 0.0, 1.0)
    sizes = np.where(near, left**2 * units / floor, 0.0)
    return np.asarray((vectors * sizes) @ vectors.T)


def at_least(matrix: Doubles, least: float) -> Doubles:
    """Return the symmetric matrix with eigenvalues below `least` set to it."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def one_sided(low: Doubles, high: Doubles) -> Flags:
    """Return the columns whose limits exclude 0."""
    return np.asarray((low > 0) | (high < 0))


def user_errors(
    error: EstimateError | None, to_user: Doubles, trusted: Flags, far: Flags
) -> tuple[Doubles | None, Doubles | None, Flags]:
    """Return covariance, sampling errors and which coefficients are not estimable, in user units.

    Errors are NaN for these, and for columns that are not used or whose limits are not reliable.

    trusted: shape (d + 1,): columns with reliable limits; the response is last.
    far: shape (d,): `one_sided` columns of a model with a constant.  If one is not used, its effect
        is part of the intercept, which is then not estimable: without this one of 40 intercepts of
        1,000 log wages missed by 25 errors when years of education looked constant.
    """
    unused = np.asarray(~to_user.any(axis=1), dtype=bool)
    first = len(unused) - len(trusted) + 1
    lost = bool((unused[first:] & far).any())
    unused[first:] |= ~trusted[:-1]
    if error is None:
        return None, None, unused
    if lost:
        unused |= to_user[:, 0] != 0
    covariance = to_user @ (error.sampling + error.privacy + error.hidden) @ to_user.T
    known = np.diag(to_user @ (error.sampling + error.privacy) @ to_user.T)
    hidden = unused | (np.diag(to_user @ error.hidden @ to_user.T) > (_WIDEST**2 - 1) * known)
    sampling = np.sqrt(np.diag(to_user @ error.sampling @ to_user.T))
    covariance[hidden, :] = covariance[:, hidden] = np.nan
    return covariance, np.where(hidden, np.nan, sampling), hidden


def plausible_moments(
    error: EstimateError, to_user: Doubles, trusted: Flags
) -> tuple[Doubles, Doubles]:
    """Return second moments of errors, and of sampling errors alone, in user units.

    They include coefficients that are not estimable, with their largest plausible error, because
    combinations of coefficients may be estimable.

    trusted: as for `user_errors`; NaN for columns whose limits are not reliable.
    """
    d = len(trusted) - 1
    known = np.append(np.ones(len(to_user) - d, dtype=bool), trusted[:-1] | ~to_user[-d:].any(1))
    found = error.sampling + error.privacy + error.hidden, error.sampling
    moments, sampling = (to_user @ part @ to_user.T for part in found)
    moments[~known, :] = moments[:, ~known] = np.nan
    return moments, sampling


def clipping_bounds(error: EstimateError | None, to_user: Doubles, hidden: Flags) -> Doubles | None:
    """Return the estimated effect of clipping on each coefficient, in user units.

    NaN for coefficients that are not estimable; None if the effect is not known.
    """
    if error is None or error.clipping is None:
        return None
    effects = np.sqrt(np.einsum("cj,jk,ck->c", to_user, error.clipping, to_user))
    return np.where(hidden, np.nan, effects)


def hidden_note(
    hidden: Flags,
    coefficients: tuple[str, ...],
    *,
    inference: bool,
    levels: Sequence[Integers] = (),
    narrow: Sequence[str] = (),
) -> tuple[str, ...]:
    """Name the coefficients that are not estimable at this eps, if there are any.

    Errors of the others include plausible effects of these (`newton/errors.py`): otherwise slopes
    of 3,000 rows missed by up to 8 errors if a correlated column, which was 0 in 94% of the rows,
    had bounds ten times too wide.

    hidden, shape (c,): coefficients that are not estimable.
    inference: if False, these are the columns that are not used, and their coefficients are 0.
    levels: indices of the coefficients of the levels of each factor.
    narrow: names of columns far from 0 that look constant.
    """
    if not hidden.any():
        return ()
    what = "standard errors" if inference else "coefficients"
    less = "fewer columns, more rows or a larger eps"
    reference = "the reference level of a factor may have few rows: make another level the first"
    # Then the intercept is not estimable either.
    rare = coefficients[0] == "Intercept" and hidden[0] and any(hidden[of].all() for of in levels)
    if hidden.all():
        advice = f"give bounds, of a numeric response first, or use {less}"
        if rare or narrow:
            advice = reference if rare else narrow_note(narrow)
        return (f"the {what} are not estimable at this eps; {advice}",)
    blank = [name for name, h in zip(coefficients, hidden, strict=True) if h]
    more = f" and {len(blank) - _NAMED:,} more" if len(blank) > _NAMED else ""
    absent = "a term whose coefficient is 0 is not in the model"
    if inference:
        absent = "other coefficients may contain part of the effects of such terms"
    if rare:
        absent += f", and {reference}"
    elif any(hidden[of].any() and not hidden[of].all() for of in levels):
        absent += ", and a level with too few rows is assigned the mean effect of its factor: merge"
        absent += f" it with another, or use {less}"
    elif narrow:
        absent = narrow_note(narrow)
    else:
        absent += f": use {less}"
    return (f"{what} not estimable at this eps: {', '.join(blank[:_NAMED])}{more}; {absent}",)


def narrow_note(names: Sequence[str]) -> str:
    """Return advice for columns that vary little relative to their size.

    Fewer columns or more rows would not help: numbers near 1e12 have few digits left.
    """
    if len(names) == 1:
        what, do = f"{names[0]} varies", "its size: subtract a public number close to its values"
    else:
        what = f"{', '.join(names[:_NAMED])} vary"
        do = "their size: subtract public numbers close to their values"
    return f"{what} too little relative to {do}"
