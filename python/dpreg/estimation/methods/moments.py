"""One release of noisy second moments, for any regression among the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpreg.base.options import check_options
from dpreg.data.design import Design
from dpreg.data.sampling import check_max_rows
from dpreg.estimation.base import Allowance, needs_delta
from dpreg.estimation.newton.columns import COLUMN_PASSES, ColumnMoments, column_moments
from dpreg.estimation.releases.accountant import releases_cost
from dpreg.estimation.releases.column_scaling import SCALING_PASSES
from dpreg.estimation.releases.rows import StandardUnits
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.standardised import COMPOSITION, scaled
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost

# Passes over the rows, at most.
_PASSES = SCALING_PASSES + COLUMN_PASSES


@dataclass(frozen=True, slots=True)
class MomentsRelease:
    """What was released."""

    scales: Scales
    units: StandardUnits  # Of the columns that have a spread.
    found: ColumnMoments
    parts: tuple[Part, ...]
    composition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondMoments:
    """Options of `dp_moments`, all public.

    Noisy counts find the scale of each column; noisy second moments find coordinates along which
    rows have unit spread; rows are counted by their norm, which says where to shorten them; and
    their second moments get all that is left.

    Parameters
    ----------
    max_rows : int, default 1
        Rows that a protected unit may give; of units with more, that many are drawn.

    Privacy
    -------
    guarantee : (eps, delta)-DP, by Gaussian composition
    neighbours : add or remove one unit
    public : all options, bounds, the names of the columns
    proof : moments.md
    """

    name: ClassVar[str] = "moments"

    max_rows: int = 1

    def __post_init__(self) -> None:
        check_options(self)
        check_max_rows(self.max_rows)

    def check(self, delta: float) -> None:
        """Refuse delta = 0."""
        needs_delta(self.name, delta)

    def cost(self, epsilon: float, delta: float) -> Cost:
        """See `dpreg.estimation.base.Method`."""
        return releases_cost(epsilon, delta)

    def release(self, design: Design, allowance: Allowance) -> MomentsRelease:
        """Spend the allowance."""
        begun = scaled(design, allowance, self.max_rows, _PASSES)
        found = column_moments(begun, begun.telling_units, 0.0)
        return MomentsRelease(
            scales=begun.scales,
            units=begun.telling_units,
            found=found,
            parts=tuple(begun.noise.parts),
            composition=COMPOSITION,
        )
