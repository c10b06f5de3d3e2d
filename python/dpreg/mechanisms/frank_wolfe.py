"""Private Frank-Wolfe for sparse least squares, on arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpreg import _core
from dpreg._version import __version__
from dpreg.accounting import zcdp_rho
from dpreg.budget import check_delta, check_epsilon
from dpreg.mechanisms._arrays import unit_design, unit_response
from dpreg.planning.frank_wolfe import FrankWolfePlan, Screen, check_steps, plan_frank_wolfe
from dpreg.released.certificate import Certificate, Part
from dpreg.rng import bit_source

__all__ = [
    "FrankWolfeFit",
    "allowed_rho",
    "dp_frank_wolfe",
    "plan_parts",
    "run_plan",
    "screen_from",
]

# Left of delta for the total variation between the drawn laws and those of bounded range, and
# the largest epsilon for which the proof pays for that (frank_wolfe.md, section 4).
_DELTA_LEFT = 1 - 2.0**-20
_LARGEST_EPSILON = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class FrankWolfeFit:
    """A released run of private Frank-Wolfe.

    Attributes
    ----------
    weights : ndarray, shape (d,)
        In the l1 ball; 0 is exactly 0.
    path : ndarray of int, shape (steps,)
        The vertices: j + 1 for +l1 e_j, -(j + 1) for -l1 e_j.
    screened, screened_at : ndarray of int
        Columns that were screened, and the steps after which.
    privacy : Certificate
    """

    weights: NDArray[np.float64]
    path: NDArray[np.int64]
    screened: NDArray[np.int64]
    screened_at: NDArray[np.int64]
    privacy: Certificate

    @property
    def support(self) -> NDArray[np.int64]:
        """The columns with a weight other than 0."""
        return np.flatnonzero(self.weights)


def dp_frank_wolfe(
    X: Any,
    y: Any,
    eps: float,
    delta: float,
    *,
    l1: float,
    steps: int,
    screen: Screen | Literal["rnm", "adp"] | None = None,
    start: Literal["zero", "random"] = "zero",
    rng: int | _core.BitSource | None = None,
) -> FrankWolfeFit:
    """Minimise the sum of squares (Xw - y)^2 over ||w||_1 <= l1 with private Frank-Wolfe steps.

    Parameters
    ----------
    X : array_like or scipy.sparse matrix or array, shape (n, d)
        Private.  Cells are clipped to [-1, 1] and rounded to multiples of 2**-14; NaN
        counts as 0.  Entries of the same cell of a sparse matrix are added first.
    y : array_like, shape (n,)
        Private.  Clipped to [-l1, l1] and rounded to multiples of l1 * 2**-16; NaN counts as 0.
    eps : float
        Privacy loss in nats.  Above 100 no more accuracy is bought.
    delta : float
        In (0, 1), below 1 / (number of rows).
    l1 : float
        Radius of the l1 ball.
    steps : int
        Public, like all that follows.  Step t has size 2 / (t + 2), t = 1, 2, ...
    screen : {None, "rnm", "adp"} or Screen
        Also screen coordinates whose weight is 0 at the optimum.
    start : {"zero", "random"}
        0, or a uniformly random point of the l1 ball.
    rng : int or bit source, optional
        An integer makes the result reproducible and **not private**.

    Returns
    -------
    FrankWolfeFit

    Raises
    ------
    ValueError
        For wrong use; never depending on a cell or on the number of rows.

    Privacy
    -------
    guarantee : (eps, delta)-DP
    neighbours : add or remove one row of (X, y)
    public : d, the kind of X, eps, delta and all options; not the number of rows
    proof : cpp/src/mechanisms/frank_wolfe.md, section 4

    References
    ----------
    Talwar, Thakurta and Zhang (2015), "Nearly-optimal private LASSO"; Khanna, Lu and Raff
    (2025), "Differentially private iterative screening rules for linear regression", with
    the corrections listed in frank_wolfe.md and cpp/src/stats/screening.md.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import dp_frank_wolfe
    >>> X = np.eye(4)[np.arange(20_000) % 4]
    >>> fit = dp_frank_wolfe(X, X[:, 2], eps=1.0, delta=1e-6, l1=1.0, steps=20)
    >>> fit.support.tolist()
    [2]
    """
    epsilon, delta = check_epsilon(eps), check_delta(delta)
    rho = allowed_rho(epsilon, delta)
    if start not in ("zero", "random"):
        raise ValueError(f"start must be 'zero' or 'random', got {start!r}")
    bits = bit_source(rng)
    design = unit_design(X)
    response = unit_response(y, design)
    plan = plan_frank_wolfe(rho, design.cols, check_steps(steps), screen_from(screen))
    first = _core.random_start(design.cols, bits) if start == "random" else None
    run = run_plan(design, response, check_l1(l1), plan, screen_from(screen), bits, first)
    privacy = Certificate(
        mechanism="dp_frank_wolfe",
        epsilon=epsilon,
        delta=delta,
        unit="one row",
        composition="zCDP",
        parts=plan_parts(plan, l1),
        public=("number and kind of columns", "eps, delta and all options"),
        seeded=bits.seeded,
        version=__version__,
    )
    return FrankWolfeFit(**run, privacy=privacy)


def check_l1(l1: object) -> float:
    """Return `l1` as a float if it is a radius."""
    if isinstance(l1, bool) or not isinstance(l1, (int, float, np.number)):
        raise ValueError(f"l1 must be a number greater than 0, got {l1!r}")
    if not 1e-100 <= float(l1) <= 1e100:
        raise ValueError(f"l1 must be between 1e-100 and 1e100, got {l1!r}")
    return float(l1)


def screen_from(screen: Screen | str | None) -> Screen | None:
    """Return the options that a name stands for."""
    if screen is None or isinstance(screen, Screen):
        return screen
    if screen not in ("rnm", "adp"):
        raise ValueError(f"screen must be None, 'rnm', 'adp' or a Screen, got {screen!r}")
    return Screen(rule="rnm" if screen == "rnm" else "adp")


def allowed_rho(epsilon: float, delta: float) -> float:
    """Return the zCDP budget of a run that is to be (epsilon, delta)-DP."""
    return zcdp_rho(min(epsilon, _LARGEST_EPSILON), delta * _DELTA_LEFT)


def run_plan(
    design: _core.UnitDesign,
    response: NDArray[np.float64],
    l1: float,
    plan: FrankWolfePlan,
    screen: Screen | None,
    bits: _core.BitSource,
    start: NDArray[np.int64] | None = None,
) -> dict[str, Any]:
    """Run Frank-Wolfe as planned; the arrays of `FrankWolfeFit`."""
    gradient = (
        _core.L1Gradient(design, response, l1=l1)
        if start is None
        else _core.L1Gradient(design, response, l1=l1, start=start)
    )
    rule = _core.ScreenRule.NONE
    if screen is not None and plan.after:
        rule = _core.ScreenRule.EACH if screen.rule == "adp" else _core.ScreenRule.ONE
    return _core.dp_frank_wolfe(
        gradient,
        steps=plan.steps,
        epsilon_step=plan.epsilon_step,
        rule=rule,
        after=list(plan.after),
        epsilon_screen=plan.epsilon_screen,
        margin=plan.margin,
        bits=bits,
    )


def plan_parts(plan: FrankWolfePlan, l1: float) -> tuple[Part, ...]:
    """Describe what a plan spends, in zCDP."""
    scale = _core.vertex_score_range(l1) / plan.epsilon_step
    parts = [
        Part(
            f"{plan.steps} vertices",
            0.0,
            0.0,
            f"exponential mechanism of bounded range {plan.epsilon_step:.4g} each, "
            f"as Gumbel noise of scale {scale:.4g} on gradient sums",
            sensitivity=_core.vertex_score_range(l1),
            scale=scale,
            rho=plan.rho_steps,
        )
    ]
    if plan.after:
        score_range = _core.SCREENING_RANGE * l1 * l1
        scale = score_range / plan.epsilon_screen
        parts.append(
            Part(
                f"screening after {len(plan.after)} steps",
                0.0,
                0.0,
                f"exponential mechanism of bounded range {plan.epsilon_screen:.4g} a choice, "
                f"as Gumbel noise of scale {scale:.4g} on scores, which have to beat "
                f"{plan.margin * scale:.4g}",
                sensitivity=score_range,
                scale=scale,
                rho=plan.rho_screening,
            )
        )
    return tuple(parts)
