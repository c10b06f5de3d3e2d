"""Approximation of regressors by variables with two values.  Public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Flags
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales

# A column is taken to have only its limits as values if its standard deviation is at least this
# share of that of such a column.
_ONLY = 0.7
# A column from near 0 is skewed if its limits are this many times as far above the mean as below:
# with less, logarithms and normal columns would be.
_SKEWED = 1.8


@dataclass(frozen=True, slots=True)
class TwoValues:
    """Regressors replaced by variables with two values, with the same means and variances."""

    means: Doubles  # Shape (w,).
    # values, shares: shape (2, w): the values, and their shares of the rows.
    values: Doubles
    shares: Doubles

    @property
    def farther(self) -> Doubles:
        """Distance of the farther value from the mean; of the constant from 0."""
        return np.asarray(np.maximum(np.abs(self.values - self.means).max(axis=0), 1.0))


def two_values(scales: Scales, units: StandardUnits) -> TwoValues:
    """Return the approximation of the columns that are used, and of the constant.

    Values are between the mean and the limits, with the given variance: an indicator keeps its
    values, and a skewed column stays skewed.
    """
    columns, least = units.columns, np.sqrt(np.finfo(float).tiny)
    centre = scales.centre[columns]
    below, above = _apart(scales, units)
    nearer = np.minimum(scales.scale[columns] / np.maximum(_most_spread(below, above), least), 1.0)
    nearer[only_two(scales, units)] = 1.0
    means = (centre - units.centre) / units.scale
    values = means + np.stack([-below, above]) * nearer / units.scale
    shares = np.stack([above, below]) / np.maximum(below + above, least)
    one = np.ones((2, int(units.intercept)))
    return TwoValues(
        means=np.append(one[0], means),
        values=np.concatenate([one, values], axis=1),
        shares=np.concatenate([one / 2, shares], axis=1),
    )


def only_two(scales: Scales, units: StandardUnits) -> Flags:
    """Return which used columns have hardly any values except their limits.

    References
    ----------
    Bhatia and Davis (2000), "A better bound on the variance".
    """
    below, above = _apart(scales, units)
    return np.asarray(scales.scale[units.columns] > _ONLY * _most_spread(below, above))


def skewed(scales: Scales, units: StandardUnits) -> Flags:
    """Return which used columns are positive with a long tail, judged by their limits.

    Columns with given limits and columns that are nearly always 0 are not included.
    """
    below, above = _apart(scales, units)
    low, centre = scales.low[units.columns], scales.centre[units.columns]
    long = (above > _SKEWED * below) & (np.abs(low) < centre / 2)
    known = scales.given[units.columns] | np.isin(units.columns, list(scales.rare.columns))
    return np.asarray(long & ~known & ~only_two(scales, units))


def about_skewed(scales: Scales, units: StandardUnits, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the note on which persons determine the hazard ratios of skewed covariates.

    names: of all columns; terms with a function are the user's choice.
    """
    found = [names[j] for j in units.columns[skewed(scales, units)] if names[j].isidentifier()]
    if not found:
        return ()
    return (
        f"long tails: {', '.join(found)}; persons in the tail are censored early, so where the "
        "logarithm of the hazard is not linear, coefficients mainly describe the other persons: "
        f"try log({found[0]}), or levels",
    )


def _most_spread(below: Doubles, above: Doubles) -> Doubles:
    """Return the largest standard deviation of values within these distances of their mean."""
    return np.asarray(np.sqrt(below) * np.sqrt(above))


def _apart(scales: Scales, units: StandardUnits) -> tuple[Doubles, Doubles]:
    """Return the distances of the limits from the mean."""
    centre = scales.centre[units.columns]
    below = np.maximum(centre - scales.low[units.columns], 0.0)
    return below, np.maximum(scales.high[units.columns] - centre, 0.0)
