"""Rows in standard units, and the conversion to the user's units."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.data.design import Design, Terms
from dpreg.estimation.releases.quantised import SQUARED, MappedRows, Recipe, RowLoss
from dpreg.estimation.releases.standardisation import Scales

# Weights and responses of a log link are clipped at this multiple of the limit of nearly all.
FAR = 4.0
# Least mean weight, as a share of the limit of weights.
_LEAST_USUAL = 1e-3


@dataclass(frozen=True, slots=True)
class StandardUnits:
    """Standardised columns, and the conversion to the user's units.  Everything here is public."""

    columns: Integers  # Shape (k,): the columns of X that are used.
    # centre, scale: shape (k,): of those columns.
    centre: Doubles
    scale: Doubles
    y_centre: float
    y_scale: float
    intercept: bool

    @property
    def width(self) -> int:
        """Entries of a row."""
        return len(self.columns) + self.intercept

    def keeping(self, kept: Flags) -> StandardUnits:
        """Use only some of the columns."""
        return replace(
            self, columns=self.columns[kept], centre=self.centre[kept], scale=self.scale[kept]
        )

    def with_response(self, place: int) -> StandardUnits:
        """Add the response, the last column of the design, as a column at `place`."""
        return replace(
            self,
            columns=np.append(self.columns, place),
            centre=np.append(self.centre, self.y_centre),
            scale=np.append(self.scale, self.y_scale),
            y_centre=0.0,
            y_scale=1.0,
        )

    def to_user(self, d: int) -> Doubles:
        """Return L with params = L @ theta + offset; see `offset`.

        Returns an array of shape (intercept + d, intercept + k).
        """
        i = int(self.intercept)
        slopes = self.y_scale / self.scale
        matrix = np.zeros((i + d, i + len(self.columns)))
        matrix[i + self.columns, i + np.arange(len(self.columns))] = slopes
        if i:
            matrix[0, 0] = self.y_scale
            matrix[0, 1:] = -slopes * self.centre
        return matrix

    def offset(self, d: int) -> Doubles:
        """Return the coefficients at theta = 0."""
        return np.concatenate([[self.y_centre] * self.intercept, np.zeros(d)])


def standard_units(scales: Scales, *, intercept: bool) -> StandardUnits:
    """Return the units of all columns under released scales.

    Without an intercept columns are not centred, and scales are root mean squares about 0.
    """
    centre = scales.centre if intercept else np.zeros_like(scales.centre)
    scale = scales.scale if intercept else np.hypot(scales.scale, scales.centre)
    return StandardUnits(
        columns=np.arange(len(scale) - 1),
        centre=centre[:-1],
        scale=scale[:-1],
        y_centre=float(centre[-1]),
        y_scale=float(scale[-1]),
        intercept=intercept,
    )


def longest_row(row_factor: float, units: StandardUnits) -> float:
    """Return the clipping threshold of rows: this multiple of their expected norm."""
    return row_factor * math.sqrt(max(1, units.width))


def standardised_rows(
    design: Design,
    scales: Scales,
    units: StandardUnits,
    row_limit: float,
    *,
    response_limit: float = 0.0,
) -> MappedRows:
    """Quantise the rows of `design` under released scales, for predictions, and store them.

    Regressors are clipped to their limits, which stabilises a fit and biases its slopes.

    units: of `scales`.
    row_limit: clipping threshold of norms of rows.
    response_limit: above 0, the response clipped to it is the last entry of each row.
    """
    recipe = _recipe(design.terms, scales, units, row_limit, winsorise=True)
    return MappedRows(design.by_row, replace(recipe, response_limit=response_limit), kept=True)


def mapped_rows(
    design: Design,
    scales: Scales,
    units: StandardUnits,
    change: Doubles,
    row_limit: float,
    *,
    kept: bool,
    loss: RowLoss = SQUARED,
    aim: Doubles | None = None,
) -> MappedRows:
    """Quantise the rows of `design` in standard units, times `change`.

    Only regressors whose limits are not `trusted` are clipped.  Parameters are as for
    `standardised_rows`.  The rows of a unit add up to one score.

    change: shape (width, width): rows are clipped by their norm after it.
    kept: see `MappedRows`.
    loss: of a row.
    aim: shape (width,): see `MappedRows.aim`.
    """
    recipe = _recipe(design.terms, scales, units, row_limit, winsorise=False)
    recipe = replace(recipe, change=change, loss=loss, aim=aim)
    if loss is not SQUARED:
        recipe = replace(recipe, given=design.terms.given)
    return MappedRows(design, recipe, kept=kept)


def most_weight(scales: Scales, place: int) -> float:
    """Return the clipping limit of weights, from the released scales of their column."""
    farthest = max(abs(float(scales.low[place])), abs(float(scales.high[place])))
    return farthest * (1.0 if scales.given[place] else FAR)


def _recipe(
    terms: Terms, scales: Scales, units: StandardUnits, row_limit: float, *, winsorise: bool
) -> Recipe:
    usual, most = 1.0, 1.0
    if terms.weight is not None:
        most = most_weight(scales, terms.weight)
        usual = max(float(scales.centre[terms.weight]), _LEAST_USUAL * most)
    columns = units.columns
    # Beyond limits that are unrelated to the values, norms of rows would be meaningless.
    reach = np.where(winsorise | ~scales.trusted[columns], 0.0, np.inf)
    return Recipe(
        columns=columns,
        low=scales.low[columns] - reach,
        high=scales.high[columns] + reach,
        centre=units.centre,
        scale=units.scale,
        y_centre=units.y_centre,
        y_scale=units.y_scale,
        intercept=units.intercept,
        row_limit=row_limit,
        weight=terms.weight,
        usual_weight=usual,
        most_weight=most,
    )
