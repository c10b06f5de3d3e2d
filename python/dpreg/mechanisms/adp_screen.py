"""ADP-Screen: private Frank-Wolfe that tests every coordinate in a screening iteration."""

from __future__ import annotations

from typing import Any, Literal

from dpreg import _core
from dpreg.estimation.planning.frank_wolfe import Screen
from dpreg.mechanisms.frank_wolfe import FrankWolfeFit, dp_frank_wolfe

__all__ = ["adp_screen"]


def adp_screen(
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    l1: float,
    steps: int,
    share: float = 0.25,
    after: tuple[int, ...] | None = None,
    false_screens: float = 0.05,
    start: Literal["zero", "random"] = "zero",
    rng: int | _core.BitSource | None = None,
) -> FrankWolfeFit:
    """Run private Frank-Wolfe with the sound rule, every coordinate by itself.

    Each coordinate is screened with probability 1 / (1 + exp(margin - T_i / scale)), the scores
    T_i as in cpp/src/stats/screening.md.  An iteration costs d choices, so that the noise is
    sqrt(d) times that of `rnm_screen`; it is here for comparison.  See
    `dpreg.mechanisms.dp_frank_wolfe` for `X`, `y`, `eps`, `delta`, `l1`, `steps`, `start` and
    `rng`, and `dpreg.mechanisms.Screen` for the others.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one row of (X, y)
    public : d, the kind of X, eps, delta and all options; not the number of rows
    proof : cpp/src/mechanisms/frank_wolfe.md, section 4

    References
    ----------
    Khanna, Lu and Raff (2025), Algorithm 1, with another score, logistic noise instead of
    Gaussian noise, and a margin; as published in `dpreg.reference.adp_screen`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import adp_screen
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> adp_screen(X, X[:, 2], 1.0, 1e-6, l1=1.0, steps=20).weights.shape
    (3,)
    """
    screen = Screen(rule="adp", share=share, after=after, false_screens=false_screens)
    return dp_frank_wolfe(X, y, eps, delta, l1=l1, steps=steps, screen=screen, start=start, rng=rng)
