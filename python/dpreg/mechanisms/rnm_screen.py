"""RNM-Screen: private Frank-Wolfe that screens at most one coordinate at a time."""

from __future__ import annotations

from typing import Any, Literal

from dpreg import _core
from dpreg.estimation.planning.frank_wolfe import Screen
from dpreg.mechanisms.frank_wolfe import FrankWolfeFit, dp_frank_wolfe

__all__ = ["rnm_screen"]


def rnm_screen(
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
    """Run private Frank-Wolfe with the sound rule, one coordinate an iteration at most.

    A coordinate is drawn by the exponential mechanism on the scores T_i of
    cpp/src/stats/screening.md, against a dummy candidate.  See `dpreg.mechanisms.dp_frank_wolfe`
    for `X`, `y`, `eps`, `delta`, `l1`, `steps`, `start` and `rng`, and
    `dpreg.mechanisms.Screen` for the others.  The rule acts when
    n * eps_screen * (D_i / n)^2 is well above 20 l1^2 log(d * iterations), which takes many rows.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one row of (X, y)
    public : d, the kind of X, eps, delta and all options; not the number of rows
    proof : cpp/src/mechanisms/frank_wolfe.md, section 4

    References
    ----------
    Khanna, Lu and Raff (2025), Algorithm 2, with another score, another noise scale and a
    dummy candidate; as published in `dpreg.reference.rnm_screen`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import rnm_screen
    >>> X = np.sin(np.outer(np.arange(20_000), [1.0, 2.0, 3.0]))
    >>> rnm_screen(X, X[:, 2], 1.0, 1e-6, l1=1.0, steps=20).weights.shape
    (3,)
    """
    screen = Screen(rule="rnm", share=share, after=after, false_screens=false_screens)
    return dp_frank_wolfe(X, y, eps, delta, l1=l1, steps=steps, screen=screen, start=start, rng=rng)
