"""Starting values of quantile regression, from counts of least-squares residuals."""

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
from dpreg.estimation.releases.accountant import share_for
from dpreg.estimation.releases.residuals import (
    RESIDUAL_CELLS_SENSITIVITY,
    ResidualCells,
    line_of,
)
from dpreg.estimation.standardised import Standardised

# Share of the squared mu for counts in bins, which extend this many standard deviations of
# residuals around their mean; and what must be left for scores.
_SHARE, _REACH, _LEFT = 0.03, 3.0, 0.23
# The share increases up to the second number until rows beyond the quantile are this multiple of
# the noise in a bin; the number of bins is that multiple, between these.  With the first share and
# 48 bins .85 of coefficients of 95% quantiles of six responses of 2,000 rows covered instead of
# .94, and 10 of 420 were wrong by more than four errors instead of 0; with 16 at 20,000 rows .10 of
# those of 5% quantiles had no error instead of .02.
_TO_NOISE, _MOST_SHARE, _BINS = 12.0, 0.12, (16, 48)
# The density is estimated from this share of the rows beyond the quantile, on each side of it.
_AROUND = 0.25
# Rows are also grouped by fitted mean, in groups of equal width over this many standard deviations
# of means: as many as leave `_TO_NOISE` times the noise beyond the quantile in each, between these
# limits, or one.  With one group .33 of coefficients of 90% quantiles of price by carat (54,000
# diamonds) had no error instead of 0, and .14 of those of eight tables of 20,000 rows at eps = 10
# instead of .07.  With a minimum of two, .909 of the latter covered at eps = 1 instead of .917.
_FEWEST_GROUPS, _MOST_GROUPS, _ACROSS = 4, 8, 2.0
# There is one group if means vary by less than this share of residuals: a line through groups would
# be noise.  Without it a slope was wrong by 13 errors in one of 60 fits.
_ALIKE = 0.1


def begun_at_quantile(begun: Standardised, model: Linearised) -> Linearised:
    """Start scores at the quantile of least-squares residuals, with their density there.

    Under normality scores of the lower decile of skewed responses started below all responses,
    where they are constant, and had a fifth of their curvature at the solution: of intervals for
    deciles and medians of ten responses .90 covered instead of .94, .07 were infinite instead of
    .02, and fits were wrong by more than 4 errors 31 times instead of 13.

    Privacy
    -------
    guarantee : `_SHARE` of the squared mu of `begun.noise`, or up to `_MOST_SHARE`
    proof : newton.md
    """
    level, units, found = model.family.level, begun.telling_units, model.found
    if level is None or not units.intercept or left_for_scores(begun) < _LEFT:
        return model
    usual = math.sqrt(max(found.residual, LEAST_RESIDUAL))
    # The shift of the start relative to least squares.
    place = float(special.ndtri(level)) * usual
    constant = constant_row(begun.scales, units, found)
    centre = float(found.theta @ constant) / float(constant @ constant)
    slopes = found.theta - centre * constant
    spread = float(np.linalg.norm(slopes)) / model.curved
    beyond = min(level, 1 - level) * begun.scales.units
    mu, groups, bins = _counts_by_residual(begun, beyond, alike=spread < _ALIKE * usual)
    means = np.linspace(-_ACROSS, _ACROSS, groups + 1) * max(spread, _ALIKE * usual)
    edges = np.linspace(-_REACH, _REACH, bins + 1) * usual - place
    params = begun.user_params(found.change @ found.theta, units)
    middle = units.y_centre + centre * units.y_scale
    cells = ResidualCells(
        line_of(begun.design, params),
        _ends(middle + means * units.y_scale), _ends(edges * units.y_scale), (groups, bins),
    )  # fmt: skip
    counts, _ = begun.noise.release("numbers of rows by residual", begun.design.total(cells), mu)
    beside = _AROUND * min(level, 1 - level)
    levels = np.array([level - beside, level, level + beside])
    low, at, high = np.array([_quantiles(group, edges, levels) for group in counts]).T
    rows = np.maximum(counts.sum(axis=1), 1.0)
    densities = 2 * beside / np.maximum(high - low, edges[1] - edges[0])
    above, steeper = _line(means, at, rows)
    theta = found.theta + above * constant + steeper * slopes
    moved = replace(model, found=replace(found, theta=theta))
    return _with_density(moved, float(np.average(densities, weights=rows)))


def _counts_by_residual(
    begun: Standardised, beyond: float, *, alike: bool = False
) -> tuple[float, int, int]:
    """Return the mu of counts, the number of groups and of bins in each, for `beyond` rows.

    At least as much is left as if counts had `_SHARE` of `_LEFT`.

    alike: means hardly vary, so there is one group.
    """
    noise, (fewest, most) = begun.noise, _BINS
    sensitivity = noise.rows * RESIDUAL_CELLS_SENSITIVITY
    wanted = share_for(noise, sensitivity, max(beyond, 1.0) / _TO_NOISE)
    share = min(max(wanted, _SHARE), _MOST_SHARE, left_for_scores(begun) - _LEFT + _SHARE)
    mu = noise.share(share)
    clear = beyond * mu / sensitivity
    groups = min(int(clear / _TO_NOISE), _MOST_GROUPS)
    groups = 1 if alike or groups < _FEWEST_GROUPS else groups
    return mu, groups, int(min(max(clear / groups, fewest), most))


def _ends(edges: Doubles) -> tuple[float, float]:
    return float(edges[0]), float(edges[-1])


def _line(edges: Doubles, at: Doubles, weights: Doubles) -> tuple[float, float]:
    """Return intercept and slope of the least-squares line of `at` by midpoints of groups."""
    middles = (edges[:-1] + edges[1:]) / 2
    if len(at) < 2:
        return float(at[0]), 0.0
    slope, level = np.polyfit(middles, at, 1, w=np.sqrt(weights))
    return float(level), float(slope)


def _with_density(model: Linearised, density: float) -> Linearised:
    times = density / model.curved**2
    # No smoother where residuals are few: that would use the density nearby.
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
    """Return quantiles from noisy counts between edges, by linear interpolation."""
    below = np.concatenate([[0.0], np.cumsum(counts)])
    wanted = levels * below[-1]
    k = np.array([int(np.argmax(below[1:] >= number)) for number in wanted])
    share = (wanted - below[k]) / np.maximum(below[k + 1] - below[k], 1.0)
    return np.asarray(edges[k] + np.clip(share, 0.0, 1.0) * np.diff(edges)[k])
