"""Regressors as if each had two values: where most of what they do to a mean is done.  Public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles, Flags
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales

# A column has no values but its limits where its deviation is this share of what it then is.
_ONLY = 0.7
# A column from near 0 on is skewed where its limits are so many times as far above the mean as
# below: with less, those of logarithms and of normal columns are.
_SKEWED = 1.8


@dataclass(frozen=True, slots=True)
class TwoValues:
    """Regressors as if each had two values, with the mean and the variance that it has."""

    means: Doubles  # Shape (w,).
    # values, shares: shape (2, w): what the values are, and the shares of the rows that have them.
    values: Doubles
    shares: Doubles

    @property
    def farther(self) -> Doubles:
        """How far the farther value is from the mean, or of the constant from 0."""
        return np.asarray(np.maximum(np.abs(self.values - self.means).max(axis=0), 1.0))


def two_values(scales: Scales, units: StandardUnits) -> TwoValues:
    """Return what released scales say of the columns that are used, and of the constant.

    Values are between the mean and the limits, as far as the variance has them: an indicator has
    its own, and a column that is long on one side is so still.
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
    """Return which columns that are used have two values, their limits, and hardly any other.

    References
    ----------
    Bhatia and Davis (2000), "A better bound on the variance".
    """
    below, above = _apart(scales, units)
    return np.asarray(scales.scale[units.columns] > _ONLY * _most_spread(below, above))


def skewed(scales: Scales, units: StandardUnits) -> Flags:
    """Return which columns that are used are positive and have a long tail, as limits have it.

    Not those whose limits were given, and not those that are nearly always 0.
    """
    below, above = _apart(scales, units)
    low, centre = scales.low[units.columns], scales.centre[units.columns]
    long = (above > _SKEWED * below) & (np.abs(low) < centre / 2)
    known = scales.given[units.columns] | np.isin(units.columns, list(scales.rare.columns))
    return np.asarray(long & ~known & ~only_two(scales, units))


def about_skewed(scales: Scales, units: StandardUnits, names: tuple[str, ...]) -> tuple[str, ...]:
    """Say of whom the hazard ratios of skewed covariates mainly are.

    names: of all columns; terms with a function are the choice of the user.
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
    """Return the largest deviation of values between limits so far from their mean."""
    return np.asarray(np.sqrt(below) * np.sqrt(above))


def _apart(scales: Scales, units: StandardUnits) -> tuple[Doubles, Doubles]:
    """Return how far limits are below and above the mean."""
    centre = scales.centre[units.columns]
    below = np.maximum(centre - scales.low[units.columns], 0.0)
    return below, np.maximum(scales.high[units.columns] - centre, 0.0)
