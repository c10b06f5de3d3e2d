"""Groups of rows with the same level or binary value.  Everything here is public."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.data.level_tables import LevelTable, level_tables
from dpreg.estimation.newton.centred import regressors
from dpreg.estimation.newton.linearised import (
    MOST_SPREAD,
    NODES,
    WEIGHTS,
    Linearised,
    normal_curvature,
)
from dpreg.estimation.newton.norm_tail import best_limit
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.standardised import Standardised

# Least curvature of rows, as a share of that at the start, as its logarithm is taken.  With 1e-12
# .225 of the coefficients of 34 fits had no error instead of .216.
_FLATTEST = 1e-4
# Size of the grid of thresholds, up to the largest score.
_LIMITS = 64
# Least share of a regressor, squared, along estimable directions: with any share, errors of 25 fits
# were 1.25 times as large; and the least denominator.
_ESTIMABLE_SHARE, NOTHING = 0.5, 1e-12


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of rows of a model: those of a level, or of one of two values of a regressor."""

    model: Linearised
    white: Doubles  # Shape (z, k): see `Linearised.white`.
    constant: Doubles  # Shape (z,): mean of all rows, with unit second moments.
    means: Doubles  # Shape (g, z): mean row of each group, scaled by noise in coordinates.
    shares: Doubles  # Shape (g,): of all rows.
    of: Integers  # Shape (g,): groups with the same number are a partition of the rows.
    levels: Flags  # Shape (g,): levels of factors, which come first.
    pairs: Integers  # Regressor of each pair of the other groups.
    # Shape (e, k): maps coordinates to effects on linear predictors, of each level and of each
    # other regressor far from its mean.
    effects: Doubles
    units: float

    def average(self, of: Callable[[Doubles], Doubles], theta: Doubles) -> Doubles:
        """Return the mean of a function of linear predictors by group, shape (g,)."""
        mean, along = self._parts(theta)
        there = (self.means - self.constant) @ along
        # Effects of the other groups on predictors.
        own = np.bincount(self.of, self.shares * there**2)[self.of]
        spread = float(along @ along) - own
        spread = np.minimum(np.sqrt(np.maximum(spread, 0.0)), MOST_SPREAD[self.model.family.link])
        predictors = mean + there + NODES[:, None] * spread
        inside = np.clip(predictors, *self.model.loss.predictor)
        return np.asarray(np.tensordot(WEIGHTS, of(inside), 1))

    def curvature(self, theta: Doubles) -> Doubles:
        """Return the curvature at coefficients if other regressors were normal, shape (k, k)."""
        mean, along = self._parts(theta)
        spread = max(float(np.linalg.norm(along)), NOTHING)
        predictors = mean + spread * NODES
        weights = self._weights(np.clip(predictors, *self.model.loss.predictor))
        means = self.means[self.levels]
        rest = along - np.linalg.pinv(means) @ (means @ along)
        matrix = normal_curvature(weights, self._level, rest / spread)
        if len(means):
            half = self._root_of_shares(self.average(self._weights, theta)[self.levels])
            matrix = half @ matrix @ half / float(WEIGHTS @ weights)
        return np.asarray(self.white.T @ matrix @ self.white)

    @property
    def _level(self) -> Doubles:
        return self.constant / max(float(np.linalg.norm(self.constant)), NOTHING)

    def _parts(self, theta: Doubles) -> tuple[float, Doubles]:
        """Return the mean of linear predictors, and deviations from it by direction."""
        across = self.white @ theta
        along = across - float(across @ self._level) * self._level
        return float(across @ self.constant) + self.model.offset, along

    def _root_of_shares(self, each: Doubles) -> Doubles:
        """Return a root of the second moments of rows, weighted by group.

        The weight of a row is the product of those of its groups, so weights are positive, and rows
        in two groups are not counted twice.
        """
        means, shares = self.means[self.levels], self.shares[self.levels]
        root, logs = np.sqrt(shares), np.log(each)
        mean, usual = float(shares @ each / shares.sum()), float(shares @ logs / shares.sum())
        apart = (means - self.constant) * root[:, None]
        # Overlapping groups are combined.  Treated as disjoint, 45 of 50 fits with two correlated
        # factors had no errors.
        alone = np.asarray(np.linalg.pinv(apart @ apart.T, rcond=NOTHING, hermitian=True))
        parts = alone @ (root * (logs - usual))
        across = np.linalg.pinv(means) @ means
        powers = (means.T * (root * parts)) @ means + (usual - math.log(mean)) * across
        values, vectors = np.linalg.eigh(powers)
        # Limits for a row, however many groups it is in.  Without them errors of 15 fits were 1.09
        # times as large.
        values = np.clip(values + math.log(mean), *np.log(self._range))
        return np.asarray((vectors * np.exp(values / 2)) @ vectors.T)

    def likely(self, way: Doubles, curvature: Doubles, deviation: Doubles) -> Doubles:
        """Return the most likely step given a noisy score, for effects of about 1.

        Without it errors of 352 fits were 1.08 times as large, and one coefficient in a hundred of
        26 levels of 100,000 counts had an error above 10^3 instead of none.

        way, shape (k,): the step implied by the score.
        curvature, shape (k, k): of the loss.
        deviation, shape (k,): of the noise in each entry of the score.
        """
        told = curvature / deviation[:, None]
        rows = np.vstack([told, self.effects])
        known = np.concatenate([told @ way, np.zeros(len(rows) - len(told))])
        return np.asarray(np.linalg.lstsq(rows, known, rcond=None)[0])

    def limit(self, at: Doubles, mu: float) -> float:
        """Return the clipping threshold for scores of a group, in sums with this mu.

        Noise hides the few large scores of a group in counts of norms.  Without it .912 of slopes
        were covered instead of .932 where a regressor was 1 in a tenth of 5,000 rows.
        """
        rows = np.linalg.norm(self.means @ self.white * self.model.found.sizes, axis=1)
        most = self.model.family.most_residual
        limits = np.linspace(0.0, 1.0, _LIMITS + 1)[1:] * max(rows.max(initial=0.0) * most, 1.0)
        chance = self.average(self.model.family.mean, at * self.model.found.sizes)[:, None]
        over = chance * np.maximum((1 - chance) * rows[:, None] - limits, 0.0)
        over += (1 - chance) * np.maximum(chance * rows[:, None] - limits, 0.0)
        excess = self.units * self.shares[:, None] * over
        return float(best_limit(limits, excess, mu).max(initial=0.0))

    def _weights(self, predictors: Doubles) -> Doubles:
        least = _FLATTEST * self.model.curved**2
        return np.maximum(self.model.family.curvature(predictors), least)

    @property
    def _range(self) -> Doubles:
        """Return least and largest curvature of a row: at the ends of its predictors, or at 0."""
        low, high = self.model.loss.predictor
        weights = self._weights(np.array([low, np.clip(0.0, low, high), high]))
        least = _FLATTEST * self.model.curved**2
        return np.array([least, max(float(weights.max()), least)])


