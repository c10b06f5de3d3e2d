"""Levels of factors, and columns that are as these, with what counts of their rows say.

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

# A level has rows where their number is so many deviations of its noise: others are left out, and
# have no standard error.
_TOLD = 2.5
# Second moments of a column that is nearly always 0 may be wrong by this share: values are known
# to a factor of 2, but for those of an indicator.  Without it .74 of the intervals of 22 fits of
# 3,000 and 8,000 rows with a column of 0 and 3 covered, for .89; with .5, half of the errors of
# other columns were lost beside three rare ones.
_ROUGH = 0.25
# Correlations of a column that is nearly always 0 with others may be so large, as it may say where
# another is large.  With .1, as other correlations are, slopes of a normal column of 5,000 rows
# beside one that says which are its upper 5% were off by four errors in .13 of the fits, for .03.
# And so may those of levels of tables that have a factor in common, as f * g + g * h: without, .88
# of its coefficients of 20,000 rows covered, for .96.
FOLLOWS = 0.5


@dataclass(frozen=True, slots=True)
class LevelGroup:
    """Columns that are levels, or as levels are."""

    places: Integers
    turn: Doubles  # Shape (k, k): what indicators about their means are multiplied by.
    # share, noise, value, mean: shape (k,): of rows, the noise in that, and root mean square and
    # mean of what columns have in them.
    share: Doubles
    noise: Doubles
    value: Doubles
    mean: Doubles
    joint: Doubles  # Shape (k, k): shares of rows in which two are.
    joint_noise: float  # Nothing is in two levels of a factor: 0.

    @property
    def told(self) -> Mask:
        """Whether there are rows."""
        return self.share > _TOLD * self.noise

    @property
    def left_out(self) -> Doubles:
        """Shares of rows that may have each level that is not told."""
        here = self.told
        return np.maximum(self.share[~here], 0.0) + self.noise[~here]

    @property
    def rough(self) -> Doubles:
        """By what share second moments may be wrong because values are not known."""
        return np.where(self.value == 1, 0.0, _ROUGH)

    @property
    def moments(self) -> Doubles:
        """Of the levels that are told, about their means, as far as counts say."""
        part, lean = self.share[self.told], (self.mean / self.value)[self.told]
        joint = self.joint[np.ix_(self.told, self.told)]
        if self.joint_noise:
            # Values of both signs are as if one sign had nothing to do with the other.
            joint = np.where(np.eye(len(part), dtype=bool), joint, joint * np.outer(lean, lean))
        joint = joint - np.outer(part * lean, part * lean)
        if self.joint_noise:
            size = np.sqrt(np.diag(joint))
            joint = at_least(joint / np.outer(size, size), ALIKE) * np.outer(size, size)
        return joint

    @property
    def root(self) -> Doubles:
        """What makes indicators of the levels that are told uncorrelated, and of variance 1."""
        return symmetric_root(self.moments, centred=False)

    @property
    def between(self) -> Doubles:
        """Twice the variance of errors of second moments of two of them."""
        part, noise = self.share[self.told], self.noise[self.told]
        doubt = noise / part
        exclusive = np.outer(doubt, doubt) * np.add.outer(part, part) ** 2
        return np.asarray(exclusive + 2 * self.joint_noise**2 / np.outer(part, part))

    @property
    def beside(self) -> Doubles:
        """Variance of errors of second moments because values are not known.

        Nor is how values go together in rows that two columns share.  Where they are much alike,
        coordinates are what is left of that.  With errors of each column alone, .62 and .54 for
        .82 and .85 of the intervals of two columns with values in the same 5% of rows covered,
        40 samples of 20,000 rows.
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
    """Yield those of tables of levels, and then columns that are nearly always 0."""
    for table in level_tables(terms):
        order = np.argsort(table.places)
        places, has = table.places[order], table.has[np.ix_(order, order)]
        own, one = scales.centre[places], np.ones(len(places))
        noise = own * (1 - own) / scales.spread[places] / np.sqrt(table.added[order])
        indicators = np.linalg.inv(has)
        turn, share = _without_most(own @ indicators)
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
    """Return tables that have a factor in common, but are not one."""
    for one, two in itertools.combinations(level_tables(terms), 2):
        if one.factors & two.factors:
            yield one, two


def _without_most(share: Doubles) -> tuple[Doubles, Doubles]:
    """Let the most common level stand for none.

    A reference that few rows have would make them long in the coordinates of all levels.

    Returns turn: shape (k, k): what indicators about their means are multiplied by.
    and share: shape (k,): of rows, of what they then indicate.
    """
    turn, share = np.eye(len(share)), share.copy()
    none, most = max(1 - float(share.sum()), 0.0), int(np.argmax(share))
    if share[most] > none:
        turn[:, most], share[most] = -1.0, none
    return turn, share
