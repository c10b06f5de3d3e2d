"""How tests make quantised rows, and coefficients as sums over them hold these."""

from __future__ import annotations

import math

import numpy as np

from dpreg import _core


def recipe(columns, *, limits=4.0, row_limit=2.0, intercept=True, response_limit=0.0, **weights):
    how = _core.Standardisation()
    how.columns = list(columns)
    how.low, how.high = [-limits] * len(columns), [limits] * len(columns)
    how.centre = [0.25] * len(columns)
    how.inverse_scale = [0.5] * len(columns)
    how.y_centre, how.y_inverse_scale = 1.0, 0.5
    how.intercept, how.row_limit, how.response_limit = intercept, row_limit, response_limit
    for name, value in weights.items():
        setattr(how, name, value)
    return how


def rounded(theta):
    """Coefficients as they are held, in steps of 2^-26 of a power of two above their norm."""
    exponent = math.frexp(math.sqrt(sum(float(value) ** 2 for value in theta)))[1]
    return np.ldexp(np.rint(np.ldexp(theta, 26 - exponent)), exponent - 26)
