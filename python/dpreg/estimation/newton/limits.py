"""Limits of scores, from noisy counts of their norms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.groups import Groups
from dpreg.estimation.newton.norm_tail import NormTail, bins_around
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.quantised import MappedRows

FIRST_NORMS = "norms of scores"
# Octaves above the typical norm up to which bins are narrow: before it was counted, and after.  Of
# 55 fits at eps = 15 .951 of intervals covered, with 2 for both .930, with 3 for both .940.
_FIRST_OCTAVES, _OCTAVES = 3, 2
# Scores are no longer than so many root mean square norms where the curvature is not known: with
# all that limits allow, a slope of 60,000 rows had 2.6 times the error of maximum likelihood beside
# a column of 120 ones.
_USUAL_NORMS = 2.5
# In a small study limits are no more than so many root mean square norms, or than those at which
# noise is so many times the sampling error, unless norms are counted once, or squares that are
# clear in the counts are so many times what second moments say.  Without a limit, errors of six
# indicators of 1,000 rows with bounds were 1.5 times as long; with it for means too, .45 of those
# of 1,000 skewed responses (exp of normals of deviation 1.2) covered, for .75.
_MOST_NORMS, _MOST_NOISE, _CLEARLY = 4.0, 1.2, 4.0
# and this, where the longest residual is known.  When counts were believed instead, noise of 1,000
# rows of 0 and 1 was 1.3 times as much, and .09 of coefficients blank where a tenth were 1, for 0;
# with 4, .24 of coefficients of eight real tables of 1,000 rows were blank, for .22.
_MOST_ENDS = 3.0
# Few units are long where so many of all are in bins that are clear.
_MOSTLY = 0.5
# and noise hides no more than so many deviations of long ones.  Without this noise in second
# moments of 30 correlated columns of 5,000 rows was taken for long scores in one fit of three, and
# errors of slopes were 8 times those of least squares.
_HIDDEN = 2.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The limit of scores, and what is known of their norms."""

    limit: float
    tail: NormTail | None  # None: norms were not counted.
    # norm, squares: root mean square, and the sum of all squares.
    norm: float
    squares: float
    # Mean squared norm of rows with unit second moments along each coordinate, but for sizes.
    width: float
    # least, most: no limit is less: the norm of the score of a rare event; or more: that of the
    # longest.
    least: float = 0.0
    most: float = math.inf
    # told, far: what second moments say that the sum of all squares is at least; where counts show
    # less, the rest are few and long, and no limit is less than the norm `far` of those that are
    # longest. Without it, the mean of zeros and of ones, which one of 20 of 2,000 rows had, was
    # told to be 1e-5 with an error of 1e-6.
    told: float = 0.0
    far: float = 0.0
    begins: float = 0.0  # Tails begin no nearer.
    few: bool = False  # Counts do show less.
    # Limits are those that are best if tails are longer by so many deviations than is expected.
    doubted: float = 0.0
    groups: Groups | None = None  # Whose rows ask for limits of their own.
    aligned: bool = False  # See `Standardised`.
    once: bool = False  # Norms are counted once: of amounts, and of a mean.

    def best(self, mu: float, at: Doubles) -> float:
        """Return the limit at which a score with this mu is best, taken there."""
        assert self.tail is not None
        limit = min(self.tail.limit(mu * self.along, self.doubted), self.most)
        if self.groups is not None:
            limit = max(limit, self.groups.limit(at, mu * self.along))
        return max(limit, self.narrowest)

    @property
    def along(self) -> float:
        """How much of what limits take off scores is along one direction."""
        return 1.0 if self.aligned else along(self.width)

    @property
    def narrowest(self) -> float:
        """No limit is less."""
        return max(self.least, self.far * self.few)

    def more_than(self, norms: float) -> bool:
        """Whether the limit is more than so many root mean square norms."""
        return self.limit > norms * self.norm

    @property
    def usual(self) -> float:
        """Where the curvature is not known."""
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

    expected: with the typical norm, and between what limits are.
    Returns limits at which a score with `left` of mu^2 is best.
    """
    octaves = _FIRST_OCTAVES if label == FIRST_NORMS else _OCTAVES
    # Rare events have scores of their own, many times as long as the typical one.  Without these
    # bins errors of 188 fits were 1.04 times as long.
    octaves += math.ceil(math.log2(max(expected.narrowest / expected.norm, 1.0)))
    starts = bins_around(expected.norm, octaves)
    counts, scale = noise.release(label, rows.score_norms(theta, starts), noise.share(share))
    tail = NormTail(counts, starts, scale, expected.most, expected.begins)
    units, squares = tail.squares / tail.root_mean_square**2, max(tail.squares, expected.told)
    few = tail.squares < expected.told and tail.clear.units > _MOSTLY * units
    few &= expected.told - tail.squares < _HIDDEN * scale * expected.far**2
    norm = math.sqrt(squares / units)
    # Later scores may have far less: where they begin, effects of levels are not all known.  With
    # all of it, errors of 51 states were 11 times those of least squares, for 3.
    told = expected.told if few else 0.0
    found = replace(expected, tail=tail, norm=norm, squares=squares, told=told, few=few)
    return replace(found, limit=found.best(noise.share(left), theta))


def of_few(counted: Limits, residual: float, units: float, mu: float, *, ends: bool) -> Limits:
    """Return limits for so few units that counts of norms are mostly noise.

    They are believed where what is clear in them is far more than second moments say, and of rare
    events of any size, and else these.

    residual: mean square of an entry of a score, by second moments; mu: of all scores.
    ends: the longest residual is known.
    """
    assert counted.tail is not None
    told, clear = residual * counted.width * units, counted.tail.clear
    squares = max(told, clear.squares)
    believed = counted.once or clear.squares > _CLEARLY * told
    if believed or (counted.narrowest > 0 and not ends):
        return replace(counted, squares=squares)
    most = max(_MOST_NORMS, _MOST_NOISE * mu * math.sqrt(units / max(counted.width, 1.0)))
    squares, most = (squares, _MOST_ENDS) if ends else (told, most)
    norm = math.sqrt(squares / units)
    limit = max(min(counted.limit, most * norm), counted.narrowest)
    return replace(counted, norm=norm, squares=squares, limit=limit)


def along(width: float) -> float:
    """Return how much of what limits take off scores is along one direction.

    Between that all of it is, and that it has no direction.
    """
    return float(max(width, 1) ** -0.25)
