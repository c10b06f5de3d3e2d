"""Matrices and vectors of the caller as the core wants them, without a look at a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg import _core

__all__ = ["unit_design", "unit_response"]

_MAX_COLUMNS = 2**31 - 1


def _check_numeric(dtype: np.dtype[Any], name: str) -> None:
    if dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got dtype {dtype}")


def unit_design(X: Any) -> _core.UnitDesign:
    """Return X, dense or scipy.sparse, clipped to [-1, 1] on the grid of cells."""
    shape = getattr(X, "shape", None)
    if hasattr(X, "tocsr"):
        _check_matrix(X.ndim, shape)
        _check_numeric(X.dtype, "X")
        rows = X.tocsr()
        return _core.SparseUnitDesign(
            rows.indptr, rows.indices, _whole_doubles(rows.data), rows.shape[1]
        )
    values = np.asarray(X)
    _check_matrix(values.ndim, values.shape)
    _check_numeric(values.dtype, "X")
    return _core.DenseUnitDesign(_whole_doubles(values))


def unit_response(y: Any, design: _core.UnitDesign) -> NDArray[np.float64]:
    """Return y as doubles, one for each row of X."""
    values = np.asarray(y)
    _check_numeric(values.dtype, "y")
    if values.ndim != 1 or len(values) != design.rows:
        raise ValueError("y must be a vector with one entry for each row of X")
    return _whole_doubles(values)


def _check_matrix(ndim: int, shape: Any) -> None:
    if ndim != 2:
        raise ValueError(f"X must be a matrix of rows and columns, got {ndim} dimension(s)")
    if not 1 <= shape[1] <= _MAX_COLUMNS:
        raise ValueError(f"X must have at least one column and fewer than 2**31, got {shape[1]}")


def _whole_doubles(values: NDArray[Any]) -> NDArray[np.float64]:
    """Doubles side by side, as views of the core need them; a copy only where they are not."""
    # A warning about a number that is too large for a double would be about a cell.
    with np.errstate(all="ignore"):
        doubles = values.astype(np.float64, copy=False)
    aligned = all(s % doubles.itemsize == 0 for s in doubles.strides)
    return doubles if aligned else np.ascontiguousarray(doubles)
