"""TukeyEM on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpreg._version import __version__
from dpreg.budget import check_delta, check_epsilon
from dpreg.mechanisms._inputs import design_of
from dpreg.methods import TukeyEM
from dpreg.methods._method import Allowance, Declined
from dpreg.released.certificate import Certificate
from dpreg.released.not_released import NotReleased
from dpreg.released.results import DPResults
from dpreg.rng import bit_source

if TYPE_CHECKING:
    from dpreg import _core

__all__ = ["tukey_em"]

_FORMULA = "y ~ X"


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
    """Fit a linear regression by TukeyEM on arrays.

    Parameters
    ----------
    X : array, shape (n, d)
        Regressors without a column of ones.  Private.  Rows that are not finite are passed
        over.
    y : array, shape (n,)
        Response.  Private.
    eps, delta : float
        Privacy loss in nats, and failure probability, greater than 0.
    options : TukeyEM, optional
        Default: ``dpreg.TukeyEM()``.
    intercept : bool, default True
        Fit one.
    inference : bool, default True
        Also release what standard errors and intervals need.
    rng : int or bit source, optional
        An integer makes the result reproducible and **not private**.

    Returns
    -------
    DPResults or NotReleased
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
    public : d and all options; not the number of rows
    proof : tukey_em.md, in dpreg/methods

    References
    ----------
    Amin, Joseph, Ribero and Vassilvitskii (2023), Algorithm 2, with the corrections listed in
    tukey_em.md.
    """
    design = design_of(X, y, intercept=intercept)
    epsilon, delta = check_epsilon(eps), check_delta(delta)
    method = TukeyEM() if options is None else options
    if not design.terms.coefficients:
        raise ValueError("X must have at least one column when there is no intercept")
    method.check(design.terms, epsilon, delta)
    bits = bit_source(rng)
    outcome = method.release(design, Allowance(epsilon, delta, bits), inference=inference)
    privacy = Certificate(
        mechanism=method.name,
        epsilon=epsilon,
        delta=delta,
        unit="one row",
        composition=outcome.composition,
        parts=outcome.parts,
        public=("number of columns", "eps, delta and all options"),
        seeded=bits.seeded,
        version=__version__,
    )
    if isinstance(outcome, Declined):
        return NotReleased(
            formula=_FORMULA,
            method=method.name,
            reason=outcome.reason,
            advice=outcome.advice,
            units=outcome.units,
            privacy=privacy,
        )
    return DPResults(
        formula=_FORMULA,
        response="y",
        names=design.terms.coefficients,
        method=method.name,
        estimates=outcome.params,
        covariance=outcome.covariance,
        sampling=outcome.sampling,
        units=outcome.units,
        privacy=privacy,
        law=outcome.law,
        notes=outcome.notes,
    )
