"""Bases of a column on a public interval: orthogonal polynomials and natural splines.

Each value is a function of one cell and of public numbers.  What R and patsy take from the
column, its centre and scale or its quantiles, comes from the interval: polynomials are
orthonormal under the uniform distribution on it, and knots that are not given divide it into equal
parts.  Cells beyond the interval are moved to its ends.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpreg.base.arrays import Doubles

_CUBIC = 3


def polynomials(x: Doubles, low: float, high: float, degree: int) -> list[Doubles]:
    """Return Legendre polynomials of degrees 1 to `degree`, with mean 0 and variance 1.

    x: shape (n,).
    low, high: ends of the interval.
    Returns: shape (n,): their span, with 1, is that of the powers up to `degree`.
    """
    t = (np.clip(x, low, high) - (low + high) / 2) / ((high - low) / 2)
    found = [np.ones_like(t), t]
    for k in range(1, degree):
        found.append(((2 * k + 1) * t * found[k] - k * found[k - 1]) / (k + 1))
    return [np.sqrt(2 * k + 1) * found[k] for k in range(1, degree + 1)]


def equal_knots(low: float, high: float, count: int) -> list[float]:
    """Return `count` knots inside (low, high) that divide it into equal parts."""
    return [float(knot) for knot in np.linspace(low, high, count + 2)[1:-1]]


def natural_splines(x: Doubles, knots: Sequence[float], low: float, high: float) -> list[Doubles]:
    """Return a basis of the cubic splines that have no second derivative at `low` and `high`.

    It is that of R's ``splines::ns``: cubic B-splines but the first, times `natural_coefficients`.

    x: shape (n,).
    knots: between `low` and `high`, increasing.
    Returns: length ``len(knots) + 1``: their span, with 1, is that of all natural splines with
        these knots.
    """
    from formulaic.transforms.basis_spline import basis_spline

    splines = basis_spline(x, knots=list(knots), degree=_CUBIC, lower_bound=low, upper_bound=high,
                           extrapolation="clip", _state={})  # fmt: skip
    found = []
    for column in natural_coefficients(knots, low, high).T:
        # One product after the other: a matrix product may round a row as its place suggests.
        total = np.zeros_like(x)
        for coefficient, spline in zip(column, splines.values(), strict=True):
            total = total + coefficient * spline
        found.append(total)
    return found


def natural_coefficients(knots: Sequence[float], low: float, high: float) -> Doubles:
    """Return an orthonormal basis of coefficients for which second derivatives are 0 at both ends.

    Of cubic B-splines but the first; shape ``(len(knots) + 3, len(knots) + 1)``.
    """
    from scipy.interpolate import BSpline

    places = np.array([*[low] * (_CUBIC + 1), *knots, *[high] * (_CUBIC + 1)])
    each = BSpline(places, np.eye(len(places) - _CUBIC - 1), _CUBIC)
    seconds = each.derivative(2)(np.array([low, high]))[:, 1:]
    found: Doubles = np.linalg.qr(seconds.T, mode="complete")[0][:, 2:]
    return found
