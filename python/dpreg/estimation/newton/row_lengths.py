"""The distribution of norms of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers
from dpreg.estimation.newton.norm_tail import ALONE, SEEN, NormTail, bins_around
from dpreg.estimation.newton.working_model import CONSTANT_LOSS, CONSTANT_RESIDUAL
from dpreg.estimation.releases.rows import StandardUnits, mapped_rows
from dpreg.estimation.standardised import Standardised

# A tail of rows is significant with this many standard deviations of its noise; rows are clipped at
# the second number times the root of the number of their entries.  With 2 standard deviations, and
# bins in which there can be no rows, one in twelve fits of normal rows estimated norms 8 times the
# largest one, and 3 of 120 of weighted rows had no error.
_SEEN, _LONGEST = 2.5, 128.0
# Octaves above the typical norm up to which bins are half octaves.
_OCTAVES = 3
# Squared norms of normal rows are within this many standard deviations of their mean.
_NORMAL_SD = 2.0
# Total clipped from rows, in standard deviations of the noise in their second moments.
_CLIPPED_SD = 0.5
# Largest noise, as a multiple of the sampling error of second moments, however much is clipped.
_MOST_NOISE = 8.0


@dataclass(frozen=True, slots=True)
class RowLengths:
    """The norms of rows, from noisy counts."""

    top: float  # Largest significant norm.
    # counts, starts, deviation: as for `NormTail`, of half the norms (scores with residual 1/2).
    # It is computed on demand, as it takes 7% of the time of least squares with 5,000 rows.
    counts: Doubles
    starts: Integers
    deviation: float

    def limit(self, mu: float, residual: float, share: float) -> float:
        """Return the optimal threshold for a sum of `residual` times rows over a share of them."""
        tail = NormTail(self.counts, self.starts, self.deviation)
        return tail.limit(mu * share) * residual / CONSTANT_RESIDUAL


def row_lengths(begun: Standardised, change: Doubles, usual: float, share: float) -> RowLengths:
    """Count rows by their norm, which is about `usual`."""
    counts, starts, deviation = _counted(begun, begun.telling_units, change, usual, share)
    # Bins beyond contain noise only.
    longest = _LONGEST * usual
    within = counts[_norms(starts) <= longest]
    beyond = np.cumsum(within[::-1])[::-1]
    told = beyond > _SEEN * deviation * np.sqrt(np.arange(len(beyond), 0, -1))
    # Without these .87 of intervals of 21 fits covered, for .92.
    told |= within > ALONE * deviation
    ends = np.append(_norms(starts[1:]), longest)[: len(told)]
    top = min(float(ends[told].max(initial=0.0)), longest)
    return RowLengths(top, counts, starts, deviation)


def row_norms(begun: Standardised, units: StandardUnits, change: Doubles, share: float) -> RowNorms:
    """Count rows by their norm, for second moments along `change`."""
    usual = math.sqrt(max(units.width, 1))
    counts, starts, deviation = _counted(begun, units, change, usual, share)
    # The last bin is unbounded.
    middles = np.append((starts[:-1] + starts[1:]) / 2, starts[-1])
    return RowNorms(counts, _norms(middles), deviation, units.width, begun.scales.units)


def _counted(
    begun: Standardised, units: StandardUnits, change: Doubles, usual: float, share: float
) -> tuple[Doubles, Integers, float]:
    """Return noisy counts of rows by norm, starts of bins, and the noise standard deviation.

    share: share of the squared mu.
    """
    rows = mapped_rows(
        begun.design.by_row, begun.scales, units, change, _LONGEST * usual,
        kept=False, loss=CONSTANT_LOSS,
    )  # fmt: skip
    # The counted norms are those of scores with a constant residual.
    starts = bins_around(usual * CONSTANT_RESIDUAL, _OCTAVES)
    exact = rows.score_norms(np.zeros(rows.width), starts)
    mu = begun.noise.share(share)
    counts, deviation = begun.noise.release("norms of rows", exact, mu)
    return counts, starts, deviation


def _norms(places: ArrayLike) -> Doubles:
    """Return norms of rows at these places among the bins."""
    power = (_core.LEAST_SCORE_BIN + np.asarray(places)) / 2
    return np.asarray(2.0**power / CONSTANT_RESIDUAL)


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
        """Return a clipping threshold for rows.

        The part clipped from squares is small relative to the noise of second moments, limit^2 /
        mu, unless noise relative to sampling error, limit^2 / (mu sqrt(units)), would be large.
        """
        usual = max(self.width, 1) + _NORMAL_SD * math.sqrt(2 * self.width)
        most = max(usual, _MOST_NOISE * mu * math.sqrt(self.units))
        told, squares = self._told(), self.middles**2
        limit = usual
        while limit < most:
            cut = float(told @ np.maximum(squares - limit, 0.0))
            if cut <= _CLIPPED_SD * limit / mu:
                break
            limit *= 2**0.25
        return math.sqrt(min(limit, most))

    def kurtosis(self, limit: float) -> float:
        """Return the mean fourth power of norms clipped at `limit`, relative to normal rows.

        For elliptical distributions the covariance of second moments, and of functions of them, is
        this multiple of the normal one (Tyler, 1983); at least 1.
        """
        told, squares = self._told(), np.minimum(self.middles, limit) ** 2
        total = max(float(told.sum()), 1.0)
        second, fourth = float(told @ squares) / total, float(told @ squares**2) / total
        if not second > 0:
            return 1.0
        return max(1.0, fourth / second**2 * self.width / (self.width + 2))

    def _told(self) -> Doubles:
        """Significant counts."""
        return np.where(self.counts > SEEN * self.deviation, self.counts, 0.0)
