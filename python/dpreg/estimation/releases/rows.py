"""Rows in standard units, and the way back to the user's."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpreg.base.arrays import Doubles, Flags, Integers
from dpreg.data.design import Design, Terms
from dpreg.estimation.releases.quantised import SQUARED, MappedRows, Recipe, RowLoss
from dpreg.estimation.releases.standardisation import Scales

# Weights and responses of a log link count as they are up to this many times what nearly all are
# below.
FAR = 4.0
# The mean weight is taken to be no less than this share of where weights end.
_LEAST_USUAL = 1e-3


@dataclass(frozen=True, slots=True)
class StandardUnits:
    """Standardised columns, and the way back to the user's units.  Everything here is public."""

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
        """Take the response for one more column, the last of the design's, at `place`."""
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
        """Return what the coefficients are at theta = 0."""
        return np.concatenate([[self.y_centre] * self.intercept, np.zeros(d)])


def standard_units(scales: Scales, *, intercept: bool) -> StandardUnits:
    """Return the units of all columns under released scales.

    Through the origin nothing is centred, and a scale is a root mean square about 0.
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
    """Return the length that rows are shrunk to: this many times what is expected."""
    return row_factor * math.sqrt(max(1, units.width))


def standardised_rows(
    design: Design,
    scales: Scales,
    units: StandardUnits,
    row_limit: float,
    *,
    response_limit: float = 0.0,
) -> MappedRows:
    """Quantise the rows of `design` under released scales, for predictions, and keep them.

    Regressors beyond the limits are moved to them, which steadies a fit and biases its slopes.

    units: of `scales`.
    row_limit: longer rows are shrunk to it.
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

    Only those regressors are moved whose limits are not `trusted`.  Parameters are as for
    `standardised_rows`.  The rows of a unit add up to one score.

    change: shape (width, width): rows are shortened by their norm after it.
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
    """Return what larger weights count as, from the released scales of their column."""
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
    # Beyond limits that have nothing to do with the values rows would have no length.
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
