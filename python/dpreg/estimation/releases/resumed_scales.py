"""Scales from the start given by an earlier release."""

from __future__ import annotations

import math

import numpy as np

from dpreg.base.arrays import Doubles
from dpreg.data.observations import RowCount, Totals
from dpreg.estimation.inference.start import Start
from dpreg.estimation.releases.accountant import GaussianReleases, share_for
from dpreg.estimation.releases.standardisation import Scales

# The number of rows, and second moments of rows.
RESUMED_PASSES = 2
# Relative noise aimed at in the number of rows, and its least and largest share of mu^2: it is
# released with the least share, and again if its noise is larger.
_COUNT_NOISE, _LEAST_COUNT, _MOST_COUNT = 0.03, 0.003, 0.05


def resumed_scales(rows: Totals, noise: GaussianReleases, bounds: Doubles, start: Start) -> Scales:
    """Return the scales of a start, with the number of rows of these records.

    rows: private.
    bounds: shape (d + 1, 2): public limits of each column, NaN where none were given.
    start: public or released, of these columns.

    Privacy
    -------
    guarantee : as the release that is added to `noise`
    proof : resumed.md
    """
    given = np.isfinite(bounds).all(axis=1) & ~start.constant
    return Scales(
        low=np.where(given, bounds[:, 0], start.low),
        high=np.where(given, bounds[:, 1], start.high),
        centre=start.centre,
        scale=start.scale,
        given=np.asarray(given),
        spread=np.where(start.constant, 0.0, np.inf),
        seen=np.ones(len(bounds), dtype=bool),
        response_found=True,
        units=_count(rows, noise),
    )


def _count(rows: Totals, noise: GaussianReleases) -> float:
    """Release the number of rows, and again where its noise matters."""
    exact = rows.total(RowCount())
    counts: list[float] = []
    precisions: list[float] = []
    for label, least in (("number of rows", 0.0), ("number of rows, again", _LEAST_COUNT)):
        found = float(np.average(counts, weights=precisions)) if counts else math.inf
        share = share_for(noise, noise.rows, _COUNT_NOISE * max(found, 1.0))
        if share < least:
            break
        mu = noise.share(min(max(share, _LEAST_COUNT), _MOST_COUNT))
        count, deviation = noise.release(label, exact, mu)
        counts.append(float(count[0]))
        precisions.append(deviation**-2.0)
    return max(float(np.average(counts, weights=precisions)), 1.0)
