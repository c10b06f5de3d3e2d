"""Regressions on arrays: what `dp_lm` does after it has read a table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from dpreg import _core
from dpreg.calls.fit import published
from dpreg.calls.session import certified
from dpreg.data.bounds import Bounds, checked_bounds
from dpreg.data.changed_rows import clipped
from dpreg.estimation.base import Allowance, Method
from dpreg.estimation.methods import DPSGD, AdaSSP, BoostedAdaSSP, TukeyEM
from dpreg.mechanisms._inputs import design_of
from dpreg.privacy.bits import bit_source
from dpreg.privacy.checks import check_delta, check_epsilon
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased

T = TypeVar("T", bound=Callable[..., Any])

_BOUNDS = """
    bounds : dict, optional
        ``{column: (low, high)}``, public limits of columns x0, x1, ... and of y."""
_INFERENCE = "Also release what standard errors and intervals need."
# What the functions have in common, beneath their first lines.
_ON_ARRAYS = """

    Parameters
    ----------
    X : array, shape (n, d)
        Regressors without a column of ones.  Private.  Rows that are not finite are
        dropped.
    y : array, shape (n,)
        Response.  Private.
    eps, delta : float
        Privacy loss in nats, and failure probability, greater than 0.
    options : {options}, optional
        Default: ``dpreg.{options}()``.{bounds}
    intercept : bool, default True
        Fit an intercept.
    inference : bool, default True
        {inference}
    rng : int or bit source, optional
        An integer makes the result reproducible and **not private**.

    Returns
    -------
    DPResults{declines}
        Coefficients are named Intercept, x0, x1, ...; there is no `predict`, multiply new
        rows with `params`.

    Raises
    ------
    ValueError
        For shapes, types and options; never depending on a cell.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one row
    public : d{limits} and all options; not the number of rows
    proof : {name}.md, in dpreg/estimation/methods

    References
    ----------
    {paper} listed in {name}.md.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import {name}
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> {name}(X, X[:, 0] + 1, 1.0, 1e-6).params.index.tolist()
    ['Intercept', 'x0', 'x1', 'x2']
    """


def _on_arrays(paper: str, inference: str = _INFERENCE, declines: str = "") -> Callable[[T], T]:
    """Return a decorator that completes a docstring; `paper` is what has been changed."""

    def completed(function: T) -> T:
        bounds = "bounds" in inspect.signature(function).parameters
        rest = _ON_ARRAYS.format(
            name=function.__name__, options=function.__annotations__["options"].split()[0],
            paper=paper, inference=inference, declines=declines,
            bounds=_BOUNDS if bounds else "", limits=", bounds" if bounds else "",
        )  # fmt: skip
        function.__doc__ = f"{function.__doc__}{rest}"
        return function

    return completed


@_on_arrays("Wang (2018), Algorithm 2, with the changes")
def adassp(
    X: Any,
    y: Any,
    eps: float,
    delta: float = 1e-5,
    *,
    options: AdaSSP | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    intercept: bool = True,
    inference: bool = True,
    rng: int | _core.BitSource | None = None,
) -> DPResults | NotReleased:
    """Fit a linear regression by AdaSSP on arrays."""
    return _fitted(AdaSSP(), locals())


@_on_arrays("Tang et al. (2023), Algorithm 1, with the changes")
def boosted_adassp(
    X: Any,
    y: Any,
    eps: float,
    delta: float = 1e-5,
    *,
    options: BoostedAdaSSP | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    intercept: bool = True,
    inference: bool = True,
    rng: int | _core.BitSource | None = None,
) -> DPResults | NotReleased:
    """Fit a linear regression by Boosted AdaSSP on arrays."""
    return _fitted(BoostedAdaSSP(), locals())


@_on_arrays(
    "Amin, Joseph, Ribero and Vassilvitskii (2023), Algorithm 2, with the corrections",
    declines=" or NotReleased",
)
def tukey_em(
    X: Any,
    y: Any,
    eps: float,
    delta: float = 1e-5,
    *,
    options: TukeyEM | None = None,
    intercept: bool = True,
    inference: bool = True,
    rng: int | _core.BitSource | None = None,
) -> DPResults | NotReleased:
    """Fit a linear regression by TukeyEM on arrays."""
    return _fitted(TukeyEM(), locals())


@_on_arrays(
    "Abadi et al. (2016), Algorithm 1, with the changes",
    inference="There are no standard errors; a note says why.",
)
def dpsgd(
    X: Any,
    y: Any,
    eps: float,
    delta: float = 1e-5,
    *,
    options: DPSGD | None = None,
    bounds: Mapping[str, Bounds] | None = None,
    intercept: bool = True,
    inference: bool = True,
    rng: int | _core.BitSource | None = None,
) -> DPResults | NotReleased:
    """Fit a linear regression by DP-SGD on arrays."""
    return _fitted(DPSGD(), locals())


def _fitted(default: Method, given: Mapping[str, Any]) -> DPResults | NotReleased:
    """Fit columns x0, x1, ... and response y; `given` as `locals()` has them at first."""
    method: Method = given["options"] or default
    inference: bool = given["inference"]
    design = design_of(given["X"], given["y"], intercept=given["intercept"])
    epsilon, delta = check_epsilon(given["eps"]), check_delta(given["delta"])
    if not design.terms.coefficients:
        raise ValueError("X must have at least one column when there is no intercept")
    bounds = checked_bounds(given.get("bounds"), design.terms)
    design = clipped(replace(design, terms=replace(design.terms, bounds=bounds)))
    method.check(design.terms, epsilon, delta, inference=inference)
    allowance = Allowance(epsilon, delta, bit_source(given["rng"]))
    outcome = method.release(design, allowance, inference=inference)
    name = outcome.method or method.name
    privacy = certified(allowance, name, outcome.composition, outcome.parts)
    return published(outcome, privacy, design.terms, "y ~ X", method.name)
