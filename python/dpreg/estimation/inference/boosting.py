"""How much of what boosting found is kept.  Everything here is public."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.inference.covariance import at_least
from dpreg.estimation.inference.shrinkage import likely_shares

# Eigenvalues of a noisy Gram matrix below this many deviations of the noise are not told from it.
_LEAST_SEEN = 3.0


@dataclass(frozen=True, slots=True)
class BoostingPath:
    """What boosting released, in standardised units; w is the width of a row."""

    estimate: Doubles  # Shape (w,): mean of the last `average` iterates.
    gram: Doubles  # Shape (w, w): noisy.
    gram_deviation: float  # Of the noise on its diagonal.
    step: Doubles  # Shape (w, w): what gradients were multiplied by.
    deviations: Doubles  # Shape (rounds,): of the noise of each gradient.
    average: int

    @property
    def units(self) -> float:
        """Noisy number of units, as the Gram matrix has it, and no less than its noise."""
        return max(float(self.gram[0, 0]), self.gram_deviation) if self.gram.size else 0.0


def quieted(path: BoostingPath) -> BoostingPath:
    """Shrink the estimate as far as its noise asks for; see `likely_shares`.

    A round is e -> (I - P H) e + P xi, with H the Gram matrix, P the step and xi the noise.
    """
    held = at_least(path.gram, _LEAST_SEEN * path.gram_deviation)
    kept = likely_shares(held, path.units, path.estimate, _noise(path, held))
    return replace(path, estimate=kept @ path.estimate)


def _noise(path: BoostingPath, curvature: Doubles) -> Doubles:
    """Covariance of the mean of the last rounds that comes from the noise of all rounds."""
    size, rounds = len(curvature), len(path.deviations)
    forget = np.eye(size) - path.step @ curvature
    noise = np.zeros((size, size))
    reach, power = np.zeros((size, size)), np.eye(size)
    # The noise of round t is in the iterates t, ..., T; the last `average` of them count.
    for age in range(rounds):
        if age < path.average:
            reach = reach + power / path.average
            power = power @ forget
        else:
            reach = reach @ forget
        part = reach @ path.step * path.deviations[rounds - 1 - age]
        noise += part @ part.T
    return noise
