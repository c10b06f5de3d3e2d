"""How large a lead decides a private choice, from public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clarity:
    """The difference of scores that is needed for noise not to decide, from public numbers.

    The actual differences are private.
    """

    score: str  # The score of a term, with its unit.
    scale: float  # Scale of the noise, in that unit.
    # Lead over all other candidates that wins with probability at least 95%; None if none does.
    margin: float | None
    reading: str  # `margin` in familiar units.

    @staticmethod
    def margin_of(scale: float, log_rivals: float) -> float:
        """Return the lead at which exp(lead / scale) is 19 times e^`log_rivals`."""
        return scale * (math.log(19) + max(0.0, log_rivals))
