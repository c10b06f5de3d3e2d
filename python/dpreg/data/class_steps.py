"""Rows of a step of maximum likelihood of a model of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.data.class_likelihoods import Likelihood

# Entries of rows are finite.
_FARTHEST = 1e300


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfStep:
    """Rows whose least squares are a step of the likelihood of a model of classes.

    A record has K - 1 predictors, each with columns Z of its own, and as many rows: row j has
    columns L[:, j]' Z and the response (inv(L) u)[j], where u are the derivatives of its
    log-likelihood by predictors at the start, and L L' their information, in closed form, in the
    middle of the step.  So the rows add up to the score Z'u of the record, and to its information
    there.  Public, and can be pickled.
    """

    likelihood: Likelihood
    weighted: bool  # The last column of a record is its weight, and is that of its rows.
    # centre, scale: of covariates: rows have what they are less the centre, over the scale.
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    # start, middle: coefficients of the covariates in these units.
    start: Doubles
    middle: Doubles
    # Shape (K - 1,): squares of entries of the diagonal of L are no less, so that no response is
    # far from 0; the information is larger then, and the step shorter.
    least: Doubles

    @np.errstate(all="ignore")  # a warning would be about a cell
    def __call__(self, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles, Integers]:
        """Return regressors and response of the rows, and how many are of each record.

        The response of a record is the number of its class, from 0; a record with another one has
        no row.  Columns are those of `names` of the classes, and the weight if there are weights.
        """
        likelihood, count = self.likelihood, self.likelihood.classes.count
        inside = np.flatnonzero(np.isin(y, np.arange(count + 1)))
        moved = (X[inside][:, : len(self.centre)] - self.centre) / self.scale
        covariates = np.clip(moved, -_FARTHEST, _FARTHEST)
        surprise = likelihood.surprise(covariates, y[inside].astype(np.int64), self.start)
        spread, below = likelihood.factor(covariates, self.middle, self.least)
        factor = (below * spread[:, None, :]).transpose(0, 2, 1)
        made = likelihood.columns(covariates, factor)
        made = made.reshape(len(inside) * count, made.shape[2])
        if self.weighted:
            made = np.column_stack([made, np.repeat(X[inside][:, -1], count)])
        counts = np.zeros(len(y), dtype=np.int64)
        counts[inside] = count
        return made, (_solved(below, surprise) / spread).ravel(), counts


def _solved(below: Doubles, surprise: Doubles) -> Doubles:
    """Return what matrices with 1 on the diagonal, and 0 above it, multiply to give `surprise`."""
    found = surprise.copy()
    for j in range(found.shape[1]):
        found[:, j + 1 :] -= below[:, j + 1 :, j] * found[:, j, None]
    return found
