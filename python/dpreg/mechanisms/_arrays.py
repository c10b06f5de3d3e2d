"""Designs and responses of Frank-Wolfe as the core wants them, without a look at a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.mechanisms._inputs import doubles

__all__ = ["unit_design", "unit_response"]

_MAX_COLUMNS = 2**31 - 1


def unit_design(X: Any) -> _core.UnitDesign:
    """Return X, dense or scipy.sparse, clipped to [-1, 1] on the grid of cells."""
    if hasattr(X, "tocsr"):
        _check_columns(X.shape)
        rows = X.tocsr()
        cells = doubles("X.data", rows.data, 1)
        return _core.SparseUnitDesign(rows.indptr, rows.indices, cells, rows.shape[1])
    values = doubles("X", X, 2)
    _check_columns(values.shape)
    return _core.DenseUnitDesign(values)


def unit_response(y: Any, design: _core.UnitDesign) -> NDArray[np.float64]:
    """Return y as doubles, one for each row of X."""
    values = doubles("y", y, 1)
    if len(values) != design.rows:
        raise ValueError("X and y must have the same number of rows")
    return values


def _check_columns(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, not {len(shape)}")
    if not 1 <= shape[1] <= _MAX_COLUMNS:
        raise ValueError(f"X must have at least one column and fewer than 2**31, got {shape[1]}")
