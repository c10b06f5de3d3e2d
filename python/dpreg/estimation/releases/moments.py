"""Noisy second moments of standardised rows, and estimates from them."""

from __future__ import annotations

import math

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Flags
from dpreg.estimation.releases.accountant import GaussianReleases, Noisy
from dpreg.estimation.releases.quantised import MappedRows
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales
from dpreg.privacy.sealed import ExactSums

# Standard deviations of noise for which a variance is significant.
_CLEAR = 2.0


def found_columns(scales: Scales, units: StandardUnits, gram: Doubles, deviation: float) -> Flags:
    """Return which columns have a significant variance, by a second test.

    The first test uses noisy variances within limits.  A column that was not significant there may
    be so in the Gram matrix, which is more precise.

    units: of all columns.
    gram: shape (intercept + d, intercept + d): noisy; further rows and columns may follow.
    deviation: of the noise on its diagonal.
    Returns an array of shape (d,).
    """
    first = int(units.intercept)
    squares = np.diag(gram)[first : first + len(units.columns)]
    return np.asarray((scales.spread[units.columns] > _CLEAR) | (squares > _CLEAR * deviation))


def without_columns(gram: Doubles, found: Flags, *, intercept: bool) -> Doubles:
    """Leave out the rows and columns of a Gram matrix that belong to columns not found."""
    last = len(gram) - int(intercept) - len(found)
    kept = np.flatnonzero(np.concatenate([[True] * intercept, found, [True] * last]))
    return gram[np.ix_(kept, kept)]


def noisy_gram(
    rows: MappedRows, noise: GaussianReleases, mu: float, label: str = "sums of products"
) -> tuple[Doubles, float]:
    """Release the Gram matrix of standardised rows.

    Returns gram: shape (width, width): symmetric; a row within its limit counts z z'.
    and deviation: standard deviation of the noise on the diagonal; 1 / sqrt 2 of it elsewhere.
    """
    sums, scale = symmetric(label, rows.gram(), noise, mu)
    unit = (rows.limit / _core.ROW_STEPS) ** 2
    return sums * unit, scale * unit


def symmetric(label: str, triangle: ExactSums, noise: GaussianReleases, mu: float) -> Noisy:
    """Release a symmetric matrix by its upper triangle; see `MappedRows.gram`.

    Noise on the diagonal has scale sigma, and elsewhere sigma / sqrt 2.
    """
    entries, scale = noise.release(label, triangle, mu)
    width = math.isqrt(2 * len(entries))
    matrix = np.zeros((width, width))
    matrix[np.triu_indices(width)] = entries
    return Noisy(matrix + np.triu(matrix, 1).T, scale)


def floored_inverse(gram: Doubles, deviation: float) -> Doubles:
    """Invert a noisy Gram matrix whose eigenvalues below the noise are set to it."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray((vectors / np.maximum(values, floor_of(values, deviation))) @ vectors.T)


def floor_of(values: Doubles, deviation: float) -> float:
    """Return the floor under noisy eigenvalues `values`.

    A symmetric matrix of noise with this standard deviation on the diagonal, divided by sqrt 2
    elsewhere, has a largest eigenvalue of about deviation * sqrt(2 width).  If only r eigenvalues
    are that small, noise mixes only their directions: within those r dimensions it reaches
    deviation * sqrt(2 r), plus twice its standard deviation.
    """
    wide = deviation * math.sqrt(2 * len(values))
    small = int((values < wide).sum())
    return min(wide, deviation * (math.sqrt(2 * small) + 2))
