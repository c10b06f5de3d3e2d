"""Rows of a step of maximum likelihood of a multinomial logit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg.data.classes import Baseline, Places, covariates_in_units

__all__ = ["RowsOfStep"]

Doubles = NDArray[np.float64]

# Linear predictors are no farther from 0, so that no probability is 0.
_FARTHEST = 15.0


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfStep:
    """Rows whose least squares are a step of the multinomial likelihood.

    A record has a row for each class but the base: row j has columns L[:, j] kron (1, x) and the
    response (inv(L) (e - p))[j], where p are the probabilities of these classes at the start, e
    says which of them it is, and L L' = diag(q) - q q', in closed form, with the probabilities q in
    the middle of the step.  So the rows add up to the score (e - p) kron (1, x) of the record, and
    to its information there.  Public, and can be pickled.
    """

    classes: Baseline
    weighted: bool  # As of `RowsOfClasses`.
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    # start, middle: shape (K - 1, 1 + d): coefficients of the covariates in these units, each class
    # compared with the base.
    start: Doubles
    middle: Doubles
    # Shape (K - 1,): squares of entries of the diagonal of L are no less, so that no response is
    # far from 0; the information is larger then, and the step shorter.
    least: Doubles

    def __call__(self, X: Doubles, y: Doubles) -> tuple[Doubles, Doubles, Places]:
        """Return regressors and response of the rows; see `RowsOfClasses`."""
        count, base = self.classes.count, self.classes.base
        inside = np.flatnonzero(np.isin(y, np.arange(count + 1)))
        covariates = covariates_in_units(X[inside], self.centre, self.scale)
        code = y[inside].astype(np.int64)
        # Number of the class among the others; of the base, after them.
        place = np.where(code == base, count, code - (code > base))
        surprise = (place[:, None] == np.arange(count)) - _chances(covariates, self.start)[:, :-1]
        factor, response = _parts(_chances(covariates, self.middle), surprise, self.least)
        own = np.column_stack([np.ones(len(place)), covariates])
        made = factor[:, :, :, None] * own[:, None, None, :]
        made = made.reshape(len(place) * count, count * own.shape[1])
        if self.weighted:
            made = np.column_stack([made, np.repeat(X[inside][:, -1], count)])
        counts = np.zeros(len(y), dtype=np.int64)
        counts[inside] = count
        return made, response.ravel(), counts


def _chances(covariates: Doubles, theta: Doubles) -> Doubles:
    """Return probabilities of the classes but the base, and of that, last.

    One column after another: the last bit of a matrix product may depend on where a row is.
    """
    found = np.tile(theta[:, 0], (len(covariates), 1))
    with np.errstate(all="ignore"):
        for column, slopes in zip(covariates.T, theta[:, 1:].T, strict=True):
            found = found + column[:, None] * slopes
    found = np.nan_to_num(np.clip(found, -_FARTHEST, _FARTHEST))
    powers = np.column_stack([np.exp(found), np.ones(len(found))])
    total = np.zeros(len(found))
    for column in powers.T:
        total = total + column
    return np.asarray(powers / total[:, None])


def _parts(chances: Doubles, surprise: Doubles, least: Doubles) -> tuple[Doubles, Doubles]:
    """Return L', columns of L in rows, and inv(L) surprise of each record."""
    # Probability of a class or a later one, and of a later one.
    at_least = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]
    own, from_here, later = chances[:, :-1], at_least[:, :-1], at_least[:, 1:]
    count = own.shape[1]
    number = np.arange(count)
    spread = np.sqrt(np.maximum(own * later / from_here, least))
    factor = np.zeros((len(own), count, count))
    factor[:, number, number] = spread
    response, told = np.empty(own.shape), np.zeros(len(own))
    for j in range(count):
        factor[:, j, j + 1 :] = -own[:, j + 1 :] * (spread[:, j] / later[:, j])[:, None]
        left = surprise[:, j] + own[:, j] * told
        response[:, j] = left / spread[:, j]
        told = told + left / later[:, j]
    return factor, response
