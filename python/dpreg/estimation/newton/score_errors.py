"""Errors where scores are no straight lines.  Everything here is public."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpreg.data.design import Terms
from dpreg.estimation.inference.bent import bent_factors
from dpreg.estimation.inference.covariance import EstimateError
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.releases.two_values import two_values

__all__ = ["bent"]

Doubles = NDArray[np.float64]


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
    dpreg.estimation.inference.bent.bent_factors
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
