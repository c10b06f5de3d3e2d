"""Where a fit may start: what an earlier release or public data say of scales and coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Start"]

Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Start:
    """What an earlier release or public data say about a regression.

    As ``dp_lm(start=)`` it saves the part of the budget that finds scales and second moments, and
    nearly all of it goes to the coefficients.  A released fit has one as `DPResults.start`;
    `dpreg.public_start` makes one from public data.

    Standardised rows are (1, (x - centre) / scale), without the 1 where there is no intercept;
    times `change` they have second moments of about 1 along each coordinate.

    Attributes
    ----------
    response : str
    names : tuple of str, length d
        Of the columns of the design, dummies one by one.
    intercept, within : bool
        There is an intercept; rows are deviations from the means of their unit.
    weights : str or None
        Column of row weights, the last of `names`.
    levels : mapping of str to tuple
        Levels of the categorical columns of the formula.
    low, high, centre, scale : ndarray, shape (d + 1,)
        Range, mean and standard deviation of each column and, last, of the response.
    constant : ndarray of bool, shape (d + 1,)
        True: the column has no spread.
    change : ndarray, shape (w, k)
        Coordinates of standardised rows.
    unseen : ndarray, shape (w, w - k)
        Combinations of columns whose second moments are not known.
    theta : ndarray, shape (k,)
        Coefficients along the coordinates, for the standardised response.
    residual : float
        Mean squared residual of the standardised response.
    deviation : float
        Standard error, from noise, of a second moment along a coordinate.
    longest : float
        Norm up to which there are rows; 0: not known.
    units : float
        Number of rows, perhaps noisy.
    source : str
        What it was made from.
    seeded : bool
        True: it comes from a release that is **not private**, because it had a seed.

    Privacy
    -------
    guarantee : none of its own.  Computed from private releases or public data, it is
        post-processing.  One that is computed from private records without noise breaks the
        privacy of every fit that starts from it.
    """

    response: str
    names: tuple[str, ...]
    intercept: bool
    low: Doubles
    high: Doubles
    centre: Doubles
    scale: Doubles
    constant: NDArray[np.bool_]
    change: Doubles
    unseen: Doubles
    theta: Doubles
    residual: float
    deviation: float
    longest: float
    units: float
    within: bool = False
    weights: str | None = None
    levels: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    source: str = ""
    seeded: bool = False
