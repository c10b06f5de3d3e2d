"""Regressions on arrays: what `dp_lm` does after it has read a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpreg.calls.fit import published
from dpreg.calls.request import Request
from dpreg.calls.session import certified
from dpreg.data.bounds import checked_bounds
from dpreg.data.clipping import clipped
from dpreg.estimation.base import Allowance, Method
from dpreg.mechanisms._inputs import design_of
from dpreg.privacy.bits import bit_source
from dpreg.privacy.checks import check_delta, check_epsilon
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased

__all__ = ["fit_arrays"]


def fit_arrays(request: Request, X: Any, y: Any, *, intercept: bool) -> DPResults | NotReleased:
    """Fit a method to columns x0, x1, ... and response y; see `dpreg.mechanisms.tukey_em`."""
    method: Method = request.method
    design = design_of(X, y, intercept=intercept)
    epsilon, delta = check_epsilon(request.eps), check_delta(request.delta)
    if not design.terms.coefficients:
        raise ValueError("X must have at least one column when there is no intercept")
    terms = replace(design.terms, bounds=checked_bounds(request.bounds, design.terms))
    design = clipped(replace(design, terms=terms))
    method.check(design.terms, epsilon, delta, inference=request.inference)
    allowance = Allowance(epsilon, delta, bit_source(request.rng))
    outcome = method.release(design, allowance, inference=request.inference)
    name = outcome.method or method.name
    privacy = certified(allowance, name, outcome.composition, outcome.parts)
    return published(outcome, privacy, design.terms, "y ~ X", method.name)
