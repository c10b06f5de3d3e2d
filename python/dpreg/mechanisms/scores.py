"""Choices of the largest of many scores, on arrays."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg.base.errors import shown
from dpreg.estimation.selection.base import check_choice, check_k
from dpreg.estimation.selection.sis import NOISE
from dpreg.mechanisms._inputs import doubles
from dpreg.privacy.bits import bit_source
from dpreg.privacy.checks import check_epsilon

# Beyond, gaps between scores in units of their sensitivity are no doubles: the core refuses.
_LEAST_SENSITIVITY, _LARGEST_SENSITIVITY = 1e-150, 1e150


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
        True: no score decreases when a unit is added.  Half the noise is then enough.
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
    # -infinity would be taken as excluded, which is public; here it is a score.
    largest = np.finfo(np.float64).max
    chosen = _core.peel(
        np.nan_to_num(values, nan=-largest, posinf=largest, neginf=-largest),
        k=k,
        range=_range_of(sensitivity, one_sided=one_sided, score_range=score_range),
        epsilon=epsilon,
        bits=bit_source(rng),
    )
    return np.asarray(chosen, dtype=np.intp)


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
    k : int
        How many, 1 <= k <= d.  For k = 1 `peel` is more accurate.
    gamma : float, default 0.5
        In [0, 1): the weight of the worst score in the set, against that of the best score
        outside.
    noise : {"exponential", "gumbel"}
        With Gumbel noise this is the exponential mechanism over all sets.
    scores, eps, sensitivity, one_sided, score_range, rng
        As for `peel`.

    Returns
    -------
    ndarray of int, shape (k,)
        Positions, ascending: a set.

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
    if noise not in NOISE:
        raise ValueError(f"noise must be 'exponential' or 'gumbel', got {shown(noise)}")
    chosen = _core.canonical_lipschitz(
        values,
        k=k,
        range=_range_of(sensitivity, one_sided=one_sided, score_range=score_range),
        epsilon=epsilon,
        gamma=gamma,
        noise=NOISE[noise],
        bits=bit_source(rng),
    )
    return np.asarray(chosen, dtype=np.intp)


def _range_of(sensitivity: float, *, one_sided: bool, score_range: float | None) -> float:
    """Return the length of the interval that holds the changes of all scores."""
    if not _LEAST_SENSITIVITY <= sensitivity <= _LARGEST_SENSITIVITY:
        raise ValueError(
            f"sensitivity must be between {_LEAST_SENSITIVITY:g} and {_LARGEST_SENSITIVITY:g}, got "
            f"{sensitivity!r}; rescale the scores and sensitivity by a public number"
        )
    if score_range is None:
        return sensitivity if one_sided else 2 * sensitivity
    if one_sided:
        raise ValueError("score_range: leave out one_sided, which the range already implies")
    if not sensitivity <= score_range <= 2 * sensitivity:
        raise ValueError(
            "score_range must be between sensitivity and 2 * sensitivity, which changes within "
            f"[-sensitivity, sensitivity] span at most; got {score_range!r}"
        )
    return float(score_range)
