"""What counts of levels say of second moments.  Everything here is public."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.data.design import Terms
from dpreg.data.level_tables import LevelTable, level_tables
from dpreg.estimation.inference.covariance import at_least
from dpreg.estimation.newton.centred import regressors
from dpreg.estimation.newton.hidden_directions import untold_columns
from dpreg.estimation.newton.second_moments import ALIKE, Mask, Moments
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.spectrum import symmetric_root
from dpreg.estimation.releases.standardisation import Scales

# A level has rows where their number is so many deviations of its noise: others are left out, and
# have no standard error.
_TOLD = 2.5
# Of few rows levels are left out if no more than this share of all has them: slopes are as without
# them.  With any share 5 of 1,528 coefficients of sixteen models with factors, 1,000 rows each, and
# 14 of 1,017 of 500 rows, were off by more than four errors, for 1 and 0; with none, all of these
# columns like others, 12 and 5, and .69 and .89 had no error, for .64 and .87.
# Of others, a single level, if no more have it by a deviation of the noise, which is large where a
# unit has several rows.  Without it .87 of the intervals of 1,430 persons with seven rows covered,
# for .97: one in nine was of the sex that was left out, and other coefficients had its effect.  Of
# all levels, .90 of coefficients beside twelve industries had no error, for .64.
_LEFT_OUT = 0.1
# Times that the length of rows is found anew from those of levels.  With one for each coordinate
# instead, .83 for .96 of the intervals of 5,000 diamonds by cut covered, and .90 for .97 of counts
# by three factors.
_AGAIN = 30
# Second moments of a column that is nearly always 0 may be wrong by this share: values are known
# to a factor of 2, but for those of an indicator.  Without it .74 of the intervals of 22 fits of
# 3,000 and 8,000 rows with a column of 0 and 3 covered, for .89; with .5, half of the errors of
# other columns were lost beside three rare ones.
_ROUGH = 0.25
# and of products of levels with another regressor by the first; and the mean of that in a level may
# be so many of its deviations from that of all.  With .1 for the second, as other correlations are,
# .894 of the coefficients of a regressor with levels of 89 real tables were covered, for .909.
_CROSSED, _SHIFTED = 0.5, 0.5
# Correlations of a column that is nearly always 0 with others may be so large, as it may say where
# another is large.  With .1, as other correlations are, slopes of a normal column of 5,000 rows
# beside one that says which are its upper 5% were off by four errors in .13 of the fits, for .03.
# And so may those of levels of tables that have a factor in common, as f * g + g * h: without, .88
# of its coefficients of 20,000 rows covered, for .96.
_FOLLOWS = 0.5


@dataclass(frozen=True, slots=True)
class Beginning:
    """Coordinates before any second moment was measured."""

    # Shape (w, k): standardised rows times it have unit second moments, as far as counts of levels
    # say.
    change: Doubles
    # Shape (w, w - k): levels whose rows were not told from none: what is to coefficients an effect
    # that has a mean square of 1 in all rows.
    unseen: Doubles
    moments: Moments
    shares: Doubles  # Shape (k,): of the rows of levels; of other coordinates, 1.

    @property
    def sizes(self) -> Doubles:
        """Return sizes at which no level makes its rows longer than others are.

        Coordinates are multiplied by them where rows are added up.  Rows are shortened by their
        norm: were coordinates of a level of one row in a thousand as long as those of others, its
        rows would lose what they have, or limits and noise be wide for all.
        """
        sizes = np.ones(len(self.shares))
        for _ in range(_AGAIN):
            usual = float(sizes @ sizes)
            sizes = np.sqrt(np.minimum(1.0, usual * self.shares))
        return sizes

    def of_blocks(self, turn: Doubles) -> Beginning:
        """Return coordinates of rows that have these columns in several blocks.

        turn: shape (m, m): blocks of levels times it have unit second moments, about; others are
            measured as they are.
        """
        count, own = len(turn), self.moments.of_levels()
        across = own.variance + np.diag(np.diag(own.variance))
        block = np.repeat(np.arange(count), len(self.shares))
        variance = np.where(
            block[:, None] == block, *(np.tile(of, (count, count)) for of in (own.variance, across))
        )
        levels = np.tile(own.levels, count)
        apart = np.eye(count)
        return Beginning(
            np.asarray(np.where(levels, np.kron(turn, self.change), np.kron(apart, self.change))),
            np.asarray(np.kron(apart, self.unseen)),
            Moments(np.eye(len(block)), variance, levels),
            np.tile(self.shares, count),
        )

    def beside(self, size: float, turn: Doubles) -> Beginning:
        """Return coordinates of rows that have these columns but the intercept, and others.

        size: what columns are multiplied by to have unit second moments, about.
        turn: shape (m, m): others times it have unit second moments, about, which are measured.
        """
        own, k, others = self.moments.of_levels(), len(self.shares) - 1, len(turn)
        change = np.zeros((len(self.change) - 1 + others, k + others))
        change[: len(self.change) - 1, :k] = self.change[1:, 1:] * size
        change[len(self.change) - 1 :, k:] = turn
        variance = np.full((k + others,) * 2, np.inf)
        variance[:k, :k] = own.variance[1:, 1:]
        unseen = np.zeros((len(change), self.unseen.shape[1]))
        unseen[: len(self.change) - 1] = self.unseen[1:]
        moments = Moments(np.eye(k + others), variance, np.isfinite(np.diag(variance)))
        return Beginning(change, unseen, moments, np.append(self.shares[1:], np.ones(others)))


def beginning(
    terms: Terms, scales: Scales, units: StandardUnits, *, small: bool, counted: bool = True
) -> Beginning:
    """Return coordinates in which levels have unit second moments.

    scales: released, with the shares of rows of levels for their centres.
    small: there are few rows.  Factors many rows of which may have levels that are not told are
        columns like others.
    counted: False: rows of levels were not counted, and they are columns like others.
    """
    width, first = units.width, int(units.intercept)
    found = regressors(terms, units)
    rows, change, variance = found.rows, found.rows.copy(), np.full((width, width), np.inf)
    shares, unseen = np.ones(width), list[Doubles]()
    told: Mask = np.ones(width, dtype=bool)
    groups = _groups(terms, scales) if first and terms.weight is None and counted else ()
    for group in groups:
        at = first + np.flatnonzero(np.isin(units.columns, group.places))
        if len(at) != len(group.places):
            continue
        turn, share, here = group.turn, group.share, group.told
        if _has_many(share[~here], group.noise[~here], small):
            continue
        scale = (units.scale[at - first] / group.value)[:, None]
        left_out, part, noise = scale * turn[:, ~here], share[here], group.noise[here]
        # Rows that are left out are as others are on average, and not as the most common level:
        # slopes missed by seven errors where one row in a hundred was.
        taken = scale * turn[:, here] + np.outer(left_out.sum(axis=1), part)
        # What is left in as many rows as may have one, its effect may explain.  With an effect of
        # the size of residuals, 7 for 5 of 3,472 coefficients of sixteen models with factors, 2,000
        # rows of each, were off by more than four errors.
        few = np.sqrt(np.maximum(share[~here], 0.0) + group.noise[~here])
        turned, doubt, beside = taken @ group.root, noise / part, group.beside
        sets = [(at, 0.0)]
        for of, products in found.crossed:
            if np.array_equal(of, group.places):
                sets.append((products, _CROSSED))
        for places, rough in sets:
            kept, told[places] = places[here], here
            change[:, kept] = rows[:, places] @ turned
            variance[np.ix_(kept, kept)] = group.between + beside
            variance[kept, kept] = doubt**2 + rough**2 + np.diag(beside)
            if places is not at:
                variance[kept, at[here]] = variance[at[here], kept] = 2 * _SHIFTED**2
            shares[kept] = part
            unseen.append(rows[:, places] @ left_out / few)
        kept = at[here]
        variance[0, kept] = variance[kept, 0] = 2 * noise**2 / part
    for pair in _related(terms):
        one, two = (first + np.flatnonzero(np.isin(units.columns, of.places)) for of in pair)
        one, two = (at[np.isfinite(variance[at, at])] for at in (one, two))
        variance[np.ix_(one, two)] = variance[np.ix_(two, one)] = 2 * _FOLLOWS**2
    alone = first + np.flatnonzero(np.isin(units.columns, list(scales.rare.columns)))
    alone = alone[np.isfinite(variance[alone, alone])]
    others = np.setdiff1d(np.arange(first, width), alone)
    variance[np.ix_(alone, others)] = variance[np.ix_(others, alone)] = 2 * _FOLLOWS**2
    variance = variance[np.ix_(told, told)]
    levels = np.isfinite(np.diag(variance))
    if not small:
        levels |= np.isin(np.flatnonzero(told), untold_columns(scales, units))
    moments = Moments(np.eye(len(variance)), variance, levels)
    nothing = np.zeros((width, 0))
    return Beginning(change[:, told], np.column_stack([nothing, *unseen]), moments, shares[told])


def _has_many(share: Doubles, noise: Doubles, small: bool) -> bool:
    """Whether many rows may have levels with these shares, which were not told."""
    if small:
        return bool(share.sum() > _LEFT_OUT)
    return len(share) == 1 and bool(share[0] + noise[0] > _LEFT_OUT)


@dataclass(frozen=True, slots=True)
class _Group:
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
        apart = np.where(np.add.outer(rough, rough) > 0, 2 * (_FOLLOWS * shared) ** 2, 0.0)
        np.fill_diagonal(apart, rough**2)
        by = (size[:, None] * self.root) ** 2
        return np.asarray(by.T @ apart @ by)


def _groups(terms: Terms, scales: Scales) -> Iterator[_Group]:
    for table in level_tables(terms):
        order = np.argsort(table.places)
        places, has = table.places[order], table.has[np.ix_(order, order)]
        own, one = scales.centre[places], np.ones(len(places))
        noise = own * (1 - own) / scales.spread[places] / np.sqrt(table.added[order])
        indicators = np.linalg.inv(has)
        turn, share = _without_most(own @ indicators)
        yield _Group(places, indicators @ turn, share, noise, one, one, np.diag(share), 0.0)
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
        yield _Group(np.array(of), same, share, noise, value, mean, joint, apart)


def _related(terms: Terms) -> Iterator[tuple[LevelTable, LevelTable]]:
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
