"""DPKendall on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpreg.estimation.base import Allowance
from dpreg.estimation.selection import DPKendall
from dpreg.mechanisms._inputs import design_of, indices
from dpreg.privacy.bits import bit_source
from dpreg.privacy.checks import check_epsilon

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpreg import _core

__all__ = ["dp_kendall"]


def dp_kendall(
    X: Any,
    y: Any,
    k: int,
    eps: float,
    *,
    ranges: Literal["tight", "published"] = "tight",
    rng: int | _core.BitSource | None = None,
) -> NDArray[np.intp]:
    """Choose k columns by Kendall correlation, privately.

    Parameters
    ----------
    X : array, shape (n, d)
        Candidates, one record a row.  Private.  Any double; NaN takes part in no pair.
    y : array, shape (n,)
        Response.  Private.
    k : int
        How many columns, 1 <= k <= d.
    eps : float
        Privacy loss in nats.
    ranges : {"tight", "published"}
        See `dpreg.DPKendall`.
    rng : int or bit source, optional
        An integer makes the result reproducible and **not private**.

    Returns
    -------
    ndarray of int, shape (k,)
        Columns in the order they were chosen.

    Raises
    ------
    ValueError
        For shapes, types and options; never depending on a cell.

    Privacy
    -------
    guarantee : (eps, 0)-DP
    neighbours : add or remove one row
    public : d, k and all options; not the number of rows
    proof : cpp/src/mechanisms/dp_kendall.md

    References
    ----------
    Dick, Gillenwater and Joseph (2023), Algorithm 1 with equation (1).

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import dp_kendall
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> dp_kendall(X, X[:, 1], k=1, eps=1.0).tolist()
    [1]
    """
    design, epsilon = design_of(X, y), check_epsilon(eps)
    selector = DPKendall(ranges=ranges)
    selector.check(design.terms, k, epsilon, 0.0)
    found = selector.select(design, k, Allowance(epsilon, 0.0, bit_source(rng)))
    return indices(found.chosen)
