"""Clipping thresholds of scores, from noisy counts of their norms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.groups import Groups
from dpreg.estimation.newton.norm_tail import NormTail, bins_around
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.quantised import MappedRows

FIRST_NORMS = "norms of scores"
# Octaves above the typical norm with narrow bins: in the first count, and later.  In 55 fits at
# eps = 15 .951 of intervals covered, with 2 for both .930, with 3 for both .940.
_FIRST_OCTAVES, _OCTAVES = 3, 2
# Largest norm of scores while the curvature is not known, in root mean square norms: without it a
# slope of 60,000 rows had 2.6 times the error of maximum likelihood next to a column of 120 ones.
_USUAL_NORMS = 2.5
# In a small study thresholds are at most this many root mean square norms, or those at which noise
# is the second number times the sampling error, unless norms are counted once, or squares that are
# significant in the counts are the third number times those from second moments.  Without this,
# errors of six indicators of 1,000 rows with bounds were 1.5 times as large; with it for means too,
# .45 of those of 1,000 skewed responses (exp of normals with standard deviation 1.2) covered
# instead of .75.
_MOST_NORMS, _MOST_NOISE, _CLEAR_RATIO = 4.0, 1.2, 4.0
# The same if the largest residual is known.  With counts instead, noise for 1,000 rows of 0 and 1
# was 1.3 times as large, and .09 of coefficients were blank instead of 0 where a tenth were 1; with
# 4, .24 of coefficients of eight real tables of 1,000 rows were blank instead of .22.
_MOST_ENDS = 3.0
# Few units are large if at least this share of all are in significant bins.
_SIGNIFICANT_SHARE = 0.5
# Noise hides at most this many standard deviations of large ones.  Without this noise in second
# moments of 30 correlated columns of 5,000 rows looked like large scores in one fit of three, and
# errors of slopes were 8 times those of least squares.
_HIDDEN_SD = 2.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The clipping threshold of scores, and the distribution of their norms."""

    limit: float
    tail: NormTail | None  # None: norms were not counted.
    # norm, squares: root mean square, and the sum of all squares.
    norm: float
    squares: float
    # Mean squared norm of rows with unit second moments along each coordinate, before `sizes`.
    width: float
    # least, most: range of thresholds: the norm of the score of a rare event, and the largest norm.
    least: float = 0.0
    most: float = math.inf
    # told, far: least sum of squares implied by second moments; if counts show less, the rest are
    # few large scores, and thresholds are at least the norm `far` of the largest.  Without it, the
    # mean of zeros and ones, with ones in one of 20 of 2,000 rows, was estimated as 1e-5 with an
    # error of 1e-6.
    told: float = 0.0
    far: float = 0.0
    begins: float = 0.0  # Least norm at which tails begin.
    few: bool = False  # Counts show less than second moments.
    # Thresholds are optimal for tails heavier than expected by this many standard deviations.
    doubted: float = 0.0
    groups: Groups | None = None  # Groups with thresholds of their own.
    aligned: bool = False  # See `Standardised`.
    once: bool = False  # Norms are counted once: for amounts and means.

    def best(self, mu: float, at: Doubles) -> float:
        """Return the optimal threshold of a score with this mu at `at`."""
        assert self.tail is not None
        limit = min(self.tail.limit(mu * self.along, self.doubted), self.most)
        if self.groups is not None:
            limit = max(limit, self.groups.limit(at, mu * self.along))
        return max(limit, self.narrowest)

    @property
    def along(self) -> float:
        """Share of the clipped part of scores along one direction."""
        return 1.0 if self.aligned else along(self.width)

    @property
    def narrowest(self) -> float:
        """The smallest threshold."""
        return max(self.least, self.far * self.few)

    def more_than(self, norms: float) -> bool:
        """Whether the threshold exceeds this many root mean square norms."""
        return self.limit > norms * self.norm

    @property
    def usual(self) -> float:
        """Threshold while the curvature is not known."""
        return min(self.limit, max(_USUAL_NORMS * self.norm, self.narrowest))


def count_norms(
    rows: MappedRows,
    theta: Doubles,
    expected: Limits,
    noise: GaussianReleases,
    share: float,
    left: float,
    label: str,
) -> Limits:
    """Count units by the norm of their score.

    expected: the typical norm, and the range of thresholds.
    Returns thresholds that are optimal for a score with `left` of mu^2.
    """
    octaves = _FIRST_OCTAVES if label == FIRST_NORMS else _OCTAVES
    # Scores of rare events are many times the typical norm.  Without these bins errors of 188 fits
    # were 1.04 times as large.
    octaves += math.ceil(math.log2(max(expected.narrowest / expected.norm, 1.0)))
    starts = bins_around(expected.norm, octaves)
    counts, scale = noise.release(label, rows.score_norms(theta, starts), noise.share(share))
    tail = NormTail(counts, starts, scale, expected.most, expected.begins)
    units, squares = tail.squares / tail.root_mean_square**2, max(tail.squares, expected.told)
    few = tail.squares < expected.told and tail.clear.units > _SIGNIFICANT_SHARE * units
    few &= expected.told - tail.squares < _HIDDEN_SD * scale * expected.far**2
    norm = math.sqrt(squares / units)
    # Later scores may be far smaller: at the start not all effects of levels are known.  With all
    # of it, errors of 51 states were 11 times those of least squares instead of 3.
    told = expected.told if few else 0.0
    found = replace(expected, tail=tail, norm=norm, squares=squares, told=told, few=few)
    return replace(found, limit=found.best(noise.share(left), theta))


def of_few(counted: Limits, residual: float, units: float, mu: float, *, ends: bool) -> Limits:
    """Return thresholds for so few units that counts of norms are mostly noise.

    Counts are used if their significant part is far more than second moments imply, and for rare
    events of any size; otherwise second moments are used.

    residual: mean square of an entry of a score, from second moments; mu: of all scores.
    ends: the largest residual is known.
    """
    assert counted.tail is not None
    told, clear = residual * counted.width * units, counted.tail.clear
    squares = max(told, clear.squares)
    believed = counted.once or clear.squares > _CLEAR_RATIO * told
    if believed or (counted.narrowest > 0 and not ends):
        return replace(counted, squares=squares)
    most = max(_MOST_NORMS, _MOST_NOISE * mu * math.sqrt(units / max(counted.width, 1.0)))
    squares, most = (squares, _MOST_ENDS) if ends else (told, most)
    norm = math.sqrt(squares / units)
    limit = max(min(counted.limit, most * norm), counted.narrowest)
    return replace(counted, norm=norm, squares=squares, limit=limit)


def along(width: float) -> float:
    """Return the share of the clipped part of scores along one direction.

    It is between all of it and that of a random direction.
    """
    return float(max(width, 1) ** -0.25)
