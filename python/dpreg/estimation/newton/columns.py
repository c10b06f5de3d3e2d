"""Second moments of all columns together, in coordinates in which they have unit spread."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.data.design import Design
from dpreg.estimation.base import Allowance
from dpreg.estimation.newton.coordinates import Whitening
from dpreg.estimation.newton.row_lengths import row_norms
from dpreg.estimation.newton.whitening import MOST_LOOKS, whiten_columns
from dpreg.estimation.releases.column_scaling import SCALING_PASSES
from dpreg.estimation.releases.moments import noisy_gram
from dpreg.estimation.releases.rows import StandardUnits, mapped_rows
from dpreg.estimation.releases.spectrum import symmetric_root, without_spread
from dpreg.estimation.releases.standardisation import Scales
from dpreg.estimation.standardised import Standardised, scaled
from dpreg.privacy.certificate import Part

# Of the squared mu, for the counts of the norms of rows.
_NORMS = 0.06
# and for second moments of rows that are as long as noise is this share of them, between so many
# times the root of their entries.  Rows of rare levels lose most of their length where coordinates
# are looked for, and are left too long: without this, intervals of dummies are half as wide again
# at n = 20,000.
_EVENING, _NOISE, _SHORTEST, _LONGEST = 0.05, 0.5, 1.3, 8.0
# Second moments of rare levels are this many times what noise alone makes.
_CLEAR = 3.0
# Passes over the rows, at most.
COLUMN_PASSES = MOST_LOOKS + 3
# Those of a release of moments, scales among them.
_PASSES = SCALING_PASSES + COLUMN_PASSES


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """What was released."""

    basis: Doubles  # Shape (w, w): see `JointMoments`.
    matrix: Doubles  # Shape (w, w).
    deviation: float
    reach: float  # Rows that are this many times as long as expected count less.
    kurtosis: float  # Of the rows, in that of normal ones; at least 1.


def column_moments(begun: Standardised, units: StandardUnits, aside: float) -> ColumnMoments:
    """Release second moments of columns with all that is left but a share.

    units: of the columns.
    aside: share of the squared mu that is kept for later.

    Privacy
    -------
    guarantee : as the releases that are added to `begun.noise`
    proof : columns.md
    """
    design, scales, noise = begun.design, begun.scales, begun.noise
    found = whiten_columns(replace(begun, units=units))
    mu = noise.share(begun.left - aside - _NORMS)
    # Directions without a spread are as long as would make it just seen.
    change = np.column_stack([_added(found, scales.units * mu / noise.rows), found.unseen])
    if not begun.few_rows:
        turn = _evening(begun, units, change)
        # and are not to come into others with the noise.
        turn[found.width :, : found.width] = 0.0
        change = change @ turn
    norms = row_norms(begun, units, change, _NORMS)
    mu = noise.share(begun.left - aside)
    limit = norms.limit(mu / noise.rows)
    rows = mapped_rows(design, scales, units, change, limit, kept=False)
    matrix, deviation = noisy_gram(rows, noise, mu)
    return ColumnMoments(
        basis=np.asarray(np.linalg.inv(change)),
        matrix=matrix,
        deviation=deviation,
        reach=limit / math.sqrt(max(units.width, 1)),
        kurtosis=norms.kurtosis(limit),
    )


def _added(found: Whitening, clear: float) -> Doubles:
    """Return the coordinates of rows that are added up, `clear` being how many rows make noise 1.

    Those of rare levels are short, so that their rows are no longer than others, unless their
    second moments would not be told from noise.  Without it three factors of 100,000 rows have
    errors of 5.5 times those of least squares, and with it 2.2 times; a factor of 40 levels of
    20,000 rows would have no error at all, and has some.
    """
    noise = (_SHORTEST**2 * found.squares) * math.sqrt(2 * found.squares) / clear
    short = float((found.sizes**2).min(initial=1.0)) > _CLEAR * noise
    return found.rows if short else found.change


def _evening(begun: Standardised, units: StandardUnits, change: Doubles) -> Doubles:
    """Release second moments of longer rows; return what makes those 1 that are more."""
    noise, n, usual = begun.noise, begun.scales.units, math.sqrt(max(units.width, 1))
    mu = noise.share(_EVENING)
    reach = math.sqrt(_NOISE * n / (math.sqrt(2) * usual) * mu / noise.rows)
    limit = min(max(reach, _SHORTEST * usual), _LONGEST * usual)
    rows = mapped_rows(begun.design, begun.scales, units, change, limit, kept=False)
    gram, deviation = noisy_gram(rows, noise, mu, "second moments of rows clipped less")
    values, vectors = np.linalg.eigh(gram / n)
    held = np.maximum(without_spread(values, deviation / n), 1.0)
    return symmetric_root((vectors * held) @ vectors.T, centred=units.intercept)


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
