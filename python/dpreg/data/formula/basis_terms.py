"""Terms of a formula that expand a column in a basis: poly(), bs(), ns(), cr().

Each value is a function of one cell and of public numbers.  R and patsy take centre and scale, or
quantiles, from the column; here they come from a public interval.  Polynomials are orthonormal
under the uniform distribution on it, and knots that are not given divide it into equal parts.
Cells outside the interval are clipped to it.

If the formula does not give the interval, it comes from public bounds of the column: the argument
is evaluated on a table of the bounds alone, and the result is kept with the parsed formula.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpreg.base.arrays import Doubles

Pair = tuple[float, float]

# Margin for rounding, added to the proven limits of values; far more than rounding needs.
_ROUNDING = 1e-9
# Arguments of a formula for the ends of the interval.
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

    # By default formulaic raises an error when a value is out of bounds.
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
    """Return the given knots, or as many as give `df` columns; no knots give `least` columns."""
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
    """Whether a call with these literals takes its interval from bounds of a column."""
    return name in BASES and not given.get("raw") and not set(_ENDS) & set(given)


def over_interval(name: str, *, learn: bool) -> Any:
    """Return a basis function that takes its interval from the first table it is evaluated on.

    name: one of `BASES`.
    learn: True: the table is made from the bounds of the column, and the function stores the
        interval and the limits of its columns.  False: the table has rows, and nothing is stored.
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
    Returns: shape (n,): with 1, they span the powers up to `degree`.
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
    """Return a basis of the cubic splines with zero second derivative at `low` and `high`.

    As in R's ``splines::ns``: cubic B-splines without the first, times `natural_coefficients`.

    x: shape (n,).
    knots: between `low` and `high`, increasing.
    Returns: length ``len(knots) + 1``: with 1, they span all natural splines with these knots.
    """
    from formulaic.transforms.basis_spline import basis_spline

    splines = basis_spline(x, knots=list(knots), degree=_CUBIC, lower_bound=low, upper_bound=high,
                           extrapolation="clip", _state={})  # fmt: skip
    found = []
    for column in natural_coefficients(knots, low, high).T:
        # Columns are added one by one: a matrix product may round by the position of a row.
        total = np.zeros_like(x)
        for coefficient, spline in zip(column, splines.values(), strict=True):
            total = total + coefficient * spline
        found.append(total)
    return found


def natural_coefficients(knots: Sequence[float], low: float, high: float) -> Doubles:
    """Return an orthonormal basis of the coefficients with zero second derivatives at both ends.

    Coefficients are of cubic B-splines without the first; shape ``(len(knots) + 3, len(knots) +
    1)``.
    """
    from scipy.interpolate import BSpline

    places = np.array([*[low] * (_CUBIC + 1), *knots, *[high] * (_CUBIC + 1)])
    each = BSpline(places, np.eye(len(places) - _CUBIC - 1), _CUBIC)
    seconds = each.derivative(2)(np.array([low, high]))[:, 1:]
    found: Doubles = np.linalg.qr(seconds.T, mode="complete")[0][:, 2:]
    return found
