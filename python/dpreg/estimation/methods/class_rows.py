"""Models of classes: units of covariates from records, and then one fit of all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpreg.base.passes import expect
from dpreg.data.bounds import column_bounds
from dpreg.data.classes import Baseline, Ordered, RowsOfClasses
from dpreg.data.design import Design, Terms
from dpreg.data.expanded import expanded
from dpreg.estimation.base import Allowance, Declined, Release
from dpreg.estimation.newton.fit import newton_fit, newton_passes
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.estimation.releases.column_scaling import SCALING_PASSES, column_scales
from dpreg.estimation.releases.limits import regressor_limits
from dpreg.estimation.releases.statistics import NestedCells
from dpreg.estimation.standardised import releases_for, with_scales

__all__ = ["release_classes"]

# Share of the squared mu for the numbers of records of classes.
_COUNTS = 0.005
_BASE = (
    "each class was compared with {!r}, which many records have; where log odds are not linear, "
    "coefficients depend on that"
)


def release_classes(
    design: Design, classes: Ordered | Baseline, terms: Terms, max_rows: int, allowance: Allowance
) -> Release | Declined:
    """Find centre and scale of the covariates of records, and fit the rows made in these units.

    Columns of rows are blocks of covariates, whose means are those within their block: rows could
    not be centred by themselves, and a covariate far from 0 would look like an intercept.

    Parameters
    ----------
    design : Design
        Private: of records, at most `max_rows` of each unit, which are clipped to their bounds.
        The response is the number of the class.
    classes : Ordered or Baseline
    terms : Terms
        Of the rows.
    max_rows : int
    allowance : Allowance

    Privacy
    -------
    guarantee : (epsilon, delta)-DP of the allowance
    neighbours : add or remove one unit
    public : classes, terms, max_rows
    proof : class_rows.md
    """
    expect(SCALING_PASSES + 1 + newton_passes(terms.family))
    weight = design.terms.weight
    bounds = column_bounds(design.terms)
    if weight is not None:  # whose scale is found with the rows
        bounds[weight] = 0.0, 1.0
    noise = releases_for(design, allowance, max_rows)
    found = column_scales(design, noise, bounds)
    told: tuple[str, ...] = ()
    if isinstance(classes, Baseline):
        classes = _with_common_base(design, classes, noise)
        told = (_BASE.format(classes.levels[classes.base]),)
    own = slice(0, len(classes.covariates))
    centre, scale = found.centre[own].copy(), found.scale[own].copy()
    given = list(design.terms.given)
    centre[given], scale[given] = 0.0, 1.0
    expansion = RowsOfClasses(
        classes, weight is not None, tuple(centre.tolist()), tuple(scale.tolist())
    )
    rows = expanded(design, expansion, classes.count, max_rows, terms)
    # From here on sums are over rows, of which a unit has more.
    noise.rows = max_rows * classes.count
    scales = column_scales(rows, noise, column_bounds(terms), events=True)
    begun = with_scales(rows, noise, scales, 0.0, allowance.extras)
    outcome = newton_fit(replace(begun, back=classes.back(centre, scale)))
    if isinstance(outcome, Declined):
        return replace(outcome, units=found.units)
    blank = np.full((1, 2), np.nan)
    limits = np.concatenate([classes.each(_limits(regressor_limits(found)[own], given)), blank])
    return replace(outcome, units=found.units, limits=limits, notes=(*outcome.notes, *told))


def _with_common_base(design: Design, classes: Baseline, noise: GaussianReleases) -> Baseline:
    """Compare with a class of many records: scores of a rare one would be long and clipped."""
    size, column = len(classes.levels), len(design.terms.names)
    low, high = np.zeros(column + 1), np.ones(column + 1)
    low[-1], high[-1] = -0.5, size - 0.5
    one = np.ones(1)
    cells = design.total(NestedCells(low, high, size, np.array([column]), one))
    counts, _ = noise.release("number of records of each class", cells, noise.share(_COUNTS))
    of_class = counts[0, :-1]
    of_class[0] += counts[0, -1]  # where zeros are
    return replace(classes, base=int(np.argmax(of_class)))


def _limits(limits: NDArray[np.float64], given: list[int]) -> NDArray[np.float64]:
    limits[given] = np.nan
    return limits
