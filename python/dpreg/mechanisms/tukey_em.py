"""TukeyEM on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpreg.calls.request import Request
from dpreg.estimation.methods import TukeyEM
from dpreg.mechanisms._regression import fit_arrays
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased

if TYPE_CHECKING:
    from dpreg import _core

__all__ = ["tukey_em"]


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
    proof : tukey_em.md, in dpreg/estimation/methods

    References
    ----------
    Amin, Joseph, Ribero and Vassilvitskii (2023), Algorithm 2, with the corrections listed in
    tukey_em.md.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import tukey_em
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> tukey_em(X, X[:, 0] + 1, 1.0, 1e-6).params.index.tolist()
    ['Intercept', 'x0', 'x1', 'x2']
    """
    asked = Request(
        call="tukey_em", formula="y ~ X", eps=eps, delta=delta, method=options or TukeyEM(),
        inference=inference, rng=rng,
    )  # fmt: skip
    return fit_arrays(asked, X, y, intercept=intercept)
