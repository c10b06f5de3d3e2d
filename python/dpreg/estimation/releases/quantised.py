"""Rows as small integers, and the sums over them that methods release."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpreg import _core
from dpreg.base.arrays import Doubles, Integers, Sums
from dpreg.base.passes import passed
from dpreg.data.design import Design
from dpreg.data.expanded import by_group
from dpreg.data.observations import of_blocks, sum_of_blocks, sum_of_parts
from dpreg.data.spool import Spool
from dpreg.privacy.sealed import ExactSums, Sealed, opened

# Sums over units, not over rows.
_OF_UNITS = {"score", "score_norms", "score_products", "followed_curvature"}


@dataclass(frozen=True, slots=True)
class RowLoss:
    """The loss of a row.  Public, and can be pickled; see `_core.Loss`."""

    kind: str  # Of `_core.LossKind`.
    # response, predictor: limits to which responses and linear predictors are clipped.
    response: tuple[float, float] = (0.0, 0.0)
    predictor: tuple[float, float] = (-1.0, 1.0)
    # level, bandwidth: of the quantile.
    level: float = 0.5
    bandwidth: float = 1.0
    dispersion: float = 1.0  # Of the negative binomial.

    def loss(self) -> _core.Loss:
        """Return it in the words of the core."""
        loss = _core.Loss()
        loss.kind = getattr(_core.LossKind, self.kind)
        loss.least_response, loss.most_response = self.response
        loss.least_predictor, loss.most_predictor = self.predictor
        loss.level, loss.bandwidth = self.level, self.bandwidth
        loss.dispersion = self.dispersion
        return loss


SQUARED = RowLoss("squared")


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """How a record becomes a row.  Public, and can be pickled; see `_core.Standardisation`."""

    columns: Integers  # Shape (k,).
    # low, high, centre, scale: shape (k,).
    low: Doubles
    high: Doubles
    centre: Doubles
    scale: Doubles
    y_centre: float
    y_scale: float
    intercept: bool
    row_limit: float
    response_limit: float = 0.0
    change: Doubles | None = None
    aim: Doubles | None = None  # Coefficients at which rounding of rows has no effect.
    loss: RowLoss = SQUARED
    given: tuple[int, ...] = ()  # Columns that are added to the linear predictor (offsets).
    # Column of the weights of rows, in units of `usual_weight` and clipped at `most_weight`.
    weight: int | None = None
    usual_weight: float = 1.0
    most_weight: float = 1.0

    def standardisation(self) -> _core.Standardisation:
        """Return it in the words of the core."""
        how = _core.Standardisation()
        how.columns = self.columns.tolist()
        how.low, how.high = self.low.tolist(), self.high.tolist()
        how.centre, how.inverse_scale = self.centre.tolist(), (1 / self.scale).tolist()
        how.y_centre, how.y_inverse_scale = self.y_centre, 1 / self.y_scale
        how.intercept = self.intercept
        how.row_limit, how.response_limit = self.row_limit, self.response_limit
        if self.change is not None:
            how.map = self.change
        if self.aim is not None:
            how.aim = self.aim.tolist()
        how.loss, how.given = self.loss.loss(), list(self.given)
        how.weight, how.inverse_weight = self.weight, 1 / self.usual_weight
        how.most_weight = self.most_weight / self.usual_weight
        return how


@dataclass(frozen=True, slots=True, eq=False)
class OfMapped:
    """A sum over mapped rows as a `Statistic`."""

    recipe: Recipe
    name: str  # Of a method of `_core.QuantisedRows`.
    arguments: tuple[Any, ...]  # Public.
    seal: Callable[[Sums], ExactSums]  # See `Statistic.seal`.

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return the contribution of a block."""
        if self.name == "gram":  # uses each row once
            return _core.mapped_gram(X, y, self.recipe.standardisation())
        return self.of(_core.QuantisedRows(X, y, self.recipe.standardisation()))

    def of(self, rows: _core.QuantisedRows) -> Sums:
        """Return the contribution of rows that are already mapped."""
        found = getattr(rows, self.name)(*self.arguments)
        return np.append(*found) if isinstance(found, tuple) else found


