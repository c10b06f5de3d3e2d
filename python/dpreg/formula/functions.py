"""What a formula may call: functions whose value in a row depends on that row alone.

They replace formulaic's transforms of the same name, some of which learn from the whole
column.  Each is total on doubles: where it is not defined it gives NaN, and the row
becomes incomplete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEARNS_FROM_DATA", "ROW_FUNCTIONS", "context"]

Doubles = NDArray[np.float64]


def _bs(
    x: Any,
    *,
    knots: Sequence[float],
    lower_bound: float,
    upper_bound: float,
    degree: int = 3,
    include_intercept: bool = False,
) -> Any:
    from formulaic.transforms.basis_spline import basis_spline

    # Unless told otherwise, formulaic raises an error when a value is out of bounds.
    return basis_spline(
        np.asarray(x, dtype=float),
        knots=knots,
        degree=degree,
        include_intercept=include_intercept,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        extrapolation="clip",
        _state={},
    )


def _cr(x: Any, *, knots: Sequence[float], lower_bound: float, upper_bound: float) -> Any:
    from formulaic.transforms.cubic_spline import natural_cubic_spline

    return natural_cubic_spline(
        np.asarray(x, dtype=float),
        knots=knots,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        extrapolation="clip",
        _state={},
    )


def _poly(x: Any, degree: int = 1, *, raw: bool) -> Any:
    from formulaic.materializers.types import FactorValues

    values = np.asarray(x, dtype=float)
    return FactorValues(
        {str(k): values**k for k in range(1, degree + 1)}, kind="numerical", spans_intercept=False
    )


def _clip(x: Any, lower: float, upper: float) -> Any:
    return np.clip(np.asarray(x, dtype=float), lower, upper)


def _yeo_johnson(x: Any, power: float) -> Doubles:
    """Yeo and Johnson (2000), eq. 2.1, with a public exponent."""
    values = np.asarray(x, dtype=float)
    upper, lower = np.maximum(values, 0.0), np.minimum(values, 0.0)
    above = np.log1p(upper) if power == 0 else ((1 + upper) ** power - 1) / power
    below = -np.log1p(-lower) if power == 2 else -((1 - lower) ** (2 - power) - 1) / (2 - power)
    return np.where(values >= 0, above, np.where(np.isnan(values), np.nan, below))


def _identity(x: Any) -> Any:
    return x


ROW_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "I": _identity,
    "abs": np.abs,
    "bs": _bs,
    "ceil": np.ceil,
    "clip": _clip,
    "cos": np.cos,
    "cr": _cr,
    "cs": _cr,
    "exp": np.exp,
    "expm1": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "poly": _poly,
    "sign": np.sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "yeo_johnson": _yeo_johnson,
}

# What to write instead of a function that looks at the other rows.
LEARNS_FROM_DATA: dict[str, str] = {
    "center": "subtract a public constant: I(x - 50)",
    "scale": "use public constants: I((x - 50) / 10)",
    "standardize": "use public constants: I((x - 50) / 10)",
    "poly": "write poly(x, 3, raw=True)",
    "bs": "give knots and bounds: bs(x, knots=[2, 4], lower_bound=0, upper_bound=6)",
    "cr": "give knots and bounds: cr(x, knots=[2, 4], lower_bound=0, upper_bound=6)",
    "cs": "give knots and bounds: cs(x, knots=[2, 4], lower_bound=0, upper_bound=6)",
    "cc": "give knots and bounds to cr(): cr(x, knots=[2, 4], lower_bound=0, upper_bound=6)",
    "lag": "make the lagged column before the data are protected, one row a unit",
    "hashed": "declare the levels: C(x, levels=[...])",
}


def context() -> dict[str, Any]:
    """Return the names a formula is evaluated with, besides the columns."""
    return {**ROW_FUNCTIONS, "np": _NumpyNames()}


class _NumpyNames:
    """`np.log(x)` and the like, for the functions above and no others."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return ROW_FUNCTIONS[name]
        except KeyError:
            raise AttributeError(name) from None
