"""Between the user's units and the standardised rows that sums are taken of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.design import Design
from dpreg.methods._gaussian import GaussianReleases
from dpreg.methods.standardisation import Scales

__all__ = [
    "Doubles",
    "StandardisedRows",
    "floor_of",
    "floored_inverse",
    "noisy_gram",
    "noisy_scatter",
    "standardised_rows",
]

Doubles = NDArray[np.float64]

# Steps of a count that is released with sums of many more steps.
_COUNT_STEPS = 1 << 20


@dataclass(frozen=True, slots=True)
class StandardisedRows:
    """Quantised rows, and the way back to the user's units.

    Attributes
    ----------
    rows : QuantisedRows
        Private.
    columns : ndarray of int, shape (k,)
        The columns of X that are used.
    centre, scale : ndarray, shape (k,)
        Of those columns.
    y_centre, y_scale : float
    intercept : bool
    """

    rows: _core.QuantisedRows
    columns: NDArray[np.int64]
    centre: Doubles
    scale: Doubles
    y_centre: float
    y_scale: float
    intercept: bool

    def to_user(self, d: int) -> Doubles:
        """Return L with params = L @ theta + offset; see `offset`.

        Returns
        -------
        ndarray, shape (intercept + d, intercept + k)
        """
        i = int(self.intercept)
        slopes = self.y_scale / self.scale
        matrix = np.zeros((i + d, i + len(self.columns)))
        matrix[i + self.columns, i + np.arange(len(self.columns))] = slopes
        if i:
            matrix[0, 0] = self.y_scale
            matrix[0, 1:] = -slopes * self.centre
        return matrix

    def offset(self, d: int) -> Doubles:
        """Return what the coefficients are at theta = 0."""
        return np.concatenate([[self.y_centre] * self.intercept, np.zeros(d)])


def standardised_rows(
    design: Design,
    scales: Scales,
    row_factor: float,
    *,
    winsorise: bool,
    response_limit: float = 0.0,
) -> StandardisedRows:
    """Quantise the rows of `design` under released scales.

    Parameters
    ----------
    design : Design
        Private.
    scales : Scales
        Released.
    row_factor : float
        Rows longer than this many times their expected length are shrunk to it.
    winsorise : bool
        Move regressors beyond the limits to them.  That steadies a fit and biases its slopes.
        Without it only those are moved whose order of magnitude was not found.
    response_limit : float
        Above 0, the response clipped to it is the last entry of each row.
    """
    columns = np.flatnonzero(scales.identified[:-1])
    intercept = design.terms.intercept
    # Through the origin nothing is centred, and a scale is a root mean square about 0.
    centre = scales.centre if intercept else np.zeros_like(scales.centre)
    scale = scales.scale if intercept else np.hypot(scales.scale, scales.centre)
    row_limit = row_factor * math.sqrt(max(1, len(columns) + intercept))
    how = _core.Standardisation()
    how.columns = columns.tolist()
    # Beyond limits that have nothing to do with the values rows would have no length.
    reach = np.where(winsorise | ~scales.seen[columns], 0.0, np.inf)
    how.low = (scales.low[columns] - reach).tolist()
    how.high = (scales.high[columns] + reach).tolist()
    how.centre = centre[columns].tolist()
    how.inverse_scale = (1 / scale[columns]).tolist()
    how.y_centre, how.y_inverse_scale = float(centre[-1]), float(1 / scale[-1])
    how.intercept, how.row_limit, how.response_limit = intercept, row_limit, response_limit
    return StandardisedRows(
        rows=_core.QuantisedRows(design.X, design.y, how),
        columns=columns,
        centre=centre[columns],
        scale=scale[columns],
        y_centre=float(centre[-1]),
        y_scale=float(scale[-1]),
        intercept=intercept,
    )


def noisy_gram(rows: StandardisedRows, noise: GaussianReleases, mu: float) -> tuple[Doubles, float]:
    """Release the Gram matrix of standardised rows.

    Returns
    -------
    gram : ndarray, shape (width, width)
        Symmetric; a row within its limit counts z z'.
    deviation : float
        Standard deviation of the noise on the diagonal; 1 / sqrt 2 of it elsewhere.
    """
    sensitivity = _core.gram_sensitivity(rows.rows.width)
    sums, scale = _symmetric("sums of products", rows.rows.gram(), None, sensitivity, noise, mu)
    unit = (rows.rows.limit / _core.ROW_STEPS) ** 2
    return sums[:-1].reshape((rows.rows.width,) * 2) * unit, scale * unit


def noisy_scatter(
    rows: StandardisedRows, theta: Doubles, clip: float, noise: GaussianReleases, mu: float
) -> tuple[Doubles, float, float]:
    """Release the second moments of the clipped gradient at `theta`.

    Returns
    -------
    scatter : ndarray, shape (width, width)
        Sum of psi^2 z z' over rows, psi the clipped residual.
    deviation : float
        Standard deviation of the noise on the diagonal; 1 / sqrt 2 of it elsewhere.
    unclipped : float
        Noisy number of rows whose residual is within the clip.
    """
    sums, inside = rows.rows.scatter(theta.tolist(), clip)
    # The count is one more coordinate, a hundredth as precise as the sums, in steps of its own.
    weight = 0.1 * _core.scatter_sensitivity(rows.rows.width) / _COUNT_STEPS
    sensitivity = math.hypot(_core.scatter_sensitivity(rows.rows.width), weight * _COUNT_STEPS)
    noisy, scale = _symmetric(
        "second moments of the gradient", sums, (inside * _COUNT_STEPS, weight), sensitivity,
        noise, mu
    )  # fmt: skip
    unit = (clip * rows.rows.limit / _core.ROW_STEPS) ** 2
    scatter = noisy[:-1].reshape((rows.rows.width,) * 2) * unit
    return scatter, scale * unit, float(noisy[-1]) / _COUNT_STEPS


def _symmetric(
    label: str,
    sums: NDArray[np.int64],
    count: tuple[int, float] | None,
    sensitivity: float,
    noise: GaussianReleases,
    mu: float,
) -> tuple[Doubles, float]:
    """Release a symmetric matrix and perhaps a count, with a weight, after it.

    Noise is drawn for the upper triangle only, on the diagonal with scale sigma and above
    it with sigma / sqrt 2: the sensitivity of v v' in the matching norm is |v|^2.

    Returns
    -------
    ndarray, shape (width * width + 1,)
        The matrix row by row, and the count (0 if there is none).
    float
        sigma.
    """
    width = len(sums)
    upper = np.triu_indices(width)
    weights = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
    entries = sums[upper]
    if count is not None:
        entries, weights = np.append(entries, count[0]), np.append(weights, count[1])
    noisy = noise.release(label, entries, sensitivity, mu, weights=weights)
    matrix = np.zeros((width, width))
    matrix[upper] = noisy[: len(upper[0])]
    matrix += np.triu(matrix, 1).T
    scale = noise.parts[-1].scale
    assert scale is not None
    last = 0.0 if count is None else noisy[-1]
    return np.append(matrix.ravel(), last), scale


def floored_inverse(gram: Doubles, deviation: float) -> Doubles:
    """Invert a noisy Gram matrix whose eigenvalues below the noise are set to it."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray((vectors / np.maximum(values, floor_of(values, deviation))) @ vectors.T)


def floor_of(values: Doubles, deviation: float) -> float:
    """Return the floor under noisy eigenvalues `values`.

    A symmetric matrix of noise with this deviation on the diagonal, 1 / sqrt 2 of it
    elsewhere, has a largest eigenvalue of about deviation * sqrt(2 width).  Where only r
    eigenvalues are that small, noise can only mix their directions with one another: within
    those r dimensions it reaches deviation * sqrt(2 r), and twice its deviation more.
    """
    wide = deviation * math.sqrt(2 * len(values))
    small = int((values < wide).sum())
    return min(wide, deviation * (math.sqrt(2 * small) + 2))
