"""Rows that have one of two values of a regressor.  Everything here is public."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.data.bounds import level_places
from dpreg.estimation.newton.linearised import MOST_SPREAD, NODES, WEIGHTS, Linearised
from dpreg.estimation.newton.norm_tail import best_limit
from dpreg.estimation.releases.two_values import TwoValues, only_two, two_values
from dpreg.estimation.standardised import Standardised

# So many limits are looked at, up to the longest score.
_LIMITS = 64


@dataclass(frozen=True, slots=True)
class Groups:
    """Two of each regressor, as a model of events has them."""

    model: Linearised
    regressors: TwoValues
    factors: Sequence[Integers]  # Places of levels, which no row has two of.
    two: Flags  # Shape (w,): whether a regressor has no more than two values.
    units: float
    offset: float

    def average(self, of: Callable[[Doubles], Doubles], at: Doubles) -> Doubles:
        """Return the mean of a function of linear predictors over the rows of each group.

        at: shape (k,): what rows are multiplied by, as they are added up.
        Returns an array of shape (2, w).
        """
        model, values = self.model, self.regressors
        slopes = model.found.rows @ at
        spread = np.zeros(len(slopes))
        if model.white is not None:
            # Predictors of rows with one value of a regressor vary as others do.
            across = model.white @ np.linalg.pinv(model.found.change)
            others = slopes[:, None] * (1 - np.eye(len(slopes)))
            others[0] = 0.0
            most = MOST_SPREAD[model.family.link]
            spread = np.minimum(np.linalg.norm(across @ others, axis=0), most)
        centre = float(slopes @ values.means) + self.offset
        there = centre + slopes * (values.values - values.means)
        for level in self.factors:
            # Rows of a level are in no other: with levels at their means, four events in 4,000
            # rows were taken for twice as many.
            away = slopes[level] * (values.values[0] - values.means)[level]
            there[1, level] += away.sum() - away
        predictors = there + NODES[:, None, None] * spread
        return np.asarray(np.tensordot(WEIGHTS, of(np.clip(predictors, *model.loss.predictor)), 1))

    def limit(self, at: Doubles, mu: float) -> float:
        """Return the limit that scores of rows of one group ask for, of sums with this mu.

        Few rows have long scores, and noise hides them in counts of norms.  Without it .912 for
        .932 of slopes were covered where a regressor was 1 in a tenth of 5,000 rows.
        """
        rows, most = self._lengths(), self.model.family.most_residual
        limits = np.linspace(0.0, 1.0, _LIMITS + 1)[1:] * max(rows.max() * most, 1.0)
        chance = self.average(self.model.family.mean, at)[..., None]
        over = chance * np.maximum((1 - chance) * rows[..., None] - limits, 0.0)
        over += (1 - chance) * np.maximum(chance * rows[..., None] - limits, 0.0)
        excess = self.units * self.regressors.shares[..., None] * over
        return float(best_limit(limits, excess, mu).max(initial=0.0))

    def _lengths(self) -> Doubles:
        """Return the norm of the mean row of each group, about that of all; shape (2, w)."""
        model, values = self.model, self.regressors
        assert model.white is not None
        back = np.linalg.pinv(model.found.change)
        along = model.white.T @ model.white @ back
        along /= np.maximum((back * along).sum(axis=0), np.finfo(float).tiny)
        lengths = np.linalg.norm(along * model.found.sizes[:, None], axis=0) * self.two
        return np.asarray(np.abs(values.values - values.means) * lengths)


def groups(begun: Standardised, model: Linearised) -> Groups:
    """Return what released scales say of them."""
    scales, units, terms = begun.scales, begun.telling_units, begun.design.terms
    first = int(units.intercept)
    places = [first + np.flatnonzero(np.isin(units.columns, of)) for of in level_places(terms)]
    two = np.append(np.zeros(first, dtype=bool), only_two(scales, units))
    offset = float(scales.centre[list(terms.given)].sum())
    return Groups(model, two_values(scales, units), places, two, scales.units, offset)
