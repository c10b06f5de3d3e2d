"""What a noisy root is off by, and how much of it is kept.  Everything here is public."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpreg.data.design import Terms
from dpreg.inference.bent import bent_factors
from dpreg.inference.covariance import EstimateError, sandwich
from dpreg.inference.shrinkage import kept_shares
from dpreg.sums.preconditioning import Directions
from dpreg.sums.rows import StandardUnits
from dpreg.sums.scores import ScoreCut
from dpreg.sums.standardisation import Scales
from dpreg.sums.two_values import two_values

__all__ = ["ScoreRoot", "bent", "dispersion", "score_errors", "shrunk"]

Doubles = NDArray[np.float64]

# A coordinate so many deviations of its noise from 0 is no draw from its prior.
_TOLD = 3.0
# One that is so many from 0 is kept whatever all of them explain: where that is more than all of
# the response has, its scale is wrong rather than their noise.
_CLEAR = 10.0


@dataclass(frozen=True, slots=True)
class ScoreRoot:
    """What the rounds released, along w directions with second moments of about 1.

    Attributes
    ----------
    theta : ndarray, shape (w,)
    deviation : float
        Of the privacy noise in each entry of the score, as it is in the mean of the last rounds.
    cut : ScoreCut
        The limit of the norms of scores in the last rounds, and what it took off them.
    row_limit : float
        Of the norms of rows.
    products : ndarray, shape (w, w)
        Noisy sum of the products of scores.
    products_deviation : float
        Of the noise on its diagonal.
    norm, squares : float
        Root mean square norm of a score of a unit, and the sum of the squares of all.
    units : float
        Noisy number of rows.
    unsettled : ndarray, shape (w,)
        Mean square of the last steps beyond what noise explains: not all rounds converge.
    curvature : ndarray, shape (w, w)
        Of the loss of a row, on average; positive definite.
    start : ndarray, shape (w,)
        What the estimate is shrunk to.
    scale : float
        What one standard deviation of the response is worth in the linear predictor.
    fixed_dispersion : float
        That of the family; 0: it has none of its own.
    standardised : bool
        The linear predictor explains no more than the variance of the response.
    """

    theta: Doubles
    deviation: float
    cut: ScoreCut
    row_limit: float
    products: Doubles
    products_deviation: float
    norm: float
    squares: float
    units: float
    unsettled: Doubles
    curvature: Doubles
    start: Doubles
    scale: float = 1.0
    fixed_dispersion: float = 0.0
    standardised: bool = True

    @property
    def inverse(self) -> Doubles:
        """Of the curvature, shape (w, w)."""
        return np.asarray(np.linalg.inv(self.curvature))

    @property
    def noise(self) -> Doubles:
        """Covariance of the privacy noise in `theta`, shape (w, w)."""
        inverse = self.inverse
        return np.asarray(self.deviation**2 * inverse @ inverse.T)


def shrunk(
    root: ScoreRoot, directions: Directions, sizes: Doubles | None = None
) -> tuple[ScoreRoot, Doubles]:
    """Shrink the estimate where noise would swamp predictions.

    Along all directions that were seen together, but for those that are clear of their noise, see
    `kept_shares`.  Along each, where noise is
    no less than a prior by which a standard deviation of the regressors moves the response by
    about one of its own; that leaves alone whatever is told from noise.  With `sizes` the prior is
    that of the effect of each regressor, and directions are those along which noise in effects is
    uncorrelated: effects that noise hides leave the others as they are.

    Parameters
    ----------
    root : ScoreRoot
    directions : Directions
    sizes : ndarray, shape (w,), optional
        Standard deviations of each regressor that move the response as far.  Default: 1 each.

    Returns
    -------
    ScoreRoot
    kept : ndarray, shape (w, w)
        What the coordinates are multiplied by; the identity where nothing was done.
    """
    seen, noise = directions.seen, root.noise / root.scale**2
    size = int(seen.sum())
    gram = root.units * np.diag(directions.moments[seen])
    found = (root.theta - root.start) / root.scale
    if sizes is None:
        kept = np.diag(1 / (1 + (np.diag(noise) * _lengths(directions)) ** 2))
    else:
        effects = directions.map * sizes[:, None]
        basis = np.linalg.eigh(effects @ noise @ effects.T)[1].T @ effects
        along = np.einsum("jk,kl,jl->j", basis, noise, basis)
        # Where much is explained, a regressor may well explain as much.
        prior = max(1.0, float(found[seen] @ found[seen]))
        prior = np.maximum(prior, (basis @ found) ** 2 - _TOLD**2 * along)
        kept = np.linalg.solve(basis, basis / (1 + (along / prior) ** 2)[:, None])
    explaining = (kept @ found)[seen] if root.standardised else np.zeros(size)
    together = np.ones(len(found))
    together[seen] = np.diag(kept_shares(gram, root.units, explaining, noise[np.ix_(seen, seen)]))
    errors = np.diag(noise) + root.unsettled / root.scale**2
    together[seen & (found**2 > _CLEAR**2 * errors)] = 1.0
    kept = kept * np.where(directions.left_out, 0.0, together)
    return replace(root, theta=root.start + root.scale * kept @ found), kept


def dispersion(root: ScoreRoot, directions: Directions) -> float:
    """Return second moments of scores over curvature of rows.

    The mean square of residuals, were they independent of the rows, or the overdispersion of
    a family.
    """
    if root.fixed_dispersion > 0:
        return root.fixed_dispersion
    curvature = root.units * float(np.diag(root.curvature)[~directions.left_out].sum())
    return root.squares / max(curvature, np.finfo(float).tiny)


def _lengths(directions: Directions) -> Doubles:
    """Return the squares of the directions in standard units, shape (w,)."""
    lengths = (directions.map**2).sum(axis=0)
    return np.asarray(np.maximum(lengths, np.finfo(float).tiny))


def _largest(root: ScoreRoot, directions: Directions, sizes: Doubles | None) -> Doubles:
    """Return the second moments that coordinates have at most, for a response of variance 1."""
    if sizes is None:
        return np.diag(np.minimum(dispersion(root, directions), 1 / _lengths(directions)))
    effects = directions.map * sizes[:, None]
    least = np.eye(len(effects)) / max(dispersion(root, directions), np.finfo(float).tiny)
    return np.asarray(np.linalg.inv(effects.T @ effects + least))


def score_errors(
    root: ScoreRoot, directions: Directions, kept: Doubles, sizes: Doubles | None = None
) -> EstimateError:
    """Return the error of the coefficients in standard units, w of them.

    Along directions that were not seen, coordinates are as large as would explain all that is left
    of the response, or as the prior of `shrunk` has them.

    Parameters
    ----------
    root : ScoreRoot
    directions : Directions
    kept : ndarray, shape (w, w)
        What the coordinates were multiplied by.
    sizes : ndarray, shape (w,), optional
        As for `shrunk`.
    """
    there = directions.map @ kept
    moved = there @ root.inverse * (root.cut.excess / root.units)
    constant = dispersion(root, directions) * root.units * root.curvature
    sampling = sandwich(
        there @ root.inverse / root.units, constant, root.products, root.products_deviation
    )
    largest = _largest(root, directions, sizes) * root.scale**2
    lost = directions.map @ (np.eye(len(kept)) - kept * directions.seen)
    unsettled = directions.map * root.unsettled @ directions.map.T
    return EstimateError(
        sampling=sampling,
        privacy=there @ root.noise @ there.T,
        hidden=lost @ largest @ lost.T + unsettled,
        clipping=moved @ moved.T,
    )


def bent(
    error: EstimateError, theta: Doubles, terms: Terms, scales: Scales, units: StandardUnits
) -> EstimateError:
    """Lengthen errors where the score is not a straight line within an interval.

    Parameters
    ----------
    error : EstimateError
    theta : ndarray, shape (width,)
        Coefficients in standard units.
    terms : Terms
    scales : Scales
    units : StandardUnits

    See Also
    --------
    dpreg.inference.bent.bent_factors
    """
    first, known = int(units.intercept), error.sampling + error.privacy
    regressors = two_values(scales, units)
    centre = float(theta @ regressors.means) + float(scales.centre[list(terms.given)].sum())
    variances = np.diag(known)
    errors = np.sqrt(variances)
    factors, still = bent_factors(terms.family, centre, theta, regressors, errors)
    # Others follow the score, which goes no farther for that, and not the coefficient.  What is
    # lengthened moves together as it did, and the mean row so that rows keep their predictor whose
    # scores are not flat.
    apart = np.diag(np.sqrt(factors**2 - 1))
    apart[:first, first:] = -still[first:] * (factors - 1)[first:]
    known[:first, first:] = known[first:, :first] = 0.0
    return replace(error, hidden=error.hidden + apart @ known @ apart.T)
