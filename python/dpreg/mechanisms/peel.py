"""Peeling on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpreg import _core
from dpreg.estimation.selection.base import check_choice, check_k
from dpreg.mechanisms._inputs import doubles, indices, score_range_of
from dpreg.privacy.bits import bit_source
from dpreg.privacy.checks import check_epsilon

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["peel"]


def peel(
    scores: Any,
    k: int,
    eps: float,
    sensitivity: float,
    *,
    one_sided: bool = False,
    score_range: float | None = None,
    rng: int | _core.BitSource | None = None,
) -> NDArray[np.intp]:
    """Choose the k largest of many scores, privately, by k rounds of the exponential mechanism.

    Parameters
    ----------
    scores : array, shape (d,)
        Private.
    k : int
        How many, 1 <= k <= d.
    eps : float
        Privacy loss in nats.
    sensitivity : float
        How much any score may change when one unit is added or removed; in [1e-150, 1e150].
    one_sided : bool, default False
        True: no score falls when a unit is added.  Half the noise is enough then.
    score_range : float, optional
        Length of an interval that holds the changes of all scores when a unit is added, when
        it is known to be shorter than 2 * sensitivity: 2.5 for absolute Kendall correlations.
    rng : int or bit source, optional
        An integer makes the result reproducible and **not private**.

    Returns
    -------
    ndarray of int, shape (k,)
        Positions in the order they were chosen.

    Raises
    ------
    ValueError
        For shapes, types and options; never depending on a score.

    Privacy
    -------
    guarantee : (eps, 0)-DP
    neighbours : those for which `sensitivity` and `score_range` hold
    public : d, k and all options
    proof : cpp/src/mechanisms/peel.md

    References
    ----------
    Durfee and Rogers (2019), as used by Dick et al. (2023), Definition 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import peel
    >>> peel(np.array([1.0, 900.0, 3.0]), k=1, eps=1.0, sensitivity=1.0).tolist()
    [1]
    """
    values, epsilon = doubles("scores", scores, 1), check_epsilon(eps)
    k = check_k(k, len(values), "scores")
    check_choice(epsilon / k)
    chosen = _core.peel(
        # -infinity would be taken as excluded, which is public; here it is a score.
        _finite(values),
        k=k,
        range=score_range_of(sensitivity, one_sided=one_sided, score_range=score_range),
        epsilon=epsilon,
        bits=bit_source(rng),
    )
    return indices([int(i) for i in chosen])


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    largest = np.finfo(np.float64).max
    return np.nan_to_num(values, nan=-largest, posinf=largest, neginf=-largest)
