"""What noisy counts of the norms of rows say.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles

# Deviations of its noise that a count in the tail must have.
_CLEAR = 3.0
# Squared norms of normal rows are within this many deviations of their mean.
_NORMAL = 2.0
# What is cut off all rows may be this many deviations of the noise in their second moments.
_BALANCE = 0.5
# Noise may be this many times the sampling error of second moments, however much is cut off.
_MOST_NOISE = 8.0


@dataclass(frozen=True, slots=True)
class RowNorms:
    """Noisy numbers of rows by their norm."""

    # counts, middles: in bins, and the norm in the middle of each.
    counts: Doubles
    middles: Doubles
    deviation: float  # Of the noise in each.
    width: int  # Directions, along each of which rows have about unit spread.
    units: float  # Noisy number of rows.

    def limit(self, mu: float) -> float:
        """Return a norm to shorten rows to.

        What it cuts off their squares is small beside the noise of their second moments, limit^2 /
        mu; or noise would be large beside sampling error, limit^2 / (mu sqrt(units)).
        """
        usual = max(self.width, 1) + _NORMAL * math.sqrt(2 * self.width)
        most = max(usual, _MOST_NOISE * mu * math.sqrt(self.units))
        told, squares = self._told(), self.middles**2
        limit = usual
        while limit < most:
            cut = float(told @ np.maximum(squares - limit, 0.0))
            if cut <= _BALANCE * limit / mu:
                break
            limit *= 2**0.25
        return math.sqrt(min(limit, most))

    def kurtosis(self, limit: float) -> float:
        """Return the mean fourth power of norms shortened to `limit`, in that of normal rows.

        For an elliptical law the covariance of second moments, and of what is computed from them,
        is that of a normal law times this (Tyler, 1983); at least 1.
        """
        told, squares = self._told(), np.minimum(self.middles, limit) ** 2
        total = max(float(told.sum()), 1.0)
        second, fourth = float(told @ squares) / total, float(told @ squares**2) / total
        if not second > 0:
            return 1.0
        return max(1.0, fourth / second**2 * self.width / (self.width + 2))

    def _told(self) -> Doubles:
        """Counts that are told from noise."""
        return np.where(self.counts > _CLEAR * self.deviation, self.counts, 0.0)
