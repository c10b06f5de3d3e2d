"""How many rounds boosting takes, what each may spend, and how residuals are clipped."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Schedule", "final_clip", "schedule"]

# Without inference: rounds, and how many of the last ones the result is the mean of.
_ROUNDS, _AVERAGE = 6, 2
# Share of the squared mu of all gradients for the rounds before those averaged over.
_EARLY_SHARE = 0.3
# Rounds a square root of twice the width: an eigenvalue at the noise is that much below the
# floor under it, and is reached in half of them.
_ROUNDS_A_REACH = 2
_SPARE_ROUNDS, _MOST_ROUNDS = 2, 100
# The final clip lets privacy noise in a gradient be this much of its sampling error,
_NOISE_RATIO = 0.5
# and the noise in its second moments this share of them,
_SCATTER_RATIO = 0.15
# within these limits, in root mean square residuals, the lower one rounded off.
_LEAST_FINAL, _MOST_FINAL = 4.5, 20.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Rounds of boosting, all public.

    Attributes
    ----------
    shares : tuple of float
        Share of the squared mu of all gradients for each round; they add up to 1.
    average : int
        The result is the mean of this many last rounds.
    """

    shares: tuple[float, ...]
    average: int

    @property
    def early(self) -> int:
        """Rounds that the result is not a mean of."""
        return len(self.shares) - self.average


def schedule(width: int, rounds: int | None, average: int | None, *, inference: bool) -> Schedule:
    """Choose the rounds.

    For predictions a few equal rounds do.  Standard errors ask for convergence along every
    direction that can be told from noise, and for little noise in the mean at the end.

    Parameters
    ----------
    width : int
        Of a row.
    rounds, average : int, optional
        Those the user wants.
    inference : bool
    """
    if not inference:
        rounds = rounds or _ROUNDS
        return Schedule((1 / rounds,) * rounds, average or min(_AVERAGE, rounds))
    reach = math.ceil(_ROUNDS_A_REACH * math.sqrt(2 * width)) + _SPARE_ROUNDS
    rounds = rounds or min(reach, _MOST_ROUNDS)
    average = average or max(1, rounds // 2)
    early = rounds - average
    if early == 0:
        return Schedule((1 / average,) * average, average)
    late_shares = ((1 - _EARLY_SHARE) / average,) * average
    return Schedule((_EARLY_SHARE / early,) * early + late_shares, average)


def final_clip(units: float, row_limit: float, mu_gradients: float, mu_scatter: float) -> float:
    """Return the clip of the rounds that count, in root mean square residuals.

    It grows as the square root of the units, which makes the result that of least squares
    in the limit, whatever the errors with a finite third moment.

    Parameters
    ----------
    units : float
        Noisy number.
    row_limit : float
        Norm of the longest row.
    mu_gradients, mu_scatter : float
        Of the gradients of those rounds together, and of their second moments.
    """
    units = max(units, 1.0)
    most = min(_NOISE_RATIO * mu_gradients, math.sqrt(_SCATTER_RATIO * mu_scatter))
    return min(math.hypot(most * math.sqrt(units) / row_limit, _LEAST_FINAL), _MOST_FINAL)
