"""Coefficients of models of classes: ordered classes, and classes relative to a baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.base.levels import Level


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a response, and the columns of a record.  Public."""

    levels: tuple[Level, ...]  # Length K: levels of the response, in order.
    covariates: tuple[str, ...]  # Columns of a record; offsets are among them.

    @property
    def count(self) -> int:
        """Number of predictors of a record: K - 1."""
        return len(self.levels) - 1


@dataclass(frozen=True, slots=True)
class Ordered(Classes):
    """One predictor for each of K - 1 thresholds: of a class above the threshold.

    Each covariate and each threshold has one coefficient.  A predictor is the linear combination of
    the covariates minus the threshold.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: covariates, then thresholds as in R's polr."""
        pairs = zip(self.levels, self.levels[1:], strict=False)
        return (*self.covariates, *(f"{low}|{high}" for low, high in pairs))

    def back(self, centre: Doubles, scale: Doubles) -> Doubles:
        """Return what makes coefficients of covariates of those of (covariate - centre) / scale."""
        size = len(self.covariates)
        made = np.eye(size + self.count)
        made[:size, :size] = np.diag(1 / scale)
        made[size:, :size] = centre / scale
        return made

    def each(self, values: Doubles) -> Doubles:
        """Return values of covariates by column, NaN for thresholds."""
        blank = np.full((self.count, *values.shape[1:]), np.nan)
        return np.concatenate([values, blank])

    def columns(self, covariates: Doubles, factor: Doubles) -> Doubles:
        """Return combinations of the columns of predictors.

        covariates: shape (n, d)
        factor: shape (n, m, K - 1)
        Returns an array of shape (n, m, number of coefficients).
        """
        slopes = factor.sum(axis=2)[:, :, None] * covariates[:, None, :]
        return np.concatenate([slopes, -factor], axis=2)


@dataclass(frozen=True, slots=True)
class Baseline(Classes):
    """One predictor for each class except `base`: its log odds against `base`.

    Reported coefficients compare with the first class, whatever `base` is.
    """

    base: int = 0  # Index of the reference class.

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, for each class after the first; its intercept comes first."""
        own = ("Intercept", *self.covariates)
        return tuple(f"{level}:{name}" for level in self.levels[1:] for name in own)

    def back(self, centre: Doubles, scale: Doubles) -> Doubles:
        """Return what makes coefficients of covariates of those of (covariate - centre) / scale."""
        block = np.diag(np.concatenate([[1.0], 1 / scale]))
        block[0, 1:] = -centre / scale
        # Rows compare each class with the base; coefficients compare with the first.
        own = np.delete(np.eye(len(self.levels)), self.base, axis=1)
        return np.asarray(np.kron(own[1:] - own[0], block))

    def each(self, values: Doubles) -> Doubles:
        """Return values of covariates by column, NaN for intercepts."""
        blank = np.full((1, *values.shape[1:]), np.nan)
        return np.concatenate([blank, values] * self.count)

    def columns(self, covariates: Doubles, factor: Doubles) -> Doubles:
        own = np.column_stack([np.ones(len(covariates)), covariates])
        made = factor[:, :, :, None] * own[:, None, None, :]
        return made.reshape(*factor.shape[:2], self.count * own.shape[1])
