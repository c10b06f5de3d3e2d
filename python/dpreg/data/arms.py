"""Rows for treatment effects, each a function of one record: regressions by arm, and scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Integers
from dpreg.base.families import Family
from dpreg.data.design import Design, Terms
from dpreg.data.expanded import ExpandedRows, Expansion
from dpreg.privacy.sealed import opened

Made = tuple[Doubles, Doubles, Integers]

# Largest absolute score, so that sums and squares of scores are finite.
FARTHEST = 1e100


def one_row_each(design: Design, expansion: Expansion, terms: Terms) -> Design:
    """Return the design whose rows an expansion makes: at most one per record.

    design: private; records whose first regressor is the treatment.
    expansion: one of the expansions below.
    terms: the terms of the new rows.
    Returns: a design with the units of `design`: adding or removing a unit leaves the rows of all
        other units unchanged, and a unit has at most as many rows as records.
    """
    records = opened(design.records)
    return Design.of_rows(ExpandedRows(records.rows, expansion, 1), terms, records.units)


def in_arms(X: Doubles, y: Doubles) -> Made:
    """Return the records whose treatment is 0 or 1, unchanged."""
    there = (X[:, 0] == 0) | (X[:, 0] == 1)
    return X[there], y[there], there.astype(np.int64)


def alone(X: Doubles, y: Doubles) -> Made:
    """Return records with the treatment as the only regressor."""
    return np.ascontiguousarray(X[:, :1]), np.array(y), _ones(y)


def treatments(X: Doubles, y: Doubles) -> Made:
    """Return records with the treatment as response and the other regressors."""
    return np.ascontiguousarray(X[:, 1:]), np.array(X[:, 0]), _ones(y)


def treatments_alone(X: Doubles, y: Doubles) -> Made:
    """Return records with the treatment as response and no regressors."""
    return np.empty((len(y), 0)), np.array(X[:, 0]), _ones(y)


# The arms in which a column of `Interacted` is not 0.
BOTH, UNTREATED, TREATED = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Interacted:
    """The treatment, and covariates of all rows or of one arm only."""

    # Shape (m,), of each column:
    covariates: Integers  # Index of the covariate.
    arms: Integers  # BOTH, UNTREATED or TREATED.
    centre: Doubles  # Subtracted first.

    def __call__(self, X: Doubles, y: Doubles) -> Made:
        treated, values = X[:, 0], X[:, 1:][:, self.covariates]
        there = np.column_stack([np.ones(len(y)), 1 - treated, treated])[:, self.arms]
        with np.errstate(all="ignore"):
            own = _finite((values - self.centre) * there)
        found = np.where(self.arms == BOTH, values, own)
        return np.column_stack([treated, found]), np.array(y), _ones(y)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A released model, for predictions."""

    params: Doubles  # Shape (1 + k,): the intercept first.
    limits: Doubles  # Shape (k, 2): covariates are clipped to these.
    family: Family

    def moved(self, X: Doubles) -> Doubles:
        """Return the covariates clipped to their limits."""
        return np.asarray(np.clip(X, self.limits[:, 0], self.limits[:, 1]))

    def predictor(self, X: Doubles) -> Doubles:
        """Return linear predictors.

        Columns are added one by one: the last bit of a matrix product may depend on the position
        of a row.
        """
        inside = self.moved(X)
        found = np.full(len(X), self.params[0])
        for column, slope in zip(inside.T, self.params[1:], strict=True):
            found = found + column * slope
        return found

    def mean(self, X: Doubles) -> Doubles:
        """Return mean responses."""
        return self.family.mean(self.predictor(X))


@dataclass(frozen=True, slots=True, eq=False)
class EffectScores:
    """Scores whose mean is the mean outcome with treatment, without it, or the difference."""

    outcomes: tuple[Line, Line]  # Without and with the treatment.
    # Probability of the treatment; None: scores are predictions alone.
    propensity: Line | float | None
    overlap: tuple[float, float]  # Probabilities are clipped to these.
    # Of the scores without and with the treatment: (-1, 1) for the effect.
    weights: tuple[float, float]

    @np.errstate(all="ignore")
    def __call__(self, X: Doubles, y: Doubles) -> Made:
        treated, covariates = X[:, 0] == 1, X[:, 1:]
        known = self.outcomes[0].family.response
        y = y if known is None else np.clip(y, *known)
        score = np.zeros(len(y))
        for arm, (weight, line) in enumerate(zip(self.weights, self.outcomes, strict=True)):
            if weight == 0:
                continue
            mean = line.mean(covariates)
            score = score + weight * mean
            if self.propensity is not None:
                chance = _chances(self.propensity, covariates, self.overlap)
                own = chance if arm else 1 - chance
                score = score + np.where(treated == arm, weight * (y - mean) / own, 0.0)
        return np.empty((len(y), 0)), _finite(score), _ones(y)


@dataclass(frozen=True, slots=True, eq=False)
class AtLimits:
    """Whether the probability of the treatment is at a public limit: a response of 0 or 1."""

    propensity: Line
    overlap: tuple[float, float]

    @np.errstate(all="ignore")
    def __call__(self, X: Doubles, y: Doubles) -> Made:
        low, high = self.overlap
        chance = self.propensity.mean(X[:, 1:])
        outside = (chance <= low) | (chance >= high)
        return np.empty((len(y), 0)), outside.astype(np.float64), _ones(y)


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """Derivatives of predictions by the coefficients of both outcome models; the response is 0."""

    outcomes: tuple[Line, Line]

    @np.errstate(all="ignore")
    def __call__(self, X: Doubles, y: Doubles) -> Made:
        parts = []
        for line in self.outcomes:
            slope = line.family.slope(line.predictor(X[:, 1:]))[:, None]
            parts += [slope, slope * line.moved(X[:, 1:])]
        return _finite(np.hstack(parts)), np.zeros(len(y)), _ones(y)


def _ones(y: Doubles) -> Integers:
    return np.ones(len(y), dtype=np.int64)


def _chances(propensity: Line | float, X: Doubles, overlap: tuple[float, float]) -> Doubles:
    if isinstance(propensity, Line):
        return np.asarray(np.clip(propensity.mean(X), *overlap))
    return np.full(len(X), propensity)


def _finite(values: Doubles) -> Doubles:
    return np.nan_to_num(np.clip(values, -FARTHEST, FARTHEST))
