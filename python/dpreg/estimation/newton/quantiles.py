"""Where scores of a quantile begin, from noisy counts of residuals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import special

from dpreg.base.arrays import Doubles
from dpreg.estimation.newton.curvature import left_for_scores
from dpreg.estimation.newton.linearised import (
    LEAST_RESIDUAL,
    Linearised,
    constant_row,
    most_of_quantile,
)
from dpreg.estimation.releases.residuals import ResidualCells, line_of
from dpreg.estimation.standardised import Standardised

# Of the squared mu, for counts in so many bins, which reach so many deviations of residuals about
# their mean; where so much is left for scores, which is never too little afterwards.
_SHARE, _BINS, _REACH, _LEFT = 0.03, 48, 3.0, 0.23
# The density is that of this share of the rows beyond the quantile, on each side of it.
_AROUND = 0.25


def begun_at_quantile(begun: Standardised, model: Linearised) -> Linearised:
    """Begin scores at the quantile of residuals of least squares, with their density there.

    As if residuals were normal, scores of the lower decile of skewed responses began below all of
    these, where they do not change, and had a fifth of their curvature at the root: of intervals of
    deciles and medians of ten responses .90 covered, for .94, .07 had no end, for .02, and fits
    missed by more than 4 errors 31 times, for 13.

    Privacy
    -------
    guarantee : `_SHARE` of the squared mu of `begun.noise`
    proof : newton.md
    """
    level, units, found = model.family.level, begun.telling_units, model.found
    if level is None or not units.intercept or left_for_scores(begun) < _LEFT:
        return model
    params = begun.user_params(found.change @ found.theta, units)
    usual = math.sqrt(max(found.residual, LEAST_RESIDUAL))
    # Scores begin so much above least squares now.
    place = float(special.ndtri(level)) * usual
    edges = np.linspace(-_REACH, _REACH, _BINS + 1) * usual - place
    ends = float(edges[0] * units.y_scale), float(edges[-1] * units.y_scale)
    cells = ResidualCells(line_of(begun.design, params), (0.0, 1.0), ends, (1, _BINS))
    counts, _ = begun.noise.release(
        "numbers of rows by residual", begun.design.total(cells), begun.noise.share(_SHARE)
    )
    beside = _AROUND * min(level, 1 - level)
    low, at, high = _quantiles(counts[0], edges, np.array([level - beside, level, level + beside]))
    density = 2 * beside / max(high - low, edges[1] - edges[0])
    constant = constant_row(begun.scales, units, found)
    moved = replace(model, found=replace(found, theta=found.theta + at * constant))
    return _with_density(moved, density)


def _with_density(model: Linearised, density: float) -> Linearised:
    times = density / model.curved**2
    # No smoother where residuals are few: those nearby would be taken for what is there.
    loss = replace(model.loss, bandwidth=model.loss.bandwidth / max(times, 1.0))
    return replace(
        model,
        found=model.found.turned(np.eye(model.found.width) / math.sqrt(times)),
        loss=loss,
        squares=model.squares / times,
        curved=math.sqrt(density),
        most=most_of_quantile(loss, density),
    )


def _quantiles(counts: Doubles, edges: Doubles, levels: Doubles) -> Doubles:
    """Return quantiles by noisy counts between edges, linear between two of them."""
    below = np.concatenate([[0.0], np.cumsum(counts)])
    wanted = levels * below[-1]
    k = np.array([int(np.argmax(below[1:] >= number)) for number in wanted])
    share = (wanted - below[k]) / np.maximum(below[k + 1] - below[k], 1.0)
    return np.asarray(edges[k] + np.clip(share, 0.0, 1.0) * np.diff(edges)[k])
