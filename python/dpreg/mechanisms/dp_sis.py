"""DP-SIS on arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpreg.data.bounds import checked_bounds
from dpreg.estimation.base import Allowance
from dpreg.estimation.selection import DPSIS
from dpreg.mechanisms._inputs import design_of, indices
from dpreg.privacy.bits import bit_source
from dpreg.privacy.checks import check_epsilon

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpreg import _core

__all__ = ["dp_sis"]


def dp_sis(
    X: Any,
    y: Any,
    k: int,
    eps: float,
    *,
    x_bounds: Any = None,
    y_bounds: Any = None,
    top_k: Literal["canonical", "peel"] = "canonical",
    gamma: float = 0.5,
    noise: Literal["exponential", "gumbel"] = "exponential",
    rng: int | _core.BitSource | None = None,
) -> NDArray[np.intp]:
    """Choose k columns by the size of their inner product with y, privately.

    Parameters
    ----------
    X : array, shape (n, d)
        Candidates, one record a row.  Private.  NaN counts as the centre of the bounds.
    y : array, shape (n,)
        Response.  Private.
    k : int
        How many columns, 1 <= k <= d.
    eps : float
        Privacy loss in nats.
    x_bounds : (low, high)
        Public; each a number or an array of length d.  Mapped to [-1, 1]; what is outside is
        clipped.
    y_bounds : (low, high)
        Public numbers.
    top_k, gamma, noise
        See `dpreg.DPSIS`.
    rng : int or bit source, optional
        An integer makes the result reproducible and **not private**.

    Returns
    -------
    ndarray of int, shape (k,)
        Columns: ascending with ``top_k="canonical"``, in the order they were chosen with
        ``"peel"``.

    Raises
    ------
    ValueError
        For shapes, types and options; never depending on a cell.

    Privacy
    -------
    guarantee : (eps, 0)-DP
    neighbours : add or remove one row
    public : d, k and all options, bounds among them; not the number of rows
    proof : sis.md, in dpreg/estimation/selection

    References
    ----------
    Swope et al. (2024), Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import dp_sis
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> dp_sis(X, X[:, 1], k=1, eps=1.0, x_bounds=(-4, 4), y_bounds=(-4, 4)).tolist()
    [1]
    """
    design, epsilon = design_of(X, y), check_epsilon(eps)
    columns = _pairs("x_bounds", x_bounds, len(design.terms.names))
    bounds = dict(zip(design.terms.names, columns, strict=True))
    (bounds[design.terms.response],) = _pairs("y_bounds", y_bounds, 1)
    terms = replace(design.terms, bounds=checked_bounds(bounds, design.terms))
    design = replace(design, terms=terms)
    selector = DPSIS(top_k=top_k, gamma=gamma, noise=noise)
    selector.check(design.terms, k, epsilon, 0.0)
    found = selector.select(design, k, Allowance(epsilon, 0.0, bit_source(rng)))
    return indices(found.chosen)


def _pairs(name: str, bounds: Any, d: int) -> list[tuple[float, float]]:
    """Return one (low, high) a column."""
    if bounds is None:
        raise ValueError(
            f"{name} must be given: DP-SIS needs public bounds, such as {name}=(-1, 1), and never "
            "reads them from the data"
        )
    try:
        low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), (d,)) for b in bounds)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be (low, high), each a number or an array with one for each column"
        ) from None
    if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
        raise ValueError(f"{name} must be finite, with low < high")
    return list(zip(low.tolist(), high.tolist(), strict=True))