@dataclass(frozen=True, slots=True, eq=False)
class ScoresByCell:
    """Sums of the scores of rows at 0, each clipped at a limit, by the cell of the response."""

    recipe: Recipe  # With a loss whose residual at 0 does not depend on the response.
    limit: float
    cells: int

    def __call__(self, X: Doubles, y: Doubles) -> Sums:
        """Return an array of shape (cells, width); a row is in one cell, or in none."""
        how = self.recipe.standardisation()
        parts = []
        for cell in range(self.cells):
            rows = _core.QuantisedRows(X[y == cell], y[y == cell], how)
            parts.append(rows.score(np.zeros(rows.width), self.limit))
        return np.stack(parts)

    def seal(self, sums: Sums) -> ExactSums:
        """See `Statistic.seal`: a row changes one of the sums, by its score."""
        return ExactSums(sums, _core.score_sensitivity(sums.shape[1]))


def _triangle(sums: Sums, sensitivity: float, *, of_units: bool) -> ExactSums:
    """Seal the upper triangle of a symmetric matrix, by rows; see `symmetric_from`.

    Entries above the diagonal, which occur twice, have weight sqrt 2, so the sensitivity of v v' is
    |v|^2.
    """
    upper = np.triu_indices(len(sums))
    weights = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
    return ExactSums(sums[upper], sensitivity, of_units=of_units, weights=weights)


def _norm_counts(sums: Sums, starts: Sums | None, *, of_units: bool) -> ExactSums:
    """Seal counts of norms between successive starts: one of them changes by 1."""
    cells = sums if starts is None else np.add.reduceat(sums, starts)
    return ExactSums(cells, _core.SCORE_NORMS_SENSITIVITY, of_units=of_units)


def _round(sums: Sums, width: int, weight: float) -> ExactSums:
    sensitivity = math.hypot(_core.gradient_sensitivity(width), weight * _core.SQUARES_SENSITIVITY)
    return ExactSums(sums, sensitivity, weights=np.append(np.ones(width), weight))


def _score(sums: Sums, width: int, *, of_units: bool) -> ExactSums:
    return ExactSums(sums, _core.score_sensitivity(width), of_units=of_units)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Blocks:
    """The blocks of mapped rows, the same each time.  Private."""

    rows: MappedRows

    def __iter__(self) -> Iterator[_core.QuantisedRows]:
        return self.rows._each()


