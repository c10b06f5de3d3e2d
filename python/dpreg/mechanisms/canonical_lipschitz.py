"""The canonical Lipschitz mechanism on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpreg import _core
from dpreg.base.errors import shown
from dpreg.estimation.selection.base import check_k
from dpreg.mechanisms._inputs import doubles, indices, score_range_of
from dpreg.privacy.bits import bit_source
from dpreg.privacy.checks import check_epsilon

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["canonical_lipschitz"]

_NOISE = {"exponential": _core.NoiseLaw.EXPONENTIAL, "gumbel": _core.NoiseLaw.GUMBEL}


def canonical_lipschitz(
    scores: Any,
    k: int,
    eps: float,
    sensitivity: float,
    gamma: float = 0.5,
    *,
    noise: Literal["exponential", "gumbel"] = "exponential",
    one_sided: bool = False,
    score_range: float | None = None,
    rng: int | _core.BitSource | None = None,
) -> NDArray[np.intp]:
    """Choose the k largest of many scores, privately, in one draw.

    Parameters
    ----------
    scores : array, shape (d,)
        Private.
    k : int
        How many, 1 <= k <= d.  For k = 1 `peel` is more accurate.
    eps : float
        Privacy loss in nats.
    sensitivity : float
        How much any score may change when one unit is added or removed; in [1e-150, 1e150].
    gamma : float, default 0.5
        In [0, 1): the weight of the worst score in the set, against that of the best score
        outside.
    noise : {"exponential", "gumbel"}
        With Gumbel noise this is the exponential mechanism over all sets.
    one_sided, score_range, rng
        As for `dpreg.mechanisms.peel`.

    Returns
    -------
    ndarray of int, shape (k,)
        Positions, ascending: a set.

    Raises
    ------
    ValueError
        For shapes, types and options; never depending on a score.

    Privacy
    -------
    guarantee : (eps, 0)-DP
    neighbours : those for which `sensitivity` and `score_range` hold
    public : d, k and all options
    proof : cpp/src/mechanisms/canonical_lipschitz.md

    References
    ----------
    Shekelyan and Loukides (2022); Swope et al. (2024), appendix A.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import canonical_lipschitz
    >>> canonical_lipschitz(np.array([1.0, 900.0, 3.0]), k=1, eps=1.0, sensitivity=1.0).tolist()
    [1]
    """
    values, epsilon = doubles("scores", scores, 1), check_epsilon(eps)
    k = check_k(k, len(values), "scores")
    if noise not in _NOISE:
        raise ValueError(f"noise must be 'exponential' or 'gumbel', got {shown(noise)}")
    chosen = _core.canonical_lipschitz(
        values,
        k=k,
        range=score_range_of(sensitivity, one_sided=one_sided, score_range=score_range),
        epsilon=epsilon,
        gamma=gamma,
        noise=_NOISE[noise],
        bits=bit_source(rng),
    )
    return indices([int(i) for i in chosen])
