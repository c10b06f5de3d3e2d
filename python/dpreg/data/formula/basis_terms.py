"""Terms of a formula that make a basis of a column: poly(), bs(), ns(), cr().

Each value is a function of one cell and of public numbers.  What R and patsy take from the
column, its centre and scale or its quantiles, comes from the interval: polynomials are
orthonormal under the uniform distribution on it, and knots that are not given divide it into equal
parts.  Cells beyond the interval are moved to its ends.

An interval that the formula does not give comes from public bounds of the column: it is what the
argument makes of them, found on a table of the bounds alone and kept with the parsed formula.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles

Pair = tuple[float, float]

# Of values, beyond what is proved of them: for rounding.  Far more than it is.
_ROUNDING = 1e-9
# What a formula calls the ends of the interval.
_ENDS = ("lower_bound", "upper_bound")
_CUBIC = 3


def _poly(
    x: Any, degree: int = 1, raw: bool = False, lower_bound: float = 0, upper_bound: float = 1
) -> Any:
    values = np.asarray(x, dtype=float)
    if raw:
        return _columns([values**k for k in range(1, degree + 1)])
    return _columns(polynomials(values, lower_bound, upper_bound, degree))


def _ns(
    x: Any,
    knots: Sequence[float] | int | None = None,
    lower_bound: float = 0,
    upper_bound: float = 1,
    df: int | None = None,
) -> Any:
    inside = _inner_knots(knots, df, 1, (lower_bound, upper_bound))
    return _columns(natural_splines(np.asarray(x, dtype=float), inside, lower_bound, upper_bound))


def _bs(
    x: Any,
    knots: Sequence[float] | int | None = None,
    lower_bound: float = 0,
    upper_bound: float = 1,
    degree: int = 3,
    include_intercept: bool = False,
    df: int | None = None,
) -> Any:
    from formulaic.transforms.basis_spline import basis_spline

    # Unless told otherwise, formulaic raises an error when a value is out of bounds.
    return basis_spline(
        np.asarray(x, dtype=float),
        knots=_inner_knots(knots, df, degree + include_intercept, (lower_bound, upper_bound)),
        degree=degree,
        include_intercept=include_intercept,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        extrapolation="clip",
        _state={},
    )


def cr(x: Any, knots: Sequence[float], lower_bound: float, upper_bound: float) -> Any:
    """Return formulaic's cardinal cubic splines."""
    from formulaic.transforms.cubic_spline import natural_cubic_spline

    return natural_cubic_spline(
        np.asarray(x, dtype=float),
        knots=knots,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        extrapolation="clip",
        _state={},
    )


def _columns(columns: Sequence[Doubles]) -> Any:
    from formulaic.materializers.types import FactorValues

    named = {str(k): column for k, column in enumerate(columns, 1)}
    return FactorValues(named, kind="numerical", spans_intercept=False)


def _inner_knots(
    knots: Sequence[float] | int | None, df: int | None, least: int, interval: Pair
) -> Sequence[float]:
    """Return the knots that were given, or as many as make `df` columns; none make `least`."""
    if knots is not None and not isinstance(knots, int):
        return knots
    size = knots if df is None else df
    assert size is not None
    if size < least:
        raise ValueError(f"df must be at least {least}")
    return equal_knots(*interval, size - least)


def _poly_limits(interval: Pair, degree: int = 1, raw: bool = False) -> list[Pair]:
    # A Legendre polynomial is at most 1 in absolute value.
    return [(-math.sqrt(2 * k + 1), math.sqrt(2 * k + 1)) for k in range(1, degree + 1)]


def _ns_limits(
    interval: Pair, knots: Sequence[float] | int | None = None, df: int | None = None
) -> list[Pair]:
    # B-splines are at least 0 and add up to 1.
    inside = _inner_knots(knots, df, 1, interval)
    columns = natural_coefficients(inside, *interval).T
    return [(min(float(c.min()), 0.0), max(float(c.max()), 0.0)) for c in columns]


def _bs_limits(
    interval: Pair,
    knots: Sequence[float] | int | None = None,
    degree: int = 3,
    include_intercept: bool = False,
    df: int | None = None,
) -> list[Pair]:
    least = degree + include_intercept
    return [(0.0, 1.0)] * (least + len(_inner_knots(knots, df, least, interval)))


BASES: dict[str, Callable[..., Any]] = {"poly": _poly, "bs": _bs, "ns": _ns}
_LIMITS: dict[str, Callable[..., list[Pair]]] = {
    "poly": _poly_limits, "bs": _bs_limits, "ns": _ns_limits,
}  # fmt: skip


def needs_interval(name: str, given: dict[str, Any]) -> bool:
    """Whether a call with these literals leaves its interval to the bounds of a column."""
    return name in BASES and not given.get("raw") and not set(_ENDS) & set(given)


def over_interval(name: str, *, learn: bool) -> Any:
    """Return the function of a formula that takes its interval from what it was shown first.

    name: one of `BASES`.
    learn: True: what it is shown is made of the bounds of its column, from which it notes the
        interval and limits of its columns.  False: it is shown rows, and learns nothing.
    """
    from formulaic.transforms import stateful_transform

    function = BASES[name]
    signature = inspect.signature(function)

    def evaluate(data: Any, *args: Any, _state: Any, **given: Any) -> Any:
        literals = dict(signature.bind(data, *args, **given).arguments)
        x = literals.pop("x")
        if not needs_interval(name, literals):
            return function(x, **literals)
        if learn:
            _state["interval"] = _interval_of(np.asarray(x, dtype=float), literals.get("knots"))
            found = _LIMITS[name](_state["interval"], **literals)
            _state["limits"] = [(a - _ROUNDING, b + _ROUNDING) for a, b in found]
        ends = dict(zip(_ENDS, _state["interval"], strict=True))
        return function(x, **literals, **ends)

    return stateful_transform(evaluate)


def _interval_of(x: Doubles, knots: Sequence[float] | int | None) -> Pair:
    if not np.isfinite(x).all():
        raise ValueError("a basis needs a finite number wherever its column is within its bounds")
    low, high = float(x.min()), float(x.max())
    if low == high:
        raise ValueError("a basis needs more than one number within the bounds of its column")
    inside = knots if isinstance(knots, list | tuple) else ()
    if not all(low < knot < high for knot in inside):
        raise ValueError(f"knots must lie between {low:g} and {high:g}, the bounds of the column")
    return low, high


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
