"""Selections of columns, on arrays."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.base.errors import shown
from dpreg.data.bounds import checked_bounds
from dpreg.data.design import Design
from dpreg.estimation.base import Allowance
from dpreg.estimation.selection import DPSIS, DPKendall, SubLasso, TwoStage
from dpreg.estimation.selection.base import Selector
from dpreg.mechanisms._inputs import design_of
from dpreg.privacy.bits import bit_source
from dpreg.privacy.checks import check_epsilon


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
        Candidates, one record per row.  Private.  Any double; NaN takes part in no pair.
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
    return _chosen(DPKendall(ranges=ranges), design_of(X, y), k, eps, rng)


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
        Candidates, one record per row.  Private.  NaN counts as the centre of the bounds.
    x_bounds : (low, high)
        Public; each a number or an array of length d.  Mapped to [-1, 1]; what is outside is
        clipped.
    y_bounds : (low, high)
        Public numbers.
    top_k, gamma, noise
        See `dpreg.DPSIS`.
    y, k, eps, rng
        As for `dp_kendall`.

    Returns
    -------
    ndarray of int, shape (k,)
        Columns: ascending with ``top_k="canonical"``, in the order they were chosen with
        ``"peel"``.

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
    design = design_of(X, y)
    columns = _pairs("x_bounds", x_bounds, len(design.terms.names))
    bounds = dict(zip(design.terms.names, columns, strict=True))
    (bounds[design.terms.response],) = _pairs("y_bounds", y_bounds, 1)
    terms = replace(design.terms, bounds=checked_bounds(bounds, design.terms))
    selector = DPSIS(top_k=top_k, gamma=gamma, noise=noise)
    return _chosen(selector, replace(design, terms=terms), k, eps, rng)


def sub_lasso(
    X: Any,
    y: Any,
    k: int,
    eps: float,
    *,
    models: int | Literal["sqrt(n)", "n/k", "n/d"] = "sqrt(n)",
    penalty: float = 0.1,
    partition: Literal["slots", "independent"] = "slots",
    count_share: float = 0.1,
    rng: int | _core.BitSource | None = None,
) -> NDArray[np.intp]:
    """Choose k columns by the votes of many small Lasso fits, privately.

    Parameters
    ----------
    X : array, shape (n, d)
        Candidates, one record per row.  Private.  Rows that are not finite are dropped.
    models : int or {"sqrt(n)", "n/k", "n/d"}
        How many fits; n is the noisy number of rows.
    penalty, partition, count_share
        See `dpreg.TwoStage`.
    y, k, eps, rng
        As for `dp_kendall`.

    Returns
    -------
    ndarray of int, shape (k,)
        Columns in the order they were chosen.

    Privacy
    -------
    guarantee : (eps, 0)-DP
    neighbours : add or remove one row
    public : d, k and all options; not the number of rows
    proof : two_stage.md, in dpreg/estimation/selection

    References
    ----------
    Kifer, Smith and Thakurta (2012); Dick et al. (2023), Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import sub_lasso
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> sub_lasso(X, X[:, 1], k=1, eps=1.0).tolist()
    [1]
    """
    design = design_of(X, y)
    if isinstance(models, str) and models not in ("sqrt(n)", "n/k", "n/d"):
        wanted = "an integer, 'sqrt(n)', 'n/k' or 'n/d'"
        raise ValueError(f"models must be {wanted}, got {shown(models)}")
    number = None if isinstance(models, str) else models
    selector = TwoStage(
        models=number, penalty=penalty, partition=partition, count_share=count_share
    )
    if models in ("n/k", "n/d"):
        selector = SubLasso(**asdict(selector), batch="k" if models == "n/k" else "d")
    return _chosen(selector, design, k, eps, rng)


def _chosen(
    selector: Selector, design: Design, k: int, eps: float, rng: int | _core.BitSource | None
) -> NDArray[np.intp]:
    """Return the columns that a selector chooses."""
    epsilon = check_epsilon(eps)
    selector.check(design.terms, k, epsilon, 0.0)
    found = selector.select(design, k, Allowance(epsilon, 0.0, bit_source(rng)))
    return np.asarray(found.chosen, dtype=np.intp)


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
