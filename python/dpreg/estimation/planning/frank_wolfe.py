"""How private Frank-Wolfe spends its budget, and how many steps it makes: public numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dpreg.base.errors import Argument, ArgumentError, Choice, Setting, Value, unusable
from dpreg.base.options import Limit, check_options, is_whole
from dpreg.privacy.zcdp import bounded_range_epsilon

# As in cpp/include/dpreg/stats/l1_gradient.hpp and mechanisms/frank_wolfe.hpp.
MAX_STEPS = 32_000
STEPS = Limit(
    f"an integer from 1 to {MAX_STEPS}", lambda steps: is_whole(steps) and 1 <= steps <= MAX_STEPS
)
_LEAST_EPSILON, _LARGEST_EPSILON = 2.0**-30, 1000.0
# Found by python/tools/tables/frank_wolfe_steps.py: see `default_steps`.
_STEPS_FACTOR = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Options of private screening, all public.

    Parameters
    ----------
    rule : {"rnm", "adp"}
        ``"rnm"``: at most one coordinate per iteration, drawn among all coordinates and a dummy.
        ``"adp"``: every coordinate is tested at every iteration, at sqrt(d) times the noise.
    share : float, default 0.25
        Share of the zCDP budget.
    after : tuple of int, optional
        The steps after which coordinates are screened.  Default: min(d, steps // 2) of them
        spread over the second half, or one after three quarters for ``"adp"``.
    false_screens : float, default 0.05
        Bound on the expected number of coordinates screened in the whole run while the rule
        does not show that they are 0.  Smaller screens less.

    Notes
    -----
    A screened coordinate is 0 and stays 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpreg.mechanisms import Screen, dp_frank_wolfe
    >>> X = np.random.default_rng(1).standard_normal((20_000, 3))
    >>> screen = Screen(rule="rnm", share=0.2)
    >>> dp_frank_wolfe(X, X[:, 2], 1.0, 1e-6, l1=1.0, steps=20, screen=screen).weights.shape
    (3,)
    """

    rule: Literal["rnm", "adp"] = "rnm"
    share: float = 0.25
    after: tuple[int, ...] | None = None
    false_screens: float = 0.05

    def __post_init__(self) -> None:
        check_options(self)
        if not 0 < self.share < 1:
            raise unusable("screen", "a Screen with share in (0, 1)", self.share)
        if not 1e-100 <= self.false_screens < math.inf:
            wanted = "a Screen with false_screens of at least 1e-100"
            raise unusable("screen", wanted, self.false_screens)
        if self.after is not None and any(
            b <= a for a, b in zip((0, *self.after), self.after, strict=False)
        ):
            raise unusable("screen", "a Screen with increasing steps from 1 in after", self.after)

    def steps_after(self, steps: int, d: int) -> tuple[int, ...]:
        """Return the steps after which coordinates are screened in a run of `steps`."""
        if self.after is not None:
            return tuple(t for t in self.after if t <= steps)
        if self.rule == "adp":
            return (max(1, 3 * steps // 4),)
        times = max(1, min(d, steps // 2))
        first = steps - steps // 2
        return tuple(sorted({first + (steps - first) * k // times for k in range(times)} - {0}))


@dataclass(frozen=True, slots=True)
class FrankWolfePlan:
    """Public parameters of one run."""

    steps: int
    epsilon_step: float  # Bounded range of the choice of one vertex.
    rule: Literal["rnm", "adp"] | None = None  # Of screening.
    after: tuple[int, ...] = ()  # Steps after which coordinates are screened.
    epsilon_screen: float = 0.0  # Bounded range of one screening choice; 0 without screening.
    choices: int = 0  # Of screening.
    margin: float = 0.0  # What a score has to beat, in units of the noise scale of screening.


def screen_from(screen: Screen | str | None) -> Screen | None:
    """Return the options that a name stands for."""
    if screen is None or isinstance(screen, Screen):
        return screen
    if screen not in ("rnm", "adp"):
        wanted = (Value(None), ", ", Choice(("rnm", "adp")), " or a Screen")
        raise unusable("screen", wanted, screen)
    return Screen(rule="rnm" if screen == "rnm" else "adp")


def plan_frank_wolfe(rho: float, d: int, steps: int, screen: Screen | str | None) -> FrankWolfePlan:
    """Split `rho` over `steps` steps and the screening of `d` columns.

    Raises ValueError if a step would have to be more private than can be computed with care.
    """
    screen = screen_from(screen)
    after = () if screen is None else screen.steps_after(steps, d)
    if screen is None or not after:
        return FrankWolfePlan(steps, _step_epsilon(rho, steps))
    choices = len(after) * (d if screen.rule == "adp" else 1)
    # Each of d coordinates is screened wrongly with probability at most exp(-margin) each time.
    margin = math.log(len(after) * d / screen.false_screens)
    return FrankWolfePlan(
        steps=steps,
        epsilon_step=_step_epsilon((1 - screen.share) * rho, steps),
        rule=screen.rule,
        after=after,
        epsilon_screen=_step_epsilon(screen.share * rho, choices),
        choices=choices,
        margin=min(max(margin, 0.0), 500.0),
    )


def _step_epsilon(rho: float, times: int) -> float:
    epsilon = min(bounded_range_epsilon(rho, times), _LARGEST_EPSILON)
    if epsilon < _LEAST_EPSILON:
        raise ArgumentError(
            "eps",
            ("is too small for ", Setting("steps", times),
             f": each would have to be {epsilon:.2g}-differentially private"),
            ("write fewer steps or a larger ", Argument("eps")),
        )  # fmt: skip
    return epsilon


def default_steps(units: float, d: int, rho: float) -> int:
    """Return a number of steps that needs no tuning.

    After T steps the loss, a mean over n units, exceeds its minimum by about a / T for
    stopping early and b log(2 d) / (n eps_step) for choosing vertices by noisy scores, with
    eps_step = sqrt(8 rho / T) and both a and b proportional to l1^2.  The sum is least at T
    proportional to (n sqrt(8 rho) / log(2 d))^(2/3); the factor comes from public
    simulations (python/tools/tables/frank_wolfe_steps.py).

    units: noisy number of units.
    rho: zCDP budget of all steps.
    """
    signal = max(units, 1.0) * math.sqrt(8 * rho) / math.log(2 * d + 1)
    steps = round(_STEPS_FACTOR * math.exp(2 / 3 * math.log(signal)))
    return max(1, min(MAX_STEPS, steps))
