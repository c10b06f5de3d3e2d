"""Second moments of all columns together, in coordinates with unit variance."""

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

# Share of the squared mu for counts of the norms of rows.
_NORMS = 0.06
# Share for second moments of rows clipped at a norm at which noise is the second number as a share
# of them, between these multiples of the root of the number of entries.  Rows of rare levels are
# clipped most while coordinates are estimated, and remain too large: without this, intervals of
# dummies are 1.5 times as wide at n = 20,000.
_SECOND_SHARE, _NOISE, _SHORTEST, _LONGEST = 0.05, 0.5, 1.3, 8.0
# Second moments of rare levels are kept at this multiple of noise.
_CLEAR = 3.0
# Maximum number of passes over the rows.
COLUMN_PASSES = MOST_LOOKS + 3
# The same for a release of moments, with scales.
_PASSES = SCALING_PASSES + COLUMN_PASSES


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """What was released."""

    basis: Doubles  # Shape (w, w): see `JointMoments`.
    matrix: Doubles  # Shape (w, w).
    deviation: float
    reach: float  # Rows are clipped at this multiple of the expected norm.
    kurtosis: float  # Of the rows, relative to normal ones; at least 1.


def column_moments(begun: Standardised, units: StandardUnits, aside: float) -> ColumnMoments:
    """Release second moments of columns with what is left, except a share.

    units: standard units of the columns.
    aside: share of the squared mu reserved for later.

    Privacy
    -------
    guarantee : as the releases that are added to `begun.noise`
    proof : columns.md
    """
    design, scales, noise = begun.design, begun.scales, begun.noise
    found = whiten_columns(replace(begun, units=units))
    mu = noise.share(begun.left - aside - _NORMS)
    # Directions without variance are scaled so that it would just be significant.
    change = np.column_stack([_added(found, scales.units * mu / noise.rows), found.unseen])
    if not begun.few_rows:
        turn = _less_clipped(begun, units, change)
        # They must not enter the others through noise.
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
    """Return the coordinates of rows for summation; `clear` is the noise in numbers of rows.

    Coordinates of rare levels are scaled down so that their rows are no larger than others, as long
    as their second moments remain significant.  Three factors of 100,000 rows had errors of 2.2
    times those of least squares instead of 5.5; a factor with 40 levels in 20,000 rows had some
    errors instead of none.
    """
    noise = (_SHORTEST**2 * found.squares) * math.sqrt(2 * found.squares) / clear
    short = float((found.sizes**2).min(initial=1.0)) > _CLEAR * noise
    return found.rows if short else found.change


def _less_clipped(begun: Standardised, units: StandardUnits, change: Doubles) -> Doubles:
    """Release second moments of rows clipped higher; return the map that reduces those above 1."""
    noise, n, usual = begun.noise, begun.scales.units, math.sqrt(max(units.width, 1))
    mu = noise.share(_SECOND_SHARE)
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
    units: StandardUnits  # Of the columns that vary.
    found: ColumnMoments
    parts: tuple[Part, ...]


def release_moments(design: Design, allowance: Allowance, max_rows: int) -> MomentsRelease:
    """Spend the allowance on one release of second moments.

    Noisy counts give the scale of each column; noisy second moments give coordinates with unit
    variance; counts of rows by norm give the clipping threshold; the final second moments get all
    that is left.

    max_rows: maximum number of rows per unit; units with more are sampled.

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