def _indicators(table: LevelTable, units: StandardUnits) -> tuple[Integers, Doubles]:
    """Return indices of coefficients, and the map of columns to indicators of cells."""
    used = np.flatnonzero(np.isin(table.places, units.columns))
    places = int(units.intercept) + np.searchsorted(units.columns, table.places[used])
    cells = np.linalg.inv(table.has[np.ix_(used, used)])
    return places.astype(np.int64), np.asarray(cells, dtype=np.float64)


def groups(begun: Standardised, model: Linearised) -> Groups | None:
    """Return the groups implied by released numbers; None if the curvature is constant."""
    if model.white is None:
        return None
    scales, units, terms = begun.scales, begun.telling_units, begun.design.terms
    with_products, first = regressors(terms, units), int(units.intercept)
    values = with_products.two_values(scales, units)
    only = with_products.only_two(scales, units)
    # Rows do not vary along hidden directions.
    unseen = np.linalg.svd(model.found.unseen, full_matrices=False)[0]
    seen = np.eye(len(values.means)) - unseen @ unseen.T
    # Maps coordinates with unit second moments to standardised rows.
    back = np.linalg.pinv(seen @ model.found.change @ np.linalg.pinv(model.white)) @ seen
    constant = back[:, 0] if first else np.zeros(len(back))
    constant = constant / max(float(constant @ constant), NOTHING)
    level = constant / max(float(np.linalg.norm(constant)), NOTHING)
    across = np.eye(len(back)) - np.outer(level, level)
    told = np.diag(seen) > _ESTIMABLE_SHARE if first else np.zeros(len(seen), dtype=bool)
    tables = [_indicators(table, units) for table in level_tables(terms)]
    factors = [places for places, _ in tables]
    others = np.setdiff1d(np.arange(len(told)), np.concatenate([[], *factors]).astype(int))
    means, shares = [np.zeros((0, len(constant)))], [np.zeros(0)]
    of, levels = list[int](), list[bool]()
    pairs = others[only[others] & told[others]]
    apart, sizes = np.ptp(values.values, axis=0), np.append(np.ones(first), units.scale)
    alone = [(place, np.eye(1)) for place in pairs[:, None]]
    for number, (places, cells) in enumerate([*tables, *alone]):
        turn = cells * (sizes[places, None] / sizes[places])
        known = (turn * (seen[np.ix_(places, places)] @ turn)).sum(axis=0)
        here = (known > _ESTIMABLE_SHARE * (turn**2).sum(axis=0)) & bool(first)
        part = (values.shares[1, places] @ cells)[here]
        far = apart[places[here]] * (1 - part)  # from the mean
        part = np.maximum(np.append(part, 1 - part.sum()), NOTHING)
        # All rows have the same constant.  With its noisy estimate, predictors of levels with .002
        # of 300,000 rows were wrong by 1, and errors of 36 levels 1.6 times as large.
        own = across @ back[:, places] @ turn[:, here]
        own *= far / np.maximum((own**2).sum(axis=0), NOTHING)
        # The overall mean is 0; for few rows this is mostly noise, and limited to the norm of rows
        # that differ in nothing else.
        rest = -(own @ part[:-1]) / part[-1]
        rest /= max(float(np.linalg.norm(rest)) * math.sqrt(part[-1]), 1.0)
        means.append(constant + np.column_stack([own, rest]).T)
        shares.append(part)
        of += [number] * len(part)
        levels += [number < len(factors)] * len(part)
    of_factor, mean = np.array(levels, dtype=bool), np.concatenate(means)
    effects = np.vstack([
        values.farther[others, None] * with_products.slopes(model.found.change)[others],
        (mean[of_factor] - constant) @ model.white,
    ])  # fmt: skip
    return Groups(
        model, model.white, constant, mean, np.concatenate(shares),
        np.array(of, dtype=int), of_factor, pairs, effects, scales.units,
    )  # fmt: skip
