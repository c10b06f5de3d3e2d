"""Arrays that users pass, as doubles.  Messages name shapes and types, never a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg.data.design import Design, Terms

__all__ = ["design_of", "doubles", "indices", "score_range_of"]

Floats = NDArray[np.float64]

# Beyond, gaps between scores in units of their sensitivity are no doubles: the core refuses.
_LEAST_SENSITIVITY, _LARGEST_SENSITIVITY = 1e-150, 1e150


def doubles(name: str, values: Any, ndim: int) -> Floats:
    """Return `values` as an array of doubles with `ndim` axes.

    Raises
    ------
    ValueError
        If it is not one, naming the argument.
    """
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
        raise ValueError(f"{name} must be a {shape} of numbers, not of type {array.dtype}")
    with np.errstate(all="ignore"):
        found = array.astype(np.float64, copy=False)
    whole = all(stride % found.itemsize == 0 for stride in found.strides)
    return found if whole else np.ascontiguousarray(found)


def _has_numpy_types(values: Any) -> bool:
    """Whether `values` says what type numpy makes of it, whatever its cells are.

    Of nested lists numpy would infer shape and type from the cells; and columns of types that
    are not numpy's become objects in some libraries when a cell is missing.
    """
    if not hasattr(values, "__array__"):
        return False
    types: Any = getattr(values, "dtypes", getattr(values, "dtype", None))
    each = types if hasattr(types, "__iter__") else (types,)
    return all(isinstance(kind, np.dtype) for kind in each)


def design_of(X: Any, y: Any, *, intercept: bool = True) -> Design:
    """Return the design with columns named x0, x1, ... and response y."""
    matrix, response = doubles("X", X, 2), doubles("y", y, 1)
    if len(matrix) != len(response):
        raise ValueError("X and y must have the same number of rows")
    names = tuple(f"x{j}" for j in range(matrix.shape[1]))
    return Design.of(matrix, response, Terms("y", names, intercept))


def score_range_of(sensitivity: float, *, one_sided: bool, score_range: float | None) -> float:
    """Return the length of the interval that holds the changes of all scores."""
    if not _LEAST_SENSITIVITY <= sensitivity <= _LARGEST_SENSITIVITY:
        raise ValueError(
            f"sensitivity must be between {_LEAST_SENSITIVITY:g} and {_LARGEST_SENSITIVITY:g}, got "
            f"{sensitivity!r}; rescale the scores and sensitivity by a public number"
        )
    if score_range is None:
        return sensitivity if one_sided else 2 * sensitivity
    if one_sided:
        raise ValueError("score_range: leave out one_sided, which the range already implies")
    if not sensitivity <= score_range <= 2 * sensitivity:
        raise ValueError(
            "score_range must be between sensitivity and 2 * sensitivity, which changes within "
            f"[-sensitivity, sensitivity] span at most; got {score_range!r}"
        )
    return float(score_range)


def indices(columns: Sequence[int]) -> NDArray[np.intp]:
    """Return column positions as an array that indexes arrays."""
    return np.asarray(columns, dtype=np.intp)
