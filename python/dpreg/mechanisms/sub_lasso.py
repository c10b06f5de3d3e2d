"""SubLasso and two-stage selection on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpreg.base.errors import shown
from dpreg.estimation.base import Allowance
from dpreg.estimation.selection import SubLasso, TwoStage
from dpreg.mechanisms._inputs import design_of, indices
from dpreg.privacy.bits import bit_source
from dpreg.privacy.checks import check_epsilon

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpreg import _core

__all__ = ["sub_lasso"]


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
        Candidates, one record a row.  Private.  Rows that are not finite are passed over.
    y : array, shape (n,)
        Response.  Private.
    k : int
        How many columns, 1 <= k <= d.
    eps : float
        Privacy loss in nats.
    models : int or {"sqrt(n)", "n/k", "n/d"}
        How many fits; n is the noisy number of rows.
    penalty, partition, count_share
        See `dpreg.TwoStage`.
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
    design, epsilon = design_of(X, y), check_epsilon(eps)
    selector = _selector(models, penalty, partition, count_share)
    selector.check(design.terms, k, epsilon, 0.0)
    found = selector.select(design, k, Allowance(epsilon, 0.0, bit_source(rng)))
    return indices(found.chosen)


def _selector(
    models: int | str,
    penalty: float,
    partition: Literal["slots", "independent"],
    count_share: float,
) -> TwoStage | SubLasso:
    if models in ("n/k", "n/d"):
        batch: Literal["k", "d"] = "k" if models == "n/k" else "d"
        return SubLasso(batch=batch, penalty=penalty, partition=partition, count_share=count_share)
    if isinstance(models, str) and models != "sqrt(n)":
        wanted = "an integer, 'sqrt(n)', 'n/k' or 'n/d'"
        raise ValueError(f"models must be {wanted}, got {shown(models)}")
    return TwoStage(
        models=None if isinstance(models, str) else models,
        penalty=penalty,
        partition=partition,
        count_share=count_share,
    )
