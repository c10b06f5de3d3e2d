"""One release of noisy second moments, for any regression among the columns."""

from __future__ import annotations

from dataclasses import dataclass

from dpreg.data.design import Design
from dpreg.estimation.base import Allowance
from dpreg.estimation.newton.columns import COLUMN_PASSES, ColumnMoments, column_moments
from dpreg.estimation.releases.column_scaling import SCALING_PASSES
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.standardised import scaled
from dpreg.privacy.certificate import Part

# Passes over the rows, at most.
_PASSES = SCALING_PASSES + COLUMN_PASSES


@dataclass(frozen=True, slots=True)
class MomentsRelease:
    """What was released."""

    scales: Scales
    units: StandardUnits  # Of the columns that have a spread.
    found: ColumnMoments
    parts: tuple[Part, ...]


def release_moments(design: Design, allowance: Allowance, max_rows: int) -> MomentsRelease:
    """Spend the allowance on one release of second moments.

    Noisy counts find the scale of each column; noisy second moments find coordinates along which
    rows have unit spread; rows are counted by their norm, which says where to shorten them; and
    their second moments get all that is left.

    max_rows: rows that a protected unit may give; of units with more, that many are drawn.

    Privacy
    -------
    guarantee : (eps, delta)-DP, by Gaussian composition
    neighbours : add or remove one unit
    public : all options, bounds, the names of the columns
    proof : moments.md
    """
    begun = scaled(design, allowance, max_rows, _PASSES)
    return MomentsRelease(
        scales=begun.scales,
        units=begun.telling_units,
        found=column_moments(begun, begun.telling_units, 0.0),
        parts=tuple(begun.noise.parts),
    )
