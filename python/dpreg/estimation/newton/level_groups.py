"""Levels of factors, and columns treated like levels, with counts of their rows.

Everything here is public.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.data.design import Terms
from dpreg.data.level_tables import LevelTable, level_tables
from dpreg.estimation.inference.covariance import at_least
from dpreg.estimation.newton.second_moments import ALIKE, Mask
from dpreg.estimation.releases.spectrum import symmetric_root
from dpreg.estimation.releases.standardisation import Scales

# A level is significant if its count is this many standard deviations of noise: others are left
# out, without a standard error.
_SIGNIFICANT_SD = 2.5
# Second moments of a column that is nearly always 0 may be wrong by this share: except for
# indicators, values are known to a factor of 2.  Without it .74 of the intervals of 22 fits of
# 3,000 and 8,000 rows with a column of 0 and 3 covered instead of .89; with .5, half of the other
# columns had no errors next to three rare ones.
_VALUE_ERROR = 0.25
# Typical correlation of a column that is nearly always 0 with others, since it may indicate where
# another is large.  With .1, as for other correlations, slopes of a normal column of 5,000 rows
# next to the indicator of its upper 5% were wrong by four errors in .13 of the fits instead of .03.
# The same holds for levels of tables with a common factor, as f * g + g * h: without it, .88 of its
# coefficients of 20,000 rows covered instead of .96.
FOLLOWS = 0.5


@dataclass(frozen=True, slots=True)
class LevelGroup:
    """Columns that are levels, or are treated like levels."""

    places: Integers
    turn: Doubles  # Shape (k, k): map of centred indicators.
    # share, noise, value, mean: shape (k,): share of rows, its noise, and root mean square and mean
    # of the column in these rows.
    share: Doubles
    noise: Doubles
    value: Doubles
    mean: Doubles
    joint: Doubles  # Shape (k, k): shares of rows in both columns.
    joint_noise: float  # 0 for levels of a factor, which are disjoint.

    @property
    def told(self) -> Mask:
        """Whether the number of rows is significant."""
        return self.share > _SIGNIFICANT_SD * self.noise

    @property
    def left_out(self) -> Doubles:
        """Upper limits of the shares of rows of levels that are not significant."""
        here = self.told
        return np.maximum(self.share[~here], 0.0) + self.noise[~here]

    @property
    def rough(self) -> Doubles:
        """Relative error of second moments because values are not known."""
        return np.where(self.value == 1, 0.0, _VALUE_ERROR)

    @property
    def moments(self) -> Doubles:
        """Centred second moments of significant levels, from counts."""
        part, lean = self.share[self.told], (self.mean / self.value)[self.told]
        joint = self.joint[np.ix_(self.told, self.told)]
        if self.joint_noise:
            # Positive and negative values are assumed to be independent.
            joint = np.where(np.eye(len(part), dtype=bool), joint, joint * np.outer(lean, lean))
        joint = joint - np.outer(part * lean, part * lean)
        if self.joint_noise:
            size = np.sqrt(np.diag(joint))
            joint = at_least(joint / np.outer(size, size), ALIKE) * np.outer(size, size)
        return joint

    @property
    def root(self) -> Doubles:
        """Map of indicators of significant levels to uncorrelated ones with variance 1."""
        return symmetric_root(self.moments, centred=False)

    @property
    def between(self) -> Doubles:
        """Twice the error variance of products of two of them."""
        part, noise = self.share[self.told], self.noise[self.told]
        doubt = noise / part
        exclusive = np.outer(doubt, doubt) * np.add.outer(part, part) ** 2
        return np.asarray(exclusive + 2 * self.joint_noise**2 / np.outer(part, part))

    @property
    def beside(self) -> Doubles:
        """Error variance of second moments because values are not known.

        The association of values in rows that two columns share is not known either; if it is
        strong, coordinates are the small remainder.  With errors of each column alone, .62 and .54
        instead of .82 and .85 of the intervals of two columns with values in the same 5% of rows
        covered, in 40 samples of 20,000 rows.
        """
        rough = self.rough[self.told]
        if not rough.any():
            return np.zeros((len(rough), len(rough)))
        size = np.sqrt(np.diag(self.moments))
        shared = self.joint[np.ix_(self.told, self.told)] / np.outer(size, size)
        apart = np.where(np.add.outer(rough, rough) > 0, 2 * (FOLLOWS * shared) ** 2, 0.0)
        np.fill_diagonal(apart, rough**2)
        by = (size[:, None] * self.root) ** 2
        return np.asarray(by.T @ apart @ by)


def level_groups(terms: Terms, scales: Scales) -> Iterator[LevelGroup]:
    """Yield groups of tables of levels, then columns that are nearly always 0."""
    for table in level_tables(terms):
        order = np.argsort(table.places)
        places, has = table.places[order], table.has[np.ix_(order, order)]
        own, one = scales.centre[places], np.ones(len(places))
        noise = own * (1 - own) / scales.spread[places] / np.sqrt(table.added[order])
        indicators = np.linalg.inv(has)
        turn, share = _with_common_reference(own @ indicators)
        yield LevelGroup(places, indicators @ turn, share, noise, one, one, np.diag(share), 0.0)
    rare, together = scales.rare, scales.rare.together
    for of, joint in [
        *([(together, rare.shared)] if together else []),
        *(
            ((j,), np.array([[rare.columns[j].share]]))
            for j in sorted(rare.columns)
            if j not in together
        ),
    ]:
        columns = [rare.columns[j] for j in of]
        share, noise, value, mean = (
            np.array([getattr(column, name) for column in columns])
            for name in ("share", "deviation", "value", "mean")
        )
        same = np.eye(len(of))
        apart = rare.deviation if len(of) > 1 else 0.0
        yield LevelGroup(np.array(of), same, share, noise, value, mean, joint, apart)


def related(terms: Terms) -> Iterator[tuple[LevelTable, LevelTable]]:
    """Return different tables with a common factor."""
    for one, two in itertools.combinations(level_tables(terms), 2):
        if one.factors & two.factors:
            yield one, two


def _with_common_reference(share: Doubles) -> tuple[Doubles, Doubles]:
    """Make the most common level the reference.

    Rows of a rare reference would be large in the coordinates of all levels.

    Returns turn: shape (k, k): map of centred indicators.
    and share: shape (k,): share of rows of the new indicators.
    """
    turn, share = np.eye(len(share)), share.copy()
    none, most = max(1 - float(share.sum()), 0.0), int(np.argmax(share))
    if share[most] > none:
        turn[:, most], share[most] = -1.0, none
    return turn, share
