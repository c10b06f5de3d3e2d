"""Arrays that users pass, as doubles.  Messages name shapes and types, never a value."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles, named
from dpreg.data.design import Design, Terms


def doubles(name: str, values: Any, ndim: int) -> Doubles:
    """Return `values` as an array of doubles with `ndim` axes; a ValueError names the argument."""
    shape = "one-dimensional array" if ndim == 1 else "two-dimensional array (rows, columns)"
    if not _has_numpy_types(values):
        raise ValueError(
            f"{name} must be a {shape}, not a {type(values).__name__}; write np.array(..., float)"
        )
    array = np.asarray(values)
    if array.ndim != ndim:
        raise ValueError(f"{name} must be a {shape}, not one with {array.ndim} axes")
    # By type alone: whether objects convert to numbers would depend on the cells.
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a {shape} of numbers, not of type {named(array.dtype)}")
    with np.errstate(all="ignore"):
        found = array.astype(np.float64, copy=False)
    whole = all(stride % found.itemsize == 0 for stride in found.strides)
    return found if whole else np.ascontiguousarray(found)


def _has_numpy_types(values: Any) -> bool:
    """Whether `values` declares its numpy type, whatever its cells are.

    Of nested lists numpy would infer shape and type from the cells; and columns of types that
    are not numpy's become objects in some libraries when a cell is missing.
    """
    if not hasattr(values, "__array__"):
        return False
    types: Any = getattr(values, "dtypes", getattr(values, "dtype", None))
    each = types if hasattr(types, "__iter__") else (types,)
    return all(isinstance(kind, np.dtype) for kind in each)


def response_of(y: Any, rows: int) -> Doubles:
    """Return one double for each row of X."""
    values = doubles("y", y, 1)
    if len(values) != rows:
        raise ValueError("X and y must have the same number of rows")
    return values


def design_of(X: Any, y: Any, *, intercept: bool = True) -> Design:
    """Return the design with columns named x0, x1, ... and response y."""
    matrix = doubles("X", X, 2)
    response = response_of(y, len(matrix))
    names = tuple(f"x{j}" for j in range(matrix.shape[1]))
    return Design.of(matrix, response, Terms("y", names, intercept))
