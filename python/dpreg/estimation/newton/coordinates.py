"""Coordinates of rows.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.second_moments import Mask, Moments

# Entries of the map of rows below this share of the largest are rounding errors.  Without it
# columns that are left out had coefficients of 1e-17.
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class Whitening:
    """Coordinates, and other results of the matrices.  Everything here is public."""

    # Shape (w, k): maps standardised rows to coordinates with second moments of about 1.
    change: Doubles
    # Shape (w, w - k): combinations of columns without significant variance, scaled so that it
    # would just be significant; coordinates are orthogonal to them.  Levels without significant
    # counts come first.
    unseen: Doubles
    theta: Doubles  # Shape (k,): slopes of the response.
    residual: float  # Mean square of residuals.
    moments: Moments  # Along coordinates, as far as they are known.
    # Shape (k,): factors of coordinates where rows are summed: 1, and less for rare levels.
    sizes: Doubles
    limit: float = math.inf  # Rows were clipped at this norm or above.
    noise: float = 0.0  # Standard deviation of the noise in `residual`.

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return int(self.change.shape[1])

    @property
    def levels(self) -> Mask:
        """Coordinates of levels."""
        return self.moments.levels

    @property
    def squares(self) -> float:
        """Mean squared norm of a row where rows are summed."""
        return float(self.sizes @ self.sizes)

    @property
    def rows(self) -> Doubles:
        """Map of standardised rows to those that are summed."""
        return self.change * self.sizes

    def turned(self, by: Doubles) -> Whitening:
        """Multiply rows by `by` too."""
        return replace(
            self, change=self.change @ by, theta=np.asarray(np.linalg.solve(by, self.theta))
        )

    def without(self, hidden: Doubles, *, centred: bool) -> tuple[Whitening, Doubles]:
        """Leave out hidden directions, and the component of other coordinates along them.

        That component is noise which rows do not contradict; scaled up, it would be large in
        coefficients, and would make the few rows large that have any of it.

        hidden: shape (k, h): orthonormal, in coordinates.
        centred: the first coordinate is an intercept.
        Returns the coordinates,
        and basis: shape (k, k - h): the orthonormal basis that is nearest to the coordinates.
        """
        weight = (hidden**2).sum(axis=1)
        weight[: int(centred)] = -1.0
        kept = np.sort(np.argsort(weight)[: len(weight) - hidden.shape[1]])
        rest = np.linalg.qr(hidden, mode="complete")[0][:, hidden.shape[1] :]
        left, _, right = np.linalg.svd(rest[kept].T)
        basis = rest @ left @ right
        directions, lengths, _ = np.linalg.svd(self.change @ hidden, full_matrices=False)
        change = self.change @ basis
        change -= directions @ (directions.T @ change)
        change[np.abs(change) < _ROUNDING * np.abs(change).max(initial=0.0)] = 0.0
        # Levels without significant counts stay as they are: the others do not contain them.
        unseen = np.column_stack([self.unseen, directions * lengths])
        found = replace(
            self,
            change=change,
            unseen=unseen,
            theta=basis.T @ self.theta,
            moments=self.moments.turned(basis, self.moments.levels[kept]),
            sizes=self.sizes[kept],
        )
        return found, basis
