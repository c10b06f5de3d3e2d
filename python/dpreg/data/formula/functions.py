"""What a formula may call: functions whose value in a row depends on that row alone.

They replace formulaic's transforms of the same name, some of which learn from the whole
column.  Each is total on doubles: where it is not defined it gives NaN, and the row
becomes incomplete.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FOREIGN", "LEARNS_FROM_DATA", "ROW_FUNCTIONS", "RowFunction", "Signature", "context"]

Doubles = NDArray[np.float64]

# Of a constant in a formula, and of a polynomial.
_LARGEST, _MOST_DEGREES = 1e300, 100


def _bs(
    x: Any,
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


def _cr(x: Any, knots: Sequence[float], lower_bound: float, upper_bound: float) -> Any:
    from formulaic.transforms.cubic_spline import natural_cubic_spline

    return natural_cubic_spline(
        np.asarray(x, dtype=float),
        knots=knots,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        extrapolation="clip",
        _state={},
    )


def _poly(x: Any, degree: int = 1, raw: bool = False) -> Any:
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


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function of a formula may be given.

    Attributes
    ----------
    usage : str
        An example.
    columns : int
        How many expressions of columns come first.
    literals : mapping of str to callable
        Further arguments, in order: literals that the callable says yes to.
    optional : frozenset of str
        Those of them that may be left out.
    """

    usage: str
    columns: int = 1
    literals: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()

    @property
    def required(self) -> set[str]:
        """Names of the literals that must be given."""
        return set(self.literals) - self.optional

    def allows(self, given: Mapping[str, Any]) -> bool:
        """Whether the literals are of their kinds, and limits and knots in order."""
        if not all(self.literals[name](value) for name, value in given.items()):
            return False
        low = given.get("lower_bound", given.get("lower"))
        high = given.get("upper_bound", given.get("upper"))
        places = [p for p in (low, *given.get("knots", ()), high) if p is not None]
        return all(a < b for a, b in itertools.pairwise(places))


@dataclass(frozen=True, slots=True)
class RowFunction:
    """A function of a formula, and what it may be given."""

    function: Callable[..., Any]
    signature: Signature


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _degree(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_DEGREES


def _numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(_number(v) for v in value)


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


_BOUNDS = {"knots": _numbers, "lower_bound": _number, "upper_bound": _number}
_CUBIC = Signature("cr(x, knots=[2, 4], lower_bound=0, upper_bound=6)", literals=_BOUNDS)

_OF_ONE: dict[str, Callable[..., Any]] = {
    "I": _identity, "abs": np.abs, "ceil": np.ceil, "cos": np.cos, "exp": np.exp,
    "expm1": np.expm1, "floor": np.floor, "log": np.log, "log10": np.log10,
    "log1p": np.log1p, "log2": np.log2, "offset": _identity, "sign": np.sign, "sin": np.sin,
    "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip

ROW_FUNCTIONS: dict[str, RowFunction] = {
    **{name: RowFunction(function, Signature(f"{name}(x)")) for name, function in _OF_ONE.items()},
    "maximum": RowFunction(np.maximum, Signature("maximum(x, z)", columns=2)),
    "minimum": RowFunction(np.minimum, Signature("minimum(x, z)", columns=2)),
    "clip": RowFunction(
        _clip, Signature("clip(x, 0, 100)", literals={"lower": _number, "upper": _number})
    ),
    "yeo_johnson": RowFunction(
        _yeo_johnson, Signature("yeo_johnson(x, 0.5)", literals={"power": _number})
    ),
    "poly": RowFunction(
        _poly,
        Signature(
            "poly(x, 3, raw=True)",
            literals={"degree": _degree, "raw": _truth},
            optional=frozenset({"degree"}),
        ),
    ),
    "bs": RowFunction(
        _bs,
        Signature(
            "bs(x, knots=[2, 4], lower_bound=0, upper_bound=6)",
            literals={**_BOUNDS, "degree": _degree, "include_intercept": _truth},
            optional=frozenset({"degree", "include_intercept"}),
        ),
    ),
    "cr": RowFunction(_cr, _CUBIC),
    "cs": RowFunction(_cr, _CUBIC),
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
    "lag": "make the lagged column before the data are protected, one row per unit",
    "hashed": "declare the levels: C(x, levels=[...])",
}

_BY_UNIT = "write unit='person' as an argument of the call: standard errors are clustered by unit"
_LEVELS = "write C(g, levels=['a', 'b']), or declare levels= in the call"
_SMOOTH = "write cr(x, knots=[2, 4], lower_bound=0, upper_bound=6), with knots of your own"
# Words of other packages: why they are no terms here, and what to write.
FOREIGN: dict[str, tuple[str, str]] = {
    "weights": ("weights are not a term", "write weights='w' as an argument of the call"),
    "factor": ("levels must not be read from the data", _LEVELS),
    "as_factor": ("levels must not be read from the data", _LEVELS),
    "i": ("levels must not be read from the data", _LEVELS),
    "s": ("a smooth term chooses its knots from the data", _SMOOTH),
    "te": ("a smooth term chooses its knots from the data", _SMOOTH),
    "ns": ("it chooses its knots from the data", _SMOOTH),
    "cluster": ("clusters are not a term", _BY_UNIT),
    "strata": ("strata are not a term", _BY_UNIT),
    "Error": ("error strata are not a term", _BY_UNIT),
    "cbind": ("a model has one response", "fit one response after the other, or use dp_moments"),
    "diff": (
        "its value in one row depends on the other rows",
        "compute the differences before the data are protected, one row per unit",
    ),
}


def context() -> dict[str, Any]:
    """Return the names a formula is evaluated with, besides the columns."""
    functions = {name: known.function for name, known in ROW_FUNCTIONS.items()}
    return {**functions, "np": _NumpyNames()}


class _NumpyNames:
    """`np.log(x)` and the like, for the functions above and no others."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return ROW_FUNCTIONS[name].function
        except KeyError:
            raise AttributeError(name) from None
