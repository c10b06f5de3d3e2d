"""Second moments implied by counts of levels.  Everything here is public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.data.design import Terms
from dpreg.estimation.newton.centred import regressors
from dpreg.estimation.newton.hidden_directions import insignificant_columns
from dpreg.estimation.newton.level_groups import FOLLOWS, LevelGroup, level_groups, related
from dpreg.estimation.newton.second_moments import Mask, Moments
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales

# In small studies insignificant levels are left out if together they have at most this share of the
# rows: other slopes absorb their effects.  With any share, 5 of 1,528 coefficients of sixteen
# models with factors, 1,000 rows each, and 14 of 1,017 of 500 rows, were wrong by more than four
# errors instead of 1 and 0; if none are left out and levels are ordinary columns, 12 and 5, and .69
# and .89 had no error instead of .64 and .87.
# In other studies a single level is left out if its share is at most this plus a standard deviation
# of noise, which is large where a unit has several rows.  Without it .87 of the intervals of 1,430
# persons with seven rows covered instead of .97: one in nine was of the sex that was left out, and
# other coefficients absorbed its effect.  For all levels, .90 of coefficients next to twelve
# industries had no error instead of .64.
_LEFT_OUT_SHARE = 0.1
# Iterations for norms of rows by level.  With norm 1 for each coordinate instead, .83 of the
# intervals of 5,000 diamonds by cut covered instead of .96, and .90 instead of .97 of counts by
# three factors.
_ITERATIONS = 30
# Relative error of second moments of products of levels with a regressor, and typical difference of
# its mean in a level from the overall mean, in standard deviations.  With .1 for the second, as for
# other correlations, .894 of the coefficients of a regressor with levels in 89 real tables were
# covered instead of .909.
_CROSSED_ERROR, _LEVEL_SHIFT = 0.5, 0.5
# In rows of a level that is left out, typical difference of the mean of another regressor from the
# overall mean, in standard deviations, through which its slope absorbs the effect of the level; and
# the largest such effect, in standard deviations of residuals.  Without it .946 of intervals of
# sixteen models with factors, 2,000 rows, covered instead of .951, and 7 instead of 1 of 5,208
# coefficients were wrong by more than four errors.  With 8 for the second, errors of numeric
# regressors next to 50 states in 20,000 rows were 1.6 times as large.
_LEFT_OUT_SHIFT, _LARGEST_EFFECT = 0.3, 3.0


@dataclass(frozen=True, slots=True)
class Beginning:
    """Coordinates before any second moments are released."""

    # Shape (w, k): maps standardised rows to coordinates with unit second moments, from counts.
    change: Doubles
    # Shape (w, w - k): insignificant levels: maps an effect with mean square 1 over all rows to
    # coefficients.
    unseen: Doubles
    moments: Moments
    shares: Doubles  # Shape (k,): shares of rows of levels; 1 for other coordinates.

    @property
    def sizes(self) -> Doubles:
        """Return factors at which rows of rare levels are no larger than others.

        Coordinates are multiplied by them where rows are summed.  Rows are clipped by norm: if the
        coordinate of a level with one row in a thousand had full scale, its rows would be clipped,
        or thresholds and noise would be large for all.
        """
        sizes = np.ones(len(self.shares))
        for _ in range(_ITERATIONS):
            usual = float(sizes @ sizes)
            sizes = np.sqrt(np.minimum(1.0, usual * self.shares))
        return sizes

    def of_blocks(self, turn: Doubles) -> Beginning:
        """Return coordinates of rows that have these columns in several blocks.

        turn: shape (m, m): maps blocks of levels to unit second moments, approximately; others are
            measured unchanged.
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
        """Return coordinates of rows that have these columns without the intercept, and others.

        size: factor that gives columns approximate unit second moments.
        turn: shape (m, m): maps the others to approximate unit second moments, to be measured.
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

    scales: released; centres of levels are their shares of rows.
    small: there are few rows.  Factors of which many rows may have insignificant levels are then
        ordinary columns.
    counted: False: rows of levels were not counted, and levels are ordinary columns.
    """
    width, first = units.width, int(units.intercept)
    found = regressors(terms, units)
    rows, change, variance = found.rows, found.rows.copy(), np.full((width, width), np.inf)
    shares, unseen = np.ones(width), list[Doubles]()
    told: Mask = np.ones(width, dtype=bool)
    groups = _as_levels(terms, scales, units, small=small) if counted else ()
    for at, group in groups:
        turn, share, here = group.turn, group.share, group.told
        scale = (units.scale[at - first] / group.value)[:, None]
        left_out, part, noise = scale * turn[:, ~here], share[here], group.noise[here]
        # Rows of levels that are left out get the average effect, not that of the most common
        # level: with the latter, slopes were wrong by seven errors where one row in a hundred was
        # left out.
        taken = scale * turn[:, here] + np.outer(left_out.sum(axis=1), part)
        # The effect of a level may explain all residuals in as many rows as it may have.  With an
        # effect of the size of residuals, 7 instead of 5 of 3,472 coefficients of sixteen models
        # with factors, 2,000 rows each, were wrong by more than four errors.
        few = np.sqrt(group.left_out)
        turned, doubt, beside = taken @ group.root, noise / part, group.beside
        sets = [(at, 0.0)]
        for of, products in found.crossed:
            if np.array_equal(of, group.places):
                sets.append((products, _CROSSED_ERROR))
        for places, rough in sets:
            kept, told[places] = places[here], here
            change[:, kept] = rows[:, places] @ turned
            variance[np.ix_(kept, kept)] = group.between + beside
            variance[kept, kept] = doubt**2 + rough**2 + np.diag(beside)
            if places is not at:
                variance[kept, at[here]] = variance[at[here], kept] = 2 * _LEVEL_SHIFT**2
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
        levels |= np.isin(np.flatnonzero(told), insignificant_columns(scales, units))
    moments = Moments(np.eye(len(variance)), variance, levels)
    nothing = np.zeros((width, 0))
    return Beginning(change[:, told], np.column_stack([nothing, *unseen]), moments, shares[told])


def _as_levels(
    terms: Terms, scales: Scales, units: StandardUnits, *, small: bool
) -> Iterator[tuple[Integers, LevelGroup]]:
    """Yield groups of columns treated as levels, with the indices of their coefficients."""
    first = int(units.intercept)
    for group in level_groups(terms, scales) if first and terms.weight is None else ():
        at = first + np.flatnonzero(np.isin(units.columns, group.places))
        here = group.told
        many = _has_many(group.share[~here], group.noise[~here], small)
        if len(at) == len(group.places) and not many:
            yield at, group


def beside_left_out(terms: Terms, scales: Scales, units: StandardUnits, *, small: bool) -> Doubles:
    """Return the part of effects of left-out levels that slopes may absorb.

    Returns, shape (w, m): in coefficients, as `Beginning.unseen`.
    """
    others, share = np.arange(units.width) >= int(units.intercept), 0.0
    for at, group in _as_levels(terms, scales, units, small=small):
        others[at] = False
        share += float(np.minimum(group.left_out, (_LARGEST_EFFECT * group.left_out) ** 2).sum())
    return np.asarray(_LEFT_OUT_SHIFT * np.sqrt(share) * regressors(terms, units).rows[:, others])


def _has_many(share: Doubles, noise: Doubles, small: bool) -> bool:
    """Whether many rows may have the insignificant levels with these shares."""
    if small:
        return bool(share.sum() > _LEFT_OUT_SHARE)
    return len(share) == 1 and bool(share[0] + noise[0] > _LEFT_OUT_SHARE)
