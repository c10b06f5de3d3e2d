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

__all__ = ["ScoreRoot", "bent", "score_errors", "shrunk"]

Doubles = NDArray[np.float64]


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

    @property
    def dispersion(self) -> float:
        """Second moments of scores over curvature of rows.

        The mean square of residuals, were they independent of the rows, or the overdispersion of
        a family.
        """
        if self.fixed_dispersion > 0:
            return self.fixed_dispersion
        curvature = self.units * float(np.trace(self.curvature))
        return self.squares / max(curvature, np.finfo(float).tiny)


def shrunk(
    root: ScoreRoot, directions: Directions, sizes: Doubles | None = None
) -> tuple[ScoreRoot, Doubles]:
    """Shrink the estimate where noise would swamp predictions.

    Along all directions that were seen together, see `kept_shares`.  Along each, where noise is
    no less than a prior by which a standard deviation of the regressors moves the response by
    about one of its own; that leaves alone whatever is told from noise.

    Parameters
    ----------
    root : ScoreRoot
    directions : Directions
    sizes : ndarray, shape (w,), optional
        Standard deviations of each regressor that move the response as far.  Default: 1 each.

    Returns
    -------
    ScoreRoot
    kept : ndarray, shape (w,)
        Share of each coordinate that is left; 1 where nothing was done.
    """
    seen, noise = directions.seen, root.noise / root.scale**2
    size = int(seen.sum())
    gram = root.units * np.eye(size)
    found = (root.theta - root.start) / root.scale
    prior = _prior_variance(directions, sizes)
    if not root.standardised:
        # Where much is explained, a regressor may well explain as much.
        prior = prior * max(1.0, float(found[seen] @ found[seen]))
    kept = 1 / (1 + (np.diag(noise) / prior) ** 2)
    theta = kept * found
    explaining = theta[seen] if root.standardised else np.zeros(size)
    kept[seen] *= np.diag(kept_shares(gram, root.units, explaining, noise[np.ix_(seen, seen)]))
    return replace(root, theta=root.start + root.scale * kept * found), kept


def _prior_variance(directions: Directions, sizes: Doubles | None) -> Doubles:
    """Of the coordinate along each direction."""
    if sizes is None:
        farthest = (directions.map**2).sum(axis=0)
    else:
        farthest = ((directions.map * sizes[:, None]) ** 2).max(axis=0, initial=0.0)
    return np.asarray(1 / np.maximum(farthest, np.finfo(float).tiny))


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
    kept : ndarray, shape (w,)
        What the coordinates were multiplied by.
    sizes : ndarray, shape (w,), optional
        As for `shrunk`.
    """
    there = directions.map * kept
    moved = there @ root.inverse * (root.cut.excess / root.units)
    constant = root.dispersion * root.units * root.curvature
    sampling = sandwich(
        there @ root.inverse / root.units, constant, root.products, root.products_deviation
    )
    largest = np.minimum(root.dispersion, _prior_variance(directions, sizes)) * root.scale**2
    hidden = np.where(directions.seen, (1 - kept) ** 2, 1.0) * largest
    return EstimateError(
        sampling=sampling,
        privacy=there @ root.noise @ there.T,
        hidden=(directions.map * (hidden + root.unsettled)) @ directions.map.T,
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
    longer = bent_factors(terms.family, centre, theta, regressors, errors) ** 2 - 1
    # Where a slope moves, the others follow; the mean row has its predictor to itself.
    weights = longer[first:] / np.maximum(variances[first:], np.finfo(float).tiny)
    hidden = error.hidden + (known[:, first:] * weights) @ known[first:]
    hidden[:first, :first] += longer[:first] * variances[:first]
    return replace(error, hidden=hidden)
