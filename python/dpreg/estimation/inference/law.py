"""The distribution of an estimate divided by its standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles
from dpreg.base.errors import unusable, write
from dpreg.base.options import is_number


def check_alpha(alpha: object) -> float:
    """Return `alpha` as a float if it is a valid error level; refuse anything else."""
    # 0.95 would give intervals of level 5%.
    if not is_number(alpha) or not 0 < float(alpha) <= 0.5:
        raise unusable(
            "alpha", "a number in (0, 0.5]", alpha, (*write("alpha", 0.05), " for 95% intervals")
        )
    return float(alpha)


@dataclass(frozen=True, slots=True)
class TailLaw:
    """Two-sided tails of (estimate - truth) / standard error."""

    tail: tuple[float, ...] = ()  # Decreasing probabilities.  Empty: normal distribution.
    # ``|ratio| > critical[i]`` has probability ``tail[i]``.  Between entries the logarithm of the
    # probability is linear in the ratio, and beyond the last too.
    critical: tuple[float, ...] = ()

    def critical_value(self, alpha: float) -> float:
        """Return the ratio that is exceeded in absolute value with probability `alpha`."""
        if not self.tail:
            return float(-special.ndtri(alpha / 2))
        return float(np.interp(-np.log(alpha), -np.log(self._tails()), self._criticals()))

    def p_values(self, ratio: Doubles) -> Doubles:
        """Return the probability of a ratio at least as large in absolute value."""
        if not self.tail:
            return np.asarray(2 * special.ndtr(-np.abs(ratio)))
        return np.exp(-np.interp(np.abs(ratio), self._criticals(), -np.log(self._tails())))

    def _tails(self) -> Doubles:
        # From probability 1 at 0, extrapolated beyond the table with its last slope.
        return np.array([1.0, *self.tail, self.tail[-1] ** 2 / self.tail[-2] * 1e-12])

    def _criticals(self) -> Doubles:
        slope = (self.critical[-1] - self.critical[-2]) / np.log(self.tail[-2] / self.tail[-1])
        far = self.critical[-1] + slope * (np.log(self.tail[-1]) - np.log(self._tails()[-1]))
        return np.array([0.0, *self.critical, far])


NORMAL = TailLaw()
