"""What counts of levels say of second moments.  Everything here is public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.data.design import Terms
from dpreg.estimation.newton.centred import regressors
from dpreg.estimation.newton.hidden_directions import untold_columns
from dpreg.estimation.newton.level_groups import FOLLOWS, LevelGroup, level_groups, related
from dpreg.estimation.newton.second_moments import Mask, Moments
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales

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
# Second moments of products of levels with another regressor may be wrong by the first share; and
# the mean of that in a level may be so many of its deviations from that of all.  With .1 for the
# second, as other correlations are, .894 of the coefficients of a regressor with levels of 89 real
# tables were covered, for .909.
_CROSSED, _SHIFTED = 0.5, 0.5
# In rows with a level that is left out, the mean of another regressor may be so many deviations
# from that of all, so that a slope has that much of its effect, which is no more than so many
# deviations of residuals.  Without it .946 for .951 of intervals of sixteen models with factors,
# 2,000 rows, covered, and 7 for 1 of 5,208 coefficients were off by more than four errors.  With 8
# for the second, errors of numbers beside 50 states of 20,000 rows were 1.6 times as long.
_APART, _LARGEST = 0.3, 3.0


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
    groups = _used(terms, scales, units, small=small) if counted else ()
    for at, group in groups:
        turn, share, here = group.turn, group.share, group.told
        scale = (units.scale[at - first] / group.value)[:, None]
        left_out, part, noise = scale * turn[:, ~here], share[here], group.noise[here]
        # Rows that are left out are as others are on average, and not as the most common level:
        # slopes missed by seven errors where one row in a hundred was.
        taken = scale * turn[:, here] + np.outer(left_out.sum(axis=1), part)
        # What is left in as many rows as may have one, its effect may explain.  With an effect of
        # the size of residuals, 7 for 5 of 3,472 coefficients of sixteen models with factors, 2,000
        # rows of each, were off by more than four errors.
        few = np.sqrt(group.left_out)
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
    for pair in related(terms):
        one, two = (first + np.flatnonzero(np.isin(units.columns, of.places)) for of in pair)
        one, two = (at[np.isfinite(variance[at, at])] for at in (one, two))
        variance[np.ix_(one, two)] = variance[np.ix_(two, one)] = 2 * FOLLOWS**2
    alone = first + np.flatnonzero(np.isin(units.columns, list(scales.rare.columns)))
    alone = alone[np.isfinite(variance[alone, alone])]
    others = np.setdiff1d(np.arange(first, width), alone)
    variance[np.ix_(alone, others)] = variance[np.ix_(others, alone)] = 2 * FOLLOWS**2
    variance = variance[np.ix_(told, told)]
    levels = np.isfinite(np.diag(variance))
    if not small:
        levels |= np.isin(np.flatnonzero(told), untold_columns(scales, units))
    moments = Moments(np.eye(len(variance)), variance, levels)
    nothing = np.zeros((width, 0))
    return Beginning(change[:, told], np.column_stack([nothing, *unseen]), moments, shares[told])


def _used(
    terms: Terms, scales: Scales, units: StandardUnits, *, small: bool
) -> Iterator[tuple[Integers, LevelGroup]]:
    """Yield groups of levels that are taken for such, with the places of their coefficients."""
    first = int(units.intercept)
    for group in level_groups(terms, scales) if first and terms.weight is None else ():
        at = first + np.flatnonzero(np.isin(units.columns, group.places))
        here = group.told
        many = _has_many(group.share[~here], group.noise[~here], small)
        if len(at) == len(group.places) and not many:
            yield at, group


def beside_left_out(terms: Terms, scales: Scales, units: StandardUnits, *, small: bool) -> Doubles:
    """Return what slopes may have of the effects of levels that are left out.

    Returns, shape (w, m): what that is to coefficients, as `Beginning.unseen`.
    """
    others, share = np.arange(units.width) >= int(units.intercept), 0.0
    for at, group in _used(terms, scales, units, small=small):
        others[at] = False
        share += float(np.minimum(group.left_out, (_LARGEST * group.left_out) ** 2).sum())
    return np.asarray(_APART * np.sqrt(share) * regressors(terms, units).rows[:, others])


def _has_many(share: Doubles, noise: Doubles, small: bool) -> bool:
    """Whether many rows may have levels with these shares, which were not told."""
    if small:
        return bool(share.sum() > _LEFT_OUT)
    return len(share) == 1 and bool(share[0] + noise[0] > _LEFT_OUT)
