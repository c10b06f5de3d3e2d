"""One release of noisy second moments, for any regression among the columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpreg.base.options import check_options
from dpreg.data.design import Design
from dpreg.data.sampling import check_max_rows
from dpreg.estimation.base import Allowance, needs_delta
from dpreg.estimation.newton.preconditioning import Preconditioning, precondition
from dpreg.estimation.releases.accountant import releases_cost
from dpreg.estimation.releases.moments import noisy_gram
from dpreg.estimation.releases.row_norms import RowNorms
from dpreg.estimation.releases.rows import StandardUnits, mapped_rows
from dpreg.estimation.releases.standardisation import Scales, Standardisation
from dpreg.estimation.standardised import COMPOSITION, Standardised, standardise
from dpreg.privacy.certificate import Part
from dpreg.privacy.cost import Cost

__all__ = ["MomentsRelease", "SecondMoments"]

Doubles = NDArray[np.float64]

# Of the squared mu that standardisation leaves, what the directions get,
_PRECONDITIONING = Preconditioning(narrow=(0.05,) * 5, wide=(0.05, 0.06))
# and the counts of the norms of rows.
_NORMS = 0.06
# What is so large that no response differs from 0 beside it.
_ONE = 1e300
# Rows may have norms of up to this many times what is expected, to be counted.
_FARTHEST = 64.0


@dataclass(frozen=True, slots=True)
class MomentsRelease:
    """What was released.

    Attributes
    ----------
    scales : Scales
    units : StandardUnits
        Of the columns that have a spread.
    basis : ndarray, shape (w, w)
        See `JointMoments`.
    matrix : ndarray, shape (w, w)
    deviation : float
    reach : float
        Rows that are this many times as long as expected count less.
    kurtosis : float
        Of the rows, in that of normal ones; at least 1.
    parts : tuple of Part
    composition : str
    """

    scales: Scales
    units: StandardUnits
    basis: Doubles
    matrix: Doubles
    deviation: float
    reach: float
    kurtosis: float
    parts: tuple[Part, ...]
    composition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondMoments:
    """Options of `dp_moments`, all public.

    Columns are standardised privately; rounds of noisy second moments find directions along which
    rows have unit spread; rows are counted by their norm, which says where to shorten them; and one
    more round releases their second moments.

    Parameters
    ----------
    max_rows : int, default 1
        Rows that a protected unit may give; of units with more, that many are drawn.
    standardisation : Standardisation

    Privacy
    -------
    guarantee : (eps, delta)-DP, by Gaussian composition
    neighbours : add or remove one unit
    public : all options, bounds, the names of the columns
    proof : moments.md
    """

    max_rows: int = 1
    standardisation: Standardisation = field(default_factory=Standardisation)

    def __post_init__(self) -> None:
        check_options(self)
        check_max_rows(self.max_rows)

    @property
    def name(self) -> str:
        """What the certificate calls it."""
        return "moments"

    def check(self, delta: float) -> None:
        """Refuse delta = 0."""
        needs_delta(self.name, delta)

    def cost(self, epsilon: float, delta: float) -> Cost:
        """See `dpreg.estimation.base.Method`."""
        return releases_cost(epsilon, delta)

    def release(self, design: Design, allowance: Allowance) -> MomentsRelease:
        """Spend the allowance."""
        begun = standardise(design, allowance, self, self.max_rows, _PRECONDITIONING.passes + 2)
        units, noise = begun.telling_units, begun.noise
        # There are no predictions, so no vote on their limits.
        left = 1 - self.standardisation.share + self.standardisation.tail_share
        plan = _PRECONDITIONING.times(left)
        directions = precondition(begun.design, begun.scales, units, plan, noise)
        norms = _noisy_norms(begun, directions.map, noise.share(left * _NORMS))
        mu = noise.share(begun.left)
        limit = norms.limit(mu / noise.rows)
        rows = mapped_rows(
            begun.design, begun.scales, units, directions.map, None, limit, kept=False
        )
        matrix, deviation = noisy_gram(rows, noise, mu)
        return MomentsRelease(
            scales=begun.scales,
            units=units,
            basis=np.asarray(np.linalg.inv(directions.map)),
            matrix=matrix,
            deviation=deviation,
            reach=limit / math.sqrt(max(units.width, 1)),
            kurtosis=norms.kurtosis(limit),
            parts=tuple(noise.parts),
            composition=COMPOSITION,
        )


def _noisy_norms(begun: Standardised, change: Doubles, mu: float) -> RowNorms:
    """Release the numbers of rows by their norm."""
    units, noise = begun.telling_units, begun.noise
    # With a response of 1 in every row, and coefficients of 0, scores are the rows themselves.
    ones = replace(units, y_centre=-_ONE, y_scale=_ONE)
    limit = _FARTHEST * math.sqrt(max(units.width, 1))
    rows = mapped_rows(begun.design.by_row, begun.scales, ones, change, None, limit, kept=False)
    noisy, scale = noise.release("norms of rows", rows.score_norms(np.zeros(rows.width)), mu)
    return RowNorms(noisy, scale, units.width, begun.scales.units)