class MappedRows:
    """The rows of a design by a recipe, made block by block.  Private.

    kept: rows are summed more than once, so they are stored, in memory while they fit.
    """

    def __init__(self, design: Design, recipe: Recipe, *, kept: bool) -> None:
        self._design = design
        self._kept = kept and opened(design.records).rows.local
        self._blocks: Spool[_core.QuantisedRows] | None = None
        self._make(recipe)
        self.width, self.limit = self._none.width, self._none.limit

    def aim(self, theta: Doubles) -> None:
        """Recompute the rows, so that their rounding has no effect near these coefficients."""
        self._make(replace(self._recipe, aim=theta))

    def _make(self, recipe: Recipe) -> None:
        self._recipe, self._how = recipe, recipe.standardisation()
        none = np.empty((0, self._design.columns)), np.empty(0)
        self._none = _core.QuantisedRows(*none, self._how)
        if self._kept:
            self._keep()
        else:
            self._blocks = None

    def gram(self) -> ExactSums:
        """Return the upper triangle of `_core.QuantisedRows.gram`."""
        return self._upper("gram", _core.gram_sensitivity)

    def round(self, theta: Doubles, clip: float, weight: float) -> ExactSums:
        """See `_core.QuantisedRows.round`: the sum of squares comes last, and counts `weight`."""
        seal = functools.partial(_round, width=self.width, weight=weight)
        return self._total(seal, "round", theta, clip)

    def score(self, theta: Doubles, limit: float) -> ExactSums:
        # If rows are not grouped by unit, a unit changes the sum by one score per row.
        seal = functools.partial(_score, width=self.width, of_units=self._design.by_unit)
        return self._total(seal, "score", theta, limit)

    def scores_by_cell(self, limit: float, cells: int) -> ExactSums:
        return self._design.total(ScoresByCell(self._recipe, limit, cells))

    def curvature(self, theta: Doubles, limit: float) -> ExactSums:
        """Return the upper triangle of `_core.QuantisedRows.curvature`."""
        return self._upper("curvature", _core.curvature_sensitivity, theta, limit)

    def score_norms(self, theta: Doubles, starts: Sums | None = None) -> ExactSums:
        """See `_core.QuantisedRows.score_norms`.

        starts: bins between successive starts are added up.
        """
        seal = functools.partial(_norm_counts, starts=starts, of_units=self._design.by_unit)
        return self._total(seal, "score_norms", theta)

    def score_products(self, theta: Doubles, limit: float) -> ExactSums:
        """Return the upper triangle of `_core.QuantisedRows.score_products`."""
        return self._upper("score_products", _core.score_products_sensitivity, theta, limit)

    def followed_curvature(
        self, theta: Doubles, stop: float, limit: float, leading: int
    ) -> ExactSums:
        """Return the upper triangle of `_core.QuantisedRows.followed_curvature`."""
        sensitivity, arguments = _core.followed_curvature_sensitivity, (theta, stop, limit, leading)
        return self._upper("followed_curvature", sensitivity, *arguments, width=leading)

    def _upper(
        self,
        name: str,
        sensitivity: Callable[[int], float],
        *arguments: Any,
        width: int | None = None,
    ) -> ExactSums:
        of_units = name in _OF_UNITS and self._design.by_unit
        bound = sensitivity(self.width if width is None else width)
        seal = functools.partial(_triangle, sensitivity=bound, of_units=of_units)
        return self._total(seal, name, *arguments)

    @property
    def like(self) -> _core.QuantisedRows:
        """Empty rows with the same width and limit.  Public."""
        return self._none

    def blocks(self) -> Sealed[Iterable[_core.QuantisedRows]]:
        """Return the blocks, which are stored from now on."""
        return Sealed(_Blocks(self))

    def _each(self) -> Iterator[_core.QuantisedRows]:
        yield from self._keep() if self._blocks is None else self._blocks
        passed()

    def _total(self, seal: Callable[[Sums], ExactSums], name: str, *arguments: Any) -> ExactSums:
        statistic = OfMapped(self._recipe, name, arguments, seal)
        grouped = self._design.by_unit and name in _OF_UNITS
        if self._blocks is None and not grouped:
            return self._design.total(statistic)
        if self._blocks is None:
            sums = sum_of_blocks(self._made(), statistic.of)
        else:
            sums = sum_of_parts(self._blocks.parts(), statistic.of)
        passed()
        return statistic.seal(sums)

    def _made(self) -> Iterable[_core.QuantisedRows]:
        records = opened(self._design.records)
        units = records.units
        if units is not None:  # rows of a unit must be contiguous
            for block in by_group(records.rows, units.offsets, units.rows):
                yield _core.QuantisedRows(block.X, block.y, self._how, block.offsets, block.rows)
            return
        yield from of_blocks(
            records.rows.blocks(), lambda block: _core.QuantisedRows(*block, self._how)
        )

    def _keep(self) -> Spool[_core.QuantisedRows]:
        if self._blocks is None:
            self._blocks = Spool(opened(self._design.records).rows.memory / 2)
        self._blocks.clear()
        for rows in self._made():
            self._blocks.append(rows, rows.bytes)
        passed()
        return self._blocks
