"""How clearly a private choice is decided, from public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clarity:
    """How far apart scores had to be for the noise not to decide, from public numbers only.

    How far apart they were is private.
    """

    score: str  # What a term is scored by, with its unit.
    scale: float  # Scale of the noise, in that unit.
    # A lead over all other candidates that wins with probability 95% or more; None if no lead does.
    margin: float | None
    reading: str  # What `margin` means in everyday units.

    @staticmethod
    def margin_of(scale: float, log_rivals: float) -> float:
        """The lead at which exp(lead / scale) outweighs 19 times e^`log_rivals` rivals."""
        return scale * (math.log(19) + max(0.0, log_rivals))
