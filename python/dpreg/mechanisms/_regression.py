"""Regressions on arrays: what `dp_lm` does after it has read a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpreg.calls.publish import publish
from dpreg.data.bounds import Bounds, checked_bounds
from dpreg.data.clipping import clipped
from dpreg.mechanisms._inputs import design_of
from dpreg.methods.base import Allowance, Method
from dpreg.privacy.bits import bit_source
from dpreg.privacy.certificate import Certificate
from dpreg.privacy.checks import check_delta, check_epsilon
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased
from dpreg.selection.stage import Chosen
from dpreg.version import __version__

if TYPE_CHECKING:
    from dpreg import _core

__all__ = ["fit_arrays"]


def fit_arrays(
    method: Method,
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    intercept: bool,
    inference: bool,
    rng: int | _core.BitSource | None,
    bounds: Mapping[str, Bounds] | None = None,
) -> DPResults | NotReleased:
    """Fit `method` to columns x0, x1, ... and response y; see `dpreg.mechanisms.tukey_em`."""
    design = design_of(X, y, intercept=intercept)
    epsilon, delta = check_epsilon(eps), check_delta(delta)
    if not design.terms.coefficients:
        raise ValueError("X must have at least one column when there is no intercept")
    terms = replace(design.terms, bounds=checked_bounds(bounds, design.terms))
    design = clipped(replace(design, terms=terms))
    method.check(design.terms, epsilon, delta, inference=inference)
    bits = bit_source(rng)
    outcome = method.release(design, Allowance(epsilon, delta, bits), inference=inference)
    privacy = Certificate(
        mechanism=outcome.method or method.name,
        epsilon=epsilon,
        delta=delta,
        unit="one row",
        composition=outcome.composition,
        parts=outcome.parts,
        public=("number of columns", "eps, delta and all options"),
        seeded=bits.seeded,
        version=__version__,
    )
    return publish(
        outcome,
        privacy,
        design.terms,
        formula="y ~ X",
        method=method.name,
        schema={},
        selection=Chosen(),
    )
