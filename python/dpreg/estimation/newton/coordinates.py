"""Coordinates of rows.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.second_moments import Mask, Moments

# An entry of what rows are multiplied by is rounding below this share of the largest.  Without it
# columns that are left out had coefficients of 1e-17.
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class Whitening:
    """Coordinates, and what the matrices said beside.  Everything here is public."""

    # Shape (w, k): standardised rows times it have second moments of about 1 along each coordinate.
    change: Doubles
    # Shape (w, w - k): combinations of columns in which no spread was told from noise, as long as
    # would make it just seen; coordinates have nothing of them.  First there are levels without
    # rows, as far as was told.
    unseen: Doubles
    theta: Doubles  # Shape (k,): slopes of the response.
    residual: float  # Mean square of residuals.
    moments: Moments  # Along coordinates, as far as they are known.
    # Shape (k,): what coordinates are multiplied by where rows are added up: 1, and less for rare
    # levels.
    sizes: Doubles
    limit: float = math.inf  # Norm to which rows were shortened, at least.
    noise: float = 0.0  # Deviation of that in `residual`.

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
        """Mean squared norm of a row where rows are added up."""
        return float(self.sizes @ self.sizes)

    @property
    def rows(self) -> Doubles:
        """What standardised rows are multiplied by where they are added up."""
        return self.change * self.sizes

    def turned(self, by: Doubles) -> Whitening:
        """Multiply rows by `by` too."""
        return replace(
            self, change=self.change @ by, theta=np.asarray(np.linalg.solve(by, self.theta))
        )

    def without(self, hidden: Doubles, *, centred: bool) -> tuple[Whitening, Doubles]:
        """Leave out directions that are hidden, and of other coordinates what they have of them.

        Noise put it there, and rows say nothing against it; stretched as it is, it would be large
        in coefficients, and make the few rows long that have any of it.

        hidden: shape (k, h): orthonormal, in coordinates.
        centred: the first coordinate stands for an intercept.
        Returns the coordinates,
        and basis: shape (k, k - h): what rows were multiplied by but for that: the orthonormal
            basis that is nearest to the coordinates.
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
        # Levels that were not told stay as they are: the others are what they were without them.
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
