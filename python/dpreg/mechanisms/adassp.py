"""AdaSSP on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpreg.calls.request import Request
from dpreg.data.bounds import Bounds
from dpreg.estimation.methods import AdaSSP
from dpreg.mechanisms._regression import fit_arrays
from dpreg.results.fit import DPResults
from dpreg.results.not_released import NotReleased

if TYPE_CHECKING:
    from dpreg import _core

__all__ = ["adassp"]


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
    """Fit a linear regression by AdaSSP on arrays.

    Parameters
    ----------
    X : array, shape (n, d)
        Regressors without a column of ones.  Private.  Rows that are not finite are passed
        over.
    y : array, shape (n,)
        Response.  Private.
    eps, delta : float
        Privacy loss in nats, and failure probability, greater than 0.
    options : AdaSSP, optional
        Default: ``dpreg.AdaSSP()``.
    bounds : dict, optional
        ``{column: (low, high)}``, public limits of columns x0, x1, ... and of y.
    intercept : bool, default True
        Fit one.
    inference : bool, default True
        Also release what standard errors and intervals need.
    rng : int or bit source, optional
        An integer makes the result reproducible and **not private**.

    Returns
    -------
    DPResults
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
    public : d, bounds and all options; not the number of rows
    proof : adassp.md, in dpreg/estimation/methods

    References
    ----------
    Wang (2018), Algorithm 2, with the changes listed in adassp.md.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import adassp
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> adassp(X, X[:, 0] + 1, 1.0, 1e-6).params.index.tolist()
    ['Intercept', 'x0', 'x1', 'x2']
    """
    asked = Request(
        call="adassp", formula="y ~ X", eps=eps, delta=delta, method=options or AdaSSP(),
        bounds=bounds, inference=inference, rng=rng,
    )  # fmt: skip
    return fit_arrays(asked, X, y, intercept=intercept)
