"""What a fit released, one release after another."""

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from dpreg.base.arrays import Doubles


class Leak(Exception):  # noqa: N818
    """Something came out that is no function of what was released."""


@dataclass(slots=True)
class Stage:
    """One Gaussian release."""

    label: str
    # exact, scales, out: what is released, the scale of the noise of each entry, and what came out.
    exact: Doubles
    scales: Doubles
    out: Doubles
    mu: float  # What it says that it costs.

    def moved(self, other: Self) -> float:
        """Return how far the sums are from another's, in deviations of the noise."""
        return float(np.linalg.norm((self.exact - other.exact) / self.scales))


@dataclass(slots=True)
class Call:
    """One call of another mechanism: its public arguments, what it saw, what it returned."""

    name: str
    public: dict[str, Any]
    private: Any
    result: Any


@dataclass(frozen=True, slots=True)
class Luck:
    """Which noise is drawn: all integers are possible, so that every path has to be safe."""

    # Sums come out as of so many tables: a small table takes the path of a large one.
    magnified: int = 1
    noise: int = 1  # As many times the noise.

    def of(self, exact: Any, out: Any) -> Any:
        """Return what comes out instead of `out`, on the same grid."""
        return self.magnified * exact + self.noise * (out - exact)


# What the noise happens to be.
AS_DRAWN = Luck()


@dataclass(slots=True)
class Recording:
    """All releases of one fit."""

    luck: Luck = AS_DRAWN  # Which of the noise that is possible is drawn.
    stages: list[Stage] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    # Shape (models, p): fits on parts of the units.
    models: list[Doubles] = field(default_factory=list)
    outcome: str = ""  # All that came out.

    def mu_against(self, other: Self) -> float:
        """Return the root of the sum of squared shifts, in deviations of the noise."""
        return math.hypot(*(a.moved(b) for a, b in zip(self.stages, other.stages, strict=True)))
